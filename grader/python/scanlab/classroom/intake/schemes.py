"""What each name of an export stands for, by the platform's own part of it.

Moodle       Full Name_PARTICIPANT_assignsubmission_file/ (or flat, _name.cu); Moodle leaves no `_` in a name, and puts
             `Group-` before it where groups hand in; blind: Participant_NUMBER_…
Canvas       lastnamefirstname_[LATE_]USER_FILE_name.cu in one flat folder; a group's name in its place; anonymous
             anon_CODE_FILE_name.cu; a file handed in again under the same name is called name-1.cu
Gradescope   submission_NUMBER/, and submission_metadata.yml beside them, which names the people
GitHub       ASSIGNMENT-username/, as `gh classroom clone student-repos` makes them
folders      a folder, an archive or a file for each student, named after the student

Which of these a pile is, is decided once, for all of it; each name is then read from its beginning, as the platform
writes it. What a student can choose (a file's name, a folder inside their own) comes after, and decides nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scanlab.classroom.intake.gradescope import About, read_metadata
from scanlab.classroom.intake.items import METADATA, OTHER_ARCHIVES, Item, is_source, is_text, printable, suffix_of
from scanlab.classroom.intake.labfiles import LabNames
from scanlab.classroom.intake.roster import Roster
from scanlab.classroom.records import Problem
from scanlab.errors import UsageError
from scanlab.people import folded

MOODLE = re.compile(r"(?P<name>[^_]+)_(?P<user>\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<rest>.*))?", re.DOTALL)
CANVAS_PLACE = re.compile(r"(?=(?P<late>_LATE)?_(?P<user>\d+)_(?P<file>\d+)_(?P<rest>.+))", re.DOTALL)
CANVAS_ANONYMOUS = re.compile(r"(?P<late>LATE_)?anon_(?P<user>[^_]+)_(?P<file>\d+)_(?P<rest>.+)", re.DOTALL)
CANVAS_TEXT = re.compile(r"(?P<name>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?P<what>text|link)\.html", re.DOTALL)
GRADESCOPE = re.compile(r"submission_(?P<user>\d+)")
CANVAS_KEEPS = "-_\u200c\u200d"
"""Beside letters, marks and digits; the last two join letters of Persian and of Indian scripts, or keep them apart."""
KINDS = ("moodle", "canvas", "gradescope", "github", "folders")
PLATFORMS: Mapping[str, Callable[[str], object]] = {
    "moodle": MOODLE.fullmatch,
    "canvas": lambda name: CANVAS_ANONYMOUS.fullmatch(name) or canvas_readings(name),
    "gradescope": GRADESCOPE.fullmatch,
}


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
        if kind not in KINDS or (prefix and kind != "github"):
            raise UsageError(
                f"--from {text}: one of {', '.join(KINDS)}; github:PREFIX names what all repositories share"
            )
        return cls(kind, prefix)


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
    files: list[Placed] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Placed] = field(default_factory=list)
    """Those that a person might still be able to use, see `Item.is_doubtful`."""
    submitted_at: str | None = None
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


def owner_of_name(name: str) -> str:
    """Return as whom a folder or an archive is known: its name as it is, in a form that JSON can hold."""
    return f"folder {_in_json(name)}"


def _in_json(name: str) -> str:
    """Return a name so that different ones stay different, though bytes that are not UTF-8 are spelled out."""
    return name.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()


def sort_out(items: Iterable[Item], labs: LabNames, known: Known) -> Sorted:
    """Sort a pile's files by who has handed them in. Raises UsageError for a broken submission_metadata.yml."""
    inside, wrapper = _unwrapped(_without_filled_folders(list(items)), labs, known)
    tops = list(dict.fromkeys(item.parts[0] for item in inside if item.parts))
    source = known.asked or decide(tops, known)
    about: Mapping[str, About] = {}
    if source.kind == "gradescope":
        for item in inside:
            if item.parts == (METADATA,):
                if item.data is None:
                    raise UsageError(f"{METADATA} cannot be read: {item.refused or 'it is no file'}")
                about = read_metadata(item.data)
    read = _Reader(source, tops, about, labs, known.roster)
    handings: dict[tuple[str, str], Handing] = {}
    empty: dict[str, Handing] = {}
    ignored: list[Problem] = []
    for item in inside:
        if item.parts == (METADATA,):
            continue
        found = read.read(item)
        if found is None:
            ignored.append(Problem(name=item.name(), reason=item.refused or "belongs to no submission"))
            continue
        made, placed = found
        if item.is_folder and not any(map(suffix_of, item.parts)):  # an empty archive is a file that was handed in
            empty.setdefault(made.owner, made)
            continue
        # One person's files in Canvas, and flat ones in Moodle, lie beside each other: together they are one.
        place = "" if made.kind in ("canvas", "moodle") or made.owner.startswith("files ") else item.parts[0]
        handings.setdefault((made.owner, place), made).put(placed, labs)
    handed_in = {owner for owner, _ in handings}
    without = tuple(made for owner, made in empty.items() if owner not in handed_in)
    return Sorted(source, tuple(handings.values()), tuple(ignored), without, wrapper)


def _without_filled_folders(items: Sequence[Item]) -> list[Item]:
    """Return the items without the folders in which others lie: many archives list each of their folders."""
    filled = {item.parts[:at] for item in items for at in range(len(item.parts))}
    return [item for item in items if not item.is_folder or item.parts not in filled]


def _cost(placed: Placed, labs: LabNames) -> str | None:
    """Return the lab that a refused file would have been."""
    return labs.of_file(placed.parts) if placed.parts and not placed.item.label else None


# ---- which kind of export --------------------------------------------------------------------------------------------


def decide(tops: Sequence[str], known: Known) -> Source:
    """Return what kind of export a pile is: what its names before were, or that of more than half of them."""
    if METADATA in tops:
        return Source("gradescope")
    for kind in ("moodle", "canvas"):
        if 2 * sum(bool(PLATFORMS[kind](top)) for top in tops) > len(tops):
            return Source(kind)
    before = known.before
    if before and before.prefix and any(top.startswith(before.prefix) for top in tops):
        return before
    if before and before.kind in PLATFORMS and any(PLATFORMS[before.kind](top) for top in tops):
        return before
    if known.roster and (prefix := _prefix(tops, known.roster)):
        return Source("github", prefix)
    return Source("folders")


def _prefix(tops: Sequence[str], roster: Roster) -> str:
    """Return what stands before the logins of at least two students, and of most repositories; empty: nothing does.

    A login is compared whole: nothing shows whether `x-ann` is ann's in the assignment x, until others are there.
    """
    whose: dict[str, set[str]] = {}
    for top in tops:
        for at in (at for at, letter in enumerate(top) if letter == "-"):
            if student := roster.by_login(top[at + 1 :]):
                whose.setdefault(top[: at + 1], set()).add(student[0].id)
    if 2 * sum(bool(roster.by_stem(top)) for top in tops) > len(tops):
        return ""
    best = max(whose, key=lambda prefix: (len(whose[prefix]), -len(prefix)), default="")
    return best if best and len(whose[best]) > 1 and 2 * sum(top.startswith(best) for top in tops) > len(tops) else ""


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
    tops = {item.parts[0] for item in plain}
    if len(tops) != 1 or any(len(item.parts) < 2 for item in plain):
        return None
    top = next(iter(tops))
    if suffix_of(top) or any(form(top) for form in PLATFORMS.values()) or known.is_person(top):
        return None
    before = known.before
    if before and before.kind == "github" and top.startswith(before.prefix):
        return None
    inner = list(dict.fromkeys(item.parts[1] for item in plain))
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
    if len(inner) == 1 and folders and not suffix_of(inner[0]):
        return _is_wrapper([replace(item, parts=item.parts[1:]) for item in plain], labs, known)
    stems = {stem for name in files for stem, own in [labs.without_lab(name)] if own != name}
    is_of_files = len(stems) > 1 and "scan" not in stems and all(labs.without_lab(name)[1] != name for name in files)
    return False if is_of_files or (len(folders) > 1 and not files) else None


def _stem_of(name: str, labs: LabNames) -> str:
    return labs.without_lab(name)[0] if is_source(name) else name


# ---- whose a name is -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CanvasReading:
    """One way to read a name of Canvas's: the user's name and number, the file's number and its own name."""

    name: str
    user: str
    is_late: bool
    rest: str
    file: int | None
    """None: what was typed into Canvas, or a link, which Canvas writes as text.html or link.html."""


def canvas_readings(name: str) -> list[CanvasReading]:
    """Return the ways in which a name may be Canvas's: one, unless a student's or a file's name looks like it, too.

    Those as a file come first: a name of Canvas's seldom ends in a number, but a file may well be called text.html.
    """
    places = [(name[: one.start()], one) for one in CANVAS_PLACE.finditer(name)]
    readings = [
        CanvasReading(own, one["user"], bool(one["late"]), one["rest"], int(one["file"]))
        for own, one in places
        if _is_canvas_name(own) and not own.endswith("_LATE")  # Canvas writes names in small letters
    ]
    if (one := CANVAS_TEXT.fullmatch(name)) and _is_canvas_name(one["name"]):
        readings.append(CanvasReading(one["name"], one["user"], bool(one["late"]), f"{one['what']}.html", None))
    return readings


def _is_canvas_name(text: str) -> bool:
    """Return whether Canvas may have left this of a name: letters with their marks, digits, dash and underscore."""
    return bool(text) and all(
        letter in CANVAS_KEEPS or letter.isalnum() or unicodedata.category(letter) in ("Mn", "Mc", "Me", "Pc")
        for letter in text
    )


class _Reader:
    """Reads the names of one pile, of one kind. What the platform has not made is a plain folder, put there later."""

    def __init__(
        self, source: Source, tops: Iterable[str], about: Mapping[str, About], labs: LabNames, roster: Roster | None
    ) -> None:
        self.source, self.about, self.labs, self.roster = source, about, labs, roster
        self._canvas_names: dict[str, set[str]] = {}
        """The names of Canvas's users, as far as nothing else looks like one."""
        for top in tops if source.kind == "canvas" else ():
            readings = canvas_readings(top)
            if len(readings) == 1:
                self._canvas_names.setdefault(readings[0].user, set()).add(readings[0].name)

    def read(self, item: Item) -> tuple[Handing, Placed] | None:
        """Return whose an item is and its place in their submission; None: no student's."""
        if not item.parts:
            return None
        top, rest, kind = item.parts[0], item.parts[1:], self.source.kind
        if kind == "gradescope" and (top in self.about or GRADESCOPE.fullmatch(top)):
            return _gradescope(top, self.about.get(top)), Placed(rest or (top,), item)
        if kind == "moodle" and (found := MOODLE.fullmatch(top)):
            return _moodle(found, item, rest)
        if kind == "canvas" and (read := self._canvas(item, top, rest)):
            return read
        if kind == "github" and self.source.prefix and top.startswith(self.source.prefix) and not _is_file(item):
            login = top[len(self.source.prefix) :]
            handing = Handing("github", f"github {_in_json(login.casefold())}", printable(top), (Who("", (login,)),))
            handing.metadata["github_login"] = printable(login)
            return handing, Placed(rest or (top,), item)
        return self._plain(item, top, rest)

    def _canvas(self, item: Item, top: str, rest: tuple[str, ...]) -> tuple[Handing, Placed] | None:
        if found := CANVAS_ANONYMOUS.fullmatch(top):
            whose = _of_canvas(top, "", found["user"], bool(found["late"]))
            return whose, Placed((found["rest"], *rest), item, int(found["file"]))
        readings = canvas_readings(top)
        if not readings:
            return None
        one = next(filter(self._agrees, readings), None) or next(filter(self._is_free, readings), readings[0])
        if one.file is None:
            item = Item(item.parts, refused=f"is a {one.rest.removesuffix('.html')} typed into Canvas, no file")
        return _of_canvas(top, one.name, one.user, one.is_late), Placed((one.rest, *rest), item, one.file or 0)

    def _agrees(self, reading: CanvasReading) -> bool:
        """Return whether the roster knows the reading's name, and not for another number."""
        return bool(self.roster and self.roster.agrees("canvas", reading.user, reading.name))

    def _is_free(self, reading: CanvasReading) -> bool:
        """Return whether no other name belongs to the reading's number."""
        return self._canvas_names.get(reading.user, set()) <= {reading.name}

    def _plain(self, item: Item, top: str, rest: tuple[str, ...]) -> tuple[Handing, Placed] | None:
        """A folder, an archive or a file that is named after its student."""
        is_file = _is_file(item)
        ending = suffix_of(top) or next((end for end in OTHER_ARCHIVES if is_file and top.casefold().endswith(end)), "")
        if is_file and not ending and not is_source(top) and not is_text(top) and not item.refused:
            return None
        place, stem, owner = rest or (top,), top[: len(top) - len(ending)], owner_of_name(top)
        if is_file and not ending:
            stem, own = self.labs.without_lab(top)
            if not stem or (is_text(top) and not is_source(top) and own == top):
                return None  # a text that names neither a lab nor, then, a student
            place, owner = (own,), f"files {_in_json(stem)}"
        handing = Handing("folders", owner, printable(stem if is_file else top), (Who(stem, (stem,)),))
        return handing, Placed(place, item)


def _is_file(item: Item) -> bool:
    return len(item.parts) == 1 and not item.is_folder and not suffix_of(item.parts[0])


def _of_canvas(top: str, name: str, user: str, is_late: bool) -> Handing:
    metadata = {"canvas_user": user, **({"late": "yes"} if is_late else {})}
    # A user has one name in an export: whoever puts another's number into a name of their own is another user.
    owner = " ".join(["canvas", user, *([folded(name)] if name else [])])
    return Handing("canvas", owner, printable(top), (Who(name, (user,)),), metadata=metadata)


def _gradescope(folder: str, about: About | None) -> Handing:
    if about is None or not about.people:
        missing = Problem(name=folder, reason=f"{METADATA} does not name {'it' if about is None else 'its people'}")
        return Handing("gradescope", owner_of_name(folder), printable(folder), problems=[missing])
    metadata = {"gradescope_submission": folder.removeprefix("submission_")}
    who = tuple(Who(one.name, one.ids) for one in about.people)
    ids = sorted(folded("/".join(one.exact or (one.name,))) for one in who)
    if len(who) > 1:
        metadata["group"] = printable(", ".join(one.name or one.exact[0] for one in who if one.name or one.exact))
    elif who[0].exact:
        metadata["gradescope_sid"] = printable(who[0].exact[0])
    owner = f"gradescope {_in_json(' '.join(ids).strip() or folder)}"
    return Handing("gradescope", owner, printable(folder), who, submitted_at=about.submitted_at, metadata=metadata)


def _moodle(found: re.Match[str], item: Item, rest: tuple[str, ...]) -> tuple[Handing, Placed]:
    top, name, user = item.parts[0], found["name"], found["user"]
    who = Who("" if name == "Participant" else name, (user,))
    handing = Handing("moodle", f"moodle {user}", printable(top), (who,), metadata={"moodle_participant": user})
    parts = (found["rest"], *rest) if found["rest"] else rest
    if found["kind"] != "file":
        refused = Item(item.parts, refused="is a text typed into Moodle, no file")
        return handing, Placed(parts or (top,), refused)
    return handing, Placed(parts or (top,), item)
