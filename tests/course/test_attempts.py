"""Which of a student's attempts counts."""

from datetime import UTC, datetime, timedelta

import pytest

from conftest import Write
from scanlab.course.attempts import Counted, Try, counting, rule_for

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


def tries(*minutes_and_points: tuple[float, float]) -> list[Try]:
    return [
        Try(f"t{i}", points, START + timedelta(minutes=minutes), i)
        for i, (minutes, points) in enumerate(minutes_and_points, 1)
    ]


def counted(course: Write, rule: str, attempts: list[Try], student: str = "s9") -> Counted:
    text = f'title = "T"\n[attempts]\n{rule}\n[[student]]\nid = "s1"\nattempts = 3\n'
    return counting(rule_for(course(text).course, "02_kogge_stone", student), attempts)


FOUR = tries((0, 10), (60, 90), (120, 90), (180, 20))


@pytest.mark.parametrize(
    ("rule", "chosen", "ignored"),
    [
        ("", "t4", []),
        ("count = 'last'", "t4", []),
        ("count = 'best'", "t3", []),  # of equal ones the last
        ("at_most = 2", "t2", ["t3", "t4"]),
        ("at_most = 1", "t1", ["t2", "t3", "t4"]),
        ("count = 'best'\nat_most = 4", "t3", []),
        ("minutes_between = 60", "t4", []),  # exactly so many are enough
        ("minutes_between = 61", "t3", ["t2", "t4"]),  # after t1 comes t3: 120 minutes
        ("minutes_between = 61\nat_most = 2", "t3", ["t2", "t4"]),  # what comes too soon uses up no attempt
    ],
)
def test_rules(course: Write, rule: str, chosen: str, ignored: list[str]) -> None:
    found = counted(course, rule, FOUR)
    assert found.chosen is not None
    assert (found.chosen.key, list(found.ignored)) == (chosen, ignored)
    assert counted(course, rule, FOUR[::-1]) == found  # as they come from a platform, in any order


def test_more_attempts_for_one_student(course: Write) -> None:
    found = counted(course, "at_most = 1", FOUR, "s1")
    assert found.chosen is not None
    assert found.chosen.key == "t3"
    assert found.ignored == {"t4": "only the first 3 count"}


def test_without_times_the_numbers_say_the_order(course: Write) -> None:
    given = [Try("b", 5, None, 2), Try("a", 9, None, 1)]
    assert counted(course, "minutes_between = 60", given).chosen == given[0]


def test_of_no_attempts_none_counts(course: Write) -> None:
    assert counted(course, "", []) == Counted(None)


def test_numbers_show_attempts_that_are_not_there(course: Write) -> None:
    later = [Try("third", 9, None, 3), Try("fourth", 9, None, 4)]
    assert counted(course, "at_most = 3", later).chosen == later[0]
    assert counted(course, "at_most = 2", later).chosen is None


def test_without_a_course_the_last_counts() -> None:
    found = counting(rule_for(None, "02_kogge_stone", None), FOUR)
    assert (found.chosen, found.ignored) == (FOUR[3], {})
