"""Which file a command's words mean: a lab's own, another one as that lab's, or one of no lab."""

from pathlib import Path

import pytest

from scanlab.errors import UsageError
from scanlab.labs.folders import Lab, find_lab
from scanlab.labs.subject import subject_of_lab
from scanlab.paths import ROOT

LAB = find_lab("02")
SOLUTION = ROOT / "solutions/02_kogge_stone/scan.cu"


def named(lab: Lab, path: Path) -> tuple[str, Path]:
    """Return what two answers have to have in common."""
    return lab.name, path.absolute()


@pytest.mark.parametrize("what", ["02", "kogge_stone", "labs/02_kogge_stone", "labs/02_kogge_stone/scan.cu"])
def test_a_lab_means_its_own_file(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert named(*subject_of_lab(what)) == (LAB.name, LAB.source)


@pytest.mark.parametrize("what", ["solutions/02_kogge_stone", "solutions/02_kogge_stone/scan.cu"])
def test_a_path_means_the_file_there(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert named(*subject_of_lab(what)) == (LAB.name, SOLUTION)


def test_this_folder_means_the_file_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SOLUTION.parent)
    assert named(*subject_of_lab(".")) == (LAB.name, SOLUTION)


def test_a_file_of_no_lab_needs_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    file.touch()
    assert named(*subject_of_lab("02", file)) == (LAB.name, file)
    with pytest.raises(UsageError, match="name its lab"):
        subject_of_lab(str(file))


def test_two_files_are_one_too_many() -> None:
    with pytest.raises(UsageError, match="or one file"):
        subject_of_lab(str(SOLUTION), SOLUTION)
