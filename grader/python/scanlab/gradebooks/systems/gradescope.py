"""Gradescope: `results.json` of one submission.

Facts: https://gradescope-autograders.readthedocs.io/en/latest/specs/. The top `score` overrides the tests' sum, so that
deductions count. All texts are declared to be text: Gradescope then shows them as they are.
"""

from typing import Any

from scanlab.classroom.records import Record
from scanlab.gradebooks.feedback import lines, overview
from scanlab.gradebooks.model import Format, Options
from scanlab.gradebooks.text import dump_json, number, shorten

MOST_OUTPUT = 20_000
"""Bytes of one check's text."""
STATUS = {"pass": "passed"}


def results(record: Record, options: Options) -> dict[str, Any]:
    """Return results.json's object."""
    return {
        "score": number(record.points),
        "output": shorten("\n".join(overview(record, options)), MOST_OUTPUT),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "scanlab": {"key": record.key, "verdict": record.verdict, "max_score": number(record.max_points)}
        },
        "tests": [
            {
                "score": number(line.points),
                "max_score": number(line.max_points),
                "status": STATUS.get(line.verdict, "failed"),
                "name": line.title if len(record.labs) == 1 else f"{line.lab[:2]} {line.title}",
                "number": f"{int(line.lab[:2])}.{at}",
                "output": shorten(line.text, MOST_OUTPUT),
                "tags": [line.lab, line.name],
                "visibility": line.shown,
            }
            for at, line in enumerate(lines(record, options), 1)
        ],
    }


def one(record: Record, options: Options) -> str:
    """Return the text of results.json."""
    return dump_json(results(record, options)) + "\n"


FORMAT = Format("gradescope", one=one)
