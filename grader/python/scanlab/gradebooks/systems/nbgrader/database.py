"""nbgrader's own database, filled in through its own Python interface, in a copy that then takes the file's place.

nbgrader runs in the interpreter that has it: the one whose `nbgrader` is on PATH, else an environment made for it. It
runs `fill.py`, which reads JSON and says what it did.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from os import environ
from pathlib import Path
from typing import Any

from scanlab import files
from scanlab.bootstrap import environment
from scanlab.bootstrap.console import SetupError, run_step, say
from scanlab.classroom.records import Student
from scanlab.errors import KitError, UsageError
from scanlab.foreign_text import plain
from scanlab.gradebooks.model import Export
from scanlab.gradebooks.text import number
from scanlab.paths import ROOT, STATE, shown
from scanlab.scratch import scratch

REQUIREMENTS = ROOT / "grader/python/requirements-nbgrader.txt"
FOLDER = STATE / "nbgrader"
SCRIPT = Path(__file__).with_name("fill.py")
SECONDS = 600.0
SQLITE = b"SQLite format 3\0"


def fill(export: Export, database: Path) -> Sequence[str]:
    """Put a class's scores into the database `database`, which is made where there is none; return what to say of it.

    An assignment has one notebook with one graded cell. Students are matched by their ids, and those whom nbgrader does
    not know are added. What was graded by hand in nbgrader stays.

    Raises UsageError where it is no such database, or has an assignment of that name with other notebooks; KitError
    when nbgrader cannot be had. Then the database is as it was.
    """
    python = _interpreter()
    with scratch() as folder:
        copy = folder / "gradebook.db"
        try:
            if database.exists():
                with database.open("rb") as file:
                    if file.read(len(SQLITE)) != SQLITE:
                        raise UsageError(f"{shown(database)}: no database of nbgrader's: it is no SQLite file")
                shutil.copyfile(database, copy)
        except OSError as error:
            raise UsageError(f"cannot read {shown(database)}: {error.strerror}") from error
        given = {"database": f"sqlite:///{copy}", **_contents(export)}
        try:
            done = subprocess.run(
                [str(python), "-I", str(SCRIPT)],
                env=around(python),
                input=json.dumps(given),
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise KitError(f"nbgrader in {python} does not run: {error}") from error
        said = [plain(line) for line in done.stderr.strip().splitlines()[-3:]]
        if done.returncode == UsageError.code:
            raise UsageError(f"{shown(database)}: {' '.join(said)}")
        if done.returncode != 0:
            raise KitError(f"{shown(database)}: nbgrader failed: {' '.join(said) or 'it said nothing'}")
        try:
            with files.replacing(database, is_lasting=True) as file, copy.open("rb") as made:
                shutil.copyfileobj(made, file)
        except OSError as error:
            raise UsageError(f"cannot write {shown(database)}: {error.strerror}") from error
        return [plain(line) for line in done.stdout.splitlines()]


def around(python: Path) -> dict[str, str]:
    """Return the environment in which nbgrader runs by this Python: it starts `alembic`, which lies beside it."""
    return {**environ, "PATH": os.pathsep.join([str(python.parent), environ.get("PATH", os.defpath)])}


def _contents(export: Export) -> dict[str, Any]:
    course = export.options.sight.course
    device = next((record.device for record in export.records), "vgpu")
    assignments = [
        {
            "name": export.options.problem(lab),
            "due": _utc(due.at.isoformat() if (due := course.due(lab)) else None),
            "max_score": float(number(course.lab(lab).max_points(device))),
        }
        for lab in export.labs
    ]
    known = {one.student.id: one.student for one in (*export.records, *export.waiting) if one.student}
    students = [_student(one) for one in [*known.values(), *export.missing]]
    submissions = []
    for record in export.records:
        if record.student is None:
            continue  # no student whom nbgrader could know
        for lab in (lab for lab in record.labs if lab.lab not in export.blank.get(record.key, ())):
            taken = sum(deduction.points for deduction in lab.deductions)
            submissions.append(
                {
                    "assignment": export.options.problem(lab.lab),
                    "student": record.student.id,
                    "timestamp": _utc(record.submitted_at),
                    "score": float(number(lab.points + taken)),
                    "max_score": float(number(lab.max_points)),
                    "penalty": float(number(taken)),
                }
            )
    unknown = [record.key for record in export.records if record.student is None]
    return {"assignments": assignments, "students": students, "submissions": submissions, "unknown": unknown}


def _student(student: Student) -> dict[str, str]:
    names = {"first_name": student.first_name, "last_name": student.last_name or student.name, "email": student.email}
    return {"id": student.id, **{key: plain(value) for key, value in names.items()}}


def _utc(at: str | None) -> str | None:
    from scanlab.gradebooks.systems.nbgrader import timestamp

    text = timestamp(at)
    return f"{datetime.fromisoformat(text).isoformat()} UTC" if text else None


def _interpreter() -> Path:
    """Return a Python that has nbgrader. Raises KitError where there is none and none may be installed."""
    found = shutil.which("nbgrader")
    beside = Path(found).resolve().parent / "python" if found else None
    if beside is not None and beside.exists():
        return beside
    ready = FOLDER / "ready"
    wanted = environment.digest(REQUIREMENTS)
    python = FOLDER / "bin/python"
    if python.exists() and ready.exists() and ready.read_text() == wanted:
        return python
    if environ.get("SCANLAB_NO_SETUP"):
        raise KitError(f"--database needs nbgrader on PATH; type: python3 -m pip install -r {shown(REQUIREMENTS)}")
    say("--database needs nbgrader: installing it into an environment of its own, .scanlab/nbgrader …")
    try:
        shutil.rmtree(FOLDER, ignore_errors=True)
        run_step([sys.executable, "-m", "venv", str(FOLDER)], "making .scanlab/nbgrader", timeout=300)
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--require-hashes"]
        run_step([*pip, "--only-binary", ":all:", "-r", str(REQUIREMENTS)], "installing nbgrader", live=True)
        ready.write_text(wanted)
    except (SetupError, OSError) as error:
        raise KitError(str(error)) from error
    return python
