"""A class with a course: its rubrics, seeds, late policy and attempts reach the results."""

from pathlib import Path
from typing import Any

import pytest

import made_results
from conftest import Write
from scanlab.classroom import grading
from scanlab.classroom.records import Class, HandedIn, Student, Submission
from scanlab.classroom.store import Store, Unit
from scanlab.course.model import seed_for
from scanlab.course.read import Read
from scanlab.judging import judge
from scanlab.judging.result import LabResult

LAB = "02_kogge_stone"
SHA = "a" * 64
TEXT = """
title = "T"
secret_seed = "correct horse battery staple"
[late]
percent = 10
[attempts]
at_most = 2
[[lab]]
name = "02"
due = 2027-03-14T23:59:00Z
[[lab.check]]
name = "additions"
points = 25
"""


def one(at: str, attempt: int | None = None) -> Submission:
    file = HandedIn(lab=LAB, name="scan.cu", sha256=SHA)
    student = Student(id="s0001", name="Student 0001")
    return Submission(key="s0001", student=student, origin="s0001", submitted_at=at, attempt=attempt, files=(file,))


def class_of(read: Read, *submissions: Submission) -> Class:
    view = read.course.public_view()
    return Class(title="T", device="vgpu", seed=read.seed, labs=(LAB,), submissions=submissions, course=view)


def result(points: float) -> LabResult:
    return made_results.result(made_results.check(max_points=120, points=points, not_run_points=15), lab=LAB)


@pytest.mark.parametrize(
    ("at", "attempt", "points", "left", "deducted"),
    [
        ("2027-03-14T23:59:00Z", None, 111.5, 111.5, []),
        ("2027-03-15T12:00:00Z", None, 111.5, 99.5, [12]),
        ("2027-03-18T12:00:00Z", 2, 40, 0, [40]),
        ("2027-03-01T12:00:00Z", 3, 40, 0, [40]),
    ],
)
def test_deductions_are_in_the_record(
    course: Write, tmp_path: Path, at: str, attempt: int | None, points: float, left: float, deducted: list[float]
) -> None:
    store, read = Store(tmp_path), course(TEXT)
    store.write_graded(Unit(LAB, SHA), result(points), {"seconds": 0, "cpu_seconds": 0})
    submission = one(at, attempt)
    record = grading.make_record(store, class_of(read, submission), submission)
    assert record.points == record.labs[0].points == left
    assert [taken.points for taken in record.labs[0].deductions] == deducted
    assert record.max_points == 120


def test_a_lab_without_a_file_is_worth_what_the_course_says(course: Write, tmp_path: Path) -> None:
    submission = one("2027-03-18T12:00:00Z").model_copy(update={"files": ()})
    record = grading.make_record(Store(tmp_path), class_of(course(TEXT), submission), submission)
    assert (record.points, record.max_points) == (0, 120)
    assert record.labs[0].deductions == ()


def test_the_judge_gets_the_courses_rubric_and_a_seed_of_the_files_own(
    course: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def grade(submissions: list[judge.Submission], options: Any, *_: Any) -> list[LabResult]:
        points = {check.name: check.points for check in submissions[0].lab.rubric.check}
        seen.append((points["additions"], options.seed))
        return [result(1)]

    monkeypatch.setattr(judge, "grade", grade)
    store, read = Store(tmp_path), course(TEXT)
    store.source(SHA).parent.mkdir(parents=True)
    store.source(SHA).write_text("// anything")
    taken_in = class_of(read, one("2027-03-14T23:59:00Z"))
    grading.grade_unit(store, taken_in, Unit(LAB, SHA))
    assert seen == [(25, seed_for(taken_in.course, read.seed, LAB, SHA))]
    assert str(read.seed) not in store.graded(Unit(LAB, SHA)).read_text()
