"""What class.json keeps of a course, and what others ask of it."""

import json
from datetime import datetime, timedelta

import pytest

from conftest import Write
from scanlab import course as questions
from scanlab.course.model import Course, seed_for
from scanlab.errors import KitError

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
    assert questions.lab_of(view, LAB).rubric == found.lab(LAB).rubric
    assert questions.lab_of(view, LAB).rubric.check[4].points == 4


def test_a_dst_zone_survives_class_json(course: Write) -> None:
    found = course('title = "T"\ntimezone = "Europe/Berlin"\n[[lab]]\nname = "01"\ndue = 2027-03-27T23:59:00').course
    again = Course.of(json.loads(json.dumps(found.public_view())))
    assert again is not None
    due = again.due("01_sequential")
    assert due is not None
    assert due.here(datetime.fromisoformat("2027-03-28T12:00:00Z")).utcoffset() == timedelta(hours=2)


def test_the_same_file_gives_the_same_bytes(course: Write) -> None:
    assert json.dumps(course(TEXT).course.public_view()) == json.dumps(course(f"{TEXT}# more\n").course.public_view())


def test_a_class_of_another_version_is_told() -> None:
    with pytest.raises(KitError, match=r"class\.json: course\."):
        Course.of({"title": "T", "version": 2})


def test_who_sees_what(course: Write) -> None:
    view = course(TEXT).course.public_view()
    told = [questions.visibility(view, LAB, name) for name in ("inclusive", "additions", "barriers", "build")]
    assert told == ["visible", "hidden", "after_due_date", "visible"]
    assert questions.visibilities(view, LAB)["additions"] == "hidden"
    assert questions.visibility({}, LAB, "additions") == "visible"
    assert questions.visibilities({}, LAB) == {}


@pytest.mark.parametrize(
    ("check", "at", "shown"),
    [
        ("inclusive", "2027-03-01T00:00:00Z", True),
        ("additions", "2028-03-01T00:00:00Z", False),
        ("barriers", "2027-03-14T23:59:00+01:00", False),
        ("barriers", "2027-03-14T23:59:01+01:00", False),  # s1 still has a day
        ("barriers", "2027-03-15T23:59:00+01:00", False),
        ("barriers", "2027-03-15T23:59:01+01:00", True),
    ],
)
def test_when_a_check_is_shown(course: Write, check: str, at: str, shown: bool) -> None:
    view = course(TEXT).course.public_view()
    for student in ("s1", "s2", None):
        assert questions.is_shown(view, LAB, check, student, datetime.fromisoformat(at)) is shown


def test_due_dates_and_excuses(course: Write) -> None:
    view = course(TEXT).course.public_view()
    assert questions.due(view, LAB) == datetime.fromisoformat("2027-03-14T23:59:00+01:00")
    assert questions.due(view, LAB, "s1") == datetime.fromisoformat("2027-03-15T23:59:00+01:00")
    assert questions.due(view, "01_sequential") is None
    assert questions.excused(view, "01_sequential", "s1")
    assert not questions.excused(view, LAB, "s1")
    assert not questions.excused({}, LAB, "s1")


def test_an_extension_that_ends_earlier_takes_nothing_away(course: Write) -> None:
    text = TEXT.replace("hours = 24", "due = 2027-03-01T00:00:00Z")
    view = course(text).course.public_view()
    assert questions.due(view, LAB, "s1") == questions.due(view, LAB)


def test_weights(course: Write) -> None:
    view = course(TEXT).course.public_view()
    grades = {"01_sequential": (50.0, 100.0), LAB: (47.0, 94.0 / 2)}
    assert questions.weighted_percent(view, grades) == pytest.approx((1 * 50 + 3 * 100) / 4)
    assert questions.weighted_percent(view, grades, "s1") == pytest.approx(100)  # excused from the first
    assert questions.weighted_percent({}, grades) == pytest.approx(75)
    assert questions.weighted_percent(view, {}) is None


def test_a_secret_seed_gives_each_file_its_own_and_no_way_back(course: Write) -> None:
    read = course(TEXT)
    view = read.course.public_view()
    seeds = {seed_for(view, read.seed, lab, sha) for lab in (LAB, "01_sequential") for sha in ("a" * 64, "b" * 64)}
    assert len(seeds) == 4
    assert read.seed not in seeds
    assert all(0 <= seed < 1 << 64 for seed in seeds)
    assert seed_for(view, read.seed, LAB, "a" * 64) == seed_for(view, read.seed, LAB, "a" * 64)
    assert seed_for(view, read.seed + 1, LAB, "a" * 64) not in seeds


def test_a_public_seed_is_everybodys(course: Write) -> None:
    read = course('title = "T"\nseed = 11')
    assert seed_for(read.course.public_view(), read.seed, LAB, "a" * 64) == 11
    assert seed_for({}, 7, LAB, "a" * 64) == 7


def test_a_files_seed_was_worked_out_by_hand() -> None:
    import hashlib
    import hmac

    key = (5).to_bytes(16, "little")
    made = hmac.HMAC(key, f"{LAB} {'c' * 64}".encode(), hashlib.sha256).digest()
    assert seed_for({"secret_seed": True}, 5, LAB, "c" * 64) == int.from_bytes(made[:8], "little")


NOW = datetime.fromisoformat("2027-03-01T00:00:00Z")


def check(name: str, verdict: str = "pass", headline: str = "") -> dict[str, object]:
    cause = {"headline": headline, "details": ["x"]} if headline else None
    return {"name": name, "title": f"the title of {name}", "verdict": verdict, "points": 1, "cause": cause}


def test_a_student_sees_no_word_of_hidden_checks(course: Write) -> None:
    view = course(TEXT).course.public_view()
    result = {
        "points": 3,
        "checks": [
            check("inclusive", "fail", "inclusive scan of floats, n = 1025"),
            check("additions", "fail", "count at n = 4711"),
            check("barriers"),
            check("sectors", "skipped", 'not run: it needs "the title of additions", which did not pass'),
        ],
        "findings": [
            {"text": "a race", "checks": ["inclusive", "additions"]},
            {"text": "cost at n = 4711", "checks": ["additions"]},
        ],
        "findings_total": 7,
    }
    seen = questions.seen_by_student(view, LAB, result, "s1", NOW)
    assert [one["name"] for one in seen["checks"]] == ["inclusive", "sectors"]
    assert seen["findings"] == [{"text": "a race", "checks": ["inclusive"]}]
    assert (seen["points"], seen["findings_total"]) == (3, 1)
    assert seen["checks"][1]["cause"]["headline"] == "not run: it needs a check that did not pass"
    for word in ("additions", "4711", "barriers"):
        assert word not in json.dumps(seen)
    later = questions.seen_by_student(view, LAB, result, "s1", datetime.fromisoformat("2027-04-01T00:00:00Z"))
    assert [one["name"] for one in later["checks"]] == ["inclusive", "barriers", "sectors"]
    assert questions.seen_by_student({}, LAB, result, "s1", NOW) == result
