"""What counts of a lab that a student has not handed in: nothing until it is due, and 0 after that."""

from collections.abc import Iterable
from datetime import UTC, datetime

from scanlab.classroom.grading import make_record
from scanlab.classroom.intake.take_in import new_key
from scanlab.classroom.records import Class, LabGrade, Record, Submission
from scanlab.classroom.store import Store
from scanlab.course.model import Course
from scanlab.gradebooks.model import Missing


def is_blank(record: Record, lab: LabGrade, course: Course, rule: Missing) -> bool:
    """Return whether a lab has no number: nothing was handed in for it, and that is no 0 (yet)."""
    if lab.sha256 is not None or lab.verdict != "fail":
        return False
    if any(problem.lab in (None, lab.lab) for problem in record.problems):
        return False  # something was handed in, and could not be read
    if rule != "due":
        return rule == "blank"
    due = course.due(lab.lab, record)
    return due is None or datetime.now(UTC) < due.at


def absent_records(store: Store, taken_in: Class, used: Iterable[str]) -> list[Record]:
    """Return a record for each student of the roster who has handed nothing in; `used` are the keys of the others."""
    taken = {key.casefold() for key in used}
    records = []
    for student in taken_in.missing:
        key = new_key(student.id, taken)
        taken.add(key.casefold())
        records.append(make_record(store, taken_in, Submission(key=key, student=student, origin="")))
    return records
