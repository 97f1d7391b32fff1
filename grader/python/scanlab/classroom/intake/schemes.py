"""Who has handed in what: the names that Canvas, Moodle, Gradescope, GitHub Classroom and people give to submissions.

Canvas       lastnamefirstname_[LATE_]USER_FILE_name.cu, anonymous [LATE_]anon_CODE_FILE_name.cu, in one flat folder;
             a file handed in again under the same name is called name-1.cu
Moodle       Full Name_PARTICIPANT_assignsubmission_file/ (or flat, _name.cu); blind: Participant_NUMBER_…
Gradescope   submission_NUMBER/, and submission_metadata.yml beside them
GitHub       ASSIGNMENT-username/, as `gh classroom clone student-repos` makes them
people       a folder, an archive or a file each, named after the student
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scanlab.classroom.intake.gradescope import About, read_metadata
from scanlab.classroom.intake.items import METADATA, OTHER_ARCHIVES, Item, is_source, printable, suffix_of
from scanlab.classroom.intake.labfiles import LabNames
from scanlab.classroom.intake.roster import Hints
from scanlab.classroom.records import Problem
from scanlab.errors import UsageError

CANVAS = re.compile(r"(?P<name>[\w-]+?)_(?P<late>LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<rest>.+)", re.DOTALL)
CANVAS_ANONYMOUS = re.compile(r"(?P<late>LATE_)?anon_(?P<user>\w+?)_(?P<file>\d+)_(?P<rest>.+)", re.DOTALL)
CANVAS_TEXT = re.compile(r"(?P<name>[\w-]+?)_(?P<late>LATE_)?(?P<user>\d+)_(?P<what>text|link)\.html")
MOODLE = re.compile(r"(?P<name>.+)_(?P<user>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<rest>.*)", re.DOTALL)
GRADESCOPE = re.compile(r"submission_(?P<user>\d+)")
WORDS = re.compile(r"[\s_,;()\[\]-]+")


@dataclass(frozen=True)
class Placed:
    """One file of a submission: its place within it, and Canvas's number of it, which rises with time."""

    parts: tuple[str, ...]
    item: Item
    order: int = 0


@dataclass
class Handing:
    """What one name of the export stands for."""

    scheme: str
    origin: str
    """As the pile calls it."""
    hints: Hints
    files: list[Placed] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    submitted_at: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    def put(self, placed: Placed, labs: LabNames) -> None:
        """Add a file, or the problem that it is."""
        item = placed.item
        if item.refused:
            name = item.label or printable("/".join(placed.parts))
            self.problems.append(Problem(name=name, reason=item.refused, lab=_cost(placed, labs)))
        elif not item.is_folder:
            self.files.append(placed)


@dataclass(frozen=True)
class Sorted:
    """What a pile holds, sorted by who has handed it in."""

    handings: tuple[Handing, ...]
    ignored: tuple[Problem, ...]


def sort_out(items: Iterable[Item], labs: LabNames) -> Sorted:
    """Sort a pile's files by who has handed them in. Raises UsageError for a broken submission_metadata.yml."""
    inside = _unwrapped(list(items), labs)
    about: Mapping[str, About] = {}
    handings: dict[tuple[str, str], Handing] = {}
    ignored: list[Problem] = []
    for item in inside:
        if item.parts == (METADATA,):
            if item.data is None:
                raise UsageError(f"{METADATA} cannot be read: {item.refused or 'it is no file'}")
            about = read_metadata(item.data)
    for item in inside:
        if item.parts == (METADATA,):
            continue
        known = _sorted_in(item, about, labs)
        if known is None:
            ignored.append(Problem(name=item.name(), reason=item.refused or "belongs to no submission"))
            continue
        key, made, placed = known
        handings.setdefault((made.scheme, key), made).put(placed, labs)
    return Sorted(tuple(handings.values()), tuple(ignored))


def _cost(placed: Placed, labs: LabNames) -> str | None:
    """Return the lab that a refused file would have been."""
    return labs.of_file(placed.parts) if placed.parts and not placed.item.label else None


def _unwrapped(items: Sequence[Item], labs: LabNames) -> list[Item]:
    """Return the items without the one folder around all of them that exports often have."""
    inside = list(items)
    while _has_wrapper(inside, labs):
        inside = [replace(item, parts=item.parts[1:]) if len(item.parts) > 1 else item for item in inside]
    return inside


def _has_wrapper(items: Sequence[Item], labs: LabNames) -> bool:
    """Return whether all lies in one folder that is nobody's own."""
    plain = [item for item in items if item.parts and not (item.refused and len(item.parts) == 1)]
    tops = {item.parts[0] for item in plain}
    if len(tops) != 1 or any(len(item.parts) < 2 for item in plain):
        return False
    top = next(iter(tops))
    sources = {item.parts[1] for item in plain if len(item.parts) == 2 and is_source(item.parts[1])}
    is_own = len(sources) == 1 or any(labs.without_lab(name)[0] in ("", "scan") for name in sources)
    return not (
        suffix_of(top)
        or _is_of_scheme(top)
        or any(labs.of_folder(item.parts[1]) for item in plain)
        or (is_own and not any(_is_of_scheme(name) for name in sources))
    )


def _is_of_scheme(name: str) -> bool:
    return any(form.fullmatch(name) for form in (CANVAS, CANVAS_ANONYMOUS, CANVAS_TEXT, MOODLE, GRADESCOPE))


def _sorted_in(item: Item, about: Mapping[str, About], labs: LabNames) -> tuple[str, Handing, Placed] | None:
    """Return whose an item is: a key within its scheme, what is known of them, and its place in their submission."""
    if not item.parts:
        return None
    top, rest = item.parts[0], item.parts[1:]
    if top in about or (about and GRADESCOPE.fullmatch(top)):
        return top, _gradescope(top, about.get(top)), Placed(rest or (top,), item)
    if found := MOODLE.fullmatch(top):
        return _moodle(found, item, rest)
    if found := CANVAS.fullmatch(top) or CANVAS_ANONYMOUS.fullmatch(top):
        metadata = {"canvas_user": found["user"], **({"late": "yes"} if found["late"] else {})}
        name = found.groupdict().get("name") or ""
        handing = Handing("canvas", printable(top), Hints(name, (found["user"],)), metadata=metadata)
        return found["user"], handing, Placed((found["rest"], *rest), item, int(found["file"]))
    if found := CANVAS_TEXT.fullmatch(top):
        what = "text" if found["what"] == "text" else "link"
        handing = Handing("canvas", printable(top), Hints(found["name"], (found["user"],)))
        handing.metadata["canvas_user"] = found["user"]
        refused = Item(item.parts, refused=f"is a {what} typed into Canvas, no file")
        return found["user"], handing, Placed((f"{found['what']}.html",), refused)
    return _plain(item, top, rest, labs)


def _gradescope(folder: str, about: About | None) -> Handing:
    if about is None:
        missing = Problem(name=folder, reason=f"{METADATA} does not name it")
        return Handing("gradescope", folder, Hints(), problems=[missing])
    metadata = {"gradescope_submission": folder.removeprefix("submission_")}
    if len(about.names) > 1:
        metadata["group"] = printable(", ".join(about.names))
    hints = Hints(about.names[0] if len(about.names) == 1 else "", about.ids)
    return Handing("gradescope", printable(folder), hints, submitted_at=about.submitted_at, metadata=metadata)


def _moodle(found: re.Match[str], item: Item, rest: tuple[str, ...]) -> tuple[str, Handing, Placed]:
    top, name, user = item.parts[0], found["name"], found["user"]
    handing = Handing("moodle", printable(top), Hints("" if name == "Participant" else name, (user,)))
    handing.metadata["moodle_participant"] = user
    parts = (found["rest"], *rest) if found["rest"] else rest
    if found["kind"] != "file":
        refused = Item(item.parts, refused="is a text typed into Moodle, no file")
        return user, handing, Placed(parts or (top,), refused)
    return user, handing, Placed(parts or (top,), item)


def _plain(item: Item, top: str, rest: tuple[str, ...], labs: LabNames) -> tuple[str, Handing, Placed] | None:
    """A folder, an archive or a file that is named after its student."""
    is_file = not rest and not item.is_folder and not suffix_of(top)
    if is_file and not is_source(top) and not item.refused:
        return None
    ending = suffix_of(top) or next((end for end in OTHER_ARCHIVES if is_file and top.casefold().endswith(end)), "")
    stem = top[: len(top) - len(ending)]
    place = rest or (top,)
    if is_file and is_source(top):
        stem, own = labs.without_lab(top)
        place = (own,)
        if not stem:
            return None
    words = tuple(word for word in WORDS.split(stem) if word)
    after_dashes = tuple(stem[at + 1 :] for at, letter in enumerate(stem) if letter == "-")
    handing = Handing("plain", printable(stem if is_file else top), Hints(stem, (stem, *after_dashes), words))
    return stem, handing, Placed(place, item)
