"""nbgrader itself reads what was exported: its database, and its import of students.

nbgrader is the one on PATH, or in `.scanlab/nbgrader`, where the kit installs it from requirements-nbgrader.txt.
"""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import KOGGE_STONE, Scanlab, check, grade, record, student, write_store
from scanlab.errors import KitError
from scanlab.gradebooks.systems.nbgrader import database

READS = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///" + sys.argv[1]) as book:
    print(json.dumps([
        [one.assignment.name, one.student.id, one.score, one.max_score, one.late_submission_penalty, str(one.timestamp)]
        for one in book.db.query(__import__("nbgrader.api").api.SubmittedAssignment).all()
    ]))
"""


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return database._interpreter()
    except KitError as error:
        pytest.skip(f"no nbgrader: {error}")


def run(python: Path, *words: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(python), *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env=database.around(python),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(python: Path, database: Path) -> list[list[object]]:
    return sorted(json.loads(run(python, "-c", READS, str(database))))


def test_the_database_has_the_scores(python: Path, small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    database = tmp_path / "gradebook.db"
    for _ in range(2):  # the second time nothing is added
        done = scanlab("export", small_class, "--format", "nbgrader", "--database", database)
        assert done.returncode == 3, "one could not be graded"
        assert b"nbgrader failed" not in done.stderr
        assert read(python, database) == [
            [KOGGE_STONE, "s0001", 100.0, 100.0, 0.0, "2026-10-05 12:00:00"],
            [KOGGE_STONE, "s0002", 60.0, 100.0, 10.0, "2026-10-05 12:00:00"],
            [KOGGE_STONE, "s0003", 0.0, 100.0, 0.0, "2026-10-05 12:00:00"],
        ]
    better = record("s0002", student(2), grade(KOGGE_STONE, [check("inclusive", 100, 100)]))
    later = write_store(tmp_path / "later", [better])
    assert scanlab("export", later, "--format", "nbgrader", "--database", database).returncode == 0
    assert [row[2:5] for row in read(python, database)] == [[100.0, 100.0, 0.0], [100.0, 100.0, 0.0], [0.0, 100.0, 0.0]]


def test_nbgraders_own_import_takes_the_students(
    python: Path, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    table, database = tmp_path / "upload.csv", tmp_path / "gradebook.db"
    scanlab("export", small_class, "--format", "nbgrader", "--out", table)
    place = f"--CourseDirectory.db_url=sqlite:///{database}"
    run(python, "-m", "nbgrader", "db", "student", "import", str(table), place, cwd=tmp_path)
    ids = "import sys; from nbgrader.api import Gradebook; b = Gradebook('sqlite:///' + sys.argv[1])"
    printed = run(python, "-c", f"{ids}; print(sorted(s.id for s in b.students))", str(database))
    assert printed.strip() == str(["s0001", "s0002", "s0003", "s0005"])


@pytest.mark.usefixtures("python")
def test_what_is_no_database_stays_as_it_is(small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    database = tmp_path / "gradebook.db"
    database.write_text("student,score\n")
    done = scanlab("export", small_class, "--format", "nbgrader", "--database", database)
    assert done.returncode == 2
    assert b"no database of nbgrader's" in done.stderr
    assert database.read_text() == "student,score\n"
    done = scanlab("export", small_class, "--format", "csv", "--database", database)
    assert done.returncode == 2
