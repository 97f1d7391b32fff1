"""Sakai: `TITLE/Last, First(eid)/Submission attachment(s)/`, with `timestamp.txt` beside it, and `grades.csv`.

Several submitters of a group stand in one name: `One, Ann(a1); Two, Bob(b2)`. A time is in ISO 8601, of older versions
17 digits, both in UTC. Source: Sakai's `AssignmentServiceImpl.zipSubmissions`.
"""

import re
from datetime import UTC, datetime

from scanlab.classroom.intake.handing import Handing, Placed, Who, owner_of_name
from scanlab.classroom.intake.items import Item, printable
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read

PERSON = re.compile(r"(?P<name>[^;]+)\((?P<eid>[^();]+)\)")
ATTACHMENTS, TIME = "Submission attachment(s)", "timestamp.txt"
OWN = frozenset((TIME, ATTACHMENTS, "Feedback Attachment(s)", "comments.txt", "feedbackText.html"))
"""What Sakai itself puts into a student's folder."""
OWN_FILES = frozenset((TIME, "comments.txt", "feedbackText.html"))
DIGITS = re.compile(r"\d{17}")


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one export."""

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        who = people_of(top)
        if not who or not inner:
            return None
        handing = Handing("sakai", owner_of_name(top), printable(top), who, top)
        handing.submitted_at = _time(pile.data_of(top, TIME))
        is_own = (len(inner) == 1 and inner[0] in OWN_FILES) or inner == [f"{top}_submissionText.html"]
        if is_own or inner[0] == "Feedback Attachment(s)":
            return handing, Placed(tuple(inner), Item(item.parts, is_folder=True))
        return handing, Placed(tuple(inner[1:] if inner[0] == ATTACHMENTS and inner[1:] else inner), item)

    return read


def people_of(name: str) -> tuple[Who, ...]:
    """Return who is named by a folder's name; none where it has not Sakai's form."""
    found = [PERSON.fullmatch(part.strip()) for part in name.split(";")]
    return tuple(Who(one["name"].strip(), (one["eid"],)) for one in found if one) if all(found) else ()


def _time(data: bytes | None) -> str | None:
    """Return a time in ISO 8601; None for what cannot be read."""
    text = (data or b"").decode("ascii", "replace").strip()
    try:
        if DIGITS.fullmatch(text):
            return datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC).isoformat()
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.isoformat() if moment.tzinfo else None


SAKAI = Platform("sakai", _reader, people_of, OWN)
