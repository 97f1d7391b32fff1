"""ILIAS: `TITLE/Abgaben/Lastname_Firstname_login_USER/`.

Of names, letters outside of ASCII are replaced or dropped; names and logins may have `_` in them. The login decides.
Source: ILIAS's `ilExSubmission::getDirectoryNameFromUserData`.
"""

from scanlab.classroom.intake.handing import Handing, Placed, Who
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read
from scanlab.classroom.intake.roster import Roster


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one export."""

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        if not is_form(top):
            return None
        login, user = login_of(top, pile.roster), top.rpartition("_")[2]
        handing = Handing("ilias", f"ilias {user}", printable(top), (Who("", (login,)),), top)
        handing.metadata = {"platform_user": printable(login)}
        return handing, Placed(tuple(inner) or (top,), item)

    return read


def is_form(name: str) -> bool:
    """Return whether a name may be ILIAS's: two names, of which nothing need be left, a login and a number."""
    *names, login, user = ["", *name.split("_")]
    return len(names) > 2 and bool(login) and user.isascii() and user.isdecimal()


def login_of(name: str, roster: Roster | None) -> str:
    """Return the login in a folder's name: the one behind an underscore that the roster knows, else the last part."""
    stem = name.rpartition("_")[0]
    ends = [stem[at + 1 :] for at, letter in enumerate(stem) if letter == "_"]
    known = [end for end in ends[1:] if roster and roster.exactly([end])]
    return known[0] if len(known) == 1 else ends[-1]


ILIAS = Platform("ilias", _reader, is_form, is_telling=False)
