"""What the class's page says: numbers over all submissions, and where to look."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scanlab.classroom.records import Class, LabGrade, Problem, Record
from scanlab.reports.findings import Told, name_of, told
from scanlab.reports.likeness import Group, HandIn, alike, identical, shape
from scanlab.reports.rubrics import Rubrics
from scanlab.reports.source import WHOLE, read_text, split
from scanlab.reports.student_page import name_of as name_of_student
from scanlab.reports.text import field as one_line
from scanlab.skeleton import untouched

BINS = 10
FINDINGS = 12
"""So many kinds of mistakes are shown at once; the others are folded."""
EXAMPLES = 3
"""So many lines that cause a finding are shown."""
LOW = 50.0
"""Per cent of the points: who has less needs help."""
STUCK = 2
"""Labs with the same finding: its cause is not understood yet."""
LARGEST_SHAPED = 200_000
"""Characters of a file that is compared with others by its shape."""

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """A submission's points for one lab; `mark` is what keeps them from being plain points."""

    points: float | None
    share: float
    """Of the lab's points, from 0 to 1."""
    verdict: str
    mark: str = ""


@dataclass(frozen=True)
class SubmissionRow:
    """A submission in the table of all."""

    key: str
    name: str
    student_id: str
    points: float
    max_points: float
    verdict: str
    cells: Sequence[Cell]
    submitted_at: str
    attempt: int | None
    problems: int
    is_known: bool
    """Whether the roster knows who it is."""

    @property
    def percent(self) -> float:
        """Return the points in per cent of those to be had."""
        return 100 * self.points / self.max_points if self.max_points else 0.0


@dataclass(frozen=True)
class Bin:
    """Submissions whose points in per cent are from `low` to below `high`; the last one has 100 as well."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class Distribution:
    """How the points are spread over those submissions whose points are final."""

    bins: Sequence[Bin]
    count: int
    left_out: int
    """Submissions that the kit could not grade to their end."""
    median: float
    mean: float
    lower: float
    """The quartiles, in per cent as the median and the mean."""
    upper: float

    @property
    def highest(self) -> int:
        """Return the count of the fullest bin."""
        return max((one.count for one in self.bins), default=0)


@dataclass
class CheckStat:
    """What became of one check."""

    name: str
    title: str
    max_points: float
    verdicts: Counter[str] = field(default_factory=Counter)
    points: float = 0.0
    """Summed up over all that handed the lab in."""
    obstacle: str = ""
    """Why nobody's was run; empty where some were."""

    def parts(self, handed_in: int) -> Sequence[tuple[str, int]]:
        """Return (kind, count): passed, failed, not reached, unclear; together all that handed the lab in."""
        passed = self.verdicts["pass"]
        failed = self.verdicts["fail"] + self.verdicts["timeout"]
        unclear = self.verdicts["inconclusive"] + self.verdicts["error"]
        return [
            ("passed", passed),
            ("failed", failed),
            ("not reached", handed_in - passed - failed - unclear),
            ("unclear", unclear),
        ]


@dataclass
class LabStat:
    """What became of one lab."""

    lab: str
    title: str
    handed_in: int = 0
    full: int = 0
    points: float = 0.0
    max_points: float = 0.0
    built: int = 0
    """So many that reached the judge."""
    checks: dict[str, CheckStat] = field(default_factory=dict)

    @property
    def has_unclear(self) -> bool:
        """Return whether a check is neither passed nor failed for somebody whom the judge reached."""
        return any(dict(check.parts(self.handed_in))["unclear"] for check in self.checks.values())

    @property
    def mean(self) -> float:
        """Return the mean points of those that handed it in."""
        return self.points / self.handed_in if self.handed_in else 0.0


@dataclass(frozen=True)
class LineExample:
    """Lines of code that cause a finding: what they do, their text, and whose they are."""

    lab: str
    steps: Sequence[tuple[str, str, int]]
    """(role, text, line) of the first who has them."""
    keys: Sequence[str]
    anchor: str
    """Of the first line in the first one's page."""
    place: str


@dataclass(frozen=True)
class FindingGroup:
    """All that have the same finding."""

    id: str
    name: str
    labs: Sequence[str]
    keys: Sequence[str]
    headline: str
    advice: str
    examples: Sequence[LineExample]
    more_examples: int


@dataclass(frozen=True)
class Need:
    """Somebody who needs help, and why."""

    row: SubmissionRow
    reasons: Sequence[str]


@dataclass(frozen=True)
class Time:
    """How fast a submission is, against the reference solution on the same device."""

    rank: int
    key: str
    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Ranking:
    """The times of one check, the fastest first."""

    lab: str
    title: str
    times: Sequence[Time]


@dataclass(frozen=True)
class ClassPage:
    """All that the class's page says."""

    taken_in: Class
    title: str
    rows: Sequence[SubmissionRow]
    distribution: Distribution
    labs: Sequence[LabStat]
    mistakes: Sequence[FindingGroup]
    advice: Sequence[FindingGroup]
    needs: Sequence[Need]
    identical: Sequence[Group]
    alike: Sequence[Group]
    untouched: Sequence[tuple[str, Sequence[str]]]
    """(lab, keys) of those who handed in the skeleton as it was."""
    rankings: Sequence[Ranking]
    faults: Sequence[tuple[str, str, str]]
    """(key, lab, what) of the kit's own faults."""
    problems: Sequence[tuple[str, Problem]]
    names: Mapping[str, str]

    @property
    def unmatched(self) -> Sequence[SubmissionRow]:
        """Return the submissions of nobody on the roster, where there is a roster."""
        has_roster = any(row.is_known for row in self.rows) or bool(self.taken_in.missing)
        return [row for row in self.rows if not row.is_known] if has_roster else []


def class_page(taken_in: Class, records: Iterable[Record], source: Callable[[str], Path]) -> ClassPage:
    """Return the page of a class; `source` gives the file with a SHA-256."""
    rubrics = Rubrics(taken_in.course)
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
    final = [row for row in rows if row.verdict != "error" and row.max_points]
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
        self._told: dict[tuple[str, str], _Pile] = {}
        self._stuck: dict[str, list[str]] = {}
        self._broken: dict[str, list[str]] = {}
        self._times: dict[tuple[str, str], list[tuple[str, Result]]] = {}
        self._lines: dict[str, list[str]] = {}

    def add(self, record: Record) -> None:
        self.rows.append(_row(record))
        self.problems += [(record.key, problem) for problem in record.problems]
        labs_of: dict[str, set[str]] = {}
        for grade in record.labs:
            stat = self.labs.setdefault(grade.lab, LabStat(grade.lab, self.rubrics.title(grade.lab)))
            stat.max_points = max(stat.max_points, grade.max_points)
            if grade.sha256 is None or grade.result is None:
                continue
            self._file(record.key, grade.lab, grade.sha256)
            self._count(stat, grade)
            mistakes, advice = told(grade.result, self.rubrics.source(grade.lab))
            for one in mistakes:
                labs_of.setdefault(one.id, set()).add(grade.lab)
            for one in [*mistakes, *advice]:
                pile = self._told.setdefault((one.weight, one.id), _Pile(one))
                pile.add(record.key, grade.lab, one, self._lines_of(grade.sha256), self.rubrics.source(grade.lab))
            self._judged(record.key, grade)
        self._stuck[record.key] = [one for one, labs in sorted(labs_of.items()) if len(labs) >= STUCK]

    def _file(self, key: str, lab: str, sha256: str) -> None:
        self.handed_in.append(HandIn(key, lab, sha256))
        if sha256 not in self.texts:
            text, _, trouble = read_text(self.source(sha256))
            self.texts[sha256] = "" if trouble else text

    def _lines_of(self, sha256: str) -> list[str]:
        if sha256 not in self._lines:
            self._lines[sha256] = split(self.texts[sha256])
        return self._lines[sha256]

    def _count(self, stat: LabStat, grade: LabGrade) -> None:
        result = grade.result or {}
        stat.handed_in += 1
        stat.points += grade.points
        stat.full += grade.points >= grade.max_points
        is_judged = [check["name"] for check in result["checks"]] != ["build"]
        stat.built += is_judged
        for check in result["checks"] if is_judged else ():
            one = stat.checks.setdefault(check["name"], CheckStat(check["name"], one_line(check["title"]), 0))
            one.max_points = max(one.max_points, check["max_points"])
            one.points += check["points"]
            one.verdicts[check["verdict"]] += 1
            if check["verdict"] == "skipped" and not check["max_points"] and check.get("cause"):
                one.obstacle = one_line(check["cause"]["headline"])

    def _judged(self, key: str, grade: LabGrade) -> None:
        result = grade.result or {}
        if grade.verdict == "error":
            what = next(
                (check["cause"]["headline"] for check in result["checks"] if check["verdict"] == "error"), "unknown"
            )
            self.faults.append((key, grade.lab, one_line(what)))
        for check in result["checks"]:
            if check["name"] == "build" and check["verdict"] == "fail":
                self._broken.setdefault(key, []).append(grade.lab)
            if (check.get("times") or {}).get("ratio") is not None:
                self._times.setdefault((grade.lab, one_line(check["title"])), []).append((key, check["times"]))

    def groups(self, weight: str) -> list[FindingGroup]:
        """Return the findings of this weight, those of most students first."""
        found = [pile.group() for (its, _), pile in self._told.items() if its == weight]
        return sorted(found, key=lambda group: (-len(group.keys), group.id))

    def needs(self) -> list[Need]:
        """Return who needs help, the lowest points first."""
        found = []
        for row in self.rows:
            reasons = []
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
            ratios = sorted(one["ratio"] for _, one in times)
            ranked = [
                Time(ratios.index(one["ratio"]) + 1, key, one["ratio"], one.get("ratio_low"), one.get("ratio_high"))
                for key, one in times
            ]
            found.append(Ranking(lab, title, sorted(ranked, key=lambda time: (time.rank, time.key))))
        return found


class _Pile:
    """Gathers all that have one finding."""

    def __init__(self, first: Told) -> None:
        self.first = first
        self.keys: dict[str, None] = {}
        self.labs: set[str] = set()
        self.lines: dict[tuple[Any, ...], dict[str, LineExample]] = {}

    def add(self, key: str, lab: str, one: Told, lines: Sequence[str], source: str) -> None:
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


def _row(record: Record) -> SubmissionRow:
    return SubmissionRow(
        key=record.key,
        name=name_of_student(record),
        student_id=one_line(record.student.id, 60) if record.student else "",
        points=record.points,
        max_points=record.max_points,
        verdict=record.verdict,
        cells=[_cell(grade) for grade in record.labs],
        submitted_at=one_line(record.submitted_at or "", 40),
        attempt=record.attempt,
        problems=len(record.problems),
        is_known=record.student is not None,
    )


def _cell(grade: LabGrade) -> Cell:
    if grade.sha256 is None:
        return Cell(None, 0, grade.verdict, "none")
    share = grade.points / grade.max_points if grade.max_points else 0.0
    mark = {"error": "kit error", "timeout": "timeout", "inconclusive": "unclear"}.get(grade.verdict, "")
    return Cell(grade.points, share, grade.verdict, mark)
