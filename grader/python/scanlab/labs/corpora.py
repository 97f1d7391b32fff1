"""Programs with a known verdict: each file's first lines say what a grade has to find.

tests/mutants/README.md has their grammar. A wrong program has to be rejected for the reason that it names, a right one
to pass with full points and without a mistake found.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab import files
from scanlab.judging.judge import Submission, grade
from scanlab.judging.plan import SHARED, Options
from scanlab.judging.result import LabResult
from scanlab.labs import edits
from scanlab.labs.folders import Lab, find_lab
from scanlab.labs.rubric import Rubric
from scanlab.paths import ROOT, STATE

MUTANTS = ROOT / "tests/mutants"
CORRECT = "correct"
BUILD = "build"
"""In the place of a check: the file never gets as far as those."""
COUNTED = ("count",)
"""Kinds of checks that only the virtual GPU has."""
HOST_SCAN = "host.scan"
"""What only the virtual GPU finds; on a GPU such a program is too slow."""
EXPECTATION = re.compile(
    r"// expect(?P<gpu> on gpu)?: (?P<verdict>\S+) (?P<names>\S+)(?: (?P<finding>[a-z_.]+))? \| (?P<reason>.+)"
)

COUNTS = ("wrong", "rejected", "first", "right", "accepted", "clean")
"""Row's numbers, in the order in which they are shown."""


def _with_needed(names: Iterable[str], lab: Lab) -> set[str]:
    """Return the names of checks, and of those that they need, through others maybe."""
    wanted = set(names)
    for check in reversed(lab.rubric.check):  # what a check needs comes before it
        if check.name in wanted and check.needs:
            wanted.add(check.needs)
    return wanted


class PartOfLab(Lab):
    """A lab with some of its checks, and those that they need: the others' results would not be looked at."""

    def __init__(self, lab: Lab, names: Sequence[str]) -> None:
        super().__init__(lab.folder)
        wanted = _with_needed(names, lab)
        # What is right for floats and wrong for affine maps is detected by comparing the two.
        affine = {
            check.entry
            for check in lab.rubric.check
            if check.name in wanted and check.kind == "correctness" and check.element == "affine"
        }
        wanted |= {
            check.name
            for check in lab.rubric.check
            if check.kind == "correctness" and check.element == "float" and check.entry in affine
        }
        # A count is taken among the calls of a correctness check, which it need not need.
        hosts = {
            (check.entry, check.element)
            for check in lab.rubric.check
            if check.name in wanted and check.kind == "correctness"
        }
        for check in lab.rubric.check:
            is_alone = check.kind == "count" and (check.entry, check.element) not in hosts
            if check.name in wanted and is_alone and (host := lab.rubric.counted_among(check)):
                wanted |= _with_needed([host.name], lab)
        self._part = lab.rubric.model_copy(update={"check": [c for c in lab.rubric.check if c.name in wanted]})

    @property
    def rubric(self) -> Rubric:
        """Return the rubric with these checks only."""
        return self._part


@dataclass(frozen=True)
class Program:
    """A file with its expectation on one device."""

    submission: Submission
    verdicts: list[str]
    checks: list[str]
    finding: str = ""
    """The id of the mistake that has to be reported first; empty: any, or none of a program that passes."""

    @property
    def is_right(self) -> bool:
        """True when the program has to pass."""
        return self.verdicts == ["pass"]


def programs_in(folder: Path) -> list[Path]:
    """Return the files of the programs in a folder, whole ones and edits of others, by name."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".cu", edits.SUFFIX))


def text_of(path: Path) -> str:
    """Return the text of a whole program, of which its file may be a part. Raises ValueError where edits do not fit."""
    return edits.expand(path, ROOT)


def whole(path: Path) -> Path:
    """Return where a program's text is as a whole: the file itself, or one that is made of it."""
    text = text_of(path)
    if path.read_text(encoding="utf-8") == text:
        return path
    made = STATE / "programs" / path.parent.name / f"{path.stem}.cu"
    if not made.exists() or made.read_text(encoding="utf-8") != text:
        made.parent.mkdir(parents=True, exist_ok=True)
        files.replace(made, text, is_lasting=False)
    return made


def read(path: Path, device: str = "vgpu") -> Program | None:
    """Return the program in `path`, or None when nothing of it can be graded on this device: what is counted, on a GPU.

    Raises ValueError when it does not begin with an expectation, or a second one has a mistake.
    """
    first, *others = _expectations(path) or [None]
    if first is None or first["gpu"] or len(others) > 1 or any(not other["gpu"] for other in others):
        raise ValueError(f"{path}: it begins with one `// expect: …`, and then has one `// expect on gpu: …` at most")
    is_gpu = device == "gpu"
    expected = others[0] if is_gpu and others else first
    lab = first["names"] if first["verdict"] == "pass" else path.parent.name
    complete = find_lab(path.name.split("__")[0] if "__" in path.name else lab)
    if expected["verdict"] == "pass":
        # A right program of unusual style may be slower than the solution.
        results = [check.name for check in complete.rubric.check if check.kind == "correctness"]
        return Program(Submission(PartOfLab(complete, results) if is_gpu else complete, whole(path)), ["pass"], [])
    checks, verdicts = expected["names"].split(","), expected["verdict"].split("/")
    if is_gpu and not expected["gpu"] and expected["finding"] == HOST_SCAN:
        checks = [check.name for check in complete.rubric.check if check.kind == "timing"]
        verdicts = ["fail", "timeout"]
    kinds = {check.name: check.kind for check in complete.rubric.check} | {BUILD: BUILD}
    if unknown := set(checks) - set(kinds):
        raise ValueError(f"{path}: {complete.name} has no check {', '.join(sorted(unknown))}")
    if is_gpu and any(kinds[name] in COUNTED for name in checks):
        return None
    finding = "" if is_gpu else expected["finding"] or ""
    scans = [one.name for one in complete.rubric.check if one.kind == "correctness" and one.profile is None]
    graded_as = complete if checks == [BUILD] else PartOfLab(complete, checks + scans * (finding == f"cost.{SHARED}"))
    return Program(Submission(graded_as, whole(path)), verdicts, checks, finding)


def _expectations(path: Path) -> list[re.Match[str]]:
    """Return those in the comment at the file's beginning: its first line, and what other lines there begin so."""
    found = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number > 0 and not line.startswith("//"):
                break
            if number > 0 and not line.startswith("// expect"):
                continue  # the line before goes on
            match = EXPECTATION.fullmatch(line.strip())
            if not match:
                which = "first line" if number == 0 else f"line {number + 1}"
                raise ValueError(f"{path}: the {which} is no `// expect[ on gpu]: VERDICT CHECKS [FINDING] | reason`")
            found.append(match)
    return found


def sample(programs: Sequence[Program]) -> list[Program]:
    """Return, of each lab's wrong programs, one for each mistake that is reported first, and every sixth right one.

    Right ones take longest, since every check is run. Grading all takes several times as long: what the kit's tests run
    is this.
    """
    chosen = {}
    for program in programs:
        if not program.is_right:
            chosen.setdefault((program.submission.lab.name, *program.verdicts, program.finding), program)
    right = sorted(
        (program for program in programs if program.is_right), key=lambda program: program.submission.lab.name
    )
    return [*chosen.values(), *right[::6]]


def mistakes(result: LabResult) -> list[str]:
    """Return the ids of the mistakes that a grade reports, the most basic first."""
    return [finding.id for finding in result.findings if finding.weight == "mistake"]


def disappointments(program: Program, result: LabResult) -> list[str]:
    """Return what `result` has that the program's first lines do not expect; empty when all is as expected."""
    found = []
    if result.verdict not in program.verdicts:
        found.append(f"verdict {result.verdict}, expected {'/'.join(program.verdicts)}")
    checks = {check.name: check for check in result.checks}
    for name in program.checks:
        if name not in checks:
            found.append(f"check {name} has not run")
        elif checks[name].verdict not in program.verdicts:
            found.append(f"check {name}: {checks[name].verdict}")
        elif checks[name].verdict != "pass" and not checks[name].cause:
            found.append(f"check {name} gives no cause")
    reported = mistakes(result)
    if program.is_right and result.points != result.max_points:
        found.append(f"{result.points} of {result.max_points} points")
    if program.is_right and reported:
        found.append(f"a mistake is found: {reported[0]}")
    if program.finding and reported[:1] != [program.finding]:
        found.append(f"the first finding is {reported[0] if reported else 'none'}, expected {program.finding}")
    return found


@dataclass
class Row:
    """What became of one lab's programs."""

    lab: str
    wrong: int = 0
    rejected: int = 0
    first: int = 0
    """… with the expected finding first."""
    right: int = 0
    accepted: int = 0
    clean: int = 0
    """… without a mistake found."""

    def add(self, program: Program, result: LabResult) -> None:
        """Count one program."""
        found = mistakes(result)
        if program.is_right:
            self.right += 1
            self.accepted += result.verdict == "pass" and result.points == result.max_points
            self.clean += not found
        else:
            self.wrong += 1
            self.rejected += result.verdict in program.verdicts
            self.first += not program.finding or found[:1] == [program.finding]

    def __add__(self, other: "Row") -> "Row":
        """Return the sums of both."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        return Row(self.lab, **sums)

    def texts(self) -> list[str]:
        """Return the row's cells."""
        return [self.lab, *(str(getattr(self, name)) for name in COUNTS)]


def run_corpora(
    labs: Iterable[Lab], options: Options, done: Callable[[LabResult], None] = lambda _: None
) -> tuple[list[Row], list[str]]:
    """Grade the wrong and the right programs of `labs`; return a row per lab, and what is not as expected, a line each.

    `done` is called for each graded file.
    """
    rows = {lab.name: Row(lab.name) for lab in labs}
    folders = [MUTANTS / name for name in rows] + [MUTANTS / CORRECT]
    programs = [read(path) for folder in folders for path in programs_in(folder)]
    wanted = [program for program in programs if program and program.submission.lab.name in rows]
    results = grade([program.submission for program in wanted], options, done)
    faults = []
    for program, result in zip(wanted, results, strict=True):
        rows[program.submission.lab.name].add(program, result)
        path = program.submission.path
        faults += [f"{path.parent.name}/{path.name}: {fault}" for fault in disappointments(program, result)]
    return list(rows.values()), faults
