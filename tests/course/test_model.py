"""What class.json keeps of a course, and what others ask of it."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

import made_results
from conftest import Write
from made_results import finding
from scanlab.classroom.records import Class
from scanlab.course.model import NO_COURSE, Course, lab_of, seed_for
from scanlab.course.seen import Sight
from scanlab.errors import UsageError
from scanlab.judging.result import CheckResult
from scanlab.labs.folders import find_lab

TEXT = """
title = "T"
secret_seed = "correct horse battery"
[late]
percent = 10
[[lab]]
name = "01"
weight = 1
[[lab]]
name = "02"
weight = 3
due = 2027-03-14T23:59:00+01:00
[[lab.check]]
name = "additions"
visibility = "hidden"
points = 4
[[lab.check]]
name = "barriers"
visibility = "after_due_date"
[[student]]
id = "s1"
excused = ["01"]
[[student.extension]]
lab = "02"
hours = 24
"""
LAB = "02_kogge_stone"


def test_a_course_comes_back_from_class_json(course: Write) -> None:
    found = course(TEXT).course
    view = json.loads(json.dumps(found.public_view()))
    assert Course.of(view) == found
    assert lab_of(view, LAB).rubric == found.lab(LAB).rubric
    assert {check.name: check.points for check in lab_of(view, LAB).rubric.check}["additions"] == 4


def test_a_dst_zone_survives_class_json(course: Write) -> None:
    found = course('title = "T"\ntimezone = "Europe/Berlin"\n[[lab]]\nname = "01"\ndue = 2027-03-27T23:59:00').course
    again = Course.of(json.loads(json.dumps(found.public_view())))
    assert again is not None
    due = again.due("01_sequential")
    assert due is not None
    assert due.here(datetime.fromisoformat("2027-03-28T12:00:00Z")).utcoffset() == timedelta(hours=2)


def test_the_same_file_gives_the_same_bytes(course: Write) -> None:
    assert json.dumps(course(TEXT).course.public_view()) == json.dumps(course(f"{TEXT}# more\n").course.public_view())


def damaged(course: Write, place: str, value: object) -> dict[str, Any]:
    view = json.loads(json.dumps(course(TEXT).course.public_view()))
    *path, last = place.split(".")
    at = view
    for key in path:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[last] = value
    return view


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("version", 2),
        ("labs", "nonsense"),
        ("labs.1.visibility", "nonsense"),
        ("labs.1.visibility.barriers", "hiden"),
        ("labs.1.visibility.barriers", None),
        ("labs.1.visibility.barriers", ["visible"]),
        ("labs.1.rubric", {"x": 1}),
        ("labs.1.due.at", "soon"),
        ("students.0.excused", "01_sequential"),
    ],
)
def test_what_cannot_be_read_is_refused_and_never_guessed(course: Write, place: str, value: object) -> None:
    with pytest.raises(UsageError, match=rf"^class\.json is damaged or of another version: course\.{place}[.:]"):
        Course.of(damaged(course, place, value))


def test_who_sees_what(course: Write) -> None:
    found = course(TEXT).course
    checks = ("inclusive", "additions", "barriers", "build")
    assert [found.visibility(LAB, name) for name in checks] == ["visible", "hidden", "after_due_date", "visible"]
    assert [Sight(found).shows(LAB, name) for name in checks] == [True, False, False, True]
    assert [Sight(found, is_due=True).shows(LAB, name) for name in checks] == [True, False, True, True]
    assert [Sight().shows(LAB, name) for name in checks] == [True] * 4


def test_due_dates_and_excuses(course: Write) -> None:
    found = course(TEXT).course
    due, late = (datetime.fromisoformat(f"2027-03-{day}T23:59:00+01:00") for day in (14, 15))
    moments = [one.at if one else None for one in (found.due(LAB), found.due(LAB, "s1"), found.due("01_sequential"))]
    assert moments == [due, late, None]
    assert (found.last_due(LAB), found.last_due("01_sequential")) == (late, None)
    assert found.excused("01_sequential", "s1")
    assert not found.excused(LAB, "s1")


def test_without_a_course_all_is_the_kits() -> None:
    assert Course.of({}) is NO_COURSE
    assert NO_COURSE.visibility(LAB, "additions") == "visible"
    assert (NO_COURSE.due(LAB, "s1"), NO_COURSE.last_due(LAB), NO_COURSE.excused(LAB, "s1")) == (None, None, False)
    assert NO_COURSE.lab(LAB).rubric == find_lab(LAB).rubric


def test_an_extension_that_ends_earlier_takes_nothing_away(course: Write) -> None:
    text = TEXT.replace("hours = 24", "due = 2027-03-01T00:00:00Z")
    found = course(text).course
    assert found.due(LAB, "s1") == found.due(LAB) == course(TEXT).course.due(LAB)


def test_weights(course: Write) -> None:
    found = course(TEXT).course
    grades = {"01_sequential": (50.0, 100.0), LAB: (47.0, 94.0 / 2)}
    assert found.weighted_percent(grades) == pytest.approx((1 * 50 + 3 * 100) / 4)
    assert found.weighted_percent(grades, "s1") == pytest.approx(100)  # excused from the first
    assert NO_COURSE.weighted_percent(grades) == pytest.approx(75)
    assert found.weighted_percent({}) is None


def test_a_secret_seed_gives_each_file_its_own_and_no_way_back(course: Write) -> None:
    read = course(TEXT)
    view = read.course.public_view()
    seeds = {seed_for(view, read.seed, lab, sha) for lab in (LAB, "01_sequential") for sha in ("a" * 64, "b" * 64)}
    assert len(seeds) == 4
    assert read.seed not in seeds
    assert all(0 <= seed < 1 << 64 for seed in seeds)
    assert seed_for(view, read.seed, LAB, "a" * 64) == seed_for(view, read.seed, LAB, "a" * 64)
    assert seed_for(view, read.seed + 1, LAB, "a" * 64) not in seeds


def test_a_public_seed_is_the_same_for_all(course: Write) -> None:
    read = course('title = "T"\nseed = 11')
    assert seed_for(read.course.public_view(), read.seed, LAB, "a" * 64) == 11
    assert seed_for({}, 7, LAB, "a" * 64) == 7


def test_a_files_seed_was_worked_out_by_hand() -> None:
    import hashlib
    import hmac

    key = (5).to_bytes(16, "little")
    made = hmac.HMAC(key, f"{LAB} {'c' * 64}".encode(), hashlib.sha256).digest()
    assert seed_for({"secret_seed": True}, 5, LAB, "c" * 64) == int.from_bytes(made[:8], "little")


def check(name: str, verdict: str = "pass", headline: str = "") -> CheckResult:
    cause = made_results.cause(headline, details=("x",)) if headline else None
    return made_results.check(name, verdict, 1, title=f"the title of {name}", cause=cause)


def test_a_student_sees_no_word_of_hidden_checks(course: Write) -> None:
    found = course(TEXT).course
    result = made_results.result(
        check("inclusive", "fail", "inclusive scan of floats, n = 1025"),
        check("additions", "fail", "count at n = 4711"),
        check("barriers"),
        check("sectors", "skipped", 'not run: it needs "the title of additions", which did not pass'),
        points=3,
        findings=(
            finding("race.shared", text="a race", checks=("inclusive", "additions")),
            finding("cost.additions", text="cost at n = 4711", checks=("additions",)),
        ),
        findings_total=7,
    )
    seen = Sight(found).result(LAB, result)
    assert [one.name for one in seen.checks] == ["inclusive", "sectors"]
    assert [(one.text, one.checks) for one in seen.findings] == [("a race", ("inclusive",))]
    assert (seen.points, seen.findings_total) == (3, 1)
    assert seen.checks[1].cause
    assert seen.checks[1].cause.headline == "not run: it needs a check that did not pass"
    for word in ("additions", "4711", "barriers"):
        assert word not in seen.by_name()
    later = Sight(found, is_due=True).result(LAB, result)
    assert [one.name for one in later.checks] == ["inclusive", "barriers", "sectors"]
    assert Sight().result(LAB, result) == result


@pytest.mark.parametrize(
    ("text", "seed", "secret"),
    [
        (None, 7, None),
        (None, 11, 11),
        ('title = "T"', 1 << 50, 1 << 50),  # nothing is said of one: each class has its own
        ('title = "T"\nseed = 11', 11, None),
        ('title = "T"\nseed = 11', 12, 12),  # another was named for grading
        (TEXT, 1 << 50, 1 << 50),
    ],
)
def test_which_seed_is_secret(course: Write, text: str | None, seed: int, secret: int | None) -> None:
    view = course(text).course.public_view() if text else {}
    taken_in = Class(title="T", device="vgpu", seed=seed, labs=(LAB,), submissions=(), course=view)
    assert Sight.of(taken_in).secret_seed == secret


def test_a_secret_seed_is_in_no_part_of_a_result() -> None:
    cause = made_results.cause("n = 1, seed 11", next="check 02 --seed 11 --n 111")
    result = made_results.result(made_results.check("inclusive", "fail", cause=cause), seed=11)
    text = Sight(secret_seed=11).result(LAB, result).by_name()
    assert "n = 1, a secret seed" in text
    assert "check 02 --n 111" in text
    assert '"seed"' not in text
