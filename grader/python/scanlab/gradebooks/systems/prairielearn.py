"""PrairieLearn: `results.json` of one external grading job; at most 1 MB, a score from 0 to 1.

Facts: https://docs.prairielearn.com/externalGrading/. What could not be read at all is not gradable and costs no
attempt. PrairieLearn turns terminal colours of `output` and `message` into HTML itself; these texts have none.
"""

from typing import Any

from scanlab.classroom.records import Record
from scanlab.gradebooks.feedback import is_unreadable, lines, overview
from scanlab.gradebooks.model import Format, Options
from scanlab.gradebooks.text import dump_json, number, shorten

MOST = 1_000_000
"""Bytes of the whole file; PrairieLearn says 1 MB."""
ROOM = (20_000, 4_000, 1_000, 200, 0)
"""Bytes of each text, tried in turn until the file is small enough."""


def results(record: Record, options: Options, room: int = ROOM[0]) -> dict[str, Any]:
    """Return results.json's object, no text of which has more than `room` bytes."""
    if record.labs and all(is_unreadable(lab) for lab in record.labs):
        reasons = [
            line.text.splitlines()[0] if line.text else "nothing to grade"
            for line in lines(record, options)
            if line.shown == "visible"
        ]
        reasons += [line for line in overview(record, options) if line.startswith("not taken")]
        return {
            "gradable": False,
            "format_errors": [shorten(reason, room or 200) for reason in dict.fromkeys(reasons)][:50],
        }
    share = record.points / record.max_points if record.max_points else 0.0
    return {
        "gradable": True,
        "score": number(min(1.0, max(0.0, share)), 6),
        "message": shorten("\n".join(overview(record, options)), room),
        "tests": [
            {
                "name": line.title if len(record.labs) == 1 else f"{line.lab[:2]} {line.title}",
                "description": f"{line.lab}: {line.name}",
                "points": number(line.points),
                "max_points": number(line.max_points),
                "message": line.verdict,
                "output": shorten(line.text, room),
            }
            for line in lines(record, options)
            if line.shown == "visible"
        ],
    }


def one(record: Record, options: Options) -> str:
    """Return the text of results.json, its texts shortened as far as the limit makes it necessary."""
    for room in ROOM:
        text = dump_json(results(record, options, room)) + "\n"
        if len(text.encode()) <= MOST:
            break
    return text


FORMAT = Format("prairielearn", one=one)
