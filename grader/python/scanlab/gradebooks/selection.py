"""Choose what of a results folder is exported."""

import math
from collections.abc import Sequence
from dataclasses import replace

from scanlab.classroom.records import NO_GRADE, Class, Record
from scanlab.classroom.store import Store
from scanlab.course.model import Course
from scanlab.course.seen import Sight
from scanlab.errors import UsageError
from scanlab.gradebooks.missing import absent_records, is_blank
from scanlab.gradebooks.model import Export, Options
from scanlab.labs.folders import find_lab
from scanlab.paths import shown


def select(store: Store, labs: Sequence[str], without: Sequence[str], options: Options) -> Export:
    """Return the records of a class with the chosen labs only (all without `labs`).

    Raises UsageError for a folder without results, a class that is not graded to its end, an unknown lab or key.
    """
    taken_in = store.read_class()
    chosen = _labs(taken_in, labs)
    keys = {submission.key for submission in taken_in.submissions}
    if unknown := [key for key in without if key not in keys]:
        raise UsageError(f"--without {unknown[0]}: {shown(store.folder)} has no such submission")
    sight = Sight.of(taken_in)
    records = [
        _counting(_sound(record, store), chosen, sight.course)
        for record in store.records()
        if record.key not in without
    ]
    absent = [
        _counting(record, chosen, sight.course)
        for record in absent_records(store, taken_in, keys)
        if record.key not in without
    ]
    blank = {
        record.key: frozenset(
            lab.lab for lab in record.labs if is_blank(record, lab, sight.course, options.missing)
        )
        for record in (*records, *absent)
    }  # fmt: skip
    graded = [record for record in (*records, *absent) if record.labs and not has_no_grade(record)]
    is_counted = {record.key: len(blank[record.key]) < len(record.labs) for record in graded}
    absent_ids = {record.student.id for record in absent if record.student and is_counted.get(record.key)}
    return Export(
        title=taken_in.title,
        labs=chosen,
        records=tuple(record for record in graded if is_counted[record.key]),
        waiting=tuple(record for record in records if not is_counted.get(record.key, True)),
        blank=blank,
        pending=tuple(record for record in records if record.verdict != "error" and has_no_grade(record)),
        claimed=taken_in.claimed,
        excused=tuple(record for record in records if not record.labs),
        faulty=tuple(record for record in records if record.verdict == "error"),
        missing=tuple(student for student in taken_in.missing if student.id not in absent_ids),
        options=replace(options, sight=sight),
    )


def has_no_grade(record: Record) -> bool:
    """Return whether a submission has no grade for any student: the kit has failed, or an answer is waited for.

    Of one that may be several people's, the platform's own number may still say whose row it is.
    """
    numbers = ("canvas_user", "moodle_participant")
    is_claim = bool(record.claims) and not any(record.metadata.get(name) for name in numbers)
    return record.verdict in NO_GRADE or is_claim


def select_one(store: Store, key: str, labs: Sequence[str], options: Options) -> tuple[Record, Options]:
    """Return one submission's record with the chosen labs only, and the options as the class changes them.

    Raises UsageError as `select` does, for a key that the class does not have, and where none of the labs counts.
    """
    taken_in = store.read_class()
    if key not in {submission.key for submission in taken_in.submissions}:
        raise UsageError(f"--key {key}: {shown(store.folder)} has no such submission")
    sight = Sight.of(taken_in)
    record = _counting(_sound(store.read_record(key), store), _labs(taken_in, labs), sight.course)
    if not record.labs:
        raise UsageError(f"--key {key}: the course excuses this student, so that there is no result")
    return record, replace(options, sight=sight)


def others(record: Record) -> list[str]:
    """Return the names of those with whom this student has handed something in."""
    if record.group is None:
        return []
    own = record.student.name if record.student else record.metadata.get("member", "")
    return [name for name in record.group.members if name != own]


def _counting(record: Record, labs: Sequence[str], course: Course) -> Record:
    """Return what a submission got for those of `labs` from which the course does not excuse the student."""
    return record.cut(course.counting(labs, record))


def _labs(taken_in: Class, wanted: Sequence[str]) -> tuple[str, ...]:
    names = {find_lab(lab).name for lab in wanted}
    if absent := sorted(names - set(taken_in.labs)):
        raise UsageError(f"--lab {absent[0]}: this class is graded on {', '.join(taken_in.labs)}")
    return tuple(lab for lab in taken_in.labs if lab in names) if names else taken_in.labs


def _sound(record: Record, store: Store) -> Record:
    numbers = [record.points, record.max_points]
    for lab in record.labs:
        numbers += [lab.points, lab.max_points, *(deduction.points for deduction in lab.deductions)]
    if not all(map(math.isfinite, numbers)):
        raise UsageError(f"{shown(store.result(record.key))}: its points are no numbers; grade it with --resume")
    return record
