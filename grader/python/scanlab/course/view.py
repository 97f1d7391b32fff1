"""Questions about the course of a class, for whoever has its `class.json`: `course.visibility(taken_in.course, …)`.

`view` is `records.Class.course`, empty for a class without a course: then everything is visible, and nothing is due.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from scanlab.course.model import Course, Who
from scanlab.course.tables import Visibility
from scanlab.labs import Lab, find_lab

View = Mapping[str, Any]


def visibility(view: View, lab: str, check: str) -> Visibility:
    """Return who sees the result of a lab's check."""
    course = Course.of(view)
    return course.visibility(lab, check) if course else "visible"


def visibilities(view: View, lab: str) -> dict[str, Visibility]:
    """Return who sees the result of each of a lab's checks, by their names. What is not in it is visible."""
    course = Course.of(view)
    found = course.find(lab) if course else None
    return dict(found.visibility) if found else {}


def is_shown(view: View, lab: str, check: str, student: Who, now: datetime) -> bool:
    """Return whether a student may see the result of a check at the moment `now`, which has an offset.

    After the due date is after everybody's: an extension of one student must not show others' results to them.
    """
    wanted = visibility(view, lab, check)
    if wanted != "after_due_date":
        return wanted == "visible"
    course = Course.of(view)
    dates = (
        [course.due(lab, one) for one in (None, student, *(terms.id for terms in course.students))] if course else []
    )
    return all(one is not None and now > one.at for one in dates)


def excused(view: View, lab: str, student: Who) -> bool:
    """Return whether a lab does not count for a student: `EX` in a gradebook."""
    course = Course.of(view)
    return course.excused(lab, student) if course else False


def due(view: View, lab: str, student: Who = None) -> datetime | None:
    """Return when a lab is due for a student, with an offset."""
    course = Course.of(view)
    found = course.due(lab, student) if course else None
    return found.at if found else None


def lab_of(view: View, name: str) -> Lab:
    """Return a lab, with the course's rubric where it changes it. Raises UsageError when the kit has no such lab."""
    course = Course.of(view)
    return course.lab(name) if course else find_lab(name)


def weighted_percent(view: View, grades: Mapping[str, tuple[float, float]], student: Who = None) -> float | None:
    """Return what `grades` (by lab: points, and points that can be won) make together, 0 to 100, by the labs' weights.

    A lab that a student is excused from does not count; None when nothing counts. Without a course all weigh the same.
    """
    course = Course.of(view)
    total = weights = 0.0
    for lab, (points, most) in grades.items():
        found = course.find(lab) if course else None
        weight = found.weight if found else 1.0
        if most > 0 and not excused(view, lab, student):
            total += weight * points / most
            weights += weight
    return 100 * total / weights if weights else None
