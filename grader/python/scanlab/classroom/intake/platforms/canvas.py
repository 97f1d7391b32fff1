"""Canvas: `lastnamefirstname_[LATE_]USER_FILE_name.cu` in one flat folder.

A group's name may stand in a student's place; anonymous, it is `anon_CODE_FILE_name.cu`. A file that is handed in again
under the same name is called `name-1.cu`. Source: canvas-lms `lib/content_zipper.rb`.
"""

import re
import unicodedata
from dataclasses import dataclass

from scanlab.classroom.intake.handing import Handing, Placed, Who
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform
from scanlab.people import folded

PLACE = re.compile(r"(?=(?P<late>_LATE)?_(?P<user>\d+)_(?P<file>\d+)_(?P<rest>.+))", re.DOTALL)
ANONYMOUS = re.compile(r"(?P<late>LATE_)?anon_(?P<user>[^_]+)_(?P<file>\d+)_(?P<rest>.+)", re.DOTALL)
TEXT = re.compile(r"(?P<name>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?P<what>text|link)\.html", re.DOTALL)
KEEPS = "-_\u200c\u200d"
"""Beside letters, marks and digits; the last two join letters of Persian and of Indian scripts, or keep them apart."""


@dataclass(frozen=True)
class Reading:
    """One way to read a name of Canvas's: the user's name and number, the file's number and its own name."""

    name: str
    user: str
    is_late: bool
    rest: str
    file: int | None
    """None: what was typed into Canvas, or a link, which Canvas writes as text.html or link.html."""


def readings(name: str) -> list[Reading]:
    """Return the ways in which a name may be Canvas's: one, unless a student's or a file's name looks like it, too.

    Those as a file come first: a name of Canvas's seldom ends in a number, but a file may well be called text.html.
    """
    places = [(name[: one.start()], one) for one in PLACE.finditer(name)]
    found = [
        Reading(own, one["user"], bool(one["late"]), one["rest"], int(one["file"]))
        for own, one in places
        if _is_name(own) and not own.endswith("_LATE")  # Canvas writes names in small letters
    ]
    if (one := TEXT.fullmatch(name)) and _is_name(one["name"]):
        found.append(Reading(one["name"], one["user"], bool(one["late"]), f"{one['what']}.html", None))
    return found


def _is_name(text: str) -> bool:
    """Return whether Canvas may have left this of a name: letters with their marks, digits, dash and underscore."""
    return bool(text) and all(
        letter in KEEPS or letter.isalnum() or unicodedata.category(letter) in ("Mn", "Mc", "Me", "Pc")
        for letter in text
    )


class _Reader:
    def __init__(self, pile: Pile) -> None:
        self.roster = pile.roster
        self._names: dict[str, set[str]] = {}
        """The names of Canvas's users, as far as nothing else looks like one."""
        for top in pile.tops:
            if len(found := readings(top)) == 1:
                self._names.setdefault(found[0].user, set()).add(found[0].name)

    def read(self, item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        if found := ANONYMOUS.fullmatch(top):
            whose = _handing(top, "", found["user"], bool(found["late"]))
            return whose, Placed((found["rest"], *inner), item, int(found["file"]))
        ways = readings(top)
        if not ways:
            return None
        one = next(filter(self._agrees, ways), None) or next(filter(self._is_free, ways), ways[0])
        if one.file is None:
            item = Item(item.parts, refused=f"is a {one.rest.removesuffix('.html')} typed into Canvas, no file")
        return _handing(top, one.name, one.user, one.is_late), Placed((one.rest, *inner), item, one.file or 0)

    def _agrees(self, reading: Reading) -> bool:
        """Return whether the roster knows the reading's name, and not for another number."""
        return bool(self.roster and self.roster.agrees("canvas", reading.user, reading.name))

    def _is_free(self, reading: Reading) -> bool:
        """Return whether no other name belongs to the reading's number."""
        return self._names.get(reading.user, set()) <= {reading.name}


def _handing(top: str, name: str, user: str, is_late: bool) -> Handing:
    metadata = {"canvas_user": user, **({"late": "yes"} if is_late else {})}
    # A user has one name in an export: whoever puts another's number into a name of their own is another user.
    owner = " ".join(["canvas", user, *([folded(name)] if name else [])])
    return Handing("canvas", owner, printable(top), (Who(name, (user,)),), metadata=metadata)


CANVAS = Platform("canvas", lambda pile: _Reader(pile).read, lambda name: ANONYMOUS.fullmatch(name) or readings(name))
