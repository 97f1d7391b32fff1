"""What the judge writes is read, and nothing else is taken for it; what it comes to is judged.json, a real result."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_results import check
from scanlab.classroom.records import LabGrade
from scanlab.errors import KitError
from scanlab.judging import judge
from scanlab.judging.plan import Options, make_plan
from scanlab.judging.result import Finding, LabResult, Part
from scanlab.labs.folders import find_lab
from scanlab.process import Finished


def text_of(result: dict[str, Any]) -> str:
    """Return a result as it is written."""
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"


def whole_result() -> dict[str, Any]:
    """Return that of judged.json, where its findings are not repeated: they are those of its checks."""
    result = json.loads((Path(__file__).parent / "judged.json").read_text())
    result["findings"] = [
        finding | {"checks": [check["name"]]} for check in result["checks"] for finding in check["findings"]
    ]
    return result


WHOLE = text_of(whole_result())
JUDGED = text_of(
    {"schema": "scanlab-checks", "version": 1} | {key: whole_result()[key] for key in ("device", "checks")}
)
PLAN = make_plan(find_lab("02"), "scan.cu", "again", {}, Options())
Judge = Callable[[str], LabResult]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Run a judge that writes this text."""

    def run(text: str) -> LabResult:
        def run_group(command: list[str], *_: object) -> Finished:
            Path(command[command.index("--result") + 1]).write_text(text)
            return Finished(1, "")

        monkeypatch.setattr(judge, "run_group", run_group)
        return judge.run_judge(PLAN)

    return run


def changed(*place: str | int, **keys: object) -> str:
    """Return the judge's text with these keys at a place; None: without them."""
    whole = json.loads(JUDGED)
    part = whole
    for step in place:
        part = part[step]
    part |= keys
    for key in [key for key, value in keys.items() if value is None]:
        del part[key]
    return json.dumps(whole)


def test_checks_come_to_a_result(judged: Judge) -> None:
    assert text_of(judged(JUDGED).model_dump(mode="json")) == WHOLE


def with_checks(*of: tuple[str, float, str]) -> LabResult:
    """Return the result of checks, each a verdict, its points at most, and the finding that it has, if any."""
    checks = [
        check(
            f"check {k}",
            verdict,
            points,
            findings=(Finding.in_source(found, "mistake", f"{found} here", ("a fact",)),) if found else (),
            findings_total=3 if found else 0,
        )
        for k, (verdict, points, found) in enumerate(of)
    ]
    return LabResult.of_checks("02_kogge_stone", "title", "device", 7, checks)


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ("pass skipped", "fail"),  # what it needed has failed, for no points
        ("pass pass", "pass"),
        ("pass timeout", "timeout"),
        ("fail timeout", "fail"),
        ("inconclusive timeout", "timeout"),
        ("pass inconclusive", "inconclusive"),
        ("error fail", "error"),
    ],
)
def test_the_worst_check_decides(verdicts: str, worst: str) -> None:
    of = [(verdict, 10.0, "") for verdict in verdicts.split()]
    assert with_checks(*of, ("fail", 0, "")).verdict == worst
    assert with_checks(("error", 0, ""), *of).verdict == "error"
    assert with_checks(("skipped", 0, ""), *of).verdict == (worst if "skipped" not in verdicts else "pass")


def test_where_no_check_has_points_all_decide() -> None:
    assert with_checks(("pass", 0, ""), ("fail", 0, "")).verdict == "fail"
    assert with_checks(("pass", 0, ""), ("skipped", 0, "")).verdict == "pass"


def test_points_add_up() -> None:
    result = with_checks(("pass", 2.5, ""), ("pass", 7.5, ""), ("fail", 10, ""), ("pass", 0.25, ""))
    assert (json.dumps(result.points), json.dumps(result.max_points)) == ("10.25", "20.25")
    assert json.dumps(with_checks(("pass", 2.5, ""), ("pass", 7.5, "")).points) == "10"


def test_each_finding_is_seen_once_the_most_basic_first() -> None:
    result = with_checks(
        ("fail", 10, "wrong.other"),
        ("fail", 10, "race.shared"),
        ("pass", 10, ""),
        ("fail", 10, "race.shared"),
        ("fail", 10, "bounds.global"),
        ("fail", 10, "cost.chained_waits"),
        ("fail", 10, "of.nobody"),
    )
    seen = [(one.id, one.count, one.checks) for one in result.findings]
    assert seen == [
        ("bounds.global", 1, ("check 4",)),
        ("race.shared", 2, ("check 1", "check 3")),
        ("wrong.other", 1, ("check 0",)),
        ("cost.chained_waits", 1, ("check 5",)),
        ("of.nobody", 1, ("check 6",)),
    ]
    assert result.findings[1].text == "race.shared here\n  a fact\n  and 1 more like this"
    assert result.findings_total == 5 + 6 * 2  # each check has left out two


def test_a_race_that_leads_to_a_bad_address_stays_before_it() -> None:
    race, bad, other = (
        Finding.in_source(name, "mistake", name, ()) for name in ("race.shared", "bounds.global", "barrier.divergent")
    )
    checks = [
        check("one", "fail", 10, findings=(other,), findings_total=1),
        check("two", "fail", 10, findings=(race, bad), findings_total=2),
    ]
    whole = LabResult.of_checks("02", "title", "device", 7, checks)
    assert [one.id for one in whole.findings] == ["race.shared", "bounds.global", "barrier.divergent"]


def test_advice_comes_last() -> None:
    advice = Finding.in_source("bounds.global", "advice", "look", ())
    mistake = Finding.in_source("leak", "mistake", "look", ())
    one = check("one", "fail", 10, findings=(advice, mistake), findings_total=2)
    whole = LabResult.of_checks("02", "title", "device", 7, [one])
    assert [one.id for one in whole.findings] == ["leak", "bounds.global"]


def test_groups_of_threads_are_alike_in_any_order() -> None:
    def of(*lines: int, who: str = "") -> Finding:
        parts = tuple(Part(does="read", who=who, file="a.cu", line=k, block=None, thread=None) for k in lines)
        return Finding.in_source("race.global", "mistake", "x", (), parts=parts)

    assert of(1, 2, who="all").alike == of(2, 1, 2, who="all").alike
    assert of(1, 2).alike != of(2, 1).alike
    assert of(1).alike != of(1, 1).alike


def test_a_class_keeps_all_but_the_seconds(judged: Judge) -> None:
    kept = json.loads(WHOLE)
    for one in kept["checks"]:
        del one["seconds"]
    line = json.dumps(kept, ensure_ascii=False, sort_keys=True)
    result = judged(JUDGED).without_times()
    assert result.by_name() == line
    assert LabResult.model_validate_json(line) == result
    grade = LabGrade(
        lab=result.lab,
        sha256="0" * 64,
        verdict="fail",
        points=0,
        max_points=100,
        not_run_points=0,
        result=result,
    )
    assert json.dumps(grade.model_dump(mode="json")["result"], ensure_ascii=False) == line
    assert LabGrade.model_validate_json(grade.model_dump_json()) == grade


def test_times_keep_their_numbers(judged: Judge) -> None:
    few = {"reference_alone_seconds": 0.5, "copy_seconds": 0.25, "bytes": 8, "rounds": 3, "repeated_rounds": 0}
    ratios = {"ratio": 1.0, "ratio_low": 0.9, "ratio_high": 1.1, "submission_seconds": 1, "reference_seconds": 1.0}
    for times in (few, ratios | few):
        check = judged(changed("checks", 0, times=times)).checks[0]
        assert json.dumps(check.model_dump(mode="json")["times"]) == json.dumps(times)
        assert check.ratio == times.get("ratio")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (changed(colour="red"), "colour: Extra inputs are not permitted"),
        (changed("checks", 0, "cause", colour="red"), "checks.0.cause.colour: Extra inputs are not permitted"),
        (changed(checks=None), "checks: Field required"),
        (changed("checks", 2, verdict=None), "checks.2.verdict: Field required"),
        (
            changed("checks", 0, "findings", 0, "parts", 0, line=None),
            "checks.0.findings.0.parts.0.line: Field required",
        ),
        (changed("checks", 0, points="0"), "checks.0.points: Input should be a valid integer"),
        (changed("checks", 0, points=True), "checks.0.points: Input should be a valid integer"),
        (changed("checks", 0, points=float("nan")), "checks.0.points: Input should be a valid integer"),
        (changed("checks", 0, verdict="excellent"), "checks.0.verdict: Input should be 'pass', 'fail'"),
        (changed(version=2), "version: Input should be 1"),
        (changed(schema="scanlab-grade"), "schema: Input should be 'scanlab-checks'"),
        ("[]", "Input should be an object"),
        (JUDGED[:-20], "Invalid JSON"),
        ("", "Invalid JSON"),
    ],
)
def test_what_is_no_result_is_the_kits_fault(judged: Judge, text: str, problem: str) -> None:
    with pytest.raises(KitError) as raised:
        judged(text)
    said = str(raised.value)
    assert said.startswith(f"02_kogge_stone: the judge wrote no result that this version can read: {problem}")
    assert "\n" not in said


def test_results_of_the_first_kit_are_read() -> None:
    whole = json.loads(WHOLE)
    for part in (whole, *whole["checks"]):
        for key in ("not_run_points", "findings", "findings_total", "limits", "times"):
            part.pop(key, None)
        if cause := part.get("cause"):
            del cause["id"]
    old = LabResult.model_validate_json(json.dumps(whole))
    assert (old.not_run_points, old.findings, old.checks[0].limits) == (0, (), None)
    assert old.checks[0].failure
    assert old.checks[0].failure.id == ""


def test_a_proof_is_added_to_what_is_known_already(judged: Judge) -> None:
    result = judged(JUDGED)
    (check,) = (check for check in result.checks if check.verdict == "pass")
    alone = result.model_copy(update={"checks": (check.model_copy(update={"proof": ("right in all 16 executions",)}),)})
    once = result.with_proof(alone)
    assert next(one.proof for one in once.checks if one.name == check.name) == ("right in all 16 executions",)
    assert once.points == result.points
    twice = next(one.proof for one in once.with_proof(alone).checks if one.name == check.name)
    assert twice == ("right in all 16 executions", "right in all 16 executions")
    none = result.model_copy(update={"checks": (check,)})
    assert result.with_proof(none) == result


def test_a_refutation_fails_the_check_and_comes_first(judged: Judge) -> None:
    result = judged(JUDGED)
    (check,) = (check for check in result.checks if check.verdict == "pass")
    (failed,) = (one for one in result.checks if one.name == "inclusive")
    refuted = failed.model_copy(update={"name": check.name, "points": 0})
    whole = result.with_proof(result.model_copy(update={"checks": (refuted,)}))
    now = next(one for one in whole.checks if one.name == check.name)
    assert (now.verdict, now.points, now.max_points) == ("fail", 0, check.max_points)
    assert (now.cause, now.proof) == (failed.cause, ())
    assert whole.points == result.points - check.points
    assert whole.findings[0].checks == (check.name,)
    assert whole.findings_total == result.findings_total + refuted.findings_total
    assert LabResult.model_validate_json(whole.model_dump_json()) == whole
