"""Moodle: `Full Name_PARTICIPANT_assignsubmission_file/`, or flat, `…_file_name.cu`.

Moodle leaves no `_` in a name, and puts `Group-` before it where groups are shown; blind, a name is `Participant`.
Where teams hand in, name and number are the team's; those in no team share `Default group_assignsubmission_file`.
Source: Moodle's `mod/assign/classes/downloader.php`.
"""

import re

from scanlab.classroom.intake.handing import Handing, Placed, Who
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Platform
from scanlab.people import PARTICIPANT

NAME = re.compile(r"(?P<name>[^_]+)(?:_(?P<user>\d+))?_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<rest>.*))?", re.DOTALL)


def _read(item: Item) -> tuple[Handing, Placed] | None:
    top, *inner = item.parts
    found = NAME.fullmatch(top)
    if not found:
        return None
    name, user = found["name"], found["user"] or ""
    who = Who("" if PARTICIPANT.fullmatch(f"{name} {user}") else name, (user,) if user else ())
    metadata = {"moodle_participant": user} if user else {}
    owner = f"moodle {user}" if user else "moodle without a team"
    handing = Handing("moodle", owner, printable(top), (who,), metadata=metadata)
    parts = ((found["rest"], *inner) if found["rest"] else tuple(inner)) or (top,)
    if found["kind"] != "file":
        item = Item(item.parts, refused="is a text typed into Moodle, no file")
    return handing, Placed(parts, item)


MOODLE = Platform("moodle", lambda _: _read, NAME.fullmatch)
