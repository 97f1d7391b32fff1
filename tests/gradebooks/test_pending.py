"""What waits for an answer has no score in any export, and what a group has handed in has it for each member."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import KOGGE_STONE, Done, check, grade, record, student, write_store
from scanlab.classroom.records import Group, LabGrade

Scanlab = Callable[..., Done]
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,Scans (77)\n    Points Possible,,,,,100\n" + "".join(
    f'"{n:04d}, Student",9{n},s{n:04d},login{n:04d},A,{n}\n' for n in range(1, 6)
)
MOODLE = (
    "Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade)\n"
    + "".join(f"Participant 7{n},Student {n:04d},s{n:04d},,Submitted,{n},100,Yes,-,-\n" for n in range(1, 6))
)


def waiting() -> LabGrade:
    return LabGrade(
        lab=KOGGE_STONE, sha256=None, verdict="pending", points=0, max_points=100, not_run_points=15,
        headline="waits for an answer: 2 files may be this lab's",
    )  # fmt: skip


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """One graded, one that waits, a group of two, and one who may be s0005, who is on the roster."""
    good = grade(KOGGE_STONE, [check("inclusive", 60, 60), check("barriers", 40, 40)])
    half = grade(KOGGE_STONE, [check("inclusive", 60, 60), check("barriers", 0, 40)])
    group = Group(name="G 1", members=("Student 0003", "Student 0004"))
    return write_store(
        tmp_path / "results",
        [
            record("s0001", student(1), good),
            record("s0002", student(2), waiting()),
            record("s0003", student(3), half, group=group),
            record("s0004", student(4), half, group=group),
            record("stranger", None, good, claims=("s0005",)),
        ],
    )


@pytest.mark.parametrize(("form", "text", "column"), [("canvas", CANVAS, 5), ("moodle", MOODLE, 5)])
def test_gradebooks_keep_what_they_have(
    scanlab: Scanlab, results: Path, tmp_path: Path, form: str, text: str, column: int
) -> None:
    (tmp_path / "book.csv").write_text(text)
    words = ["--column", "Scans (77)"] if form == "canvas" else []
    done = scanlab("export", results, "--format", form, "--gradebook", "book.csv", *words)
    assert done.returncode == 0, done.stderr
    rows = [*csv.reader(io.StringIO(done.stdout.decode()))][-5:]
    assert [row[column] for row in rows] == ["100", "2", "60", "60", "5"]
    assert b"pending, and without a score until answers.toml says more: s0002, stranger" in done.stderr


def test_tables_leave_it_blank(scanlab: Scanlab, results: Path) -> None:
    rows = {
        row["key"]: row
        for row in csv.DictReader(io.StringIO(scanlab("export", results, "--format", "csv").stdout.decode()))
    }
    assert (rows["s0002"]["verdict"], rows["s0002"]["points"]) == ("pending", "")
    assert rows["s0002"][f"{KOGGE_STONE} points"] == ""
    assert "may be s0005: graded, and counts for nobody yet" in rows["stranger"]["problems"]
    assert rows["stranger"]["student_id"] == ""
    assert "together with Student 0004" in rows["s0003"]["problems"]
    exported = scanlab("export", results, "--format", "nbgrader").stdout.decode()
    assert [row["student_id"] for row in csv.DictReader(io.StringIO(exported))] == ["s0001", "s0003", "s0004"]
    tree = ElementTree.fromstring(scanlab("export", results, "--format", "junit").stdout)
    points = {suite.get("name"): [one.get("name") for one in suite.iter("property")].count("points") for suite in tree}
    assert points["s0002"] == 0
    assert points["s0001"] == 1


@pytest.mark.parametrize("form", ["gradescope", "classroom50", "autolab", "prairielearn"])
def test_no_file_is_made_for_it(scanlab: Scanlab, results: Path, tmp_path: Path, form: str) -> None:
    done = scanlab("export", results, "--format", form, "--out", "files")
    assert done.returncode == 0, done.stderr
    assert sorted(path.stem for path in (tmp_path / "files").iterdir()) == ["s0001", "s0003", "s0004"]
    assert scanlab("export", results, "--format", form, "--key", "s0002").returncode == 2
