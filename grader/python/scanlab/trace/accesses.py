"""What the tracer (grader/tracer) has seen, as it writes it: schema `scanlab-accesses`, version 3."""

from collections.abc import Callable
from typing import Literal, NamedTuple, Self

from pydantic import Field

from scanlab.judging.result import Finding, Index, Model
from scanlab.trace.model import Failure, Place

Value = tuple[int, ...]
"""Words of 32 bits, the lower half of an element's name first."""


class Access(NamedTuple):
    """A thread has read or written, or both in one step."""

    does: str
    barriers: int
    """How many of the block came before …"""
    warp_syncs: int
    """… and how many of the warp since the last."""
    thread: int
    array: int
    offset: int
    """In bytes, as their number."""
    bytes: int
    place: int
    words: Value | None
    time: int = 0
    """How many accesses of warps came before in the launch, of all its blocks."""

    @property
    def step(self) -> tuple[int, int]:
        """Return between which barriers and synchronisations it was."""
        return self.barriers, self.warp_syncs


class TracedArray(Model):
    """A shared variable, or an allocation of global memory."""

    name: str
    space: Literal["shared", "global"]
    bytes: int

    @property
    def short_name(self) -> str:
        """Return the name without what is said of an allocation."""
        return self.name.split(",")[0].split(" (")[0]


class TracedPlace(Place):
    """A line of an access, and the lines from which it was called as an inlined function."""

    callers: tuple[Place, ...] = ()

    def seen_from(self, file: str) -> Place:
        """Return the line of this file at which it happens: 0 where it is of another file, and not called from there.

        A header of the course has lines of its own.
        """
        own = next((place for place in (self, *self.callers) if place.file == file), None)
        return Place(file=file, line=own.line) if own else Place(file=self.file, line=0)


class TracedLaunch(Model):
    """A kernel launch, with the accesses of one of its blocks."""

    kernel: str
    grid: Index
    block: Index
    has_block: bool
    """Whether it is one of the grid's, and has begun."""
    has_shuffles: bool
    arrays: tuple[TracedArray, ...]
    places: tuple[TracedPlace, ...]
    barriers: tuple[int, ...]
    """The place of each."""
    accesses: tuple[Access, ...]
    left_out: int
    """How many more accesses were not recorded."""


class Addition(NamedTuple):
    """What a sum was made of, as numbers of names (None: of something that is no element), and who has made it."""

    earlier: int | None
    later: int | None
    launch: int
    block: int
    thread: int
    place: int


class Elements(Model):
    """The names of the identity, the inputs and the sums that were read or written, with their parts."""

    names: tuple[Value, ...]
    sums: tuple[Addition, ...]
    """Of the last names, in their order: the parts of a sum come before it."""
    places: tuple[Place, ...]
    looked_at: Place | None
    """Where the program has calculated with a name, or compared it."""


class Accesses(Model):
    """All launches of a call, and how it ended."""

    schema_: Literal["scanlab-accesses"] = Field(default="scanlab-accesses", alias="schema")
    version: Literal[3] = 3
    launches: tuple[TracedLaunch, ...]
    elements: Elements | None
    """None where they have no names: floats."""
    races: tuple[Finding, ...]
    failure: Failure | None
    printed: str

    def with_files(self, changed: Callable[[str], str]) -> Self:
        """Return it with each text that may name a file as `changed` makes it; the rest is long."""
        launches = tuple(
            launch.model_copy(update={"places": tuple(place.with_texts(changed) for place in launch.places)})
            for launch in self.launches
        )
        races = tuple(race.with_texts(changed) for race in self.races)
        failure = self.failure and self.failure.with_texts(changed)
        elements = self.elements
        if elements is not None:
            places = tuple(place.with_texts(changed) for place in elements.places)
            looked_at = elements.looked_at and elements.looked_at.with_texts(changed)
            elements = elements.model_copy(update={"places": places, "looked_at": looked_at})
        changes = {"launches": launches, "elements": elements, "races": races, "failure": failure}
        return self.model_copy(update=changes)
