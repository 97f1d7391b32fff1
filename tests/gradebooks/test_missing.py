"""What was not handed in is blank until it is due, then 0, with or without other labs of the same student."""

import csv
import io
from pathlib import Path

import pytest

from conftest import GOLDEN, KOGGE_STONE, SEQUENTIAL, Scanlab, check, grade, nothing, record, student, write_store
from made_course import made_course

DUE = '[[lab]]\nname = "01"\ndue = 2020-01-01T00:00:00Z\n[[lab]]\nname = "02"\ndue = {}-01-01T00:00:00Z\n'
LATER = '[[student]]\nid = "s0003"\n[[student.extension]]\nlab = "02"\ndue = 2199-01-01T00:00:00Z\n'
CANVAS = GOLDEN / "canvas_before.csv"
STUDENTS = ("s0001", "s0002", "s0003")
"""Of that gradebook; s0002 has 12.00 in it."""


def a_class(folder: Path, course: str | None) -> Path:
    """s0001 has handed in both labs; s0002 only the first; s0003 nothing."""
    full = grade(KOGGE_STONE, [check("inclusive", 100, 100)])
    first = grade(SEQUENTIAL, [check("inclusive", 100, 100)])
    return write_store(
        folder / "results",
        [record("s0001", student(1), first, full), record("s0002", student(2), first, nothing(KOGGE_STONE))],
        missing=[student(3)],
        course=made_course(course) if course else None,
    )


def cells(text: bytes) -> dict[str, str]:
    """Return what stands in the lab's column for each of the three."""
    rows = list(csv.reader(io.StringIO(text.decode(), newline="")))
    column = rows[0].index("02_kogge_stone (4712)")
    return {row[2]: row[column] for row in rows if row[2] in STUDENTS}


@pytest.mark.parametrize(
    ("course", "words", "expected"),
    [
        (None, [], ["100", "12.00", ""]),
        (None, ["--missing", "zero"], ["100", "0", "0"]),
        (DUE.format(2199), [], ["100", "12.00", ""]),
        (DUE.format(2020), [], ["100", "0", "0"]),
        (DUE.format(2020), ["--missing", "blank"], ["100", "12.00", ""]),
        (DUE.format(2020) + LATER, [], ["100", "0", ""]),
    ],
)
def test_a_lab_is_blank_until_it_is_due(
    course: str | None, words: list[str], expected: list[str], tmp_path: Path, scanlab: Scanlab
) -> None:
    store = a_class(tmp_path, course)
    done = scanlab("export", store, "--format", "canvas", "--lab", "02", "--gradebook", CANVAS, *words)
    said = done.stderr.decode()
    assert done.returncode == 0, said
    assert list(cells(done.stdout).values()) == expected
    zeros = [who for who, cell in zip(STUDENTS, expected, strict=True) if cell == "0"]
    left = [who for who in ("s0002", "s0003") if who not in zeros]
    assert ("0 now: " + ", ".join(f"{who} (nothing could be graded)" for who in zeros) in said) == bool(zeros)
    assert (f"and left blank ({len(left)}): {', '.join(left)}" in said) == bool(left)


def test_who_has_nothing_and_no_row_refuses_nothing(tmp_path: Path, scanlab: Scanlab) -> None:
    """They have left the platform's course, say; a file of their own, as a submission has, is not made either."""
    full = grade(KOGGE_STONE, [check("inclusive", 100, 100)])
    course = made_course(DUE.format(2020))
    store = write_store(tmp_path / "results", [record("s0001", student(1), full)], [student(77)], course)
    done = scanlab("export", store, "--format", "canvas", "--lab", "02", "--gradebook", CANVAS)
    assert done.returncode == 0, done.stderr.decode()
    assert "handed nothing in, and in no row: s0077" in done.stderr.decode()
    assert cells(done.stdout)["s0001"] == "100"
    assert scanlab("export", store, "--format", "gradescope", "--out", tmp_path / "each").returncode == 0
    assert [path.name for path in (tmp_path / "each").iterdir()] == ["s0001.json"]


def test_tables_have_no_number_for_what_is_not_due(tmp_path: Path, scanlab: Scanlab) -> None:
    store = a_class(tmp_path, DUE.format(2199))
    rows = scanlab("export", store, "--format", "csv").stdout.decode().splitlines()
    titles = rows[0].split(",")
    by_who = {row.split(",")[1]: dict(zip(titles, row.split(","), strict=True)) for row in rows[1:]}
    assert [by_who[who]["02_kogge_stone points"] for who in by_who] == ["100", "", ""]
    assert [by_who[who]["01_sequential points"] for who in by_who] == ["100", "100", "0"]
    assert [by_who[who]["02_kogge_stone verdict"] for who in by_who] == ["pass", "missing", "missing"]
    text = scanlab("export", store, "--format", "nbgrader").stdout.decode()
    scores = {(row.split(",")[0], row.split(",")[3]): row.split(",")[9] for row in text.splitlines()[1:]}
    assert scores[SEQUENTIAL, "s0002"] == "100.0"
    assert scores[SEQUENTIAL, "s0003"] == "0.0"
    assert scores[KOGGE_STONE, "s0002"] == scores[KOGGE_STONE, "s0003"] == ""


def test_a_total_of_several_labs_counts_what_is_there(tmp_path: Path, scanlab: Scanlab) -> None:
    """In one column of all labs, one that is not due is no reason to be left out."""
    store = a_class(tmp_path, DUE.format(2199))
    words = ["--column", "02_kogge_stone (4712)", "--scale", "proportional"]
    done = scanlab("export", store, "--format", "canvas", "--gradebook", CANVAS, *words)
    assert list(cells(done.stdout).values()) == ["100", "50", "0"]
    assert "some labs not handed in (not due, or without a due date), and blank: s0002" in done.stderr.decode()
