"""What programs with a known verdict are expected to get, from canned results."""

from pathlib import Path
from typing import Any

import pytest

from scanlab import corpora

FIRST_LINE = "// expect: fail inclusive,exclusive race.shared | no barrier\n"


def program(tmp_path: Path, first_line: str = FIRST_LINE) -> corpora.Program:
    folder = tmp_path / "02_kogge_stone"
    folder.mkdir(exist_ok=True)
    path = folder / "mutant.cu"
    path.write_text(first_line)
    read = corpora.read(path)
    assert read
    return read


def result(*ids: str, verdict: str = "fail", weight: str = "mistake") -> dict[str, Any]:
    checks = [{"name": name, "verdict": verdict, "cause": {}} for name in ("inclusive", "exclusive")]
    checks = [{**check, "cause": {"headline": "tried"}} for check in checks]
    findings = [{"id": name, "weight": weight} for name in ids]
    return {"verdict": verdict, "points": 10, "max_points": 10, "checks": checks, "findings": findings}


def test_the_first_mistake_has_to_be_the_expected_one(tmp_path: Path) -> None:
    mutant = program(tmp_path)
    assert mutant.finding == "race.shared"
    assert corpora.disappointments(mutant, result("race.shared", "wrong.other")) == []
    assert corpora.disappointments(mutant, result("wrong.other", "race.shared")) == [
        "the first finding is wrong.other, expected race.shared"
    ]
    assert corpora.disappointments(mutant, result()) == ["the first finding is none, expected race.shared"]


def test_a_finding_may_be_left_open(tmp_path: Path) -> None:
    mutant = program(tmp_path, "// expect: fail inclusive | no barrier\n")
    assert mutant.finding == ""
    assert corpora.disappointments(mutant, result("anything.at_all")) == []


def test_a_right_program_has_no_mistake_but_may_have_advice(tmp_path: Path) -> None:
    right = program(tmp_path, "// expect: pass 02_kogge_stone | right\n")
    assert right.is_right
    assert corpora.disappointments(right, result("race.shared", verdict="pass")) == ["a mistake is found: race.shared"]
    assert corpora.disappointments(right, result("leak", verdict="pass", weight="advice")) == []


@pytest.mark.parametrize(
    "line", ["// expect fail inclusive | x", "// expect: fail inclusive race.shared no bar", "int x;"]
)
def test_another_first_line_is_an_error(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match="first line"):
        program(tmp_path, line + "\n")


def test_a_row_counts_what_became_of_programs(tmp_path: Path) -> None:
    row = corpora.Row("02_kogge_stone")
    row.add(program(tmp_path), result("race.shared"))
    row.add(program(tmp_path), result("wrong.other"))
    row.add(program(tmp_path), result(verdict="pass"))
    row.add(program(tmp_path, "// expect: pass 02_kogge_stone | right\n"), result(verdict="pass"))
    assert row.texts() == ["02_kogge_stone", "3", "2", "1", "1", "1", "1"]
    assert (row + row).texts() == ["02_kogge_stone", "6", "4", "2", "2", "2", "2"]


def test_every_wrong_program_names_its_finding() -> None:
    for path in corpora.MUTANTS.glob("[01]*/*.cu"):
        read = corpora.read(path)
        assert read, path
        assert read.is_right or read.finding, path
