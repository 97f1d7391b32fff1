"""A made-up class, and the kit with stand-ins for its C++ parts (those of tests/grader)."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"
_place = REPOSITORY / "tests/grader/conftest.py"
_spec = importlib.util.spec_from_file_location("grader_stand_ins", _place)
assert _spec
assert _spec.loader
stand_ins = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stand_ins)  # puts the package on the path as well
sys.path.insert(0, str(REPOSITORY / "tests"))
fake_build = stand_ins.fake_build

import made_results  # noqa: E402
from scanlab.classroom.records import (  # noqa: E402
    Class,
    Deduction,
    LabGrade,
    Problem,
    Record,
    Student,
    Submission,
    Verdict,
)
from scanlab.classroom.store import Store  # noqa: E402
from scanlab.judging.result import CheckResult  # noqa: E402

SEQUENTIAL, KOGGE_STONE = "01_sequential", "02_kogge_stone"
NASTY = "\x1b[31mred\x1b[0m </script><b>&amp; =cmd|' /C calc'!A0 \x00\x07\u202e \ud800 \ufffe done"
"""What a learner's program may print: terminal escapes, tags, a formula, control marks, half a character."""


def check(name: str, points: float, most: float, title: str = "", **why: Any) -> CheckResult:
    """One check of the judge's result; `why` changes the cause of one that failed."""
    if points == most:
        return made_results.check(name, "pass", most, title=title or f"check {name}")
    known = {
        "headline": "inclusive scan of floats, n = 1025, seed 7", "rationale": "the last section is never written",
        "expected": "523776", "actual": "y[1024] = 0", "details": ("1 of 1025 wrong",),
        "next": "grader/scanlab check 02 --n 1025 --seed 7", "id": "wrong.last_section",
    }  # fmt: skip
    cause = made_results.cause(**(known | why))
    return made_results.check(name, "fail", most, title=title or f"check {name}", points=points, cause=cause)


def skipped(name: str, most: float, headline: str = "needs inclusive, which did not pass") -> CheckResult:
    cause = made_results.cause(headline)
    return made_results.check(name, "skipped", most, title=f"check {name}", cause=cause)


def not_run(name: str) -> CheckResult:
    return skipped(name, 0, "not run: no GPU").model_copy(update={"not_run_points": 15})


def grade(lab: str, checks: Iterable[CheckResult], off: float = 0, verdict: Verdict | None = None) -> LabGrade:
    """What a lab got; `off` points were taken off."""
    listed = list(checks)
    points, most = sum(one.points for one in listed), sum(one.max_points for one in listed)
    judged = verdict or ("pass" if points == most else "fail")
    result = made_results.result(*listed, lab=lab, title=lab, verdict=judged, not_run_points=15)
    return LabGrade(
        lab=lab, sha256="0" * 64, verdict=judged, points=points - off, max_points=most, not_run_points=15,
        deductions=(Deduction(reason="2 days late at 5 points a day", points=off),) if off else (), result=result,
    )  # fmt: skip


def nothing(lab: str) -> LabGrade:
    return LabGrade(
        lab=lab, sha256=None, verdict="fail", points=0, max_points=100, not_run_points=15,
        headline="nothing was handed in",
    )  # fmt: skip


def kit_fault(lab: str) -> LabGrade:
    cause = made_results.cause("the judge was killed by signal 9")
    broken = made_results.check("build", "error", 100, cause=cause)
    return grade(lab, [broken], verdict="error")


def student(at: int, **more: Any) -> Student:
    given = {
        "id": f"s{at:04d}", "name": f"Student {at:04d}", "first_name": "Student", "last_name": f"{at:04d}",
        "email": f"s{at:04d}@example.org", "login": f"login{at:04d}",
    }  # fmt: skip
    return Student(**(given | more))


def record(key: str, who: Student | None, *labs: LabGrade, **more: Any) -> Record:
    worst = ("error", "pending", "fail", "timeout", "inconclusive", "pass")
    given: dict[str, Any] = {
        "key": key, "student": who, "origin": f"{key}.zip", "submitted_at": "2026-10-05T14:00:00+02:00", "attempt": 1,
        "device": "vgpu", "verdict": min((lab.verdict for lab in labs), key=worst.index),
        "points": sum(lab.points for lab in labs), "max_points": sum(lab.max_points for lab in labs),
        "not_run_points": sum(lab.not_run_points for lab in labs), "labs": labs,
    }  # fmt: skip
    return Record(**(given | more))


def unreadable(key: str, who: Student | None, **more: Any) -> Record:
    """What someone got whose file could not be read: 0, whether it is due or not."""
    return record(key, who, nothing(KOGGE_STONE), problems=(Problem(name="a/b", reason="is a link"),), **more)


def write_store(
    folder: Path, records: Iterable[Record], missing: Iterable[Student] = (), course: Mapping[str, Any] | None = None,
    seed: int = 7,
) -> Path:  # fmt: skip
    """A results folder as `grade --out` leaves it."""
    store, listed = Store(folder), list(records)
    labs = dict.fromkeys(lab.lab for one in listed for lab in one.labs)
    submissions = tuple(
        Submission(key=one.key, student=one.student, origin=one.origin, submitted_at=one.submitted_at) for one in listed
    )
    taken_in = Class(
        title="Parallel scan", device="vgpu", seed=seed, labs=tuple(labs), submissions=submissions,
        missing=tuple(missing), course=dict(course or {}),
    )  # fmt: skip
    store.write_class(taken_in)
    for one in listed:
        store.write_record(one)
    return folder


@pytest.fixture
def small_class(tmp_path: Path) -> Path:
    """One full, one half and late, one empty, one that the kit could not grade; one student handed nothing in."""
    good = grade(KOGGE_STONE, [check("inclusive", 60, 60), check("barriers", 40, 40), not_run("time")])
    half = grade(KOGGE_STONE, [check("inclusive", 60, 60), check("barriers", 0, 40), not_run("time")], off=10)
    return write_store(
        tmp_path / "results",
        [
            record("s0001", student(1), good),
            record("s0002", student(2), half),
            unreadable("s0003", student(3)),
            record("s0004", student(4), kit_fault(KOGGE_STONE)),
        ],
        missing=[student(5)],
    )


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


Scanlab = Callable[..., Done]


@pytest.fixture
def scanlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Scanlab:
    """Run the command line in this process, in `tmp_path`; what it does not foresee fails the test."""
    monkeypatch.setattr("scanlab.cli.stop_on_signals", lambda: None)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> Done:
        from scanlab.cli import main

        capfdbinary.readouterr()
        code = main([str(word) for word in words])
        captured = capfdbinary.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the adapters' scripts take for the kit: its command line, without the launcher that sets up and builds."""
    folder = tmp_path_factory.mktemp("home")
    program = folder / "grader/scanlab"
    program.parent.mkdir()
    start = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    warning = "echo 'a warning that says nothing' >&2"
    program.write_text(f"#!/bin/sh\n{sys.executable} -c '{start}' \"$@\"\nstatus=$?\n{warning}\nexit $status\n")
    program.chmod(0o755)
    return folder


def strict_json(text: bytes | str) -> Any:
    """JSON as RFC 8259 has it: no NaN, and one value only."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


def script_environment(home: Path, build: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "SCANLAB_HOME": str(home), **stand_ins.environment(build), **more}
