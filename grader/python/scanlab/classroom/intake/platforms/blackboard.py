"""Blackboard: `ASSIGNMENT_username_attempt_2026-11-20-10-00-00_name.cu` in one flat folder, and `….txt` beside them.

Assignments and user names may have `_` in them: the text beside the files says the user's name, `Name: Ann One
(aone)`; without it the roster does, or what all names share. The time is the server's, without an offset. Source: the
pattern of several public scripts that sort such exports.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from scanlab.classroom.intake.handing import Handing, Placed, Who, in_json
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read

ATTEMPT = re.compile(r"_attempt_(?P<time>\d{4}(?:-\d{2}){5})(?P<rest>_.|\.txt\Z)", re.DOTALL)


@dataclass(frozen=True)
class Name:
    """A name in Blackboard's form."""

    before: str
    """The assignment and the user's name."""
    time: str
    rest: str
    """The file's own name; empty: it is Blackboard's text about the attempt."""


def read_name(name: str) -> Name | None:
    """Return the parts of a name; None where it has not Blackboard's form. What a student has named comes last."""
    found = ATTEMPT.search(name)
    if not found or "_" not in name[1 : found.start() - 1]:
        return None
    return Name(
        name[: found.start()], found["time"], "" if found["rest"] == ".txt" else name[found.start("rest") + 1 :]
    )


def said_in(data: bytes) -> Who | None:
    """Return whom Blackboard's text names in its first line, `Name: Ann One (aone)`; None for any other text."""
    line = data.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace").strip()
    name, bracket, user = line.partition(":")[2].rpartition("(")
    return Who(name.strip(), (user[:-1].strip(),)) if bracket and user.endswith(")") else None


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one export."""
    users = _users(pile)

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        found = read_name(top)
        if not found:
            return None
        who, at = users[found.before], _time(found.time)
        owner = f"blackboard {in_json(who.exact[0])}"
        origin = printable(f"{found.before}_attempt_{found.time}")
        metadata = {"platform_user": printable(who.exact[0])}
        handing = Handing("blackboard", owner, origin, (who,), found.time, submitted_at=at, metadata=metadata)
        if not found.rest:
            item = Item(item.parts, is_folder=True)  # Blackboard's own: it shows that there is a submission
        return handing, Placed((found.rest or top, *inner), item)

    return read


def _users(pile: Pile) -> dict[str, Who]:
    """Return who is meant by what stands before `_attempt_`."""
    named = {top: found for top in pile.tops if (found := read_name(top))}
    befores = {found.before for found in named.values()}
    said: dict[str, Who] = {}
    for top, found in named.items():
        who = said_in(pile.data_of(top) or b"") if not found.rest else None
        if who and found.before.endswith(f"_{who.exact[0]}"):
            said[found.before] = who
    first, last = min(befores, default=""), max(befores, default="")
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), 0)
    shared = first[: first.rfind("_", 0, same) + 1]
    return {before: said.get(before) or Who("", (_user(before, shared, pile),)) for before in befores}


def _time(text: str) -> str | None:
    """Return a time in ISO 8601, without an offset; None for digits that are none."""
    try:
        return datetime.strptime(text, "%Y-%m-%d-%H-%M-%S").isoformat()
    except ValueError:
        return None


def _user(before: str, shared: str, pile: Pile) -> str:
    """Return the user's name: what the roster knows behind an underscore, else what follows on what all share."""
    ends = [before[at + 1 :] for at, letter in enumerate(before) if letter == "_"]
    known = [end for end in ends if pile.roster and pile.roster.exactly([end])]
    return known[0] if len(known) == 1 else before.removeprefix(shared) if shared else ends[-1]


BLACKBOARD = Platform("blackboard", _reader, read_name)
