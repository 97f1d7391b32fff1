"""nbgrader: the CSV that `nbgrader export` writes, a row for each lab and student.

Facts: CsvExportPlugin of jupyter/nbgrader: these columns in this order; numbers as Python prints floats; who handed
nothing in has no timestamp, and 0.0, or nothing before it is due; a timestamp is UTC without saying so. The last column
is the student's id once more: `nbgrader db student import` knows students by the column `id` alone, and ignores the
others.
It takes scores from no CSV: `database.py` writes them into its database.
"""

import csv
import io
from datetime import UTC, datetime

from scanlab.classroom.records import LabGrade, Record
from scanlab.gradebooks.model import Export, Format, Gradebook, Written
from scanlab.gradebooks.text import cell, number

COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score", "id",
)  # fmt: skip


NO_NUMBERS = ("", "", "")
"""The scores of what was not handed in, and is not due."""


def whole(export: Export, _: Gradebook | None) -> Written:
    """Return the file."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name in export.labs:
        for record in (*export.records, *export.waiting):
            for lab in (lab for lab in record.labs if lab.lab == name):  # none where the student is excused
                writer.writerow(_row(export, record, lab))
        device = (*export.records, *export.faulty)[0].device if export.records or export.faulty else "vgpu"
        most = str(float(export.options.sight.course.lab(name).max_points(device)))
        for student in export.missing:
            who = map(cell, (student.id, student.last_name, student.first_name, student.email))
            writer.writerow(
                [
                    export.options.problem(name),
                    _due(export, name),
                    "",
                    *who,
                    *NO_NUMBERS,
                    most,
                    cell(student.id),
                ]
            )
    return Written(sink.getvalue().encode())


def _row(export: Export, record: Record, lab: LabGrade) -> list[str]:
    student = record.student
    who = (student.id, student.last_name, student.first_name, student.email) if student else (record.key, "", "", "")
    taken = sum(deduction.points for deduction in lab.deductions)
    points = [str(float(number(value))) for value in (lab.points + taken, taken, lab.points)]
    return [
        cell(export.options.problem(lab.lab)),
        _due(export, lab.lab),
        timestamp(record.submitted_at),
        *map(cell, who),
        *(NO_NUMBERS if lab.lab in export.blank.get(record.key, ()) else points),
        str(float(number(lab.max_points))),
        cell(who[0]),
    ]


def _due(export: Export, lab: str) -> str:
    due = export.options.sight.course.due(lab)
    return timestamp(due.at.isoformat()) if due else ""


def timestamp(submitted_at: str | None) -> str:
    """Return a time as nbgrader writes it; empty where it is unknown."""
    try:
        moment = datetime.fromisoformat(submitted_at or "")
    except ValueError:
        return ""
    return str((moment.astimezone(UTC) if moment.tzinfo else moment).replace(tzinfo=None))


FORMAT = Format("nbgrader", whole=whole)
