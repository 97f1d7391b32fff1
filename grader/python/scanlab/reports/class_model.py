"""The words of the class's page: what each of its parts says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scanlab.classroom.answers import open_questions
from scanlab.classroom.records import Class, Problem, Question
from scanlab.reports.likeness import Group


@dataclass(frozen=True)
class Cell:
    """A submission's points for one lab; `mark` is what keeps them from being plain points."""

    points: float | None
    share: float
    """Of the lab's points, from 0 to 1."""
    verdict: str
    mark: str = ""

    @property
    def is_excused(self) -> bool:
        """Return whether the lab does not count for the student."""
        return self.verdict == EXCUSED.verdict


EXCUSED = Cell(None, 0, "excused")


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
    def is_excused(self) -> bool:
        """Return whether no lab counts for the student."""
        return bool(self.cells) and all(cell.is_excused for cell in self.cells)

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
    """Why none was run; empty where some were."""

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
    expected: int = 0
    """Submissions of those for whom it counts."""
    handed_in: int = 0
    full: int = 0
    points: float = 0.0
    max_points: float = 0.0
    built: int = 0
    """How many reached the judge."""
    checks: dict[str, CheckStat] = field(default_factory=dict)

    @property
    def has_unclear(self) -> bool:
        """Return whether a check is neither passed nor failed for a student whom the judge reached."""
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
    """A student who needs help, and why."""

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
    def questions(self) -> Sequence[tuple[str, Question]]:
        """Return the open questions that keep a grade back, with the submissions' keys."""
        claims = {one.key for one in self.taken_in.submissions if one.claims}
        return [pair for pair in open_questions(self.taken_in) if pair[1].kind != "who" or pair[0] in claims]

    @property
    def unmatched(self) -> Sequence[SubmissionRow]:
        """Return the submissions that match no student on the roster, where there is a roster."""
        has_roster = any(row.is_known for row in self.rows) or bool(self.taken_in.missing)
        return [row for row in self.rows if not row.is_known] if has_roster else []
