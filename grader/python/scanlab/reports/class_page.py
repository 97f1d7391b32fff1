"""Make the class's page of its records: numbers over all submissions, and where to look."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from scanlab.classroom.records import NO_GRADE, Class, LabGrade, Problem, Record
from scanlab.course.model import Course
from scanlab.judging.result import LabResult
from scanlab.labs.skeleton import untouched
from scanlab.reports.class_model import (
    EXCUSED,
    Bin,
    Cell,
    CheckStat,
    ClassPage,
    Distribution,
    FindingGroup,
    LabStat,
    LineExample,
    Need,
    Ranking,
    SubmissionRow,
    Time,
)
from scanlab.reports.findings import MergedFinding, merged_findings, name_of
from scanlab.reports.likeness import HandIn, alike, identical, shape
from scanlab.reports.rubrics import Rubrics
from scanlab.reports.source import WHOLE, read_text, split
from scanlab.reports.student_page import name_of as name_of_student
from scanlab.reports.text import field as one_line

BINS = 10
FINDINGS = 12
"""At most this many kinds of mistakes are shown at once; the others are folded."""
EXAMPLES = 3
"""At most this many lines that cause a finding are shown."""
LOW = 50.0
"""Per cent of the points: a student with less needs help."""
STUCK = 2
"""Labs with the same finding: its cause is not understood yet."""
LARGEST_SHAPED = 200_000
"""Characters of a file that is compared with others by its shape."""


def class_page(taken_in: Class, records: Iterable[Record], source: Callable[[str], Path]) -> ClassPage:
    """Return the page of a class; `source` gives the file with a SHA-256."""
    rubrics = Rubrics(Course.of(taken_in.course))
    gathered = _Gathered(source, rubrics)
    for record in records:
        gathered.add(record)
    rows = gathered.rows
    texts = gathered.texts
    handed_in = gathered.handed_in
    bare = {sha256 for sha256, text in texts.items() if text and untouched(text)}
    begun = [one for one in handed_in if one.sha256 not in bare]
    shapes = {sha256: shape(text) for sha256, text in texts.items() if text and len(text) <= LARGEST_SHAPED}
    references = _references(taken_in.labs, rubrics)
    return ClassPage(
        taken_in=taken_in,
        title=one_line(taken_in.title, 200),
        rows=rows,
        distribution=distribution_of(rows),
        labs=[gathered.labs[lab] for lab in taken_in.labs if lab in gathered.labs],
        mistakes=gathered.groups("mistake"),
        advice=gathered.groups("advice"),
        needs=gathered.needs(),
        identical=identical(begun, shapes, references),
        alike=alike(begun, shapes, references),
        untouched=_by_lab(one for one in handed_in if one.sha256 in bare),
        rankings=gathered.rankings(),
        faults=gathered.faults,
        problems=gathered.problems,
        names={row.key: row.name for row in rows},
    )


def distribution_of(rows: Sequence[SubmissionRow]) -> Distribution:
    """Return how the points are spread. A submission with a fault of the kit's has no final points and is left out."""
    rows = [row for row in rows if not row.is_excused]
    final = [row for row in rows if row.verdict not in NO_GRADE and row.max_points]
    values = [row.percent for row in final]
    counts = Counter(min(int(value * BINS // 100), BINS - 1) if value > 0 else 0 for value in values)
    width = 100 // BINS
    bins = [Bin(width * at, width * (at + 1), counts[at]) for at in range(BINS)]
    if not values:
        return Distribution(bins, 0, len(rows), 0, 0, 0, 0)
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return Distribution(bins, len(values), len(rows) - len(final), median, statistics.fmean(values), lower, upper)


def _references(labs: Iterable[str], rubrics: Rubrics) -> dict[str, str]:
    known = {name: lab.solution for name in labs if (lab := rubrics.lab(name)) and lab.solution.is_file()}
    return {name: shape(path.read_text(encoding="utf-8")) for name, path in known.items()}


def _by_lab(handed_in: Iterable[HandIn]) -> list[tuple[str, Sequence[str]]]:
    found: dict[str, list[str]] = {}
    for one in handed_in:
        found.setdefault(one.lab, []).append(one.key)
    return sorted(found.items())


class _Gathered:
    """Reads the records once, so that a large class need not be held in memory."""

    def __init__(self, source: Callable[[str], Path], rubrics: Rubrics) -> None:
        self.source = source
        self.rubrics = rubrics
        self.rows: list[SubmissionRow] = []
        self.labs: dict[str, LabStat] = {}
        self.texts: dict[str, str] = {}
        self.handed_in: list[HandIn] = []
        self.faults: list[tuple[str, str, str]] = []
        self.problems: list[tuple[str, Problem]] = []
        self._piles: dict[tuple[str, str], _Pile] = {}
        self._stuck: dict[str, list[str]] = {}
        self._broken: dict[str, list[str]] = {}
        self._times: dict[tuple[str, str], list[Time]] = {}
        self._lines: dict[str, list[str]] = {}

    def add(self, whole: Record) -> None:
        labs = [grade.lab for grade in whole.labs]
        record = whole.cut(self.rubrics.course.counting(labs, whole))
        self.rows.append(_row(record, labs))
        self.problems += [(record.key, problem) for problem in record.problems]
        labs_of: dict[str, set[str]] = {}
        for grade in record.labs:
            stat = self.labs.setdefault(grade.lab, LabStat(grade.lab, self.rubrics.title(grade.lab)))
            stat.max_points = max(stat.max_points, grade.max_points)
            stat.expected += 1
            if grade.sha256 is None or grade.result is None:
                continue
            self._file(record, grade.lab, grade.sha256)
            self._count(stat, grade, grade.result)
            mistakes, advice = merged_findings(grade.result, self.rubrics.source(grade.lab))
            for one in mistakes:
                labs_of.setdefault(one.id, set()).add(grade.lab)
            for one in [*mistakes, *advice]:
                pile = self._piles.setdefault((one.weight, one.id), _Pile(one))
                pile.add(record.key, grade.lab, one, self._lines_of(grade.sha256), self.rubrics.source(grade.lab))
            self._judged(record.key, grade.lab, grade.result)
        self._stuck[record.key] = [one for one, labs in sorted(labs_of.items()) if len(labs) >= STUCK]

    def _file(self, record: Record, lab: str, sha256: str) -> None:
        group = f"{record.group.name} {' '.join(record.group.members)}" if record.group else ""
        self.handed_in.append(HandIn(record.key, lab, sha256, group))
        if sha256 not in self.texts:
            text, _, trouble = read_text(self.source(sha256))
            self.texts[sha256] = "" if trouble else text

    def _lines_of(self, sha256: str) -> list[str]:
        if sha256 not in self._lines:
            self._lines[sha256] = split(self.texts[sha256])
        return self._lines[sha256]

    def _count(self, stat: LabStat, grade: LabGrade, result: LabResult) -> None:
        stat.handed_in += 1
        stat.points += grade.points
        stat.full += grade.points >= grade.max_points
        is_judged = [check.name for check in result.checks] != ["build"]
        stat.built += is_judged
        for check in result.checks if is_judged else ():
            one = stat.checks.setdefault(check.name, CheckStat(check.name, one_line(check.title), 0))
            one.max_points = max(one.max_points, check.max_points)
            one.points += check.points
            one.verdicts[check.verdict] += 1
            if check.verdict == "skipped" and check.not_run_points and check.cause:
                one.obstacle = one_line(check.cause.headline)

    def _judged(self, key: str, lab: str, result: LabResult) -> None:
        if result.verdict == "error":
            what = next((cause.headline for cause in result.kit_faults), "unknown")
            self.faults.append((key, lab, one_line(what)))
        for check in result.checks:
            if check.name == "build" and check.verdict == "fail":
                self._broken.setdefault(key, []).append(lab)
            if check.times and check.times.ratio is not None:
                time = Time(0, key, check.times.ratio, check.times.ratio_low, check.times.ratio_high)
                self._times.setdefault((lab, one_line(check.title)), []).append(time)

    def groups(self, weight: str) -> list[FindingGroup]:
        """Return the findings of this weight, those of most students first."""
        found = [pile.group() for (its, _), pile in self._piles.items() if its == weight]
        return sorted(found, key=lambda group: (-len(group.keys), group.id))

    def needs(self) -> list[Need]:
        """Return who needs help, the lowest points first."""
        found = []
        for row in self.rows:
            if row.is_excused:
                continue
            reasons = []
            if row.verdict == "pending":
                continue
            if all(cell.points is None for cell in row.cells):
                reasons.append("nothing that can be graded")
            elif row.verdict != "error" and row.percent < LOW:
                reasons.append(f"less than {LOW:.0f} % of the points")
            broken = self._broken.get(row.key, [])
            if broken:
                reasons.append(f"lab {', '.join(lab[:2] for lab in broken)} cannot be compiled or read")
            reasons += [f"in several labs: {name_of(one)}" for one in self._stuck.get(row.key, [])]
            if reasons:
                found.append(Need(row, reasons))
        return sorted(found, key=lambda need: (need.row.percent, need.row.key))

    def rankings(self) -> list[Ranking]:
        """Return the times, check by check; equal ratios share a rank."""
        found = []
        for (lab, title), times in sorted(self._times.items()):
            ratios = sorted(one.ratio for one in times)
            ranked = [replace(one, rank=ratios.index(one.ratio) + 1) for one in times]
            found.append(Ranking(lab, title, sorted(ranked, key=lambda time: (time.rank, time.key))))
        return found


class _Pile:
    """Gathers all that have one finding."""

    def __init__(self, first: MergedFinding) -> None:
        self.first = first
        self.keys: dict[str, None] = {}
        self.labs: set[str] = set()
        self.lines: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, LineExample]] = {}

    def add(self, key: str, lab: str, one: MergedFinding, lines: Sequence[str], source: str) -> None:
        self.keys[key] = None
        self.labs.add(lab)
        marks = sorted({(mark.line, mark.role) for mark in one.marks if 1 <= mark.line <= len(lines)})
        steps = [(role, one_line(lines[line - 1].strip(), 120), line) for line, role in marks]
        if steps:
            same = (lab, tuple(sorted({(role, text) for role, text, _ in steps})))
            first = steps[0][2]
            anchor = f"lab-{lab[:2]}-L{first}" if len(lines) <= WHOLE else f"lab-{lab[:2]}"
            place = f"{source}:{first}"
            self.lines.setdefault(same, {}).setdefault(key, LineExample(lab, steps, (), anchor, place))

    def group(self) -> FindingGroup:
        ordered = sorted(self.lines.items(), key=lambda item: (-len(item[1]), item[0][0], str(item[0][1])))
        examples = [
            LineExample(one.lab, one.steps, tuple(owners), one.anchor, one.place)
            for _, owners in ordered[:EXAMPLES]
            for one in [next(iter(owners.values()))]
        ]
        one = self.first
        labs = sorted(self.labs)
        more = max(0, len(ordered) - EXAMPLES)
        return FindingGroup(one.id, one.name, labs, tuple(self.keys), one.headline, one.advice, examples, more)


def _row(record: Record, labs: Iterable[str]) -> SubmissionRow:
    """Return the row of what counts for a student; the labs that do not are marked."""
    cells = {grade.lab: _cell(grade) for grade in record.labs}
    return SubmissionRow(
        key=record.key,
        name=name_of_student(record),
        student_id=one_line(record.student.id, 60) if record.student else "",
        points=record.points,
        max_points=record.max_points,
        verdict=record.verdict,
        cells=[cells.get(lab, EXCUSED) for lab in labs],
        submitted_at=one_line(record.submitted_at or "", 40),
        attempt=record.attempt,
        problems=len(record.problems),
        is_known=record.student is not None,
    )


def _cell(grade: LabGrade) -> Cell:
    if grade.sha256 is None:
        return Cell(None, 0, grade.verdict, "pending" if grade.verdict == "pending" else "none")
    share = grade.points / grade.max_points if grade.max_points else 0.0
    mark = {"error": "kit error", "timeout": "timeout", "inconclusive": "unclear"}.get(grade.verdict, "")
    return Cell(grade.points, share, grade.verdict, mark)
