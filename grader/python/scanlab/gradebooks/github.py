"""GitHub Classroom: the step output `result` that its grading reporter reads, base64 of a JSON object.

Facts: classroom-resources/autograding-grading-reporter and its graders.
Classroom itself was discontinued in August 2026;
what still runs are workflows in the repositories, and Classroom 50 takes its place.
"""

import base64
from typing import Any

from scanlab.classroom.records import Record
from scanlab.gradebooks.feedback import student_lines
from scanlab.gradebooks.model import Options
from scanlab.gradebooks.text import dump_json, number, shorten

MOST_OUTPUT = 2_000


def results(record: Record, options: Options) -> dict[str, Any]:
    """Return the reporter's object."""
    return {
        "version": 1,
        "status": "pass" if record.verdict == "pass" else "fail",
        "max_score": number(record.max_points),
        "tests": [
            {
                "name": f"{line.lab}: {line.title}",
                "status": "pass" if line.passed else "fail",
                "message": shorten(line.text, MOST_OUTPUT),
                "test_code": "",
                "filename": "",
                "line_no": 0,
                "score": number(line.points),
            }
            for line in student_lines(record, options)
        ],
    }


def step_output(record: Record, options: Options) -> str:
    """Return the line for $GITHUB_OUTPUT."""
    return f"result={base64.b64encode(dump_json(results(record, options), None).encode()).decode()}\n"
