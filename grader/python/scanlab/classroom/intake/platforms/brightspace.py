"""Brightspace (D2L): `USER-FOLDER - [Group - ]Full Name - Sep 20, 2024 1035 PM/`, a folder for each attempt.

The user's number stands in no roster that Brightspace exports: the name decides. It may have ` - ` in it; the time has
no colon, and is of the zone that the page is shown in. Source: several public scripts that read such exports.
"""

import re

from scanlab.classroom.dates import DateError, read_time
from scanlab.classroom.intake.handing import Handing, Placed, Who
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read

NAME = re.compile(r"(?P<user>\d+)-\d+ - (?P<name>.+) - (?P<time>[^-]*\d{4} \d{3,4}(?: [AP]M)?)", re.DOTALL)
CLOCK = re.compile(r"(?P<hour>\d{1,2})(?P<minute>\d{2})(?P<half>(?: [AP]M)?)$")
ZONE = "UTC"
"""Any: the offset is dropped again."""


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one export."""

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        found = NAME.fullmatch(top)
        if not found:
            return None
        who, metadata = _who(found["name"], pile), {"brightspace_user": found["user"]}
        handing = Handing("brightspace", f"brightspace {found['user']}", printable(top), (who,), top)
        handing.submitted_at, handing.metadata = _time(found["time"]), metadata
        return handing, Placed(tuple(inner) or (top,), item)

    return read


def _who(name: str, pile: Pile) -> Who:
    """Return who is meant: the whole name, or what stands behind a group's, where the roster knows that alone."""
    if not pile.roster or pile.roster.by_name(name):
        return Who(name)
    parts = name.split(" - ")
    known = [tail for at in range(1, len(parts)) if pile.roster.by_name(tail := " - ".join(parts[at:]))]
    return Who(known[0] if known else name)


def _time(text: str) -> str | None:
    """Return a time without an offset, in ISO 8601; None for what cannot be read."""
    try:
        return read_time(CLOCK.sub(r"\g<hour>:\g<minute>\g<half>", text), ZONE).replace(tzinfo=None).isoformat()
    except DateError:
        return None


BRIGHTSPACE = Platform("brightspace", _reader, NAME.fullmatch)
