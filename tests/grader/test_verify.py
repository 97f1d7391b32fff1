"""`verify` finds what is wrong with a lab, and says it."""

from pathlib import Path

import pytest

import made_results
from made_results import check
from scanlab.errors import KitError
from scanlab.judging.plan import Options
from scanlab.judging.result import Cause, LabResult
from scanlab.labs import verify
from scanlab.labs.folders import Lab, all_labs, base_of

OPENING = '// what it does\n#include "scanlab.cuh"\n'
SKELETON = OPENING + "void f() {\n  // >>> your code\n  // TODO(1): think\n  // <<< your code\n}\n"
SOLUTION = OPENING + "void f() {\n  // >>> your code\n  done();\n  // <<< your code\n}\n"
RUBRIC = """\
title = "A lab"
summary = "one line"
entries = ["inclusive_scan"]
limits = {seconds = 10, warp_instructions = 1000, output_bytes = 100}

[[check]]
name = "inclusive"
title = "inclusive scan"
kind = "correctness"
entry = "inclusive_scan"
element = "float"
operation = "inclusive"
points = 100
sizes = [1]
schedules = ["in_order"]
"""
CAUSE = made_results.cause("y[0] = 0, expected 1")


def result(verdict: str, points: float, *, name: str = "inclusive", cause: Cause | None = None) -> LabResult:
    return made_results.result(check(name, verdict, 100, points=points, cause=cause))


FAILS = result("fail", 0, cause=CAUSE)
PASSES = result("pass", 100)


@pytest.fixture
def verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Verify labs of these (skeleton, solution) texts, or of them those in `only`; each pair gets these results.

    Every rubric begins with the lines of `keys`.
    """

    def run(
        *pairs: tuple[str, str],
        results: tuple[LabResult, LabResult] = (FAILS, PASSES),
        builds_on: dict[str, str] | None = None,
        only: slice = slice(None),
        keys: str = "",
    ):
        monkeypatch.setattr(verify, "SOLUTIONS", tmp_path / "solutions")
        monkeypatch.setattr(verify, "grade", lambda submissions, *_: [*results] * (len(submissions) // 2))
        labs = []
        for i, pair in enumerate(pairs, 1):
            for folder, text in zip(("labs", "solutions"), pair, strict=True):
                (tmp_path / folder / f"0{i}_x").mkdir(parents=True)
                (tmp_path / folder / f"0{i}_x/scan.cu").write_text(text)
            lab = Lab(tmp_path / f"labs/0{i}_x")
            base = (builds_on or {}).get(lab.name)
            (lab.folder / "lab.toml").write_text((f'builds_on = "{base}"\n' if base else "") + keys + RUBRIC)
            labs.append(lab)
        return verify.verify(labs[only], labs, Options("vgpu", None, 7))

    return run


def test_a_good_ladder_has_no_faults(verified) -> None:
    one, two = verified((SKELETON, SOLUTION), (SKELETON, SOLUTION.replace("done();", "done();\n  twice();")))
    assert (one.faults, two.faults) == ([], [])
    assert one.facts == ["the skeleton fails", "the solution gets 100 of 100 points"]
    assert two.facts[0] == "1 line is new since 01"


@pytest.mark.parametrize(
    ("given", "solution", "fault"),
    [
        (
            SKELETON,
            SOLUTION.replace("void f", "void g"),
            "differ outside the regions:\n    -void f() {\n    +void g() {",
        ),
        (SOLUTION, SOLUTION, "the skeleton has no TODO"),
        (SKELETON, SKELETON, "the solution has a TODO left"),
        (SKELETON.replace("// >>> your code", ""), SOLUTION, "the skeleton has no region"),
    ],
)
def test_texts_that_do_not_fit_are_shown(verified, given: str, solution: str, fault: str) -> None:
    (lab,) = verified((given, solution))
    assert any(fault in line for line in lab.faults), lab.faults


@pytest.mark.parametrize(
    ("results", "fault"),
    [
        ((PASSES, PASSES), "the skeleton gets pass, and should get fail"),
        ((result("fail", 0), PASSES), "fails without a cause"),
        (
            (result("fail", 0, name="build", cause=made_results.cause("nvcc says no")), PASSES),
            "does not compile: nvcc says no",
        ),
        ((result("timeout", 0, cause=CAUSE), PASSES), "the skeleton gets timeout"),
        ((FAILS, result("fail", 90)), "the solution gets fail, 90 of 100 points: inclusive"),
    ],
)
def test_verdicts_that_should_be_others_are_named(verified, results, fault: str) -> None:
    (lab,) = verified((SKELETON, SOLUTION), results=results)
    assert any(fault in line for line in lab.faults), lab.faults


def test_a_rung_that_is_too_high_is_reported(verified) -> None:
    long = SOLUTION.replace("done();", "\n".join(f"step({i});" for i in range(verify.MOST_CHANGED_LINES + 1)))
    _, lab = verified((SKELETON, SOLUTION), (SKELETON, long))
    assert any("lines of the solution are not in lab 01's" in fault for fault in lab.faults)


def test_a_rubric_may_allow_a_higher_rung(verified) -> None:
    rungs = steps(1), steps(verify.MOST_CHANGED_LINES + 3)
    assert verified(*rungs, keys=f"new_lines = {verify.MOST_CHANGED_LINES + 2}\n")[1].faults == []


def test_a_rubric_may_ask_for_a_lower_rung(verified) -> None:
    (_, lab) = verified(steps(1), steps(4), keys="new_lines = 2\n")
    assert any("3 lines of the solution are not in lab 01's; at most 2," in fault for fault in lab.faults)


def steps(count: int) -> tuple[str, str]:
    """A lab whose solution has `count` lines."""
    return SKELETON, SOLUTION.replace("done();", "\n".join(f"step({i});" for i in range(count)))


def test_a_lab_is_compared_with_the_one_that_it_builds_on(verified) -> None:
    branches = {"03_x": "01_x"}
    facts = [lab.facts[0] for lab in verified(steps(1), steps(20), steps(4), builds_on=branches)[1:]]
    assert facts == ["19 lines are new since 01", "3 lines are new since 01"]


def test_a_lab_alone_is_compared_too(verified) -> None:
    (lab,) = verified(steps(1), steps(4), only=slice(1, 2))
    assert lab.facts[0] == "3 lines are new since 01"


@pytest.mark.parametrize(
    ("base", "fault"),
    [
        ("02_y", r"'02_y' is the name of no lab; before it there are 01_x"),
        ("2", r"'2' is the name of no lab; before it there are 01_x"),
        ("02_x", r"'02_x' is the lab itself; before it there are 01_x"),
        ("03_x", r"'03_x' comes after 02_x; before it there are 01_x"),
    ],
)
def test_a_lab_builds_on_an_earlier_one(verified, base: str, fault: str) -> None:
    with pytest.raises(KitError, match=rf"^[^\n]*02_x/lab\.toml: builds_on: {fault}$"):
        verified(steps(1), steps(2), steps(3), builds_on={"02_x": base})


def test_the_first_lab_builds_on_none(verified) -> None:
    with pytest.raises(KitError, match=r"'01_x' is the lab itself; there is none before it$"):
        verified(steps(1), builds_on={"01_x": "01_x"})


def test_the_kits_own_labs_build_on_earlier_ones() -> None:
    ladder = all_labs()
    assert base_of(ladder[0], ladder) is None
    for lab in ladder[1:]:
        base = base_of(lab, ladder)
        assert base is not None
        assert base.name < lab.name
