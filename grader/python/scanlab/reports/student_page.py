"""What a student's page says: their own verdicts, findings and lines, and nothing of other students."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab.classroom.records import NO_GRADE, Class, LabGrade, Record
from scanlab.course.seen import Sight
from scanlab.gradebooks.selection import others
from scanlab.judging.result import CheckResult
from scanlab.labs.folders import handout_of
from scanlab.labs.rubric import CountCheck
from scanlab.reports.findings import MergedFinding, merged_findings
from scanlab.reports.pictures import Picture
from scanlab.reports.rubrics import Rubrics
from scanlab.reports.source import Listing, listing
from scanlab.reports.text import field, paragraph

MISTAKES = 8
ADVICE = 4
"""At most this many are shown in full for a lab; the others are counted."""
STEPS = 3
"""At most this many labs are named as the next to work on."""


@dataclass(frozen=True)
class Gauge:
    """A count between its limits, and where it stands from 0 to 100 along a scale that has room for all of them."""

    value: float
    low: float | None
    high: float | None

    @property
    def is_drawn(self) -> bool:
        """Return whether a drawing shows anything: not where nothing was counted and nothing is allowed."""
        return bool(self.value or self.low or self.high)

    def at(self, value: float) -> float:
        """Return where a value stands, in hundredths of the scale."""
        top = max(1.15 * self.value, 1.3 * max(self.high or 0, self.low or 0), 1e-9)
        return round(100 * min(max(value, 0), top) / top, 2)


@dataclass(frozen=True)
class CheckRow:
    """A check that the student may see."""

    title: str
    verdict: str
    points: float
    max_points: float
    not_run_points: float
    remark: str
    """Why it was not run, or how long it took in comparison; empty: nothing to say."""
    gauge: Gauge | None


@dataclass(frozen=True)
class LabPart:
    """One lab on a student's page."""

    grade: LabGrade
    title: str
    headline: str
    handout: str
    checks: Sequence[CheckRow]
    hidden: int
    """How many checks are not shown, and their points in all."""
    hidden_points: float
    hidden_max_points: float
    mistakes: Sequence[MergedFinding]
    more_mistakes: int
    advice: Sequence[MergedFinding]
    more_advice: int
    listing: Listing | None
    picture: Picture | None
    hints: Sequence[str]

    @property
    def anchor(self) -> str:
        """Return the section's id."""
        return f"lab-{self.grade.lab[:2]}"

    @property
    def number(self) -> str:
        """Return the lab's two digits."""
        return self.grade.lab[:2]

    @property
    def is_done(self) -> bool:
        """Return whether there is nothing left to do."""
        return self.grade.verdict == "pass"

    @property
    def again(self) -> str:
        """Return the command that shows the first failure again."""
        first = next((one.again for one in self.mistakes if one.again), "")
        return first or (f"grader/scanlab check {self.number}" if self.grade.result else "")


@dataclass(frozen=True)
class StudentPage:
    """All that a student's page says."""

    course: str
    record: Record
    name: str
    labs: Sequence[LabPart]
    """Those that count for the student."""
    excused: Sequence[str]
    """The titles of the others."""
    problems: Sequence[tuple[str, str]]

    @property
    def next_labs(self) -> Sequence[LabPart]:
        """Return the first labs that are not done, those that the kit could not grade left out."""
        return [lab for lab in self.labs if not lab.is_done and lab.grade.verdict not in NO_GRADE][:STEPS]

    @property
    def left(self) -> int:
        """Return how many labs are not done, beyond `next_labs`."""
        return sum(not lab.is_done and lab.grade.verdict not in NO_GRADE for lab in self.labs) - len(self.next_labs)

    @property
    def faults(self) -> Sequence[LabPart]:
        """Return the labs that the kit could not grade."""
        return [lab for lab in self.labs if lab.grade.verdict == "error"]

    @property
    def pending(self) -> Sequence[LabPart]:
        """Return the labs that wait for the teacher's answer."""
        return [lab for lab in self.labs if lab.grade.verdict == "pending"]

    @property
    def together_with(self) -> Sequence[str]:
        """Return the names of those with whom it was handed in."""
        return [field(name, 120) for name in others(self.record)]


def name_of(record: Record) -> str:
    """Return what a person is called on a page."""
    if record.student is None:
        return field(record.origin, 120) or record.key
    return field(record.student.name, 120) or field(record.student.id, 120)


def student_page(
    taken_in: Class,
    record: Record,
    source: Callable[[str], Path],
    sight: Sight,
    draw: Callable[[str, str], Picture | None] = lambda _lab, _sha256: None,
) -> StudentPage:
    """Return the page of one submission.

    `source` gives the file with a SHA-256, and `draw` the picture of what it does as a lab, where one is wanted.
    """
    rubrics = Rubrics(sight.course)
    known = [grade.lab for grade in record.labs]
    record = record.cut(sight.course.counting(known, record))
    excused = [rubrics.title(lab) for lab in known if sight.course.excused(lab, record)]
    labs = [_lab(grade, rubrics, source, sight, draw) for grade in record.labs]
    problems = [(field(problem.name, 200), field(problem.reason)) for problem in record.problems]
    return StudentPage(field(taken_in.title, 200), record, name_of(record), labs, excused, problems)


def _lab(
    grade: LabGrade,
    rubrics: Rubrics,
    source: Callable[[str], Path],
    sight: Sight,
    draw: Callable[[str, str], Picture | None],
) -> LabPart:
    rubric = rubrics.rubric(grade.lab)
    result = sight.result(grade.lab, grade.result) if grade.result else None
    visible = result.checks if result else ()
    names = {check.name for check in visible}
    hidden = [check for check in grade.checks if check.name not in names]
    mistakes, advice = merged_findings(result, rubrics.source(grade.lab)) if result else ([], [])
    shown = [*mistakes[:MISTAKES], *advice[:ADVICE]]
    for number, one in enumerate(shown, 1):
        one.number = number
    return LabPart(
        grade=grade,
        title=rubrics.title(grade.lab),
        headline=field(grade.headline),
        handout=handout_of(grade.lab),
        checks=[_check(rubrics, grade.lab, check, names) for check in visible],
        hidden=len(hidden),
        hidden_points=sum(check.points for check in hidden),
        hidden_max_points=sum(check.max_points for check in hidden),
        mistakes=mistakes[:MISTAKES],
        more_mistakes=len(mistakes[MISTAKES:]),
        advice=advice[:ADVICE],
        more_advice=len(advice[ADVICE:]),
        listing=listing(source(grade.sha256), shown) if grade.sha256 else None,
        picture=draw(grade.lab, grade.sha256) if grade.sha256 else None,
        hints=["\n".join(paragraph(hint.text.strip().splitlines())) for hint in rubric.hint]
        if rubric and grade.verdict != "pass"
        else [],
    )


def _check(rubrics: Rubrics, lab: str, check: CheckResult, visible: Container[str]) -> CheckRow:
    wanted = rubrics.check(lab, check.name)
    gauge = None
    if isinstance(wanted, CountCheck) and check.counts and wanted.counter in check.counts:
        low, high = (check.limits.at_least, check.limits.at_most) if check.limits else (None, None)
        gauge = Gauge(check.counts[wanted.counter], low, high)
    return CheckRow(
        title=field(check.title),
        verdict=check.verdict,
        points=check.points,
        max_points=check.max_points,
        not_run_points=check.not_run_points,
        remark=_remark(rubrics, lab, check, visible),
        gauge=gauge,
    )


def _remark(rubrics: Rubrics, lab: str, check: CheckResult, visible: Container[str]) -> str:
    if check.ratio is not None:
        return f"{check.ratio:.2f} times as long as the reference solution"
    if check.verdict != "skipped":
        return ""
    if not check.max_points:
        return field(check.cause.headline if check.cause else "not run")
    wanted = rubrics.check(lab, check.name)
    needed = rubrics.check(lab, wanted.needs) if wanted and wanted.needs else None
    if needed and needed.name in visible:
        return f"waits for: {needed.title}"
    return "waits for another check"
