"""A small made-up class over the real kit: killed three times, it ends with the results of a quiet run."""

import os
from pathlib import Path

import pytest

import killing
from made_up import REPOSITORY, make
from scanlab.errors import KitError
from scanlab.judging import sandbox

LABS = ("01_sequential", "02_kogge_stone", "03_double_buffer", "04_brent_kung", "05_coarsening")
JUDGE = Path(os.environ.get("SCANLAB_BUILD", REPOSITORY / "build")) / "grader/autograder/judge"


@pytest.mark.skipif(not JUDGE.exists(), reason="the kit is not built: no judge")
def test_a_class_that_is_killed_again_and_again_gets_the_same_results(tmp_path: Path) -> None:
    try:
        sandbox.require()
    except KitError as error:
        pytest.skip(f"no sandbox: {error}")
    made = make(tmp_path, 12, 4, LABS, zeros=8 << 20, odd=3)
    quiet = killing.run(made, tmp_path / "quiet", timeout=300)
    assert quiet.code == 0, quiet.err
    wrong = killing.killed_run(
        made, tmp_path / "killed", kills=3, files=len(killing.finished(tmp_path / "quiet")), seed=2
    )
    wrong += killing.differences(tmp_path / "quiet", tmp_path / "killed")
    assert wrong == []
    compared = killing.contents(tmp_path / "quiet")
    assert sum(name.startswith("results/") for name in compared) == 12
    assert sum(name.startswith("graded/") for name in compared) >= 7
