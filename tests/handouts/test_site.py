"""The site as a reader gets it: built without a warning, whole, and without the network."""

import json
import re
import shutil
import textwrap
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from needs import skip_without
from scanlab.errors import KitError
from scanlab.handouts import site
from scanlab.on_demand import HANDOUTS
from scanlab.paths import build_folder
from texts import LABS, PROGRAMS, REPOSITORY, name

skip_without(HANDOUTS)


IS_BUILT = (build_folder() / "grader/tracer/tracer").is_file()
WITH_STEPPERS = [path for path in LABS if "```{stepper}" in path.read_text(encoding="utf-8")]


class Page(HTMLParser):
    """A page's ids, what it links to, what it loads, and its code blocks with what stands above them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.rungs: list[str] = []
        self.code: list[tuple[str, str]] = []
        self._open: list[tuple[str, str]] = []
        self._caption, self._text = "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        if tag not in ("meta", "link", "img", "br", "hr", "input", "col"):
            self._open.append((tag, values.get("class", "")))
        self.ids |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if self._within("rungs"):
                self.rungs.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("index", "search", "next", "prev", "canonical"):
            self.loads.append(values["href"])
        elif "src" in values:
            self.loads.append(values["src"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre" and self._within("highlight"):
            self.code.append((self._caption.strip(), self._text))
            self._caption, self._text = "", ""
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._within("code-block-caption"):
            self._caption += data
        elif self._within("highlight"):
            self._text += data

    def _within(self, cls: str) -> bool:
        return any(cls in words.split() for _, words in self._open)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site; it raises with Sphinx's words when there is any warning."""
    return site.build(tmp_path_factory.mktemp("site") / "handouts").parent


@pytest.fixture(scope="session")
def pages(built: Path) -> dict[str, Page]:
    return {str(path.relative_to(built)): Page(path) for path in sorted(built.rglob("*.html"))}


def test_every_text_and_every_program_has_its_page(pages: dict[str, Page]) -> None:
    programs = {f"programs/{path.relative_to(REPOSITORY).with_suffix('.html')}" for path in PROGRAMS}
    texts = {
        str(path.relative_to(REPOSITORY / "handouts").with_suffix(".html"))
        for path in (REPOSITORY / "handouts").rglob("*.md")
    }
    steppers = {f"steppers/{path.stem}.html" for path in WITH_STEPPERS if IS_BUILT}
    assert pages.keys() == programs | texts | steppers | {"search.html"}


@pytest.mark.skipif(not IS_BUILT, reason="the kit is not built: no tracer")
@pytest.mark.parametrize("path", WITH_STEPPERS, ids=name)
def test_a_solution_is_shown_step_by_step_but_not_its_text(path: Path, built: Path, pages: dict[str, Page]) -> None:
    page = f"steppers/{path.stem}.html"
    assert pages[f"{path.stem}.html"].loads.count(page) == 1
    text = (built / page).read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["source"] == ""
    assert data["trace"]["lab"] == path.stem
    assert data["trace"]["launches"][0]["intervals"]
    assert len(text) < 500_000
    solution = (REPOSITORY / "solutions" / path.stem / "scan.cu").read_text(encoding="utf-8")
    own = [line.strip() for line in solution.split(">>> your code")[1].split("<<< your code")[0].splitlines()]
    assert not [line for line in own if len(line) > 30 and line in text]


def test_the_ladder_has_every_lab_in_order(pages: dict[str, Page]) -> None:
    assert pages["index.html"].rungs == [f"{path.stem}.html" for path in LABS]


def test_every_link_leads_somewhere(built: Path, pages: dict[str, Page]) -> None:
    lost, followed = [], 0
    for page, content in pages.items():
        for link in content.links + content.loads:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            followed += 1
            target = (built / page).parent.joinpath(unquote(parts.path)).resolve() if parts.path else built / page
            target = target / "index.html" if target.is_dir() else target
            found = pages.get(str(target.relative_to(built.resolve()))) if target.is_relative_to(built) else None
            if not target.is_file() or (parts.fragment and found and unquote(parts.fragment) not in found.ids):
                lost.append(f"{page}: {link}")
    assert lost == []
    assert followed > 100


def test_nothing_is_loaded_from_the_network(built: Path, pages: dict[str, Page]) -> None:
    loads = [f"{page}: {one}" for page, content in pages.items() for one in content.loads if urlsplit(one).netloc]
    sheets = [path.read_text(encoding="utf-8") for path in built.rglob("*.css")]
    assert loads == []
    assert len(sheets) >= 3
    assert not any(re.search(r"url\(\s*['\"]?(https?:)?//|@import", sheet) for sheet in sheets)


def test_all_labs_are_drawn() -> None:
    assert WITH_STEPPERS == LABS


def excerpts(text: str) -> Iterator[str]:
    yield from re.findall(r"^```\{literalinclude\} \.\./(\S+)$", text, re.MULTILINE)


@pytest.mark.parametrize("path", LABS, ids=name)
def test_excerpts_are_what_stands_in_the_program(path: Path, pages: dict[str, Page]) -> None:
    wanted = list(excerpts(path.read_text(encoding="utf-8")))
    shown = [(caption, code) for caption, code in pages[f"{path.stem}.html"].code if caption]
    assert len(shown) == len(wanted) > 0
    for source, (caption, code) in zip(wanted, shown, strict=True):
        place = re.fullmatch(r"(\S+), line (\d+)\W*", caption)
        assert place is not None
        assert place.group(1) == source
        lines = code.rstrip("\n").split("\n")
        first = int(place.group(2)) - 1
        program = (REPOSITORY / source).read_text(encoding="utf-8").splitlines()
        there = textwrap.dedent("\n".join(program[first : first + len(lines)])).split("\n")
        assert lines == there
        assert any(line.strip() for line in lines)


FAULTS = {
    "a marker that is gone": """
```{literalinclude} ../solutions/02_kogge_stone/scan.cu
:start-at: "no such line"
:end-before: "// <<< your code"
```
""",
    "two markers with nothing between": """
```{literalinclude} ../solutions/02_kogge_stone/scan.cu
:start-after: "#include"
:end-before: "// One block of section_size threads"
```
""",
    "an excerpt without an end": """
```{literalinclude} ../solutions/02_kogge_stone/scan.cu
:start-after: "// >>> your code"
```
""",
    "an excerpt of what is no program": """
```{literalinclude} ../grader/python/pyproject.toml
:start-at: "name"
:end-at: "version"
```
""",
    "an excerpt of a file that learners edit": """
```{literalinclude} ../labs/02_kogge_stone/scan.cu
:start-at: "#include"
:end-at: "template"
```
""",
    "a page that is not there": "[a lab](12_no_such_lab.md)",
    "a heading that is not there": "[steps](02_kogge_stone.md#no-such-heading)",
    "a program that is not there": "[code](../solutions/02_kogge_stone/scna.cu)",
    "a figure that is not there": "![a figure](no_such_figure.svg)",
    "a heading that skips a level": "#### Too deep",
    "a page in no list": None,
}
SAID = {
    "a marker that is gone": "start-at pattern not found: no such line",
    "two markers with nothing between": "nothing of solutions/02_kogge_stone/scan.cu stands between the two markers",
    "an excerpt without an end": "an excerpt says where it begins",
    "an excerpt of what is no program": "../grader/python/pyproject.toml is no solution and no given header",
    "an excerpt of a file that learners edit": "../labs/02_kogge_stone/scan.cu is no solution and no given header",
    "a page that is not there": "12_no_such_lab.md",
    "a heading that is not there": "no-such-heading",
    "a program that is not there": "scna.cu",
    "a figure that is not there": "no_such_figure.svg",
    "a heading that skips a level": "Non-consecutive header level increase",
    "a page in no list": "document isn't included in any toctree",
}


@pytest.fixture(scope="session")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of handouts with each of the faults, and of nothing else; built once for all."""
    repository = tmp_path_factory.mktemp("repository")
    for folder in ("labs", "solutions", "grader"):
        (repository / folder).symlink_to(REPOSITORY / folder)
    source = repository / "handouts"
    shutil.copytree(REPOSITORY / "handouts/_static", source / "_static")
    shutil.copy(REPOSITORY / "handouts/conf.py", source)
    (source / "02_kogge_stone.md").write_text("# Lab 02\n\nA text without faults.\n")
    pages = {f"fault_{at}": text for at, text in enumerate(FAULTS.values())}
    listed = [page for page, text in pages.items() if text is not None]
    for page, text in pages.items():
        (source / f"{page}.md").write_text(f"# A page\n\n{text or 'Nothing links to it.'}\n")
    toctree = "\n".join(["02_kogge_stone", *listed])
    (source / "index.md").write_text(f"# Index\n\n```{{toctree}}\n{toctree}\n```\n")
    out = repository / "site"
    with pytest.raises(KitError) as raised:
        site.build(out, source)
    assert not out.exists()
    return str(raised.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_with_its_place(complaints: str, fault: str) -> None:
    page = f"handouts/fault_{list(FAULTS).index(fault)}.md"
    found = [line for line in complaints.splitlines() if line.startswith(page)]
    assert any(SAID[fault] in line for line in found), complaints


def test_nothing_else_is_complained_of(complaints: str) -> None:
    first, *lines = complaints.splitlines()
    assert first == "the handouts cannot be built:"
    assert not any(line.startswith(("handouts/02_kogge_stone", "handouts/index")) for line in lines), complaints
    assert "Traceback" not in complaints
