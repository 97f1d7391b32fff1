"""Who checks their own work, several checks at a time, gets what a class gets, one check after the other."""

import os
from pathlib import Path

import pytest

from made_up import REPOSITORY
from scanlab.judging.judge import Submission, grade
from scanlab.judging.plan import Options
from scanlab.judging.result import LabResult
from scanlab.labs.folders import find_lab

JUDGE = Path(os.environ.get("SCANLAB_BUILD", REPOSITORY / "build")) / "grader/autograder/judge"


@pytest.mark.skipif(not JUDGE.exists(), reason="the kit is not built: no judge")
@pytest.mark.parametrize(
    ("lab", "old", "new", "first"),
    [
        ("06", "", "", None),
        ("02", "__syncthreads();", "", "race.shared"),
        ("05", "s_sums[p - stride] + s_sums[p]", "s_sums[p] + s_sums[p - stride]", "wrong.operand_order"),
    ],
)
def test_alone_as_in_a_class(tmp_path: Path, lab: str, old: str, new: str, first: str | None) -> None:
    the_lab = find_lab(lab)
    text = the_lab.solution.read_text(encoding="utf-8")
    assert not old or old in text
    file = tmp_path / "scan.cu"
    file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    mine = Submission(the_lab, file)
    (alone,) = grade([mine], Options(side_by_side=True))
    in_class, again = grade([mine, mine], Options())
    assert alone.findings[0].id == first if first else alone.verdict == "pass"
    assert without_times(alone) == without_times(in_class) == without_times(again)


def without_times(result: LabResult) -> str:
    """Return a result without how long it took."""
    return result.without_times().by_name()


KOGGE_STONE = find_lab("02").solution.read_text(encoding="utf-8")
LOAD = "s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();"
STORE = "if (i < n) d_y[i] = s_xy[t];"


@pytest.mark.skipif(not JUDGE.exists(), reason="the kit is not built: no judge")
@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (KOGGE_STONE, 0),
        (KOGGE_STONE.replace(STORE, f"__syncthreads();\n  {STORE}"), 1),
        (KOGGE_STONE.replace(STORE, f"__syncthreads();\n  __syncthreads();\n  {STORE}"), 1),
        (  # the exclusive scan needs it, the inclusive one does not
            KOGGE_STONE.replace(LOAD, "s_xy[t] = i < n ? d_x[i] : identity();").replace(
                STORE,
                "__syncthreads();\n  if (i < n) d_y[i] = t >= shift<kind> ? s_xy[t - shift<kind>] : identity();",
            ),
            0,
        ),
    ],
)
def test_a_barrier_that_no_function_needs_is_reported(tmp_path: Path, text: str, advice: int) -> None:
    file = tmp_path / "scan.cu"
    file.write_text(text, encoding="utf-8")
    (result,) = grade([Submission(find_lab("02"), file)], Options(remarks=True, side_by_side=True))
    correct = [check for check in result.checks if check.name in ("inclusive", "exclusive_affine")]
    assert [check.verdict for check in correct] == ["pass", "pass"]
    assert [one.id for one in result.findings if one.weight == "advice"].count("barrier.needless") == advice
