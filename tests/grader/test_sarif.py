"""SARIF logs: what they have to have by the standard, and where they point."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Scanlab
from scanlab.judging import sarif
from scanlab.judging.result import LabResult
from scanlab.paths import ROOT

JUDGED = Path(__file__).with_name("judged.json")
FILE = ROOT / "labs/02_kogge_stone/scan.cu"


def valid(log: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a log's results, after it was compared with the standard's schema."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "scanlab"
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        for location in [*result["locations"], *result.get("relatedLocations", [])]:
            physical = location["physicalLocation"]
            uri = physical["artifactLocation"]["uri"]
            assert uri
            assert " " not in uri
            assert not uri.startswith("/")
            assert physical.get("region", {"startLine": 1})["startLine"] >= 1
        numbers = [location["id"] for location in result.get("relatedLocations", [])]
        assert numbers == list(range(1, len(numbers) + 1))
    try:  # generated from OASIS's schema: no unknown keys, all that are required
        from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Schema
    except ImportError:
        pass
    else:
        Schema.model_validate(log)
    return run["results"]


def judged(**changed: object) -> LabResult:
    return LabResult.model_validate_json(JUDGED.read_text()).model_copy(update=changed)


def test_a_judged_result_names_each_mistake_once() -> None:
    result = judged()
    results = valid(sarif.of_results([result], {result.lab: FILE}))
    assert results
    ids = {one["ruleId"] for one in results}
    assert {finding.id for finding in result.findings} <= ids
    assert {check.cause.id for check in result.failed_checks if check.cause and check.cause.id} <= ids
    texts = [(one["ruleId"], one["message"]["text"].splitlines()[0], str(one["locations"])) for one in results]
    assert len(set(texts)) == len(texts)
    assert {one["level"] for one in results if one["ruleId"].startswith("race")} <= {"error"}


def test_what_nvcc_warns_of_is_a_warning_at_its_line() -> None:
    result = judged(checks=(), findings=(), warnings=('labs/a b.cu:13: variable "t" was declared: never',))
    (one,) = valid(sarif.of_results([result], {result.lab: FILE}))
    assert (one["ruleId"], one["level"]) == ("compile.warning", "warning")
    assert one["message"]["text"] == 'variable "t" was declared: never'
    place = one["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": place["artifactLocation"]["uri"]}, "region": {"startLine": 13}}
    assert place["artifactLocation"]["uri"].endswith("labs/a%20b.cu")


def test_a_pass_has_no_results() -> None:
    result = judged(checks=(), findings=(), warnings=())
    assert valid(sarif.of_results([result], {result.lab: FILE})) == []


def test_files_are_named_from_the_repository_that_they_are_in(tmp_path: Path) -> None:
    assert sarif.uri_of(str(FILE)) == "labs/02_kogge_stone/scan.cu"
    assert sarif.uri_of("labs/scanlab.cuh") == "labs/scanlab.cuh"
    (tmp_path / "theirs/.git").mkdir(parents=True)
    assert sarif.uri_of(str(tmp_path / "theirs/sub folder/scan.cu")) == "sub%20folder/scan.cu"
    assert sarif.uri_of(str(tmp_path / "alone.cu")).startswith("file:///")


@pytest.mark.parametrize("text", ["// FAILS\n", "// PASSES\n", "SYNTAX ERROR\n"])
def test_check_writes_a_log(scanlab: Scanlab, tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.cu").write_text(text)
    done = scanlab("check", "02", "mine.cu", "--sarif", "log.sarif", cwd=tmp_path)
    assert done.returncode == (text != "// PASSES\n")
    results = valid(json.loads((tmp_path / "log.sarif").read_text()))
    assert bool(results) == (text != "// PASSES\n")
    if text.startswith("SYNTAX"):
        (one,) = results
        assert one["ruleId"] == "compile"
        assert one["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
        assert one["message"]["text"].startswith("`oops` is not declared here")


def test_run_writes_a_log_of_what_does_not_compile(scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "program.cu").write_text("SYNTAX ERROR\n")
    done = scanlab("run", "program.cu", "--sarif", "log.sarif", cwd=tmp_path)
    assert done.returncode == 1
    (one,) = valid(json.loads((tmp_path / "log.sarif").read_text()))
    assert one["message"]["text"].startswith("`oops` is not declared here")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["check", "02", "--sarif", "no/such/file.sarif"],
            "cannot write no/such/file.sarif: its folder does not exist",
        ),
        (["grade", ".", "--out", "results", "--sarif", "x"], "--sarif is for one person's folder"),
        (["run", "program.cu", "--prove", "--sarif", "x"], "--sarif: on the virtual GPU only, and without --prove"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_done(
    scanlab: Scanlab, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "program.cu").write_text("// any\n")
    done = scanlab(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
