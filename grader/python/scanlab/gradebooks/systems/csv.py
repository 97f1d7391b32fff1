"""A plain table for people and spreadsheets: CSV, UTF-8, a row per submission and per student who handed nothing in.

Where the course gives labs different weights there is one more column, `percent`: the labs' total by these weights.
"""

import csv
import io

from scanlab.classroom.records import NO_GRADE, Record
from scanlab.course.attempts import not_accepted
from scanlab.course.model import Course
from scanlab.gradebooks.model import Export, Format, Gradebook, Written
from scanlab.gradebooks.selection import others
from scanlab.gradebooks.text import cell, number

COLUMNS = (
    "key", "student_id", "name", "email", "attempt", "submitted_at", "verdict", "points", "max_points",
    "not_run_points", "taken_off",
)  # fmt: skip
BLANK = "missing"
"""The verdict of what was not handed in, and has no number."""
LAB_COLUMNS = ("verdict", "points", "max_points")


def whole(export: Export, _: Gradebook | None) -> Written:
    """Return the file."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")  # RFC 4180
    course = export.options.sight.course
    weighted = ["percent"] if len({lab.weight for lab in course.labs if lab.name in export.labs}) > 1 else []
    lab_columns = [f"{lab} {column}" for lab in export.labs for column in LAB_COLUMNS]
    writer.writerow([*COLUMNS, *weighted, *lab_columns, "problems"])
    listed = (*export.records, *export.waiting, *export.faulty, *export.pending)
    for record in sorted(listed, key=lambda record: record.key):
        writer.writerow(_row(record, export, course if weighted else None))
    empty = len(weighted) + len(lab_columns)
    for record in export.excused:
        known = [record.student.id, record.student.name, record.student.email] if record.student else [""] * 3
        writer.writerow([record.key, *map(cell, known), "", "", "excused", "", "", "", "", *[""] * empty, ""])
    for student, what in (*((one, BLANK) for one in export.missing), *((one, "pending") for one in export.claimed)):
        known = [student.id, student.name, student.email]
        writer.writerow(["", *map(cell, known), "", "", what, "", "", "", "", *[""] * empty, ""])
    return Written(sink.getvalue().encode())


def _row(record: Record, export: Export, weighted_by: Course | None) -> list[str]:
    student, blank = record.student, export.blank.get(record.key, frozenset[str]())
    has_number = any(lab.lab not in blank for lab in record.labs)
    taken = sum(deduction.points for lab in record.labs for deduction in lab.deductions)
    row = [record.key, *(map(cell, (student.id, student.name, student.email)) if student else ("", "", ""))]
    row += ["" if record.attempt is None else str(record.attempt), cell(record.submitted_at or "")]
    row += [record.verdict if has_number else BLANK]
    row += _numbers(record.verdict if has_number else BLANK, record.points, record.max_points)
    row += [str(number(record.not_run_points)), str(number(taken))]
    got = {lab.lab: lab for lab in record.labs}
    if weighted_by:
        grades = {name: (lab.points, lab.max_points) for name, lab in got.items() if name not in blank}
        percent = None if record.verdict in NO_GRADE else weighted_by.weighted_percent(grades, record)
        row.append("" if percent is None else f"{percent:.2f}")
    for name in export.labs:
        lab = got.get(name)
        verdict = BLANK if name in blank else lab.verdict if lab else ""
        row += [verdict, *_numbers(verdict, lab.points, lab.max_points)] if lab else ["excused", "", ""]
    remarks = [f"{problem.name}: {problem.reason}" for problem in record.problems]
    remarks += [f"may be {name}: graded, and counts for nobody yet" for name in record.claims]
    remarks += list(record.taken_as)
    remarks += [f"together with {name}" for name in others(record)]
    remarks += [lab.headline for lab in record.labs if lab.headline]
    remarks += [f"{lab.lab}: {lab.which_attempt} counts" for lab in record.labs if lab.which_attempt]
    remarks += [f"{lab.lab}: {attempt}" for lab in record.labs for attempt in not_accepted(lab)]
    return [*row, cell("; ".join(dict.fromkeys(remarks)))]


def _numbers(verdict: str, points: float, most: float) -> list[str]:
    return ["" if verdict in NO_GRADE or verdict == BLANK else str(number(points)), str(number(most))]


FORMAT = Format("csv", whole=whole, shows_faults=True)
