"""Prove that a course asks for nothing impossible: its labs' solutions, graded by its rubrics."""

from collections.abc import Callable
from typing import Any

from scanlab.course.model import Course, seed_for
from scanlab.errors import UsageError
from scanlab.judge import Submission, grade
from scanlab.labs import Device
from scanlab.paths import shown
from scanlab.plan import Options

Result = dict[str, Any]


def prove(course: Course, seed: int, device: Device, done: Callable[[Result], None]) -> tuple[list[Result], list[str]]:
    """Grade the solutions of the course's labs; return their results, and what they do not get, a line each.

    Raises UsageError where there are no solutions.
    """
    labs = [course.lab(lab.name) for lab in course.labs]
    missing = [shown(lab.solution) for lab in labs if not lab.solution.is_file()]
    if missing:
        raise UsageError(f"{missing[0]} is not there: without solutions nothing can be proved")
    view = course.public_view()
    results: list[Result] = []
    faults: list[str] = []
    for lab in labs:  # each has a seed of its own where the course's is secret
        options = Options(device, None, seed_for(view, seed, lab.name, "solution"))
        results += grade([Submission(lab, lab.solution)], options, done)
    for result in results:
        for check in result["checks"]:
            lost = check["max_points"] - check["points"]
            if check["verdict"] not in ("pass", "skipped") or lost > 0:
                cause = check.get("cause") or {}
                got = f"{check['points']:g} of {check['max_points']:g} points"
                why = [
                    cause.get("headline"),
                    *(f"{word} {cause[word]}" for word in ("expected", "actual") if cause.get(word)),
                ]
                faults.append(
                    f"{result['lab']}: {check['name']}: {check['verdict']}, {got}: {', '.join(filter(None, why))}"
                )
    return results, faults
