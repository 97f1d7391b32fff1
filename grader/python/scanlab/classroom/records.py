"""What a class's results folder says: who handed in what, and what it got.

Nothing here depends on when, where or how fast a submission was graded, so that two runs write the same bytes; what a
run took is in `usage/` (see `store.py`).
"""

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from scanlab.contract import Device
from scanlab.judging.result import CheckResult, LabResult
from scanlab.people import Person, person, platform_ids

CLASS_SCHEMA = "scanlab-class"
SUBMISSION_SCHEMA = "scanlab-submission"
VERSION = 1

Verdict = Literal["pass", "fail", "timeout", "inconclusive", "error", "pending"]
"""`pending`: a person has to decide first (`Question`); `error`: the kit's own fault. Neither is ever a grade."""
WORST_FIRST: tuple[Verdict, ...] = ("error", "pending", "fail", "timeout", "inconclusive", "pass")
NO_GRADE: frozenset[Verdict] = frozenset({"error", "pending"})

Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=120)]
"""Names one submission in file names: letters, digits, dot, dash and underscore."""


class Model(BaseModel):
    """Data that is written once and never changed: a field that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Student(Model):
    """One row of the roster. `columns` is the whole row as it came, by the header's names, for exports."""

    id: str
    name: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    login: str = ""
    columns: Mapping[str, str] = {}
    identifiers: tuple[str, ...] = ()
    """What an export calls them beside all that: a platform's own number, say."""

    def person(self, *more: str) -> Person:
        """Return who this is, with all that identifies them, and `more` that an export gives."""
        return person(self.id, self.name, (self.email, self.login, *self.identifiers, *more), self.columns)


class Group(Model):
    """Several people who have handed something in together: each gets the grade."""

    name: str
    members: tuple[str, ...]
    """For people: their names, in the export's or the roster's order."""


class HandedIn(Model):
    """One file that is graded as one lab. Its text is `sources/SHA256.cu` in the results folder."""

    lab: str
    """The lab's whole name: 06_hierarchical."""
    name: str
    """What the file was called in the submission, for people."""
    sha256: str
    submitted_at: str | None = None
    """As `Submission.submitted_at`, where several were handed in at different times."""
    attempt: int | None = None
    """The platform's own number of it, where there is one: none of what a student calls a file or a folder."""
    origin: str = ""
    """As `Submission.origin`: a group's file has one origin, and stands with each of its members."""
    taken_as: str = ""
    """What was done to read it, in a few words; empty where it was taken as it came."""


class Problem(Model):
    """Something in a submission that could not be taken: a link, a path that leaves the folder, an empty file."""

    name: str
    """The file or archive member, for people."""
    reason: str
    """One clear line."""
    lab: str | None = None
    """The lab that it costs, where that is known."""


class Candidate(Model):
    """A file that may be meant. Its bytes are `kept/SHA256` in the results folder."""

    name: str
    sha256: str
    origin: str = ""
    submitted_at: str | None = None
    attempt: int | None = None


class Question(Model):
    """What the kit does not decide: which file is meant, what one is, or whose a submission is.

    Until it is answered (`answers.toml`) the labs that it concerns have no grade.
    """

    id: str
    """The same whenever the same pile is read: the questions' names in `answers.toml`."""
    kind: Literal["file", "lab", "who"]
    """Which file is a lab's; which lab a file is; whose a submission is."""
    text: str
    """One clear line."""
    lab: str | None = None
    """The lab that waits for the answer; None: those without a file."""
    candidates: tuple[Candidate, ...] = ()
    answer: str = ""
    """As it was given; empty: the question is open."""


class Submission(Model):
    """What one student, or a person who is not on the roster, has handed in."""

    key: Key
    student: Student | None
    """None: matches no student on the roster, or there is no roster."""
    origin: str
    """The folder's, file's or archive's name, for people."""
    submitted_at: str | None = None
    """ISO 8601 with an offset, where the platform gives it."""
    attempt: int | None = None
    files: tuple[HandedIn, ...] = ()
    """Several files for one lab are attempts, the oldest first."""
    problems: tuple[Problem, ...] = ()
    metadata: Mapping[str, str] = {}
    """What else the platform's export says of it, such as Gradescope's submission id or Moodle's participant."""
    owners: tuple[str, ...] = ()
    """As whom the export knows it, by which it is found again: `moodle 771`, or a folder's name as it is."""
    claims: tuple[str, ...] = ()
    """Ids of those on the roster who may be meant; it counts for none of them until that is answered."""
    group: Group | None = None
    questions: tuple[Question, ...] = ()

    def person(self) -> Person:
        """Return who has handed it in, with all that the roster and the export know of them."""
        more = platform_ids(self.metadata)
        return self.student.person(*more) if self.student else person(self.key, self.origin, more)

    def open_question(self, lab: str) -> Question | None:
        """Return the question for whose answer a lab waits; one that is graded does not wait for a later attempt."""
        if any(file.lab == lab for file in self.files):
            return None
        asked = (one for one in self.questions if one.kind != "who" and not one.answer)
        return next((one for one in asked if one.lab in (lab, None)), None)


class Class(Model):
    """The whole pile, as it was taken in; `class.json`."""

    schema_: Literal["scanlab-class"] = Field(default=CLASS_SCHEMA, alias="schema")
    version: Literal[1] = VERSION
    title: str
    """For people: the course's name, else the folder's or archive's."""
    device: Device
    seed: int
    """Makes the data: secret, where a course says so."""
    is_proved: bool = False
    """Executions are explored as well (`grade --prove`)."""
    labs: tuple[str, ...]
    """The labs that all students are graded on, in their order; a lab without a file counts 0."""
    submissions: tuple[Submission, ...]
    missing: tuple[Student, ...] = ()
    """On the roster, and handed nothing in."""
    claimed: tuple[Student, ...] = ()
    """On the roster, and known only from submissions that may be theirs (`Submission.claims`): no grade yet."""
    source: Mapping[str, str] = {}
    """What kind of export the first pile was: `kind`, and GitHub's `prefix`."""
    has_roster: bool = False
    groups: Mapping[str, tuple[str, ...]] = {}
    """The ids of those who hand in together by the roster, by their groups' names."""
    ignored: tuple[Problem, ...] = ()
    """What belongs to no submission: never dropped in silence."""
    course: Mapping[str, Any] = {}
    """What course.toml says, as it was read; empty without one."""
    kit: Mapping[str, str] = {}
    """What results depend on beside the files: the kit's version, and hashes of its judge and of the labs' rubrics."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    def students(self) -> tuple[Student, ...]:
        """Return the roster's students; none when there was no roster."""
        return (*(one.student for one in self.submissions if one.student), *self.missing, *self.claimed)

    def pending(self) -> dict[str, tuple[str, ...]]:
        """Return the labs that wait for an answer, by the keys of the submissions that have any."""
        found = {one.key: tuple(lab for lab in self.labs if one.open_question(lab)) for one in self.submissions}
        return {key: labs for key, labs in found.items() if labs}


class Deduction(Model):
    """Points taken off, and why: two days late at 10 % a day."""

    reason: str
    points: float


class Attempt(Model):
    """One of several attempts at a lab."""

    number: int
    name: str
    sha256: str
    submitted_at: str | None = None
    points: float | None = None
    """After deductions; None: what it is worth does not matter, and it was not graded."""
    reason: str = ""
    """Why it does not count; empty for the one that does."""


class LabGrade(Model):
    """What a submission got for one lab."""

    lab: str
    sha256: str | None
    """The file that was graded; None: there was none, and `result` is empty."""
    verdict: Verdict
    points: float
    """After `deductions`."""
    max_points: float
    not_run_points: float
    deductions: tuple[Deduction, ...] = ()
    headline: str = ""
    """Why there is no result, in one line; empty where there is one."""
    result: LabResult | None = None
    """What the judge says, without its `seconds`."""
    attempts: tuple[Attempt, ...] = ()
    """All, the oldest first, where there are several: the grade is that of the one that counts."""

    @field_serializer("result")
    def _by_name(self, result: LabResult | None) -> Any:
        """Return it with its keys in the order of their names, as in `graded/`."""
        return result and json.loads(result.by_name())

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """Return the judge's checks; none where there was no file."""
        return self.result.checks if self.result else ()

    @property
    def which_attempt(self) -> str:
        """Return "attempt 2 of 3", or an empty text where there is one only."""
        counts = next((one.number for one in self.attempts if not one.reason), None)
        return f"attempt {counts} of {max(one.number for one in self.attempts)}" if counts else ""


class Record(Model):
    """What one submission got; `results/KEY.json`."""

    schema_: Literal["scanlab-submission"] = Field(default=SUBMISSION_SCHEMA, alias="schema")
    version: Literal[1] = VERSION
    key: Key
    student: Student | None
    origin: str
    submitted_at: str | None = None
    attempt: int | None = None
    device: Device
    verdict: Verdict
    """The worst of the labs'."""
    points: float
    max_points: float
    not_run_points: float
    labs: tuple[LabGrade, ...]
    problems: tuple[Problem, ...] = ()
    metadata: Mapping[str, str] = {}
    claims: tuple[str, ...] = ()
    group: Group | None = None
    taken_as: tuple[str, ...] = ()
    """What was done to read a file that was not as it should be, a line each."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    def cut(self, labs: Collection[str]) -> "Record":
        """Return what the submission got for `labs` alone."""
        kept = tuple(lab for lab in self.labs if lab.lab in labs)
        verdicts = {lab.verdict for lab in kept}
        return self.model_copy(
            update={
                "labs": kept,
                "verdict": next((verdict for verdict in WORST_FIRST if verdict in verdicts), "pass"),
                "points": sum(lab.points for lab in kept),
                "max_points": sum(lab.max_points for lab in kept),
                "not_run_points": sum(lab.not_run_points for lab in kept),
            }
        )
