"""What is taken off late work, at every boundary."""

import pytest

from conftest import Write
from scanlab.classroom.records import Deduction, Student
from scanlab.course.lateness import deductions
from scanlab.course.model import Course

LAB = "02_kogge_stone"
HEAD = """
title = "T"
timezone = "Europe/Berlin"
[[lab]]
name = "02"
due = 2027-03-14T23:59:00
"""


def taken(
    course: Course, at: str | None, student: str = "s1", points: float = 80, lab: str = LAB, **more: int
) -> list[float]:
    found = deductions(course, lab, at, student, points=points, max_points=100, **more)
    return [one.points for one in found]


def policy(course: Write, text: str, head: str = HEAD, more: str = "") -> Course:
    return course(f"{head}{more}").course if not text else course(f"{head}[lab.late]\n{text}\n{more}").course


TEN_A_DAY = "percent = 10"


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2027-03-14T23:58:59+01:00", []),
        ("2027-03-14T23:59:00+01:00", []),  # exactly at the due time
        ("2027-03-14T22:59:00Z", []),  # the same moment
        ("2027-03-14T23:59:00.001+01:00", [10]),
        ("2027-03-14T23:59:01+01:00", [10]),
        ("2027-03-15T23:59:00+01:00", [10]),  # exactly one day
        ("2027-03-15T23:59:01+01:00", [20]),
        ("2027-03-15T18:59:01-04:00", [20]),
        ("2027-03-22T12:00:00+01:00", [80]),  # no more than was won
    ],
)
def test_each_day_that_has_begun(course: Write, at: str, expected: list[float]) -> None:
    assert taken(policy(course, TEN_A_DAY), at) == expected


def test_the_reason_says_how_late_and_at_which_rate(course: Write) -> None:
    found = deductions(policy(course, TEN_A_DAY), LAB, "2027-03-16T10:00:00+01:00", "s1", points=80, max_points=100)
    assert found == (
        Deduction(
            reason="2 days late at 10 % a day: due 2027-03-14 23:59+01:00, handed in 2027-03-16 10:00+01:00", points=20
        ),
    )


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("percent = 10\nof = 'earned'", "2027-03-15T10:00:00+01:00", [8]),
        ("points = 3", "2027-03-15T10:00:00+01:00", [3]),
        ("points = 3\nper = 'hour'", "2027-03-15T00:59:00+01:00", [3]),  # exactly an hour
        ("points = 3\nper = 'hour'", "2027-03-15T00:59:01+01:00", [6]),
        ("percent = 0.5\nper = 'hour'", "2027-03-15T02:00:00+01:00", [1.5]),
        ("percent = 10\ngrace_minutes = 15", "2027-03-15T00:14:00+01:00", []),
        ("percent = 10\ngrace_minutes = 15", "2027-03-15T00:14:01+01:00", [10]),
        ("percent = 10\nmaximum = 25", "2027-03-16T23:59:00+01:00", [20]),
        ("percent = 10\nmaximum = 25", "2027-03-16T23:59:01+01:00", [25]),
        ("points = 10\nmaximum = 25", "2027-04-16T23:59:01+01:00", [25]),
        ("percent = 10\ncut_off_hours = 48", "2027-03-16T23:59:00+01:00", [20]),
        ("percent = 10\ncut_off_hours = 48", "2027-03-16T23:59:01+01:00", [80]),
        ("percent = 10\nmaximum = 25\ncut_off_hours = 48", "2027-03-17T23:59:01+01:00", [80]),
        ("cut_off_hours = 0", "2027-03-14T23:59:00+01:00", []),
        ("cut_off_hours = 0", "2027-03-14T23:59:01+01:00", [80]),
        ("cut_off_hours = 1\ngrace_minutes = 5", "2027-03-15T00:30:00+01:00", []),
    ],
)
def test_policies(course: Write, text: str, at: str, expected: list[float]) -> None:
    assert taken(policy(course, text), at) == expected


def test_a_lab_has_its_own_policy_and_the_others_the_courses(course: Write) -> None:
    found = course("""
title = "T"
[late]
percent = 10
[[lab]]
name = "01"
due = 2027-03-14T23:59:00+01:00
[[lab]]
name = "02"
due = 2027-03-14T23:59:00+01:00
[lab.late]
points = 1
per = "hour"
""").course
    at = "2027-03-15T02:00:00+01:00"
    assert taken(found, at, lab="01_sequential") == [10]
    assert taken(found, at, lab="02_kogge_stone") == [3]
    assert taken(found, at, lab="03_double_buffer") == []


def test_the_day_on_which_the_clocks_are_put_forward_has_23_hours(course: Write) -> None:
    head = HEAD.replace("2027-03-14T23:59", "2027-03-27T23:59")  # summer time begins on 28 March
    one = policy(course, TEN_A_DAY, head)
    assert taken(one, "2027-03-28T23:59:00+02:00") == [10]  # 23 hours later, the same time on the clock
    assert taken(one, "2027-03-28T23:59:01+02:00") == [20]
    by_hour = policy(course, "points = 1\nper = 'hour'", head)
    assert taken(by_hour, "2027-03-28T23:59:00+02:00") == [23]


def test_the_day_on_which_the_clocks_are_put_back_has_25_hours(course: Write) -> None:
    head = HEAD.replace("2027-03-14T23:59", "2027-10-30T23:59")
    one = policy(course, TEN_A_DAY, head)
    assert taken(one, "2027-10-31T23:59:00+01:00") == [10]
    assert taken(one, "2027-10-31T23:59:01+01:00") == [20]
    by_hour = policy(course, "points = 1\nper = 'hour'", head)
    assert taken(by_hour, "2027-10-31T23:59:00+01:00") == [25]
    fixed = policy(course, TEN_A_DAY, head.replace("23:59:00", "23:59:00+02:00"))
    assert taken(fixed, "2027-10-31T23:59:00+01:00") == [20]  # an offset knows no clocks: 25 hours


def test_late_within_the_hour_that_comes_twice_is_late(course: Write) -> None:
    found = policy(course, TEN_A_DAY, HEAD.replace("2027-03-14T23:59:00", "2027-10-31T02:30:00+02:00"))
    assert taken(found, "2027-10-31T02:29:00+02:00") == []
    assert taken(found, "2027-10-31T02:15:00+01:00") == [10]  # 45 minutes later, and a clock shows less


STUDENTS = """
[[student]]
id = "s1"
[[student.extension]]
lab = "02"
hours = 24
[[student]]
id = "s2"
excused = ["02"]
[[student]]
id = "s3"
[[student.extension]]
hours = 1
[[student.extension]]
lab = "02"
due = 2027-03-20T12:00:00
[[student]]
id = "s4@example.org"
attempts = 5
[[student.extension]]
hours = 2.5
"""


@pytest.mark.parametrize(
    ("student", "at", "expected"),
    [
        ("s1", "2027-03-15T23:59:00+01:00", []),
        ("s1", "2027-03-15T23:59:01+01:00", [10]),
        ("s2", "2027-05-15T23:59:01+01:00", []),
        ("s3", "2027-03-20T12:00:00+01:00", []),
        ("s3", "2027-03-20T12:00:01+01:00", [10]),
        ("s4@example.org", "2027-03-15T02:29:00+01:00", []),
        ("s4@example.org", "2027-03-15T02:29:01+01:00", [10]),
        ("s5", "2027-03-14T23:59:01+01:00", [10]),
    ],
)
def test_exceptions_of_single_students(course: Write, student: str, at: str, expected: list[float]) -> None:
    assert taken(policy(course, TEN_A_DAY, more=STUDENTS), at, student) == expected


def test_a_student_is_known_by_id_login_or_address(course: Write) -> None:
    found = policy(course, TEN_A_DAY, more=STUDENTS)
    at = "2027-03-15T02:00:00+01:00"
    by_mail = Student(id="77", name="Student 0004", email="s4@example.org")
    assert deductions(found, LAB, at, by_mail, points=80, max_points=100) == ()
    by_login = Student(id="77", name="Student 0001", login="s1")
    assert deductions(found, LAB, at, by_login, points=80, max_points=100) == ()
    assert len(deductions(found, LAB, at, None, points=80, max_points=100)) == 1


def test_an_extension_moves_the_cut_off_and_is_shown(course: Write) -> None:
    found = policy(course, "percent = 10\ncut_off_hours = 24", more=STUDENTS)
    assert taken(found, "2027-03-16T23:59:00+01:00", "s1") == [10]
    assert taken(found, "2027-03-16T23:59:01+01:00", "s1") == [80]
    (one,) = deductions(found, LAB, "2027-03-16T10:00:00+01:00", "s1", points=80, max_points=100)
    assert "due 2027-03-15 23:59+01:00 (extended)" in one.reason


def test_without_points_nothing_is_taken_off(course: Write) -> None:
    assert taken(policy(course, TEN_A_DAY), "2027-03-20T12:00:00+01:00", points=0) == []


@pytest.mark.parametrize("at", [None, "yesterday", ""])
def test_an_unknown_time_costs_nothing_and_is_reported(course: Write, at: str | None) -> None:
    found = deductions(policy(course, TEN_A_DAY), LAB, at, "s1", points=80, max_points=100)
    assert [(one.points, one.reason) for one in found] == [(0, "when it was handed in is not known: taken as in time")]


def test_a_time_without_an_offset_is_the_courses(course: Write) -> None:
    found = policy(course, TEN_A_DAY)
    assert taken(found, "2027-03-14T23:59:00") == []
    assert taken(found, "2027-03-14T23:59:01") == [10]


def test_attempts_beyond_the_last_that_counts_cost_all(course: Write) -> None:
    head = HEAD.replace("[[lab]]", "[attempts]\nat_most = 3\n[[lab]]")
    found = course(f"{head}{STUDENTS}").course
    assert taken(found, None, "s1", attempt=3) == []
    assert taken(found, None, "s1", attempt=4) == [80]
    assert taken(found, None, "s4@example.org", attempt=5) == []
    assert taken(found, None, "s4@example.org", attempt=6) == [80]


def test_a_class_without_a_course_loses_nothing() -> None:
    assert deductions({}, LAB, "2027-03-14T23:59:01Z", None, points=1, max_points=1) == ()


def test_the_mapping_of_a_class_is_enough(course: Write) -> None:
    found = policy(course, TEN_A_DAY, more=STUDENTS)
    view = found.public_view()
    at = "2027-03-15T23:59:01+01:00"
    for student in ("s1", "s2", "s3", "s9"):
        public = deductions(view, LAB, at, student, points=80, max_points=100)
        assert public == deductions(found, LAB, at, student, points=80, max_points=100)
