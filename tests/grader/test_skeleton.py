"""Skeletons and solutions agree outside the marked regions, and a skeleton comes back."""

import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab, all_labs

BEFORE = '// what it does\n#include "scanlab.cuh"\nvoid f() {\n  // >>> your code\n'
AFTER = "  // <<< your code\n}\n"
SKELETON = f"{BEFORE}  // TODO(1): think\n{AFTER}"
SOLUTION = f"{BEFORE}  done();\n{AFTER}"


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.name)
def test_skeleton_and_solution_are_the_same_outside_the_regions(lab: Lab) -> None:
    solution = (REPOSITORY / "solutions" / lab.name / "scan.cu").read_text()
    assert skeleton.regions(solution), "no region is marked"
    assert "TODO" not in solution
    text, origin = skeleton.pristine(lab)
    assert origin.startswith("commit ") or not skeleton._commits(lab.source), "no committed skeleton fits the solution"
    assert skeleton.outside(text) == skeleton.outside(solution)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab in a repository of its own, with its skeleton in the work tree."""
    monkeypatch.setattr(skeleton, "ROOT", tmp_path)
    monkeypatch.setattr(skeleton, "SOLUTIONS", tmp_path / "solutions")
    for folder, text in (("labs", SKELETON), ("solutions", SOLUTION)):
        (tmp_path / folder / "02_x").mkdir(parents=True)
        (tmp_path / folder / "02_x/scan.cu").write_text(text)
    return Lab(tmp_path / "labs/02_x")


def commit(folder: Path) -> None:
    git = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "core.hooksPath=/dev/null",
    ]
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=30)
    subprocess.run([*git, "add", "-A"], check=True, timeout=30)
    subprocess.run([*git, "commit", "-q", "-m", "x", "--no-gpg-sign"], check=True, timeout=30)


def test_reset_keeps_the_learners_file_and_finds_the_skeleton_behind_their_commits(lab: Lab, tmp_path: Path) -> None:
    commit(tmp_path)
    mine = SKELETON.replace("// TODO(1): think", "mine();")
    lab.source.write_text(mine)
    commit(tmp_path)
    kept, origin = skeleton.reset(lab)
    assert lab.source.read_text() == SKELETON
    assert kept is not None
    assert kept.read_text() == mine
    assert kept.name.startswith("scan.cu.bak-")
    assert origin.startswith("commit ")
    assert skeleton.reset(lab)[0] is None


def test_reset_takes_the_skeleton_that_fits_an_updated_kit(lab: Lab, tmp_path: Path) -> None:
    commit(tmp_path)
    for file in (lab.source, tmp_path / "solutions/02_x/scan.cu"):
        file.write_text(file.read_text().replace("void f()", "void f(int n)"))
    updated = lab.source.read_text()
    commit(tmp_path)
    lab.source.unlink()
    assert skeleton.reset(lab)[0] is None
    assert lab.source.read_text() == updated


def test_without_a_history_the_solutions_regions_are_emptied(lab: Lab, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    lab.source.write_text("junk")
    kept, origin = skeleton.reset(lab)
    assert kept is not None
    assert "done()" not in lab.source.read_text()
    assert "TODO" in lab.source.read_text()
    assert skeleton.outside(lab.source.read_text()) == skeleton.outside(SOLUTION)
    assert "no git history" in origin


def test_given_lines_are_the_solutions_or_those_of_a_packed_skeleton(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"// what it does", '#include "scanlab.cuh"', "void f() {", "// >>> your code", "// <<< your code", "}"}
    monkeypatch.setattr(skeleton, "SKELETONS", tmp_path / "packed")
    for folder in ("solutions/02_x", "packed"):
        (tmp_path / folder).mkdir(exist_ok=True)
    monkeypatch.setattr(Lab, "solution", tmp_path / "solutions/02_x/scan.cu")
    assert skeleton.given_lines(lab) == given
    (tmp_path / "solutions/02_x/scan.cu").unlink()
    assert skeleton.given_lines(lab) == frozenset()
    (tmp_path / "packed/02_x.cu").write_text(SKELETON)
    assert skeleton.given_lines(lab) == given
