"""What the formats are given: records of a class, cut down to the labs that are asked for, and how to show them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scanlab.classroom.records import Record, Student
from scanlab.course.seen import Sight

Missing = Literal["due", "zero", "blank"]
"""What a lab that was not handed in counts: 0 once it is due for the student, and nothing before, or where it never
is; or always the same."""
Scale = Literal["exact", "proportional"]


@dataclass(frozen=True)
class Options:
    """What the command line says about an export; most formats need a few of these only."""

    sight: Sight = field(default_factory=Sight)
    """What learners are not shown."""
    scale: Scale = "exact"
    column: str | None = None
    match: str | None = None
    feedback: bool = False
    classroom: str = ""
    assignment: str = ""
    missing: Missing = "due"
    problems: Mapping[str, str] = field(default_factory=dict)
    """What a lab is called on the platform, by its name here."""

    def problem(self, lab: str) -> str:
        """Return what a lab is called on the platform."""
        return self.problems.get(lab, lab)


@dataclass(frozen=True)
class Export:
    """A class's results, for one export."""

    title: str
    labs: tuple[str, ...]
    records: tuple[Record, ...]
    """Of which none has the kit's own fault."""
    faulty: tuple[Record, ...] = ()
    """Those that the kit itself could not grade: never a score."""
    missing: tuple[Student, ...] = ()
    """On the roster, handed nothing in, and nothing counts for them (yet)."""
    blank: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Labs that have no number, by the key of a record: nothing was handed in, and they are not due."""
    waiting: tuple[Record, ...] = ()
    """Those for whom all the labs are blank, though they have handed in others."""
    pending: tuple[Record, ...] = ()
    """Those that wait for a person's answer: never a score."""
    claimed: tuple[Student, ...] = ()
    """On the roster, and not known yet which submission is theirs: never a score."""
    excused: tuple[Record, ...] = ()
    """Those for whom none of the labs counts."""
    options: Options = Options()


def is_absent(record: Record) -> bool:
    """Return whether a record is of a student who has handed nothing in: 0, and no submission (`missing.py`)."""
    return not record.origin


@dataclass(frozen=True)
class Gradebook:
    """A file that was downloaded from the platform."""

    path: Path
    content: bytes


@dataclass(frozen=True)
class Written:
    """What a format makes of a whole class."""

    content: bytes
    notes: Sequence[str] = ()
    """What a person should know, a line each."""


@dataclass(frozen=True)
class Format:
    """One format. It has `one` (a file per submission) or `whole` (a file for the class)."""

    name: str
    one: Callable[[Record, Options], str] | None = None
    suffix: str = ".json"
    whole: Callable[[Export, Gradebook | None], Written] | None = None
    needs_gradebook: bool = False
    shows_faults: bool = False
    """It has a place for the kit's own faults that is no score."""
