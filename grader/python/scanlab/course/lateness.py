"""What is taken off the points of one lab: late work, and attempts that no longer count."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from scanlab.classroom.records import Deduction
from scanlab.course.attempts import only_first
from scanlab.course.model import Course, Due, Who
from scanlab.course.tables import Late

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def deductions(
    course: Course | Mapping[str, Any],
    lab: str,
    submitted_at: str | datetime | None,
    student: Who,
    *,
    points: float,
    max_points: float,
    attempt: int | None = None,
    is_marked_late: bool = False,
) -> tuple[Deduction, ...]:
    """Return what is taken off the `points` that a student won in a lab, of `max_points`; never more than all of them.

    `is_marked_late` says that a platform has marked it so, without a time: then the course's `late_marker` decides.

    `course` may be a class's `course` mapping. Without a time of submission nothing is late; a deduction of 0 says so.

    Raises UsageError when this version cannot read the course.
    """
    known = course if isinstance(course, Course) else Course.of(course)
    if known.excused(lab, student) or points <= 0:
        return ()
    most = known.attempts(lab, student).at_most
    if attempt is not None and most is not None and attempt > most:
        return (Deduction(reason=f"attempt {attempt}: {only_first(most)}", points=points),)
    found, due = known.find(lab), known.due(lab, student)
    if found is None or found.late is None or due is None:
        return ()
    submitted = moment(submitted_at, known.zone)
    if submitted is None and is_marked_late:
        return _marked(found.late, known.is_extended(lab, student), points, max_points)
    if submitted is None:
        return (Deduction(reason="when it was handed in is not known: taken as in time", points=0),)
    return _late(found.late, due, submitted, known.is_extended(lab, student), points, max_points)


def moment(submitted_at: str | datetime | None, zone: str) -> datetime | None:
    """Return the time of submission; one without an offset is in the course's time zone, else UTC."""
    if isinstance(submitted_at, str):
        try:
            submitted_at = datetime.fromisoformat(submitted_at.strip())
        except ValueError:
            return None
    if submitted_at is not None and submitted_at.tzinfo is None:
        submitted_at = submitted_at.replace(tzinfo=ZoneInfo(zone) if zone else UTC)
    return submitted_at


def _marked(late: Late, is_extended: bool, points: float, max_points: float) -> tuple[Deduction, ...]:
    """Return what is taken off where a platform says that it is late, and not by how much."""
    said = "marked late by the platform, which does not say by how much"
    if is_extended or late.late_marker in (None, "in_time"):
        why = "extended, and" if is_extended else "the course"
        return (
            Deduction(
                reason=f"{said}: {why} taken as in time" if is_extended else f"{said}: in time, by {why}", points=0
            ),
        )
    if late.late_marker == "no_points" or late.cut_off_hours == 0:
        return (Deduction(reason=f"{said}: it does not count", points=points),)
    reason, taken = _rated(late, 1, points, max_points)
    return (Deduction(reason=f"{said}: {reason}", points=min(points, round(taken, 2))),)


def _late(
    late: Late, due: Due, submitted: datetime, is_extended: bool, points: float, max_points: float
) -> tuple[Deduction, ...]:
    utc = UTC
    over = submitted.astimezone(utc) - due.at.astimezone(utc)  # real time: clocks may have been changed in between
    if over <= timedelta(minutes=late.grace_minutes):
        return ()
    at = f"due {_shown(due.at)}{' (extended)' if is_extended else ''}, handed in {_shown(due.here(submitted))}"
    if late.cut_off_hours is not None and over > timedelta(hours=late.cut_off_hours):
        after = f"more than {late.cut_off_hours:g} h late" if late.cut_off_hours else "late"
        return (Deduction(reason=f"{after}, which does not count: {at}", points=points),)
    if (late.percent or late.points) is None:
        return ()
    reason, taken = _rated(late, begun(late, due, submitted), points, max_points)
    return (Deduction(reason=f"{reason}: {at}", points=min(points, round(taken, 2))),)


def _rated(late: Late, units: int, points: float, max_points: float) -> tuple[str, float]:
    """Return what is taken off for so many days or hours that have begun, and the rate in words."""
    rate = late.percent or late.points or 0.0
    taken = rate * units
    capped = late.maximum is not None and taken > late.maximum
    taken = min(taken, late.maximum) if late.maximum is not None else taken
    unit = "%" if late.percent else "point" if rate == 1 else "points"
    if late.percent:
        taken = taken / 100 * (max_points if late.of == "maximum" else points)
    limit = f", at most {late.maximum:g}{' %' if late.percent else ''}" if capped else ""
    return f"{units} {late.per}{'' if units == 1 else 's'} late at {rate:g} {unit} a {late.per}{limit}", taken


def begun(late: Late, due: Due, submitted: datetime) -> int:
    """Return how many days or hours of lateness have begun; `submitted` is after the due date.

    Hours are of real time. A day ends when the clock on the wall shows the due time again, also when it was changed.
    """
    if late.per == "hour":
        return math.ceil((submitted.astimezone(UTC) - due.at.astimezone(UTC)) / HOUR)
    wall = due.here(submitted).replace(tzinfo=None) - due.here(due.at).replace(tzinfo=None)
    return max(1, math.ceil(wall / DAY))


def _shown(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="seconds" if moment.second else "minutes")
