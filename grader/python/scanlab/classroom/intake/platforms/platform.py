"""What all platforms have in common: how a name of theirs is known, and read."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scanlab.classroom.intake.handing import Handing, Placed
from scanlab.classroom.intake.items import Item, Parts, suffix_of
from scanlab.classroom.intake.labfiles import LabNames
from scanlab.classroom.intake.roster import Roster

Read = Callable[[Item], tuple[Handing, Placed] | None]
"""Whose an item is, and its place in their submission; None: the platform has not made this name."""


@dataclass(frozen=True)
class Pile:
    """All that lies in an export, and what its names are read with."""

    items: Sequence[Item]
    labs: LabNames
    roster: Roster | None = None
    prefix: str = ""
    """What stands before the login in each repository's name."""
    tops: Mapping[str, Collection[str]] = field(init=False)
    """The names at the top, in their order, and what lies just inside each."""
    _data: Mapping[Parts, bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tops", tops_of(item.parts for item in self.items))
        object.__setattr__(self, "_data", {item.parts: item.data for item in self.items if item.data is not None})

    def data_of(self, *parts: str) -> bytes | None:
        """Return the bytes of a file at this place; None where there is none, or none that is read."""
        return self._data.get(parts)


def tops_of(places: Iterable[Parts]) -> dict[str, set[str]]:
    """Return the names at the top of some places, in their order, and what lies just inside each."""
    tops: dict[str, set[str]] = {}
    for parts in places:
        if parts:
            tops.setdefault(parts[0], set()).update(parts[1:2])
    return tops


@dataclass(frozen=True)
class Platform:
    """A kind of export."""

    kind: str
    """What `--from` calls it."""
    reader: Callable[[Pile], Read]
    """Makes what reads the names of one export. Raises UsageError for one whose own tables are broken."""
    form: Callable[[str], object] | None = None
    """Tells whether the platform gives such a name to what a student hands in; None: it gives none of its own."""
    puts_inside: frozenset[str] = frozenset()
    """What the platform puts into each, where the form alone would say little."""
    is_telling: bool = True
    """Whether the form of a name shows by itself that it is the platform's."""

    def is_form(self, name: str, inside: Collection[str]) -> bool:
        """Return whether a name has the platform's form; `inside` lies just inside it."""
        is_own = self.form is not None and bool(self.form(name))
        return is_own and (not self.puts_inside or not self.puts_inside.isdisjoint(inside))


def is_file(item: Item) -> bool:
    """Return whether an item is a plain file at the top of the pile."""
    return len(item.parts) == 1 and not item.is_folder and not suffix_of(item.parts[0])
