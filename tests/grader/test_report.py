"""Results as text, from canned results."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import made_results
from made_results import finding, part, times
from scanlab.judging import report
from scanlab.judging.result import Cause, CheckResult, LabResult, OutputRow, SeenFinding, Where


def cause(**changes: Any) -> Cause:
    known = {
        "headline": "inclusive scan of floats, n = 1025, seed 7",
        "rationale": "the last, partial section is never written",
        "expected": "523776",
        "actual": "y[1024] = 0",
        "details": ("1 of 1025 wrong",),
        "next": "grader/scanlab check 02 --n 1025 --seed 7",
    }
    return made_results.cause(**(known | changes))


def check(verdict: str = "fail", **changes: Any) -> CheckResult:
    known = {
        "title": "inclusive scan",
        "max_points": 20,
        "points": 0,
        "cause": cause() if verdict == "fail" else None,
        "seconds": 0.5,
    }
    return made_results.check(verdict=verdict, **(known | changes))


def result(*checks: CheckResult, verdict: str = "fail", **changes: Any) -> LabResult:
    known = {"device": "small", "points": 0, "max_points": 100, "not_run_points": 0}
    return made_results.result(*checks, verdict=verdict, **(known | changes))


def text(lines: list[report.Line]) -> str:
    return "\n".join(line for line, _ in lines)


def test_a_fail_has_headline_facts_and_next_step() -> None:
    assert text(report.cause_lines("02_kogge_stone", check())) == (
        "FAIL 02_kogge_stone: inclusive scan of floats, n = 1025, seed 7\n"
        "  y[1024] = 0, expected 523776\n"
        "  the last, partial section is never written\n"
        "  1 of 1025 wrong\n"
        "  again: grader/scanlab check 02 --n 1025 --seed 7"
    )


def test_what_a_program_printed_is_shown_once_and_on_a_pass_only() -> None:
    quiet, loud = check("pass", cause=None), check("pass", cause=None, printed=("n = 5", "t = 0"))
    passed = text(report.result_lines(result(quiet, loud, loud, verdict="pass"), checks=False))
    assert passed.endswith("\n  the program printed:\n    n = 5\n    t = 0")
    assert "printed" not in text(report.result_lines(result(quiet, verdict="pass"), checks=False))
    assert "n = 5" not in text(report.result_lines(result(loud, check()), checks=False))


def test_a_headline_may_name_its_own_kind() -> None:
    race = check(cause=cause(headline="RACE: shared XY[5], block 0", actual="", expected="", details=("a", "b\nc")))
    lines = text(report.cause_lines("02_kogge_stone", race)).splitlines()
    assert lines[2:5] == ["  a", "  b", "  c"]
    assert lines[0] == "RACE 02_kogge_stone: shared XY[5], block 0"


def test_outputs_stand_side_by_side_in_the_first_failure_only() -> None:
    rows = (
        OutputRow(i=0, x="5", y="5", expected="5", sum="x0", expected_sum="x0", is_wrong=False),
        OutputRow(i=1, x="-2", y="-2", expected="3", sum="x1", expected_sum="x0 + x1", is_wrong=True),
    )
    first, second = (check(cause=cause(rationale=text, outputs=rows)) for text in ("one cause", "another"))
    lines = text(report.result_lines(result(first, second), checks=False)).splitlines()
    at = lines.index("  i  x   y   expected  y sums up  expected sum")
    assert lines[at + 1 : at + 3] == [
        "  0  5   5   5         x0         x0",
        "  1  -2  -2  3         x1         x0 + x1       <-",
    ]
    assert lines.index("  one cause") > at
    assert sum("y sums up" in line for line in lines) == 1
    values = tuple(row.model_copy(update={"sum": "", "expected_sum": ""}) for row in rows)
    assert report.output_table(cause(outputs=values))[0] == "i  x   y   expected"


def test_a_cure_that_was_tried_follows_what_was_found() -> None:
    known = race().model_copy(
        update={"cure": "put __syncthreads(); before line 24 (tried: the results are right then)"}
    )
    last = text(report.finding_lines("02_kogge_stone", known)).splitlines()[-1]
    assert last == "  fix: put __syncthreads(); before line 24 (tried: the results are right then)"


def test_advice_is_not_a_command() -> None:
    assert "  next: read the handout" in text(report.cause_lines("x", check(cause=cause(next="read the handout"))))


def test_a_place_shows_what_is_known() -> None:
    where = Where(file="scan.cu", line=31, kernel="k", block=(1, 0, 0), thread=(3, 2, 0))
    assert report.where_text(where) == "scan.cu:31, kernel k, block 1, thread (3, 2, 0)"
    less = where.model_copy(update={"line": 0, "kernel": "", "block": None})
    assert report.where_text(less) == "scan.cu, thread (3, 2, 0)"
    assert report.where_text(None) == ""


def test_causes_are_capped_and_the_total_is_said() -> None:
    checks = [check(cause=cause(rationale=f"reason {number}")) for number in range(8)]
    shown = text(report.result_lines(result(*checks, check("skipped")), checks=True))
    assert shown.count("again:") == report.SHOWN_CAUSES
    assert "and 5 more of 9 checks" in shown
    assert shown.splitlines()[-1] == "FAIL 02_kogge_stone: Kogge-Stone, 0 of 100 points (small, seed 7)"


def test_one_mistake_is_explained_once() -> None:
    shown = text(report.result_lines(result(check(), check(), check("skipped")), checks=True))
    assert shown.count("again:") == 1
    assert "and 1 more of 3 checks" in shown


def not_run(why: str, not_run_points: int, **changes: Any) -> CheckResult:
    changes = {"title": "as fast", "max_points": 0, "not_run_points": not_run_points, **changes}
    return check("skipped", cause=cause(headline=f"not run: {why}"), **changes)


def test_a_check_that_cannot_run_here_has_no_points_column() -> None:
    lines = text(report.result_lines(result(check("pass", points=20), not_run("no GPU", 15)), checks=True)).splitlines()
    assert lines[0] == "  pass           20/20  inclusive scan"
    assert lines[1] == "  not run               as fast (no GPU)"


def test_a_check_whose_need_failed_still_costs_its_points() -> None:
    lines = text(report.result_lines(result(check("skipped")), checks=True)).splitlines()
    assert lines[0] == "  skipped         0/20  inclusive scan"


def test_the_total_says_what_was_not_run_and_why() -> None:
    passed = result(check("pass"), not_run("no GPU", 15), verdict="pass", points=100)
    assert text(report.result_lines(passed, checks=False)) == (
        "PASS 02_kogge_stone: Kogge-Stone, 100 of 100 points, 15 more not run: no GPU (small, seed 7)"
    )
    counted = [not_run("counted on the virtual GPU only", value) for value in (10, 35)]
    passed = result(*counted, not_run("no reference solution here", 15), verdict="pass", max_points=55)
    assert (
        "0 of 55 points, 45 more not run: counted on the virtual GPU only, 15 more not run: no reference solution here"
    ) in text(report.result_lines(passed, checks=False))


def test_a_timed_check_shows_its_ratio() -> None:
    timed = check("pass", title="as fast", points=15, max_points=15, times=times(1.0234))
    assert text(report.result_lines(result(timed), checks=True)).startswith(
        "  pass           15/15  as fast (ratio 1.02)\n"
    )
    unmeasured = check("inconclusive", title="as fast", times=times(), cause=cause())
    assert "  inconclusive    0/20  as fast\n" in text(report.result_lines(result(unmeasured), checks=True))


def test_a_table_has_a_column_for_what_was_not_run() -> None:
    passed = result(check("pass"), verdict="pass", points=100, not_run_points=15)
    assert report.table_rows([passed, result(check())]) == [
        ("02_kogge_stone", "pass", "100/100", "15", "0.5"),
        ("02_kogge_stone", "fail", "0/100", "", "0.5"),
    ]
    total = report.summary([passed, passed], "vgpu", 7)
    assert (total.points, total.max_points, total.not_run_points) == (200, 200, 30)


def test_points_have_no_useless_fraction() -> None:
    assert [report.points(value) for value in (0, 20, 20.0, 7.5, 33.333)] == ["0", "20", "20", "7.5", "33.33"]


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_any_text_is_shown_whole_and_indented(headline: str, rationale: str, details: list[str]) -> None:
    made = report.cause_lines("lab", check(cause=cause(headline=headline, rationale=rationale, details=tuple(details))))
    assert all(line.startswith("  ") for line, _ in made[1:])
    assert made[0][0].split(" ")[1] == "lab:"


def test_a_grade_is_as_bad_as_its_worst_lab() -> None:
    def verdict(*verdicts: str) -> str:
        return report.summary([result(verdict=each) for each in verdicts], "vgpu", 7).verdict

    assert verdict("pass", "pass") == "pass"
    assert verdict("pass", "timeout") == "timeout"
    assert verdict("timeout", "fail", "pass") == "fail"


def race(**changes: Any) -> SeenFinding:
    known = {
        "its_id": "race.shared",
        "headline": "RACE (write-after-read): shared s_xy[5], kernel k, block 0",
        "kernel": "k",
        "variable": "s_xy",
        "kind": "write-after-read",
        "parts": [part("read", 29, 6), part("write", 31, 5)],
        "facts": ("read  by thread 6   scan.cu:29", "write by thread 5   scan.cu:31"),
        "advice": "no barrier separates them",
    }
    return finding(**(known | changes))


def raced(name: str, *findings: SeenFinding) -> CheckResult:
    first = findings[0]
    details = (*first.facts, "the output happened to be right")
    why = cause(actual=first.headline, expected="", details=details, rationale=first.advice)
    return check(name=name, cause=why, findings=findings)


def test_a_race_is_reported_with_its_lines_and_where_it_was_seen() -> None:
    assert text(report.cause_lines("02_kogge_stone", raced("inclusive", race()))) == (
        "RACE 02_kogge_stone: shared s_xy[5], kernel k, block 0 (write-after-read)\n"
        "  read  by thread 6   scan.cu:29\n"
        "  write by thread 5   scan.cu:31\n"
        "  no barrier separates them\n"
        "  the output happened to be right\n"
        "  seen in: inclusive scan of floats, n = 1025, seed 7\n"
        "  again: grader/scanlab check 02 --n 1025 --seed 7"
    )


def test_one_mistake_behind_several_checks_is_shown_once() -> None:
    other = race(headline="RACE (write-after-read): shared s_xy[9], kernel k, block 3")  # the same two lines
    graded = result(raced("inclusive", race()), raced("exclusive", other), findings=(race(),))
    shown = text(report.result_lines(graded, checks=False))
    assert shown.count("RACE") == 1
    assert "and 1 more of 2 checks; fix this first" in shown


def test_a_second_mistake_is_shown_and_the_rest_counted() -> None:
    findings = (race(), *(race(variable=f"s_{number}") for number in range(4)))
    graded = result(raced("inclusive", *findings), findings=findings)
    shown = text(report.result_lines(graded, checks=False))
    assert shown.count("RACE") == report.SHOWN_CAUSES
    assert shown.count("again:") == 1
    assert "and 2 more findings; fix this first" in shown


def test_a_wrong_output_beside_a_race_is_no_second_report() -> None:
    wrong = race(its_id="wrong.other", headline="y[5] = 1, expected 2", parts=[])
    graded = result(raced("inclusive", race(), wrong), findings=(race(), wrong))
    assert text(report.result_lines(graded, checks=False)).count("02_kogge_stone:") == 2  # the race and the verdict


def test_advice_comes_after_the_verdict_of_whoever_has_passed() -> None:
    advice = tuple(race(weight="advice", headline=f"LEAK: memory {number}", its_id="leak") for number in range(3))
    passed = result(check("pass", findings=advice), verdict="pass", findings=advice)
    lines = text(report.result_lines(passed, checks=False)).splitlines()
    assert lines[0].startswith("PASS 02_kogge_stone")
    assert [line for line in lines if line.startswith("LEAK")] == [
        "LEAK 02_kogge_stone: memory 0",
        "LEAK 02_kogge_stone: memory 1",
    ]
    assert lines[-1] == "  and 1 more of these (--json FILE has all)"
    failed = result(check(), findings=advice)
    assert "LEAK" not in text(report.result_lines(failed, checks=False))
