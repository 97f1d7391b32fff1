"""Prove that a course asks for nothing impossible: its labs' solutions, graded by its rubrics."""

from collections.abc import Callable

from scanlab.contract import Device
from scanlab.course.model import Course, seed_for
from scanlab.errors import UsageError
from scanlab.judging.judge import Submission, grade
from scanlab.judging.plan import Options
from scanlab.judging.result import LabResult
from scanlab.paths import shown


def prove(
    course: Course, seed: int, device: Device, done: Callable[[LabResult], None]
) -> tuple[list[LabResult], list[str]]:
    """Grade the solutions of the course's labs; return their results, and what they do not get, a line each.

    Raises UsageError where there are no solutions.
    """
    labs = [course.lab(lab.name) for lab in course.labs]
    missing = [shown(lab.solution) for lab in labs if not lab.solution.is_file()]
    if missing:
        raise UsageError(f"{missing[0]} is not there: without solutions nothing can be proved")
    view = course.public_view()
    results: list[LabResult] = []
    faults: list[str] = []
    for lab in labs:  # each has a seed of its own where the course's is secret
        options = Options(device, None, seed_for(view, seed, lab.name, "solution"))
        results += grade([Submission(lab, lab.solution)], options, done)
    for result in results:
        for check in result.checks:
            lost = check.max_points - check.points
            if check.verdict not in ("pass", "skipped") or lost > 0:
                got, why = f"{check.points:g} of {check.max_points:g} points", []
                if cause := check.cause:
                    values = (("expected", cause.expected), ("actual", cause.actual))
                    why = [cause.headline, *(f"{word} {value}" for word, value in values if value)]
                faults.append(f"{result.lab}: {check.name}: {check.verdict}, {got}: {', '.join(filter(None, why))}")
    return results, faults
