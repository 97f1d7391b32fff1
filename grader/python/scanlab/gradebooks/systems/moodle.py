"""Moodle: the offline grading worksheet that was downloaded from an assignment, with its grades filled in.

Facts: mod/assign/feedback/offline of moodle/moodle. A row is known by `Identifier`, "Participant" and a number;
`Last modified (grade)` must stay as it was, or Moodle ignores the row; a grade above `Maximum grade` is ignored.
Feedback without a grade can wipe a grade, so feedback is only written beside one.
"""

import html
import re

from scanlab.classroom.records import Record
from scanlab.errors import UsageError
from scanlab.gradebooks import csv_cells, feedback, marks
from scanlab.gradebooks.csv_cells import Row, Sheet
from scanlab.gradebooks.marks import Identity
from scanlab.gradebooks.model import Export, Format, Gradebook, Options, Written
from scanlab.gradebooks.text import one_line, shorten
from scanlab.paths import shown

PARTICIPANT = re.compile(r"\D*\b(\d+)")
GRADE, MODIFIED = "Grade", "Last modified (grade)"
MAXIMUM = ("Maximum Grade", "Maximum grade")
FEEDBACK = "Feedback comments"
CHANGEABLE = "Grade can be changed"
MOST_FEEDBACK, MOST_LISTED = 20_000, 300
"""Bytes of feedback, and letters of a header in a message."""
OPENING, CLOSING = '<pre class="scanlab">', "</pre>"
"""Around the kit's feedback, by which a second export finds it beside a teacher's own comment."""


def whole(export: Export, gradebook: Gradebook | None) -> Written:
    """Return the worksheet with the grades in it. Raises UsageError, a line per reason, rather than damage it."""
    assert gradebook is not None
    name = shown(gradebook.path)
    sheet = csv_cells.read(gradebook.content, name, (",", ";", "\t"))
    column = _one(sheet, (export.options.column or GRADE,), name)
    maximum = _one(sheet, MAXIMUM, name)
    comments = _one(sheet, (FEEDBACK,), name) if export.options.feedback else None
    _one(sheet, ("Identifier",), name)
    _one(sheet, (MODIFIED,), name)
    students = [row for row in sheet.rows[1:] if not row.is_empty()]
    for row in students:
        if not PARTICIPANT.fullmatch(row.text(sheet.column("Identifier")[0]).strip()):
            raise UsageError(f"{name}:{row.line}: no worksheet of Moodle: the row has no 'Participant' and number")
    records = [(record, identity(record)) for record in export.records]
    rows, refusals = marks.match(sheet, students, records, name, export.options.match)
    comma = marks.has_decimal_comma(row.text(at) for row in students for at in (column, maximum))
    cells, locked, beside = marks.Column(sheet, column, comma), [], 0
    for record in export.records:
        if (row := rows.get(record.key)) is None:
            continue
        if len(row) != len(sheet.rows[0]):
            refusals.add(f"{name}:{row.line}", f"the row has {len(row)} cells, and the header {len(sheet.rows[0])}")
            continue
        most = marks.value(row.text(maximum))
        if most is None or most <= 0:
            refusals.add(
                f"{name}:{row.line}",
                f"its maximum grade is {one_line(row.text(maximum)) or 'empty'!r}, not a number:"
                " the assignment has to be graded in points",
            )
            continue
        points = marks.scaled(export, record, most, "the assignment", refusals)
        if points is None:
            continue
        if _is_locked(sheet, row):
            locked.append(record.key)
            continue
        cells.put(row, record, points)
        if comments is not None:
            text, is_beside = with_feedback(row.text(comments), feedback_html(record, export.options))
            if text != row.text(comments):
                sheet.change(row, comments, text)
            beside += is_beside
    refusals.stop()
    graded = {row.line for row in rows.values()}
    others = [row.text(0).strip() for row in students if row.line not in graded]
    notes = cells.notes(others, refusals)
    if beside:
        notes.append(f"feedback: {beside} had a comment already, which stays; the report is behind it")
    if locked:
        notes.append(f"locked in Moodle, and left so: {', '.join(locked)}")
    return Written(sheet.encode(), notes)


def _one(sheet: Sheet, names: tuple[str, ...], name: str) -> int:
    at = [column for wanted in names for column in sheet.column(wanted)]
    if len(at) == 1:
        return at[0]
    if at:
        raise UsageError(f"{name}: {len(at)} columns are called {names[0]!r}")
    listed = one_line(", ".join(text.strip() for text in sheet.rows[0].texts()))
    raise UsageError(
        f"{name}: it has no column {names[0]!r} (there are: {listed[:MOST_LISTED]}): no offline grading worksheet"
        " of Moodle, or not in English; set Moodle to English for the download and for the upload"
    )


def _is_locked(sheet: Sheet, row: Row) -> bool:
    return any(row.text(at).strip().casefold() == "no" for at in sheet.column(CHANGEABLE))


def feedback_html(record: Record, options: Options) -> str:
    """Return what a student is shown, as HTML: Moodle shows feedback as a page, so nothing in it may be a tag."""
    texts = [*feedback.overview(record, options), *feedback.causes(record, options)]
    return f"{OPENING}{html.escape(shorten(chr(10).join(texts), MOST_FEEDBACK))}{CLOSING}"


def with_feedback(comment: str, own: str) -> tuple[str, bool]:
    """Return what a cell of comments says with the kit's feedback in it, and whether it says anything else.

    Feedback of an earlier export is replaced where it stands; whatever else is there stays, and comes first.
    """
    at = comment.find(OPENING)
    end = comment.find(CLOSING, at)
    if at >= 0 and end >= 0:
        end += len(CLOSING)
        return comment[:at] + own + comment[end:], bool((comment[:at] + comment[end:]).strip())
    if not comment.strip():
        return own, False
    return f"{comment}\n{own}", True


def identity(record: Record) -> Identity:
    """Return what a student may be called in Moodle's columns."""
    student = record.student
    named: dict[str, list[str]] = {}
    if digits := re.search(r"\d+", record.metadata.get("moodle_participant", "")):
        named["Identifier"] = [f"Participant {digits[0]}"]
    if student is None:
        return named
    if "Identifier" in student.columns and "Identifier" not in named:
        named["Identifier"] = [student.columns["Identifier"]]
    if "Identifier" not in named:
        named["ID number"] = [student.columns.get("ID number") or student.id]
        named["Username"] = [text for text in (student.login, student.id) if text]
        named["Email address"] = [student.email] if student.email else []
    return named


FORMAT = Format("moodle", whole=whole, needs_gradebook=True)
