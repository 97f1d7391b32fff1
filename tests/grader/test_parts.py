"""The checks of one submission are shared out among several judges; what these find is put together."""

import threading
import time
from collections.abc import Callable

import pytest

from made_results import cause, check
from scanlab.errors import KitError
from scanlab.judging.parts import judge_in_parts, parts_of
from scanlab.judging.plan import Options, Plan, PlannedCount, make_plan
from scanlab.judging.result import CheckResult, Finding, LabResult, Where
from scanlab.labs.folders import all_labs, find_lab

WRONG = cause(id="wrong.other", headline="inclusive scan", rationale="some are wrong", actual="y[1] = 3", expected="4")


def plan_of(lab: str) -> Plan:
    """Return the plan of a lab."""
    return make_plan(find_lab(lab), "scan.cu", "again", {}, Options())


def judge_of(found: Callable[[str], CheckResult]) -> Callable[[Plan], LabResult]:
    """Return what stands in for the judge: this is what it finds of each check."""

    def judge(plan: Plan) -> LabResult:
        return LabResult.of_checks(
            plan.lab, plan.title, "a device", plan.seed, [found(one.name) for one in plan.checks]
        )

    return judge


@pytest.mark.parametrize("lab", [lab.number for lab in all_labs()])
def test_each_check_is_in_one_part_with_what_it_needs(lab: str) -> None:
    plan = plan_of(lab)
    parts = parts_of(plan)
    assert len(parts) > 1
    names = [[one.name for one in part.checks] for part in parts]
    assert sorted(name for own in names for name in own) == sorted(one.name for one in plan.checks)
    order = [one.name for one in plan.checks]
    for part, own in zip(parts, names, strict=True):
        assert own == sorted(own, key=order.index)
        for one in part.checks:
            among = one.among if isinstance(one, PlannedCount) else None
            assert {one.needs, among} - {None} <= set(own[: own.index(one.name)])
    assert parts[0].checks[0] == plan.checks[0]


def test_several_judges_find_what_one_finds() -> None:
    def found(name: str) -> CheckResult:
        mistake = Finding.in_source("race.shared", "mistake", "a race", ())
        verdict = "fail" if "affine" in name or name == "sectors" else "pass"
        return check(name, verdict, 5, findings=(mistake,) if verdict == "fail" else ())

    plan = plan_of("06")
    whole = judge_of(found)(plan)
    for most in (1, 2, 3, 5):
        assert judge_in_parts(plan, judge_of(found), most) == whole


def test_the_first_failure_is_reported_before_the_rest_is_known() -> None:
    plan = plan_of("02")
    first, *_ = parts_of(plan)
    is_reported = threading.Event()
    said: list[LabResult] = []

    def report(result: LabResult) -> None:
        said.append(result)
        is_reported.set()

    def judge(part: Plan) -> LabResult:
        if part.checks[0].name != first.checks[0].name:
            assert is_reported.wait(20)
        return judge_of(lambda name: check(name, "fail" if name == first.checks[0].name else "pass"))(part)

    whole = judge_in_parts(plan, judge, 2, report)
    (early,) = said
    assert [one.name for one in early.checks] == [one.name for one in first.checks]
    assert early.failed_checks == whole.failed_checks
    assert len(whole.checks) == len(plan.checks)


def test_a_later_failure_waits_for_what_comes_before_it() -> None:
    plan = plan_of("02")
    first, second, *_ = parts_of(plan)
    is_over = threading.Event()
    said: list[LabResult] = []

    def judge(part: Plan) -> LabResult:
        if part.checks[0].name == first.checks[0].name:
            assert is_over.wait(20)
        else:
            is_over.set()
        return judge_of(lambda name: check(name, "fail" if part.checks[0] == second.checks[0] else "pass"))(part)

    judge_in_parts(plan, judge, 2, said.append)
    (late,) = said
    assert late.verdict == "fail"
    assert {one.name for one in late.checks} >= {one.name for one in (*first.checks, *second.checks)}


def test_after_a_fault_no_other_part_is_begun() -> None:
    plan = plan_of("11")
    begun: list[str] = []

    def judge(part: Plan) -> LabResult:
        begun.append(part.checks[0].name)
        if part.checks[0] != plan.checks[0]:
            time.sleep(0.5)
        raise KitError("no judge")

    with pytest.raises(KitError, match="no judge"):
        judge_in_parts(plan, judge, 1 + 1)
    assert len(begun) <= 3 < len(parts_of(plan))


def wrong_maps(name: str) -> CheckResult:
    """Return what is found of a check where floats come out right, and affine maps do not."""
    if "affine" not in name:
        return check(name, "pass")
    finding = Finding.in_source("wrong.other", "mistake", "y[1] = 3, expected 4", (), "some are wrong")
    race = Finding.in_source("race.shared", "advice", "a race", ())
    at = Where(file="scan.cu", line=3, kernel="k", block=(1, 0, 0), thread=None)
    return check(name, "fail", cause=WRONG.model_copy(update={"where": at}), findings=(finding, race))


@pytest.mark.parametrize("most", [1, 2])
def test_right_floats_and_wrong_maps_are_swapped_operands(most: int) -> None:
    result = judge_in_parts(plan_of("02"), judge_of(wrong_maps), most)
    swapped = {one.name: one for one in result.checks}["inclusive_affine"]
    assert swapped.cause
    assert (swapped.cause.id, swapped.cause.details[0]) == ("wrong.operand_order", "some are wrong")
    assert "earlier + later" in swapped.cause.rationale
    first, race = swapped.findings
    assert (first.id, first.kernel, first.block, race.id) == ("wrong.operand_order", "k", (1, 0, 0), "race.shared")
    assert first.text == "\n  ".join(["y[1] = 3, expected 4", "some are wrong", swapped.cause.rationale])
    assert swapped.findings_total == 2
    assert [one.id for one in result.findings] == ["wrong.operand_order", "race.shared"]


@pytest.mark.parametrize(
    ("lab", "change"),
    [
        ("02", {"inclusive": "fail"}),  # floats are wrong, too
        ("02", {"id": "wrong.unwritten"}),  # another cause is known
        ("10", {}),  # no scan
    ],
)
def test_nothing_else_is_taken_for_swapped_operands(lab: str, change: dict[str, str]) -> None:
    def found(name: str) -> CheckResult:
        made = wrong_maps(name)
        if name in change:
            return check(name, "fail")
        if "id" in change and made.cause:
            return made.model_copy(update={"cause": made.cause.model_copy(update={"id": change["id"]})})
        return made

    result = judge_in_parts(plan_of(lab), judge_of(found), 2)
    name = next(one.name for one in result.checks if "affine" in one.name)
    assert {one.name: one for one in result.checks}[name] == found(name)


def lazy(name: str) -> CheckResult:
    """Return what is found of a check where one thread makes the exclusive scan."""
    if name != "exclusive":
        return check(name, "pass")
    cause = WRONG.model_copy(update={"id": "cost.busiest_warp", "headline": "busiest_warp of exclusive_scan, n = 9"})
    finding = Finding.in_source("cost.busiest_warp", "mistake", cause.headline, ())
    return check(name, "fail", points=0, cause=cause, findings=(finding,))


@pytest.mark.parametrize("most", [1, 2])
def test_one_thread_in_one_scan_fails_the_count_and_what_rests_on_it(most: int) -> None:
    plan = plan_of("02")
    checks = {one.name: one for one in judge_in_parts(plan, judge_of(lazy), most).checks}
    assert (checks["exclusive"].verdict, checks["exclusive"].findings, checks["exclusive"].cause) == ("pass", (), None)
    assert checks["exclusive"].points == checks["exclusive"].max_points
    count = checks["busiest_warp"]
    assert (count.verdict, count.points, count.findings_total) == ("fail", 0, 1)
    assert count.cause
    assert count.cause.headline == "busiest_warp of exclusive_scan, n = 9"
    needing = {one.name for one in plan.checks if one.needs == "busiest_warp"}
    assert len(needing) > 3
    assert {checks[name].verdict for name in needing} == {"skipped"}
    assert checks["host_copies"].verdict == "pass"
