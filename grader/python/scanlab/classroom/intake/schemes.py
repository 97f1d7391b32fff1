"""What kind of export a pile is, and whose its names are.

Which platform has made a pile is decided once, for all of it; each name is then read from its beginning, as the
platform writes it (`platforms`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scanlab.classroom.intake.handing import Handing, owner_of_name
from scanlab.classroom.intake.items import METADATA, Item, is_source, is_text, suffix_of
from scanlab.classroom.intake.labfiles import LabNames
from scanlab.classroom.intake.platforms import PLATFORMS
from scanlab.classroom.intake.platforms.folders import FOLDERS
from scanlab.classroom.intake.platforms.github import prefix_of
from scanlab.classroom.intake.platforms.ilias import login_of
from scanlab.classroom.intake.platforms.platform import Pile, Platform, tops_of
from scanlab.classroom.intake.roster import Roster
from scanlab.classroom.records import Problem
from scanlab.errors import UsageError

Tops = Mapping[str, Collection[str]]
"""The names at the top of a pile, and what lies just inside each."""


@dataclass(frozen=True)
class Source:
    """What kind of export a pile is."""

    kind: str
    prefix: str = ""
    """What stands before the login in each repository's name."""

    @classmethod
    def parse(cls, text: str) -> "Source":
        """Return what `--from` says: a kind, `github:PREFIX` with the repositories' own beginning.

        Raises UsageError for anything else.
        """
        kind, _, prefix = text.partition(":")
        if kind not in PLATFORMS or (prefix and kind != "github"):
            raise UsageError(
                f"--from {text}: one of {', '.join(PLATFORMS)}; github:PREFIX names what all repositories share"
            )
        return cls(kind, prefix)


@dataclass(frozen=True)
class Sorted:
    """What a pile holds, sorted by who has handed it in."""

    source: Source
    handings: tuple[Handing, ...]
    ignored: tuple[Problem, ...]
    empty: tuple[Handing, ...] = ()
    """Those for whom the pile has a folder without any file: they have handed nothing in."""
    wrapper: str = ""
    """The folder around everything that was taken for the export's own, where only its look says so."""


@dataclass(frozen=True)
class Known:
    """What helps to find out what kind of pile it is."""

    roster: Roster | None = None
    asked: Source | None = None
    """What `--from` says."""
    before: Source | None = None
    """What the class's first pile was."""
    owners: Collection[str] = frozenset()
    """Those who have handed something in before, as their export knows them."""

    def is_person(self, name: str) -> bool:
        """Return whether a name of the pile belongs to a known student."""
        stem = name[: len(name) - len(suffix_of(name))]
        return owner_of_name(name) in self.owners or bool(self.roster and self.roster.by_stem(stem))


def sort_out(items: Iterable[Item], labs: LabNames, known: Known) -> Sorted:
    """Sort a pile's files by who has handed them in. Raises UsageError for a broken submission_metadata.yml."""
    inside, wrapper = _unwrapped(_without_filled_folders(list(items)), labs, known)
    source = known.asked or decide(tops_of(item.parts for item in inside), known)
    pile = Pile(inside, labs, known.roster, source.prefix)
    read, read_plain = PLATFORMS[source.kind].reader(pile), FOLDERS.reader(pile)
    handings: dict[tuple[str, str], Handing] = {}
    empty: dict[str, Handing] = {}
    ignored: list[Problem] = []
    for item in inside:
        if item.parts == (METADATA,):
            continue
        # What the platform has not made was put there later, as a plain folder.
        found = (read(item) or read_plain(item)) if item.parts else None
        if found is None:
            ignored.append(Problem(name=item.name(), reason=item.refused or "belongs to no submission"))
            continue
        made, placed = found
        if placed.item.is_folder and not any(
            map(suffix_of, item.parts)
        ):  # an empty archive is a file that was handed in
            empty.setdefault(made.owner, made)
            continue
        handings.setdefault((made.owner, made.attempt), made).put(placed, labs)
    handed_in = {owner for owner, _ in handings}
    without = tuple(made for owner, made in empty.items() if owner not in handed_in)
    return Sorted(source, tuple(handings.values()), tuple(ignored), without, wrapper)


def _without_filled_folders(items: Sequence[Item]) -> list[Item]:
    """Return the items without the folders in which others lie: many archives list each of their folders."""
    filled = {item.parts[:at] for item in items for at in range(len(item.parts))}
    return [item for item in items if not item.is_folder or item.parts not in filled]


# ---- which kind of export --------------------------------------------------------------------------------------------


def decide(tops: Tops, known: Known) -> Source:
    """Return what kind of export a pile is: what its names before were, or that of more than half of them.

    Raises UsageError where repositories may begin in several ways.
    """
    if METADATA in tops:
        return Source("gradescope")
    for platform in PLATFORMS.values():
        own = [top for top, inside in tops.items() if platform.is_form(top, inside)]
        if not platform.is_telling:
            own = [top for top in own if known.roster and known.roster.exactly([login_of(top, known.roster)])]
        if 2 * len(own) > len(tops):
            return Source(platform.kind)
    before = known.before
    if before and before.prefix and any(top.startswith(before.prefix) for top in tops):
        return before
    if before and any(PLATFORMS[before.kind].is_form(top, inside) for top, inside in tops.items()):
        return before
    if known.roster and (prefix := prefix_of(tops, known.roster)):
        return Source("github", prefix)
    return Source("folders")


# ---- the folder around everything ------------------------------------------------------------------------------------


def _unwrapped(items: Sequence[Item], labs: LabNames, known: Known) -> tuple[list[Item], str]:
    """Return the items without the folders around all of them that exports often have.

    Also return the name of one that only looks so: nothing that is known says it.
    """
    inside, looks = list(items), ""
    if known.asked and known.asked.kind == "folders":
        return inside, ""
    while (sure := _is_wrapper(inside, labs, known)) is not None:
        top = next(item.parts[0] for item in inside if len(item.parts) > 1)
        looks = looks or ("" if sure else top)
        inside = [replace(item, parts=item.parts[1:]) if len(item.parts) > 1 else item for item in inside]
    return inside, looks


def _is_wrapper(items: Sequence[Item], labs: LabNames, known: Known) -> bool | None:
    """Return whether one folder around all is surely a wrapper (True), perhaps one (False), or none (None)."""
    plain = [item for item in items if item.parts and not (item.refused and len(item.parts) == 1)]
    names = {item.parts[0] for item in plain}
    if len(names) != 1 or any(len(item.parts) < 2 for item in plain):
        return None
    top = next(iter(names))
    tops = tops_of(item.parts for item in plain)
    if suffix_of(top) or known.is_person(top) or any(_is_telling(one, top, tops[top]) for one in PLATFORMS.values()):
        return None
    before = known.before
    if before and before.kind == "github" and top.startswith(before.prefix):
        return None
    inner = tops_of(item.parts[1:] for item in plain)
    if METADATA in inner or decide(inner, known).kind != "folders":
        return True
    if 2 * sum(known.is_person(_stem_of(name, labs)) for name in inner) > len(inner):
        return True
    if before:
        return None  # a late pile of one student: its folders are no students, unless something says so
    if any(labs.of_folder(name) for name in inner):
        return None
    folders = {item.parts[1] for item in plain if len(item.parts) > 2 or item.is_folder or suffix_of(item.parts[1])}
    files = [name for name in inner if name not in folders and is_text(name)]
    if len(inner) == 1 and folders and not suffix_of(next(iter(inner))):
        return _is_wrapper([replace(item, parts=item.parts[1:]) for item in plain], labs, known)
    stems = {stem for name in files for stem, own in [labs.without_lab(name)] if own != name}
    is_of_files = len(stems) > 1 and "scan" not in stems and all(labs.without_lab(name)[1] != name for name in files)
    return False if is_of_files or (len(folders) > 1 and not files) else None


def _stem_of(name: str, labs: LabNames) -> str:
    return labs.without_lab(name)[0] if is_source(name) else name


def _is_telling(platform: Platform, name: str, inside: Collection[str]) -> bool:
    return platform.is_telling and platform.is_form(name, inside)
