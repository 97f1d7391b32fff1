"""The pages as HTML: whole, harmless whatever a student wrote, without the network, and fit to be read by all."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from needs import skip_without
from scanlab.on_demand import REPORTS

skip_without(REPORTS)

from classes import HOSTILE, hostile_class
from scanlab.reports.make import Wanted, make
from scanlab.reports.render import TEMPLATES

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
EMPTY_SVG = {"rect", "circle", "path", "line"}
TAGS = set(
    """html head meta title style body a div header p h1 h2 h3 h4 ul ol li dl dt dd nav main section figure figcaption
    span strong bdi code samp table caption thead tbody tr th td details summary article pre i b footer script abbr svg
    rect""".split()  # noqa: SIM905
)
"""All that the templates use: another one would be a student's."""


class Page(HTMLParser):
    """What a page is made of; anything unbalanced is a fault."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.text = path.read_text(encoding="utf-8")
        self.faults: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[tuple[str, str]] = []
        """(the element that holds it, text)"""
        self.feed(self.text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        if len(values) != len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice")
        self.tags.append((tag, values))
        self.ids += [values["id"]] if "id" in values else []
        if tag == "p" and "p" in self.open:
            self.faults.append("<p> within <p>")
        if "pre" in self.open and tag not in ("span", "a"):
            self.faults.append(f"<{tag}> within <pre>")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID | EMPTY_SVG:
            self.faults.append(f"<{tag}/>")
        self.tags.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.words.append((self.open[-1] if self.open else "", data))

    def of(self, *names: str) -> list[dict[str, str]]:
        return [values for tag, values in self.tags if tag in names]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    make(hostile_class(folder / "results"), folder / "pages", Wanted())
    return folder / "pages"


@pytest.fixture(scope="module")
def pages(out: Path) -> dict[str, Page]:
    return {str(path.relative_to(out)): Page(path) for path in sorted(out.rglob("*")) if path.is_file()}


def test_there_is_a_page_for_the_class_and_one_for_each_submission(pages: dict[str, Page]) -> None:
    students = {
        f"students/{key}.html" for key in ("s0001", "s0002", "s0003", "s0004", "s0005", "s0006", "s0008", "other-1")
    }
    assert pages.keys() == students | {"index.html"}


def test_every_page_is_balanced_and_its_ids_are_unique(pages: dict[str, Page]) -> None:
    faults = [f"{name}: {fault}" for name, page in pages.items() for fault in page.faults]
    twice = [f"{name}: {one}" for name, page in pages.items() for one in set(page.ids) if page.ids.count(one) > 1]
    assert faults + twice == []


def test_every_link_leads_somewhere_within(out: Path, pages: dict[str, Page]) -> None:
    lost, followed = [], 0
    for name, page in pages.items():
        for link in page.of("a"):
            parts = urlsplit(link["href"])
            target = (out / name).parent.joinpath(unquote(parts.path)).resolve() if parts.path else out / name
            found = pages.get(str(target.relative_to(out))) if target.is_relative_to(out) else None
            followed += 1
            if parts.scheme or parts.netloc or not found or (parts.fragment and parts.fragment not in found.ids):
                lost.append(f"{name}: {link['href']}")
    assert lost == []
    assert followed > 60


def test_a_students_page_links_to_no_other_page(pages: dict[str, Page]) -> None:
    assert [
        link for name, page in pages.items() if name != "index.html" for link in page.of("a")
        if not link["href"].startswith("#")
    ] == []  # fmt: skip


def test_nothing_comes_from_elsewhere(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert page.of("link", "img", "iframe", "object", "embed", "base", "form", "video", "audio") == [], name
        assert not any(key in values for _, values in page.tags for key in ("src", "srcset", "action", "background"))
        assert not re.search(r"(?i)https?:|url\(|@import", page.text), name
        assert not any(key.startswith("on") for _, values in page.tags for key in values), name


def test_nothing_that_a_student_wrote_becomes_a_part_of_the_page(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert {tag for tag, _ in page.tags} <= TAGS, name
        scripts = [words for tag, words in page.words if tag == "script"]
        assert len(page.of("script")) == (1 if name == "index.html" else 0)
        assert not any("alert" in words for words in scripts)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", page.text), name
        assert "114700" not in page.text  # the product


def test_what_a_student_wrote_is_shown_as_text(pages: dict[str, Page]) -> None:
    shown = (
        HOSTILE.replace("\x1b", "␛").replace("\x00", "␀").replace("\u202e", "⟨U+202E⟩").replace("\u2066", "⟨U+2066⟩")
    )
    own = "".join(words for _, words in pages["students/s0001.html"].words)
    everything = "".join(words for _, words in pages["index.html"].words)
    assert shown in own
    assert shown.replace("␀", "") in everything  # as a name
    assert f"// {shown}" in own  # as a line of code


def test_floods_are_capped(out: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in out.rglob("*.html")}
    assert sizes["s0001.html"] < 150_000  # a line of 60 kB, a hundred facts, advice of 10 kB
    assert sizes["s0002.html"] < 150_000  # 20,000 lines
    assert sizes["index.html"] < 150_000


def test_a_policy_forbids_what_could_be_loaded_or_run(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        (policy,) = [values["content"] for values in page.of("meta") if "http-equiv" in values]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        if name != "index.html":
            assert "script-src" not in rules
            continue
        (script,) = [words for tag, words in page.words if tag == "script"]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert rules["script-src"] == f"'sha256-{digest}'"


def test_pages_have_what_assistive_programs_need(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert page.of("html") == [{"lang": "en"}]
        assert len([1 for tag, words in page.words if tag == "title" and words.strip()]) == 1, name
        assert len(page.of("h1")) == 1
        assert len(page.of("main")) == 1
        levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), (name, levels)
        assert all(values.get("scope") in ("col", "row") for values in page.of("th"))
        for values in page.of("div"):
            if "box" in values.get("class", "").split():
                assert values.get("tabindex") == "0", name  # can be scrolled with the keyboard
                label = values.get("aria-label") or values.get("aria-labelledby")
                assert label, name
                assert "aria-labelledby" not in values or label in page.ids


def test_headers_of_columns_have_names(pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert not re.search(r"<th[^>]*>\s*</th>", page.text)


# ---- colours ---------------------------------------------------------------------------------------------------------


def schemes() -> dict[str, dict[str, str]]:
    css = (TEMPLATES / "base.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]
    )
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


def contrast(one: str, other: str) -> float:
    """By WCAG 2: from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_measure_of_contrast_is_right() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_on_what_is_behind_it(scheme: str) -> None:
    colours = schemes()[scheme]
    texts = ("ink", "muted", "link", "good", "bad", "warn", "fault")
    code = ("ink", "muted", "comment", "keyword", "string", "preproc")
    pairs = [(text, ground) for text in texts for ground in ("paper", "panel")]
    pairs += [(text, ground) for text in code for ground in ("panel", "read", "write", "other", "both")]
    poor = [(*pair, round(contrast(*(colours[one] for one in pair)), 2)) for pair in pairs]
    assert [one for one in poor if one[2] < 4.5] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_stand_out_from_the_page(scheme: str) -> None:
    colours = schemes()[scheme]
    fills = ("good-fill", "bad-fill", "warn-fill", "rest-line")
    poor = {fill: round(contrast(colours[fill], colours["paper"]), 2) for fill in fills}
    assert {fill: value for fill, value in poor.items() if value < 3} == {}
