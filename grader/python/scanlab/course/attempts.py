"""Which of a student's attempts at a lab counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scanlab.classroom.records import LabGrade
from scanlab.course.model import Course, Who
from scanlab.course.tables import Attempts

ONLY_FIRST = "only the first"


@dataclass(frozen=True)
class Try:
    """One attempt. `points` are after deductions; `submitted_at` has an offset."""

    key: str
    points: float
    submitted_at: datetime | None = None
    attempt: int | None = None


@dataclass(frozen=True)
class Counted:
    """The attempt that counts, and why others do not, by their keys."""

    chosen: Try | None
    ignored: Mapping[str, str] = field(default_factory=dict)


def only_first(at_most: int) -> str:
    """Return why an attempt beyond the course's `at_most` does not count."""
    return f"{ONLY_FIRST} counts" if at_most == 1 else f"{ONLY_FIRST} {at_most} count"


def not_accepted(grade: LabGrade) -> tuple[str, ...]:
    """Return the attempts at a lab that the course's `at_most` does not accept, and why: each may have cost points."""
    ignored = [f"attempt {one.number}: {one.reason}" for one in grade.attempts if one.reason.startswith(ONLY_FIRST)]
    taken_off = [one.reason for one in grade.deductions if one.reason.partition(": ")[2].startswith(ONLY_FIRST)]
    return tuple(dict.fromkeys((*ignored, *taken_off)))


def rule_for(course: Course | None, lab: str, student: Who) -> Attempts:
    """Return which attempts of a student at a lab count; without a course the last."""
    return course.attempts(lab, student) if course else Attempts()


def counting(rule: Attempts, tries: Sequence[Try]) -> Counted:
    """Return which of one student's attempts at a lab counts: the last or the best of those that the course accepts.

    They are taken in the order of their times, else of their numbers, else as they are given. One that comes too soon
    after the one accepted before it is ignored and uses up no attempt.
    """
    accepted: list[Try] = []
    ignored: dict[str, str] = {}
    too_soon = 0
    wait = timedelta(minutes=rule.minutes_between)
    for one in _in_order(tries):
        before = accepted[-1].submitted_at if accepted else None
        if before and one.submitted_at and one.submitted_at - before < wait:
            too_soon += 1
            ignored[one.key] = f"less than {rule.minutes_between} minutes after the attempt before it"
        elif rule.at_most is not None and max(len(accepted) + 1, (one.attempt or 0) - too_soon) > rule.at_most:
            ignored[one.key] = only_first(rule.at_most)
        else:
            accepted.append(one)
    if not accepted:
        return Counted(None, ignored)
    chosen = accepted[-1]
    if rule.count == "best":  # of equal ones the last
        chosen = max(enumerate(accepted), key=lambda pair: (pair[1].points, pair[0]))[1]
    return Counted(chosen, ignored)


def _in_order(tries: Sequence[Try]) -> list[Try]:
    if all(one.submitted_at is not None for one in tries):
        return sorted(tries, key=lambda one: (one.submitted_at, one.attempt or 0))
    if all(one.attempt is not None for one in tries):
        return sorted(tries, key=lambda one: one.attempt or 0)
    return list(tries)
