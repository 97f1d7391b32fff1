"""What one name of an export stands for: who is behind it, and the files."""

from dataclasses import dataclass, field

from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.labfiles import LabNames
from scanlab.classroom.records import Problem


@dataclass(frozen=True)
class Who:
    """One person as an export knows them."""

    name: str = ""
    """In any order, with or without spaces; on some platforms people choose it themselves."""
    exact: tuple[str, ...] = ()
    """What identifies them on the platform, or the whole name of their folder."""


@dataclass(frozen=True)
class Placed:
    """One file of a submission: its place within it, and Canvas's number of it, which rises as files are sent."""

    parts: tuple[str, ...]
    item: Item
    order: int = 0


@dataclass
class Handing:
    """What one name of the export stands for."""

    kind: str
    owner: str
    """As whom the export knows it: the same for all that one person has handed in there, and for no one else."""
    origin: str
    """For people: as the pile calls it."""
    who: tuple[Who, ...] = ()
    """Several people are a group."""
    attempt: str = ""
    """What keeps several of the same owner apart: a folder's name, or a time; the same for what came together."""
    files: list[Placed] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Placed] = field(default_factory=list)
    """Those that a person might still be able to use, see `Item.is_doubtful`."""
    submitted_at: str | None = None
    """In ISO 8601; without an offset it is in the course's time zone."""
    metadata: dict[str, str] = field(default_factory=dict)

    def put(self, placed: Placed, labs: LabNames) -> None:
        """Add a file, or the problem that it is."""
        item = placed.item
        if item.refused:
            name = item.label or printable("/".join(placed.parts))
            self.problems.append(Problem(name=name, reason=item.refused, lab=_cost(placed, labs)))
            if item.is_doubtful:
                self.refused.append(placed)
        elif not item.is_folder:
            self.files.append(placed)


def owner_of_name(name: str) -> str:
    """Return as whom a folder or an archive is known: its name as it is, in a form that JSON can hold."""
    return f"folder {in_json(name)}"


def in_json(name: str) -> str:
    """Return a name so that different ones stay different, though bytes that are not UTF-8 are spelled out."""
    return name.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()


def _cost(placed: Placed, labs: LabNames) -> str | None:
    """Return the lab that a refused file would have been."""
    return labs.of_file(placed.parts) if placed.parts and not placed.item.label else None
