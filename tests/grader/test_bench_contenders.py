"""What is compared: the labs, what the learner has begun, and files."""

import shutil
from pathlib import Path

import pytest

from scanlab.bench import contenders
from scanlab.bench.contenders import Contender, choose
from scanlab.errors import UsageError, WorkError
from scanlab.labs import folders, skeleton
from scanlab.labs.rubric_file import COMMON
from scanlab.paths import LABS, SOLUTIONS

pytestmark = pytest.mark.usefixtures("kit")


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two labs with their solutions, in folders that a test may change."""
    for name in ("04_brent_kung", "06_hierarchical"):
        shutil.copytree(LABS / name, tmp_path / "labs" / name)
        shutil.copytree(SOLUTIONS / name, tmp_path / "solutions" / name)
    shutil.copy(LABS / COMMON, tmp_path / "labs")
    monkeypatch.setattr(folders, "LABS", tmp_path / "labs")
    monkeypatch.setattr(contenders, "SOLUTIONS", tmp_path / "solutions")
    return tmp_path


def names(words: list[str]) -> list[tuple[str, str, int | None]]:
    return [(each.name, each.role, each.section) for each in choose(words)[0]]


REFERENCES = [("CUB DeviceScan", "cub", 0), ("copy", "copy", 0)]


def test_without_a_name_all_labs_stand_beside_the_references() -> None:
    assert names([]) == [
        ("04_brent_kung", "solution", 1024),
        ("04_brent_kung_naive_mapping", "variant", 1024),
        ("04_brent_kung_one_element", "variant", 1024),
        ("06_hierarchical", "solution", 0),
        *REFERENCES,
    ]
    assert choose([])[1] == []


def test_a_lab_that_is_begun_stands_beside_its_solution(kit: Path) -> None:
    own = kit / "labs/06_hierarchical/scan.cu"
    own.write_text(own.read_text().replace(f"{skeleton.OPEN}\n", f"{skeleton.OPEN}\n  int begun = 1;\n", 1))
    expected = [("06_hierarchical", "solution", 0), ("06_hierarchical (yours)", "yours", 0), *REFERENCES]
    assert names(["6"]) == expected
    assert names(["06", "hierarchical"]) == expected  # once each
    own.unlink()
    assert names(["06"]) == [expected[0], *REFERENCES]


def test_without_solutions_the_learners_own_files_are_enough(kit: Path) -> None:
    shutil.rmtree(kit / "solutions")
    own = kit / "labs/06_hierarchical/scan.cu"
    shutil.copy(SOLUTIONS / "06_hierarchical/scan.cu", own)
    found, notes = choose(["06"])
    assert found[0] == Contender("06_hierarchical (yours)", "yours", own, 0)
    assert notes == []
    shutil.copy(LABS / "06_hierarchical/scan.cu", own)
    assert choose(["06"])[1] == [
        "06_hierarchical is not in the table: its skeleton is untouched, and there is no solution here"
    ]


def test_a_file_is_compared_whatever_it_is(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kit)
    Path("my.cu").write_text("// mine\n")
    assert names(["my.cu", "labs/06_hierarchical/scan.cu"])[:2] == [
        ("my.cu", "file", None),  # a trial will show whether it scans sections
        ("labs/06_hierarchical/scan.cu", "file", None),
    ]
    Path("empty.cu").write_text("")
    with pytest.raises(WorkError, match=r"empty\.cu is empty"):
        choose(["empty.cu"])
    with pytest.raises(UsageError, match=r"no\.cu does not exist"):
        choose(["no.cu"])


def test_what_is_no_scan_is_left_out_with_a_note(kit: Path) -> None:
    rubric = kit / "labs/06_hierarchical/lab.toml"
    rubric.write_text((LABS / "10_compaction/lab.toml").read_text())
    assert choose([])[1] == ["06_hierarchical is not in the table: it is no scan"]
    with pytest.raises(UsageError, match="06_hierarchical is no scan"):
        choose(["06"])


@pytest.mark.parametrize("lab", folders.all_labs(), ids=lambda lab: lab.name)
def test_the_kits_skeletons_are_untouched_and_its_solutions_are_not(lab: folders.Lab) -> None:
    solution = (SOLUTIONS / lab.name / "scan.cu").read_text()
    assert not skeleton.untouched(solution)
    assert skeleton.untouched(skeleton.pristine(lab)[0])
    assert not skeleton.untouched("int x;\n")  # no region at all: a student's own file
