"""Look through a finished bundle for what students must not get. It knows nothing of how the bundle was made."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from scanlab.course import seeds
from scanlab.course.bundle.code_windows import Pieces, comments
from scanlab.course.read import Read
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab, all_labs
from scanlab.labs.rubric import Check
from scanlab.labs.rubric_file import COMMON
from scanlab.packing import Files
from scanlab.paths import ROOT

FORBIDDEN = (
    "solutions/*", "tests/*", "*/solutions/*", "course.toml", "*/course.toml", "*.seed", "class.json", "*/class.json",
    "results/*", "*/results/*", "graded/*", "*/graded/*", ".git/*", "*/.git/*", ".venv/*", ".scanlab/*", "build*/*",
    "*__pycache__*", "*.pyc", "*.bak-*", "grader/bench/variants/*", "grader/vgpu/bench/*", "*.o", "*.so", "*.a",
    "*mutants*", "*exploits*", "*.csv", "*.zip", "*.tar*", "*.tgz", "*.gz", "*.orig", "*.rej", "*~", "*.swp",
)  # fmt: skip
PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"(\xb5/\xfd")
"""How archives and compressed files begin: their contents cannot be searched."""
READ_BY_STUDENTS = ("labs/", "handouts/", "README.md", "bundle.json")
SHORTEST_FORMULA = 8
SHORTEST_TITLE = 12
USUAL_BELOW = 10_000
"""Numbers below are everywhere; they are looked for only in what students read."""


@dataclass(frozen=True, order=True)
class Leak:
    """What was found and where; line 0: the whole file."""

    path: str
    line: int
    what: str

    def text(self) -> str:
        """Return `FILE:LINE: what`."""
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.what}"


@dataclass(frozen=True)
class Given:
    """A lab's skeleton gives what another lab asks for: no mistake, but the instructor should know."""

    by: str
    of: str
    share: float
    """Of the pieces of what is asked for, from 0 to 1."""


@dataclass
class Secrets:
    """What must not be in a bundle with certain labs."""

    labs: list[Lab]
    read: Read | None
    root: Path = ROOT
    pieces: Pieces = field(init=False)
    published: str = field(init=False, default="")
    """What the kit itself calls checks, in all its rubrics: no secret, also where a hidden check is called so."""
    given: list[Given] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        every = {lab.name: _solution(self.root, lab) for lab in all_labs()}
        rubrics = [self.root / "labs" / name for name in (COMMON, *(f"{name}/lab.toml" for name in every))]
        self.published = "\n".join(path.read_text(encoding="utf-8") for path in rubrics if path.is_file())
        packed = {lab.name for lab in self.labs}
        whole = Pieces()
        for name, text in every.items():
            regions = Pieces()
            for i, region in enumerate(skeleton.regions(text)):
                regions.add_code(region, f"solutions/{name}/scan.cu, region {i + 1}")
            for other in sorted(packed):
                left = regions.without([skeleton.outside(every[other])], whole=True)
                share = 1 - len(left.code) / len(regions.code) if regions.code else 0
                if share > 0.5 and other != name:
                    self.given.append(Given(other, name, share))
            whole.code = {**regions.code, **whole.code}
            whole.sentences = {**regions.sentences, **whole.sentences}
            whole.whole = {**regions.whole, **whole.whole}
        # What a skeleton gives outside its regions is known to whoever gets the bundle, and its TODO comments too.
        outside = [skeleton.outside(every[name]) for name in sorted(packed)]
        todos = [comments(region) for lab in self.labs for region in skeleton.regions(_committed(lab))]
        examples = [path.read_text(encoding="utf-8") for path in sorted((self.root / "handouts/findings").glob("*.cu"))]
        self.pieces = whole.without(outside, whole=True).without([*todos, *examples])
        for lab in self.labs if self.read else ():
            known = {check.name for check in Lab(lab.folder).rubric.check}
            for check in lab.rubric.check:
                if check.name not in known and self.read.course.visibility(lab.name, check.name) != "visible":
                    explained = Pieces()
                    explained.add_sentences(
                        check.explanation, f"the explanation of {lab.name}'s hidden check {check.name}"
                    )
                    self.pieces.sentences |= explained.without([self.published], whole=True).sentences

    def has(self, text: str) -> bool:
        """Return whether a text has something that a learner has to write."""
        return bool(self.pieces.find(text))


def _solution(root: Path, lab: Lab) -> str:
    path = root / "solutions" / lab.name / "scan.cu"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _committed(lab: Lab) -> str:
    return skeleton.pristine(lab)[0]


def leaks(files: Files, secrets: Secrets) -> list[Leak]:
    """Return everything in a bundle that must not be there."""
    found = [leak for name, file in files.items() for leak in _in_file(name, file.content, secrets)]
    found += _skeletons(files, secrets)
    return sorted(set(found))


def _in_file(name: str, content: bytes, secrets: Secrets) -> Iterator[Leak]:
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "\\" in name or not all(parts):
        yield Leak(name, 0, "a path that leaves the bundle")
    if any(fnmatch(name, pattern) for pattern in FORBIDDEN):
        yield Leak(name, 0, "is nothing for students")
    if content.startswith(PACKED):
        yield Leak(name, 0, "is packed: what is in it cannot be seen")
    yield from _course_secrets(name, content, secrets)
    if b"\0" in content[:4096]:
        return
    text = content.decode("utf-8", errors="replace")
    full = secrets.read is not None and secrets.read.course.handouts == "full" and name.startswith("handouts/")
    if not full:
        for hit in secrets.pieces.find(text):
            yield Leak(name, hit.line, f"has a part of {hit.origin}")
    root = str(secrets.root)
    if len(root) > 4 and root in text:
        yield Leak(name, _line(text, text.index(root)), f"names a folder of this machine, {root}")
    yield from _hidden_checks(name, text, secrets)


def _course_secrets(name: str, content: bytes, secrets: Secrets) -> Iterator[Leak]:
    read = secrets.read
    if read is None:
        return
    if read.secret is not None:
        lower = content.lower()
        for form in seeds.spellings(read.secret):
            at = content.find(form)
            at = at if at >= 0 else lower.find(form.lower()) if len(form) > 8 and form.isalnum() else -1
            if at >= 0:
                yield Leak(name, content.count(b"\n", 0, at) + 1, "has the course's secret seed")
                break
    text = content.decode("utf-8", errors="replace")
    for terms in read.course.students:
        pattern = rf"(?<![\w.@-]){re.escape(terms.id)}(?![\w@-])"
        found = re.search(pattern, text) if len(terms.id) > 3 else None
        if found and _is_new(pattern, text, name, secrets.root):
            yield Leak(name, _line(text, found.start()), f"names a student of course.toml, {terms.id}")


# ---- hidden checks ---------------------------------------------------------------------------------------------------


def _hidden_checks(name: str, text: str, secrets: Secrets) -> Iterator[Leak]:
    read = secrets.read
    if read is None:
        return
    for lab in secrets.labs:
        kit = {check.name: check for check in Lab(lab.folder).rubric.check}
        usual = _numbers(kit.values())
        for check in lab.rubric.check:
            how = read.course.visibility(lab.name, check.name)
            if how == "visible":
                continue
            what = f"of the check {check.name} of {lab.name}, which is {how.replace('_', ' ')}"
            mine = name == f"labs/{lab.name}/lab.toml"
            own = kit.get(check.name) is None
            for find in _searches(check, kit.get(check.name), name, mine=mine, own=own, usual=usual):
                found = re.search(find.pattern, text)
                is_revealing = find.is_revealing and (mine or not re.search(find.pattern, secrets.published))
                if found and (is_revealing or _is_new(find.pattern, text, name, secrets.root)):
                    yield Leak(name, _line(text, found.start()), f"has the {find.what} {what}")


@dataclass(frozen=True)
class _Search:
    """A pattern that gives a hidden check away; unless it `is_revealing`, the kit may use the same word elsewhere."""

    pattern: str
    what: str
    is_revealing: bool


def _searches(check: Check, kit: Check | None, name: str, *, mine: bool, own: bool, usual: set[int]) -> list[_Search]:
    """Return what to look for in the file `name`."""
    found = []
    if mine:
        found.append(_Search(rf"""(?:name|needs)\s*=\s*["']{check.name}["']""", "name", is_revealing=True))
    if own:
        is_revealing = "_" in check.name or any(letter.isdigit() for letter in check.name)
        found.append(_Search(rf"(?<!\w){check.name}(?!\w)", "name", is_revealing))
    if (kit is None or check.title != kit.title) and len(check.title) >= SHORTEST_TITLE:
        found.append(_Search(r"\s+".join(map(re.escape, check.title.split())), "title", is_revealing=True))
    for formula in sorted(_formulas(check) - (_formulas(kit) if kit else set())):
        if len(formula) >= SHORTEST_FORMULA and not formula.isdecimal():
            pattern = r"\s*".join(map(re.escape, re.findall(r"\w+|\S", formula)))
            found.append(_Search(pattern, f"limit {formula}", is_revealing=True))
    is_read = name.startswith(READ_BY_STUDENTS)
    for number in sorted(_numbers([check]) - usual):
        if number >= USUAL_BELOW or (is_read and number >= USUAL_BELOW // 10):
            grouped = f"{number:,}".replace(",", "[,_ ']?")
            found.append(_Search(rf"(?<![\w.]){grouped}(?![\w.])", f"number {number}", is_revealing=False))
    return found


def _is_new(pattern: str, text: str, name: str, root: Path) -> bool:
    """Return whether a text has more of a pattern than the kit's own file, as it was committed.

    Without git's history that is unknown: then it is new in what students read, and the kit's elsewhere.
    """
    committed = skeleton.committed(root, name)
    if committed is None:
        return name.startswith(READ_BY_STUDENTS)
    if name.endswith("/lab.toml"):
        committed += skeleton.committed(root, f"labs/{COMMON}") or ""
    return len(re.findall(pattern, text)) > len(re.findall(pattern, committed))


def _formulas(check: Check) -> set[str]:
    return {text for text in (getattr(check, "at_most", None), getattr(check, "at_least", None)) if text}


def _numbers(checks: Iterable[Check]) -> set[int]:
    """Return the sizes of checks, without those around powers of two, which all students try."""
    found: set[int] = set()
    for check in checks:
        found |= {*getattr(check, "sizes", ()), *getattr(check, "gpu_sizes", ())}
        n = getattr(check, "n", 0)
        found |= {*n} if isinstance(n, list) else {n}
        found |= {int(digits) for formula in _formulas(check) for digits in re.findall(r"\d+", formula)}
    return {number for number in found if min(abs(number - (1 << k)) for k in range(32)) > 1}


# ---- skeletons -------------------------------------------------------------------------------------------------------


def _skeletons(files: Files, secrets: Secrets) -> Iterator[Leak]:
    """Yield the skeletons that are none, and the lab files and rubrics that do not belong there."""
    packed = {lab.name for lab in secrets.labs}
    for name, file in files.items():
        found = re.fullmatch(r"(?:labs/(\w+)/scan|grader/skeletons/(\w+))\.cu", name)
        rubric = re.fullmatch(r"labs/(\w+)/lab\.toml", name)
        lab = (found[1] or found[2]) if found else rubric[1] if rubric else None
        if lab is not None and lab not in packed:
            yield Leak(name, 0, "is of a lab that was not asked for")
        elif found and lab:
            text, solution = file.content.decode("utf-8", errors="replace"), _solution(secrets.root, Lab(Path(lab)))
            if not skeleton.untouched(text):
                yield Leak(name, _line_of_code(text), "is no skeleton: there is code between its marks")
            if skeleton.outside(text) != skeleton.outside(solution):
                yield Leak(name, 0, "is no skeleton: outside the marks it is not what the solution is")
        elif rubric and lab and secrets.read:
            yield from _rubric(name, file.content, lab, secrets.read)


def _rubric(name: str, content: bytes, lab: str, read: Read) -> Iterator[Leak]:
    try:
        written: dict[str, Any] = tomllib.loads(content.decode("utf-8"))
        checks = [check["name"] for check in written["check"]]
    except (ValueError, KeyError, TypeError):
        yield Leak(name, 0, "is no rubric")
        return
    for check in checks:
        if read.course.visibility(lab, check) != "visible":
            yield Leak(
                name, 0, f"has the check {check}, which is {read.course.visibility(lab, check).replace('_', ' ')}"
            )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _line_of_code(text: str) -> int:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if skeleton.OPEN in line or skeleton.CLOSE in line:
            inside = skeleton.OPEN in line
        elif inside and line.strip() and not line.strip().startswith("//"):
            return number
    return 0
