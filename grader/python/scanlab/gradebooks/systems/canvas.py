"""Canvas: the gradebook that was exported there, with one assignment's column filled in.

Facts: lib/gradebook_importer.rb of instructure/canvas-lms. The header begins with Student and ID and has Section; the
assignments follow. An assignment is known by the number in `Title (number)`; a header without one makes a NEW
assignment, so such a column is refused. The row `Points Possible` says `(read only)` under what Canvas computes.
"""

import re
from collections.abc import Sequence

from scanlab.classroom.records import Record
from scanlab.errors import UsageError
from scanlab.gradebooks import csv_cells, marks
from scanlab.gradebooks.csv_cells import Row, Sheet
from scanlab.gradebooks.marks import Identity
from scanlab.gradebooks.model import Export, Format, Gradebook, Written
from scanlab.gradebooks.text import one_line
from scanlab.paths import shown
from scanlab.people import bare, folded

ASSIGNMENT = re.compile(r"(?P<title>.*\S)\s*\((?P<id>\d+)\)")
POSTING = ("", "muted")
TEST_STUDENT = "Student, Test"
EXCUSED = "EX"


def whole(export: Export, gradebook: Gradebook | None) -> Written:
    """Return the gradebook with the points in it. Raises UsageError, a line per reason, rather than damage it."""
    assert gradebook is not None
    name = shown(gradebook.path)
    sheet = csv_cells.read(gradebook.content, name)
    points_row, students, tests = _parts(sheet, name)
    column = _column(sheet, export, name)
    header = sheet.rows[0].text(column).strip()
    most = marks.value(points_row.text(column))
    if most is None or most <= 0:
        raise UsageError(
            f"{name}:{points_row.line}: {header!r} has {one_line(points_row.text(column)) or 'nothing'!r}"
            " for its points possible: it cannot be filled in"
        )
    ids = {bare(row.text(at)) for row in tests for at in sheet.column("ID")}
    of_test = [one.key for one in (*export.records, *export.excused) if one.metadata.get("canvas_user") in ids]
    known = [(one, identity(one)) for one in (*export.records, *export.excused) if one.key not in of_test]
    rows, refusals = marks.match(sheet, students, known, name, export.options.match)
    comma = marks.has_decimal_comma(text for row in sheet.rows[1:] for text in row.texts()[column : column + 1])
    cells, excused = marks.Column(sheet, column, comma), []
    for record in export.records:
        if (row := rows.get(record.key)) is None:
            continue
        points = marks.scaled(export, record, most, repr(header), refusals)
        if points is None:
            continue
        if len(row) != len(sheet.rows[0]):
            refusals.add(f"{name}:{row.line}", f"the row has {len(row)} cells, and the header {len(sheet.rows[0])}")
        elif row.text(column).strip().upper() == EXCUSED:
            excused.append(record.key)
        else:
            cells.put(row, record, points)
    for record in export.excused:
        if (row := rows.get(record.key)) is not None and column < len(row):
            if row.text(column).strip().upper() != EXCUSED:
                sheet.change(row, column, EXCUSED)
            excused.append(record.key)
    refusals.stop()
    graded = {row.line for row in rows.values()}
    others = [f"line {row.line}" for row in students if row.line not in graded]
    notes = cells.notes(others, refusals)
    if of_test:
        notes.append(f"Canvas's Test Student, and left out: {', '.join(of_test)}")
    if excused:
        notes.append(f"excused: {', '.join(excused)}")
    return Written(sheet.encode(), notes)


def _parts(sheet: Sheet, name: str) -> tuple[Row, list[Row], list[Row]]:
    """Return the row of the points possible, the students' rows, and those of Canvas's Test Student, who is nobody.

    Raises UsageError when this is no such gradebook.
    """
    header = [text.strip() for text in sheet.rows[0].texts()]
    first = "Student" in header[0] if header else False
    second = len(header) > 3 and "ID" in header[2 if header[0] == "LastName" else 1]
    if not (first or header[0] == "LastName") or not second or "Section" not in header:
        raise UsageError(f"{name}: no gradebook of Canvas: its header does not begin with Student, ID … Section")
    points_rows = [row for row in sheet.rows[1:] if "Points Possible" in row.text(0)]
    if len(points_rows) != 1:
        raise UsageError(f"{name}: no gradebook of Canvas: it has {len(points_rows)} rows 'Points Possible', not one")
    students = [
        row
        for row in sheet.rows[1:]
        if row is not points_rows[0] and not all(_is_posting(text.strip().casefold()) for text in row.texts())
    ]
    sis = sheet.column("SIS User ID")
    names = 2 if header[0] == "LastName" else 1
    tests = [
        row
        for row in students
        if ", ".join(row.text(at).strip() for at in range(names)) == TEST_STUDENT and not any(map(row.text, sis))
    ]
    return points_rows[0], [row for row in students if row not in tests], tests


def _is_posting(text: str) -> bool:
    """Return whether a cell says how an assignment's grades are posted, or nothing."""
    return text in POSTING or text.startswith("manual posting")


def _column(sheet: Sheet, export: Export, name: str) -> int:
    """Return the assignment's column.

    Raises UsageError when there is none, or more than one, or Canvas would make a new one.
    """
    header = [text.strip() for text in sheet.rows[0].texts()]
    after = header.index("Section") + 1
    known = {at: match for at, text in enumerate(header) if at >= after and (match := ASSIGNMENT.fullmatch(text))}
    wanted = _wanted(export)
    at = [
        at
        for at, found in known.items()
        if {folded(header[at]), folded(found["title"]), found["id"]} & {folded(text) for text in wanted}
    ]
    if len(at) == 1 and len([text for text in header if text == header[at[0]]]) == 1:
        return at[0]
    titles = ", ".join(repr(header[column]) for column in known) or "none"
    if not at:
        asked = export.options.column
        if asked and asked in header[after:]:
            raise UsageError(
                f"{name}: {asked!r} has no number in brackets, so Canvas would make a new assignment;"
                " make it in Canvas, and export the gradebook again"
            )
        why = (
            f"no assignment {asked!r}" if asked else "it is not clear which assignment is meant: name it with --column"
        )
        raise UsageError(f"{name}: {why}; there are {titles}")
    raise UsageError(f"{name}: several columns are called so: {', '.join(repr(header[column]) for column in at)}")


def _wanted(export: Export) -> Sequence[str]:
    if export.options.column:
        return [export.options.column.strip()]
    if len(export.labs) == 1:
        lab = export.options.sight.course.lab(export.labs[0])
        return [export.title, lab.name, lab.rubric.title, export.options.problem(lab.name)]
    return [export.title]


def identity(record: Record) -> Identity:
    """Return what a student may be called in Canvas's columns."""
    student = record.student
    named: dict[str, list[str]] = {"ID": [], "SIS User ID": [], "SIS Login ID": [], "Integration ID": []}
    if "canvas_user" in record.metadata:  # of the name of the file that was downloaded
        named["ID"] = [record.metadata["canvas_user"]]
    if student is None:
        return named
    if any(column in student.columns for column in named):  # a roster that Canvas has made
        return {column: [student.columns[column]] for column in named if column in student.columns}
    named["ID"] += [] if named["ID"] else [student.id]
    named["SIS User ID"] += [student.id]
    named["SIS Login ID"] += [text for text in (student.id, student.login, student.email) if text]
    return named


FORMAT = Format("canvas", whole=whole, needs_gradebook=True)
