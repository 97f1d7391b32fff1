"""A result is read and written as the judge wrote it (judged.json: a real one), and nothing else is taken for one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scanlab.classroom.records import LabGrade
from scanlab.errors import KitError
from scanlab.judging import judge
from scanlab.judging.plan import Options, make_plan
from scanlab.judging.result import LabResult
from scanlab.labs.folders import find_lab
from scanlab.process import Finished


def text_of(result: dict[str, Any]) -> str:
    """Return a result as the judge writes it."""
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"


def whole_result() -> dict[str, Any]:
    """Return that of judged.json, where its findings are not repeated: they are those of its checks."""
    result = json.loads((Path(__file__).parent / "judged.json").read_text())
    result["findings"] = [
        finding | {"checks": [check["name"]]} for check in result["checks"] for finding in check["findings"]
    ]
    return result


JUDGED = text_of(whole_result())
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


def test_a_result_is_written_as_the_judge_wrote_it(judged: Judge) -> None:
    assert text_of(judged(JUDGED).model_dump(mode="json")) == JUDGED


def test_a_class_keeps_all_but_the_seconds(judged: Judge) -> None:
    kept = json.loads(JUDGED)
    for check in kept["checks"]:
        del check["seconds"]
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
        (changed("findings", 0, "parts", 0, line=None), "findings.0.parts.0.line: Field required"),
        (changed(points="0"), "points: Input should be a valid integer"),
        (changed(points=True), "points: Input should be a valid integer"),
        (changed("checks", 0, points=float("nan")), "checks.0.points: Input should be a valid integer"),
        (changed(verdict="excellent"), "verdict: Input should be 'pass', 'fail'"),
        (changed(version=2), "version: Input should be 1"),
        (changed(schema="scanlab-grade"), "schema: Input should be 'scanlab-result'"),
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
    whole = json.loads(JUDGED)
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
