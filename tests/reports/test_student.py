"""A student's page: their own lines marked, nothing that they may not see, and nothing of other students."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from needs import skip_without
from scanlab.on_demand import REPORTS

skip_without(REPORTS)

from markupsafe import Markup

import made_results
from classes import (
    DOUBLE_BUFFER,
    KOGGE_STONE,
    PLAIN,
    Classroom,
    check,
    excusing_class,
    finding,
    hiding,
    race,
    result,
    why,
)
from made_course import made_course
from scanlab.classroom.records import Deduction, Problem
from scanlab.classroom.store import Store
from scanlab.course.seen import Sight
from scanlab.judging.result import CountLimits, OutputRow, Where
from scanlab.reports.pictures import Picture
from scanlab.reports.render import student_html
from scanlab.reports.student_page import StudentPage, student_page


def page_of(store: Store, key: str, sight: Sight | None = None, **more: Any) -> StudentPage:
    taken_in = store.read_class()
    return student_page(taken_in, store.read_record(key), store.source, sight or Sight.of(taken_in), **more)


def one_page(folder: Path, checks: list, findings: list = (), text: str = PLAIN, **more: Any) -> StudentPage:
    room = Classroom(folder, **more)
    room.hand_in("a", {KOGGE_STONE: (text, result(checks, findings))})
    return page_of(room.write(), "a")


def marks_of(page: StudentPage) -> dict[int, str]:
    return {row.number: row.role for lab in page.labs if lab.listing for row in lab.listing.rows if row.notes}


def test_the_lines_of_a_race_are_marked_in_two_ways(tmp_path: Path) -> None:
    page = one_page(tmp_path, [check("inclusive", "fail")], [race()])
    assert marks_of(page) == {4: "read", 5: "write"}
    html = student_html(page)
    read, write = (re.search(rf'<span class="l {role}" id="lab-02-L(\d+)">', html) for role in ("read", "write"))
    assert (read[1], write[1]) == ("4", "5")
    assert "read by thread 0: race on shared memory" in html
    assert "write by thread 1: race on shared memory" in html


def test_a_line_that_reads_and_writes_says_so(tmp_path: Path) -> None:
    both = finding("race.shared", [("read", 5), ("write", 5)])
    assert marks_of(one_page(tmp_path, [check("inclusive", "fail")], [both])) == {5: "both"}


def test_lines_of_other_files_are_not_marked(tmp_path: Path) -> None:
    part = made_results.part("read", 4, file="labs/scanlab.cuh")
    elsewhere = made_results.finding("race.shared", [part])
    assert marks_of(one_page(tmp_path, [check("inclusive", "fail")], [elsewhere])) == {}


def test_findings_that_say_the_same_are_shown_once(tmp_path: Path) -> None:
    twice = [race(count=3), race(count=4, checks=("exclusive",))]
    page = one_page(tmp_path, [check("inclusive", "fail"), check("exclusive", "fail")], twice)
    (one,) = page.labs[0].mistakes
    assert (one.seen, one.others, one.checks) == (7, 1, ["inclusive", "exclusive"])


def test_the_command_that_shows_it_again_is_that_of_its_check(tmp_path: Path) -> None:
    checks = [
        check("inclusive", "fail", cause=why("n = 3", "wrong.other", "grader/scanlab check 02 --n 3")),
        check("exclusive", "fail", cause=why("n = 5", "race.shared", "grader/scanlab check 02 --n 5")),
    ]
    page = one_page(tmp_path, checks, [race(checks=("inclusive", "exclusive"))])
    assert page.labs[0].mistakes[0].again == "grader/scanlab check 02 --n 5"
    assert page.labs[0].again == "grader/scanlab check 02 --n 5"


def test_many_findings_are_capped_and_counted(tmp_path: Path) -> None:
    many = [finding(f"wrong.kind{at}", headline=f"headline {at}") for at in range(20)]
    page = one_page(tmp_path, [check("inclusive", "fail")], many)
    assert len(page.labs[0].mistakes) == 8
    assert page.labs[0].more_mistakes == 12
    assert "12 further findings are not shown" in student_html(page)


SECRET_TITLE, SECRET_HEADLINE, SECRET_COMMAND = "TITLE THAT IS HIDDEN", "HEADLINE THAT IS HIDDEN", "check 02 --n 987654"


def secret(folder: Path, course: Mapping[str, Any]) -> Store:
    """A class in which the check `barriers` found a race on lines 4 and 5, and `inclusive` waits for nothing."""
    room = Classroom(folder, course=course)
    cause = why(SECRET_HEADLINE, "race.shared", SECRET_COMMAND)
    hidden = check("barriers", "fail", 30, points=12, cause=cause, title=SECRET_TITLE, counts={"barriers": 4321})
    waits = check("additions", "skipped", 10, cause=why(f'not run: it needs "{SECRET_TITLE}", which did not pass'))
    shown = check("inclusive", "pass", 20)
    found = race(checks=("barriers",), headline=SECRET_HEADLINE)
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([shown, hidden, waits], [found]))})
    return room.write()


@pytest.mark.parametrize(
    "course",
    [
        hiding("barriers"),
        hiding("barriers", "after_due_date"),
    ],
)
def test_a_hidden_check_shows_its_points_and_nothing_else(course: Mapping[str, Any], tmp_path: Path) -> None:
    page = page_of(secret(tmp_path, course), "a")
    html = student_html(page)
    for text in (SECRET_TITLE, SECRET_HEADLINE, SECRET_COMMAND, "4321", "4\u202f321", "barriers", "race"):
        assert text not in html
    assert marks_of(page) == {}
    (lab,) = page.labs
    assert (lab.hidden, lab.hidden_points, lab.hidden_max_points) == (1, 12, 30)
    assert "1 check that is not shown" in html
    assert [row.title for row in lab.checks] == ["title of inclusive", "title of additions"]


@pytest.mark.parametrize(
    ("course", "is_due"),
    [
        ({}, False),
        (hiding("barriers", "visible"), False),
        (hiding("sectors"), False),
        (hiding("barriers", lab=DOUBLE_BUFFER), False),
        (hiding("barriers", "after_due_date"), True),
    ],
)
def test_what_is_not_hidden_is_shown(course: Mapping[str, Any], is_due: bool, tmp_path: Path) -> None:
    store = secret(tmp_path, course)
    page = page_of(store, "a", Sight.of(store.read_class(), is_due))
    assert SECRET_TITLE in student_html(page)
    assert marks_of(page) == {4: "read", 5: "write"}
    assert page.labs[0].hidden == 0


def test_a_finding_of_a_hidden_check_and_of_another_is_shown_as_the_others(tmp_path: Path) -> None:
    room = Classroom(tmp_path, course=hiding("barriers"))
    hidden = check("barriers", "fail", cause=why(SECRET_HEADLINE, "race.shared", SECRET_COMMAND))
    shown = check("inclusive", "fail", cause=why("n = 3", "race.shared", "grader/scanlab check 02 --n 3"))
    found = race(checks=("barriers", "inclusive"))
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([hidden, shown], [found]))})
    html = student_html(page_of(room.write(), "a"))
    assert SECRET_HEADLINE not in html
    assert SECRET_COMMAND not in html
    assert "grader/scanlab check 02 --n 3" in html


def test_a_seed_of_the_course_stays_secret(tmp_path: Path) -> None:
    cause = why("inclusive scan, n = 1, seed 990017, schedule in_order", "race.shared", "check 02 --seed 990017 --n 1")
    found = race(headline="with seed 990017", facts=["seed 990017", "seed 9900170"])
    html = student_html(one_page(tmp_path, [check("inclusive", "fail", cause=cause)], [found], seed=990017))
    assert not re.search(r"990017\b", html)
    assert "inclusive scan, n = 1, a secret seed, schedule in_order" in html
    assert "check 02 --n 1" in html
    assert "seed 9900170" in html  # another number


@pytest.mark.parametrize(
    ("course", "shown"),
    [(made_course("seed = 990017"), True), (made_course('secret_seed = "correct horse battery"'), False), ({}, False)],
)
def test_what_a_course_says_of_its_seed_holds(course: Mapping[str, Any], shown: bool, tmp_path: Path) -> None:
    cause = why("n = 1, seed 990017", "race.shared", "grader/scanlab check 02 --seed 990017")
    page = one_page(tmp_path, [check("inclusive", "fail", cause=cause)], [race()], seed=990017, course=course)
    assert ("990017" in student_html(page)) is shown


def test_the_limits_are_those_that_the_check_was_graded_by(tmp_path: Path) -> None:
    course = made_course('[[lab]]\nname = "02"\n[[lab.check]]\nname = "barriers"\nat_most = "3 * n"\nat_least = 5')
    for limits, low, high in ((CountLimits(n=2048, at_least=5, at_most=6144), 5, 6144), (None, None, None)):
        made = check("barriers", counts={"barriers": 30}, limits=limits)
        gauge = one_page(tmp_path / str(high), [made], course=course).labs[0].checks[0].gauge
        assert (gauge.low, gauge.high) == (low, high), "of the call that it is of, not of the rubric's n"


def test_the_seed_that_all_students_have_is_shown(tmp_path: Path) -> None:
    cause = why("n = 1", "race.shared", "grader/scanlab check 02 --seed 7")
    html = student_html(one_page(tmp_path, [check("inclusive", "fail", cause=cause)], [race()]))
    assert "grader/scanlab check 02 --seed 7" in html


def test_nothing_of_another_student_is_in_a_page(tmp_path: Path) -> None:
    room = Classroom(tmp_path, (KOGGE_STONE, DOUBLE_BUFFER))
    for key in ("alpha", "beta"):
        text = PLAIN + f"// text of {key}\n"
        got = result([check("inclusive", "fail")], [race(headline=f"headline of {key}")])
        other = result([check("inclusive")], lab=DOUBLE_BUFFER)
        room.hand_in(key, {KOGGE_STONE: (text, got), DOUBLE_BUFFER: (PLAIN, other)}, origin=f"zip of {key}")
    html = student_html(page_of(room.write(), "alpha"))
    assert "text of alpha" in html
    assert "headline of alpha" in html
    assert "beta" not in html


def test_counts_stand_beside_their_limits(tmp_path: Path) -> None:
    limits = CountLimits(n=1024, at_least=18, at_most=22)
    page = one_page(tmp_path, [check("barriers", "fail", counts={"barriers": 30, "additions": 1}, limits=limits)])
    gauge = page.labs[0].checks[0].gauge
    assert (gauge.value, gauge.low, gauge.high) == (30, 18, 22)
    assert 0 < gauge.at(18) < gauge.at(22) < gauge.at(30) < 100
    assert "allowed are 18 to 22" in student_html(page)


def test_what_a_check_waits_for_is_said(tmp_path: Path) -> None:
    page = one_page(tmp_path, [check("inclusive", "fail"), check("busiest_block", "skipped")])
    assert page.labs[0].checks[1].remark == "waits for: inclusive scan of each section, floats"


def test_a_hidden_check_that_others_wait_for_is_not_named(tmp_path: Path) -> None:
    title = "inclusive scan of each section, floats"
    cause = why(f'it needs "{title}"')
    checks = [check("inclusive", "fail", title=title), check("busiest_block", "skipped", cause=cause)]
    page = one_page(tmp_path, checks, course=hiding("inclusive"))
    assert [(row.title, row.remark) for row in page.labs[0].checks] == [
        ("title of busiest_block", "waits for another check")
    ]
    assert title not in student_html(page)


def test_what_could_not_be_run_here_costs_nothing(tmp_path: Path) -> None:
    idle = check("speed", "skipped", 0, not_run=15, cause=why("not run: no GPU"))
    page = one_page(tmp_path, [check("inclusive"), idle])
    assert page.labs[0].checks[1].remark == "not run: no GPU"
    assert "15 more could not be checked here" in student_html(page)
    assert page.next_labs == []


def test_hints_are_folded_but_for_the_first(tmp_path: Path) -> None:
    page = one_page(tmp_path, [check("inclusive", "fail")], [race()])
    hints = page.labs[0].hints
    html = student_html(page)
    assert len(hints) == 3
    opened, _, folded = html.partition("<details><summary>Hint 2 of 3")
    assert "Take eight threads" in opened
    assert "The shape:" not in opened
    assert "The shape:" in folded


def test_who_has_passed_gets_no_hints_and_a_folded_file(tmp_path: Path) -> None:
    page = one_page(tmp_path, [check("inclusive")])
    html = student_html(page)
    assert page.labs[0].hints == []
    assert "Hint" not in html
    assert "All checks pass" in html
    assert html.index("<details>") < html.index('id="lab-02-L1"')


def test_next_steps_leave_out_what_is_done_and_the_kits_own_faults(tmp_path: Path) -> None:
    labs = ("01_sequential", KOGGE_STONE, DOUBLE_BUFFER, "04_brent_kung")
    room = Classroom(tmp_path, labs)
    room.hand_in(
        "a",
        {
            "01_sequential": (PLAIN, result([check("inclusive")], lab="01_sequential")),
            KOGGE_STONE: (PLAIN, result([check("build", "error", 100, cause=why("no judge"))])),
            DOUBLE_BUFFER: (PLAIN, result([check("inclusive", "fail")], [race(DOUBLE_BUFFER)], DOUBLE_BUFFER)),
        },
        problems=[Problem(name="04.cu", reason="a symbolic link", lab="04_brent_kung")],
    )
    page = page_of(room.write(), "a")
    assert [lab.number for lab in page.next_labs] == ["03", "04"]
    assert [lab.number for lab in page.faults] == ["02"]
    html = student_html(page)
    assert "a symbolic link" in html
    assert "That is the kit's fault and not yours" in html
    assert "All checks pass" not in html


def test_deductions_are_shown(tmp_path: Path) -> None:
    room = Classroom(tmp_path)
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("inclusive", most=100)]))})
    store = room.write()
    record = store.read_record("a")
    late = record.labs[0].model_copy(
        update={"points": 80.0, "deductions": (Deduction(reason="two days late at 10 % a day", points=20),)}
    )
    record = record.model_copy(update={"labs": (late,), "points": 80.0})
    html = student_html(student_page(store.read_class(), record, store.source, Sight()))
    assert "20 points taken off: two days late at 10 % a day" in html
    assert "80 of 100 points" in html


def test_a_picture_or_the_reason_why_there_is_none(tmp_path: Path) -> None:
    room = Classroom(tmp_path)
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("inclusive")]))})
    store = room.write()
    drawn = student_html(page_of(store, "a", draw=lambda _lab, _sha256: Picture(svg=Markup("<svg id='drawn'></svg>"))))
    assert "<svg id='drawn'></svg>" in drawn
    without = student_html(page_of(store, "a", draw=lambda _lab, _sha256: Picture(trouble="<b>no</b> kernel")))
    assert "There is no picture of it: &lt;b&gt;no&lt;/b&gt; kernel." in without
    assert "picture of it" not in student_html(page_of(store, "a"))


def test_a_source_that_is_gone_is_reported(tmp_path: Path) -> None:
    room = Classroom(tmp_path)
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("inclusive", "fail")], [race()]))})
    store = room.write()
    store.source(room.submissions[0].files[0].sha256).unlink()
    assert "it cannot be read: No such file or directory" in student_html(page_of(store, "a"))


def test_a_lab_that_does_not_count_is_named_and_nothing_more(tmp_path: Path) -> None:
    store = excusing_class(tmp_path)
    page = page_of(store, "d")
    assert [lab.grade.lab for lab in page.labs] == [KOGGE_STONE]
    assert len(page.excused) == 1
    assert (page.record.points, page.record.max_points, page.record.verdict) == (10, 10, "pass")
    assert not page.next_labs
    assert "All checks pass" in student_html(page)
    everything = page_of(store, "b")
    assert (everything.labs, len(everything.excused)) == ([], 2)
    assert "You are excused" in student_html(everything)
    assert "0</strong>" not in student_html(everything)
    assert "All checks pass" not in student_html(everything)


def test_a_finding_shows_its_cure_and_the_outputs_beside_what_was_expected(tmp_path: Path) -> None:
    right = OutputRow(i=0, x="1", y="1", expected="1", sum="", expected_sum="", is_wrong=False)
    bad = OutputRow(i=1, x="3", y="3", expected="4", sum="x1", expected_sum="x0 + x1", is_wrong=True)
    cause = why("n = 2", "wrong.misses", "grader/scanlab check 02 --n 2").model_copy(update={"outputs": (right, bad)})
    wrong = finding("wrong.misses", cure="a < b in the place of a > b on line 3")
    page = one_page(tmp_path, [check("inclusive", "fail", cause=cause)], [wrong])
    html = student_html(page)
    assert "<strong>Fix:</strong> a &lt; b in the place of a &gt; b on line 3." in html
    table = re.search(r'<pre class="outputs">(.*?)</pre>', html, re.DOTALL)
    assert table is not None
    assert [line.split() for line in table[1].splitlines()] == [
        ["i", "x", "y", "expected", "y", "sums", "up", "expected", "sum"],
        ["0", "1", "1", "1"],
        ["1", "3", "3", "4", "x1", "x0", "+", "x1", "&lt;-"],
    ]


def test_the_line_where_a_result_first_went_wrong_is_marked(tmp_path: Path) -> None:
    where = Where(file="labs/02_kogge_stone/scan.cu", line=3, kernel="", block=None, thread=None)
    cause = why("n = 2", "wrong.misses", "grader/scanlab check 02 --n 2").model_copy(update={"where": where})
    page = one_page(tmp_path, [check("inclusive", "fail", cause=cause)], [finding("wrong.misses")])
    assert marks_of(page) == {3: "other"}
