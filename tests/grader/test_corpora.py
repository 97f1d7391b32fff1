"""What programs with a known verdict are expected to get, from canned results."""

from pathlib import Path

import pytest

import made_results
from made_results import check, finding
from scanlab.judging.result import LabResult
from scanlab.labs import corpora

FIRST_LINE = "// expect: fail inclusive,exclusive race.shared | no barrier\n"


def read(tmp_path: Path, first_lines: str, device: str = "vgpu") -> corpora.Program | None:
    folder = tmp_path / "02_kogge_stone"
    folder.mkdir(exist_ok=True)
    path = folder / "mutant.cu"
    path.write_text(first_lines)
    return corpora.read(path, device)


def program(tmp_path: Path, first_lines: str = FIRST_LINE, device: str = "vgpu") -> corpora.Program:
    found = read(tmp_path, first_lines, device)
    assert found
    return found


def result(*ids: str, verdict: str = "fail", weight: str = "mistake") -> LabResult:
    checks = [check(name, verdict) for name in ("inclusive", "exclusive")]
    return made_results.result(*checks, findings=tuple(finding(name, weight=weight) for name in ids))


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


def test_on_a_gpu_the_same_is_expected_but_for_findings(tmp_path: Path) -> None:
    mutant = program(tmp_path, device="gpu")
    assert (mutant.verdicts, mutant.checks, mutant.finding) == (["fail"], ["inclusive", "exclusive"], "")


def test_a_line_behind_the_first_says_what_differs_on_a_gpu(tmp_path: Path) -> None:
    lines = FIRST_LINE + "// that is missing\n// expect on gpu: pass/fail inclusive | warps happen to be\n// in time\n"
    assert program(tmp_path, lines).verdicts == ["fail"]
    hidden = program(tmp_path, lines, "gpu")
    assert (hidden.verdicts, hidden.checks) == (["pass", "fail"], ["inclusive"])
    assert corpora.disappointments(hidden, result(verdict="pass")) == []
    assert corpora.disappointments(hidden, result(verdict="timeout"))


def test_what_is_counted_is_not_expected_on_a_gpu(tmp_path: Path) -> None:
    assert read(tmp_path, "// expect: fail additions cost.additions | twice\n", "gpu") is None


def test_on_a_gpu_a_right_program_may_take_its_time(tmp_path: Path) -> None:
    right = program(tmp_path, "// expect: pass 02_kogge_stone | right\n", "gpu")
    assert {check.kind for check in right.submission.lab.rubric.check} == {"correctness"}


@pytest.mark.parametrize(
    "lines",
    [
        "// expect on gpu: fail inclusive | x\n",
        FIRST_LINE + "// expect on GPU: fail inclusive | x\n",
        FIRST_LINE + FIRST_LINE,
        FIRST_LINE + 2 * "// expect on gpu: fail inclusive | x\n",
    ],
)
def test_another_second_line_is_an_error(tmp_path: Path, lines: str) -> None:
    with pytest.raises(ValueError, match=r"mutant\.cu: (the line 2 is no|it begins with)"):
        program(tmp_path, lines)


def test_a_row_counts_what_became_of_programs(tmp_path: Path) -> None:
    row = corpora.Row("02_kogge_stone")
    row.add(program(tmp_path), result("race.shared"))
    row.add(program(tmp_path), result("wrong.other"))
    row.add(program(tmp_path), result(verdict="pass"))
    row.add(program(tmp_path, "// expect: pass 02_kogge_stone | right\n"), result(verdict="pass"))
    assert row.texts() == ["02_kogge_stone", "3", "2", "1", "1", "1", "1"]
    assert (row + row).texts() == ["02_kogge_stone", "6", "4", "2", "2", "2", "2"]


def test_every_wrong_program_names_its_finding() -> None:
    for path in (path for folder in corpora.MUTANTS.glob("[01]*") for path in corpora.programs_in(folder)):
        found = corpora.read(path)
        assert found, path
        assert found.is_right or found.finding, path
