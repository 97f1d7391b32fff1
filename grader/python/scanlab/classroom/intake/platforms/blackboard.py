"""Blackboard: `ASSIGNMENT_username_attempt_2026-11-20-10-00-00_name.cu` in one flat folder, and `….txt` beside them.

Assignments and user names may have `_` in them: the text beside the files says the user's name, `Name: Ann One
(aone)`; without it the roster does, or what all names share. The time is the server's, without an offset. Source: the
pattern of several public scripts that sort such exports.
"""

import re
from datetime import datetime

from scanlab.classroom.intake.handing import Handing, Placed, Who, in_json
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read

NAME = re.compile(
    r"(?P<before>.+?_.+?)_attempt_(?P<time>\d{4}(?:-\d{2}){5})(?:_(?P<rest>.+)|(?P<text>\.txt))", re.DOTALL
)
SAYS = re.compile(rb"\A(?:\xef\xbb\xbf)?[^\r\n:]{1,40}:[ \t]*(?P<name>[^\r\n]{1,300}?)[ \t]*\((?P<user>[^()\r\n]+)\)")


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one export."""
    users = _users(pile)

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        found = NAME.fullmatch(top)
        if not found:
            return None
        who, at = users[found["before"]], datetime.strptime(found["time"], "%Y-%m-%d-%H-%M-%S").isoformat()
        owner = f"blackboard {in_json(who.exact[0])}"
        origin = printable(f"{found['before']}_attempt_{found['time']}")
        metadata = {"platform_user": printable(who.exact[0])}
        handing = Handing("blackboard", owner, origin, (who,), at, submitted_at=at, metadata=metadata)
        if found["text"]:
            item = Item(item.parts, is_folder=True)  # Blackboard's own: it shows that there is a submission
        return handing, Placed((found["rest"] or top, *inner), item)

    return read


def _users(pile: Pile) -> dict[str, Who]:
    """Return who is meant by what stands before `_attempt_`."""
    befores = {found["before"]: "" for top in pile.tops if (found := NAME.fullmatch(top))}
    said: dict[str, Who] = {}
    for top in pile.tops:
        found = NAME.fullmatch(top)
        if found and found["text"] and (about := SAYS.match(pile.data_of(top) or b"")):
            user = about["user"].decode("utf-8", "replace").strip()
            if found["before"].endswith(f"_{user}"):
                said[found["before"]] = Who(about["name"].decode("utf-8", "replace"), (user,))
    first, last = min(befores, default=""), max(befores, default="")
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), 0)
    shared = first[: first.rfind("_", 0, same) + 1]
    return {before: said.get(before) or Who("", (_user(before, shared, pile),)) for before in befores}


def _user(before: str, shared: str, pile: Pile) -> str:
    """Return the user's name: what the roster knows behind an underscore, else what follows on what all share."""
    ends = [before[at + 1 :] for at, letter in enumerate(before) if letter == "_"]
    known = [end for end in ends if pile.roster and pile.roster.exactly([end])]
    return known[0] if len(known) == 1 else before.removeprefix(shared) if shared else ends[-1]


BLACKBOARD = Platform("blackboard", _reader, NAME.fullmatch)
