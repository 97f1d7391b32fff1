"""Classroom 50: `result.json` of one submission, schema classroom50/result/v1, all scores integers.

Facts: the wiki page Advanced-Autograding of foundation50/classroom50 (2026). Inside Classroom 50 the runner's
environment names the repository; `owner` (one login) has taken the place of `usernames`, and the runner stamps it.
"""

import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from scanlab.classroom.records import Record
from scanlab.gradebooks.feedback import Line, student_lines
from scanlab.gradebooks.model import Format, Options
from scanlab.gradebooks.text import dump_json, shorten, whole_numbers

SCHEMA = "classroom50/result/v1"
MOST_OUTPUT = 4_000
STAMP = "%Y-%m-%dT%H:%M:%SZ"


def results(record: Record, options: Options, around: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return result.json's object; `around` is the runner's environment, none outside Classroom 50."""
    around = around or {}
    tests = [
        test
        for _, group in groupby(student_lines(record, options), lambda line: line.lab)
        for test in _lab(record, group)
    ]
    commit = around.get("COMMIT_URL", "")
    result = {
        "schema": SCHEMA,
        "classroom": around.get("CLASSROOM") or options.classroom,
        "assignment": around.get("ASSIGNMENT") or options.assignment or "-".join(lab.lab for lab in record.labs),
        "submission": around.get("SUBMISSION_TAG") or record.origin,
        "commit": commit,
        "release": around.get("RELEASE_URL", ""),
        "review": around.get("REVIEW_URL") or commit,
        "datetime": stamp(record.submitted_at),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }
    owner = around.get("OWNER") or around.get("USERNAME") or (record.student.login if record.student else "")
    return {
        **result,
        **({"owner": owner} if owner else {}),
        "assignment_type": around.get("ASSIGNMENT_TYPE") or "individual",
    }


def _lab(record: Record, group: Any) -> list[dict[str, Any]]:
    """Return a lab's tests: its points, after what was taken off, rounded down and shared out among them."""
    lines: list[Line] = list(group)
    lab = next(lab for lab in record.labs if lab.lab == lines[0].lab)
    scores = whole_numbers([line.points for line in lines], math.floor(lab.points + 1e-9))
    most = whole_numbers([line.max_points for line in lines], math.floor(lab.max_points + 1e-9))
    return [
        {
            "test-name": f"{line.lab}: {line.title}",
            "passed": line.passed,
            "score": min(score, limit),
            "max-score": limit,
            **({"output": shorten(line.text, MOST_OUTPUT)} if line.text else {}),
        }
        for line, score, limit in zip(lines, scores, most, strict=True)
    ]


def stamp(submitted_at: str | None) -> str:
    """Return the time of the submission in UTC; 1970 where it is unknown, so that equal results are equal bytes."""
    moment = datetime.fromtimestamp(0, UTC)
    if submitted_at:
        try:
            moment = datetime.fromisoformat(submitted_at)
        except ValueError:
            return stamp(None)
    return (moment.astimezone(UTC) if moment.tzinfo else moment).strftime(STAMP)


def one(record: Record, options: Options) -> str:
    """Return the text of result.json."""
    around = os.environ if os.environ.get("SUBMISSION_TAG") else {}
    return dump_json(results(record, options, around)) + "\n"


FORMAT = Format("classroom50", one=one)
