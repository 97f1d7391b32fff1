"""Which lab each file is: by its name and its folders', else it is asked."""

import zipfile
from pathlib import Path

import pytest

from scanlab.errors import UsageError
from taking_in import LABS, NEWER, TEXT, by_key, put, reasons, taken


@pytest.fixture
def pile(tmp_path: Path) -> Path:
    folder = tmp_path / "pile"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    "name",
    ["02_kogge_stone/scan.cu", "scan_02.cu", "02_kogge_stone.cu", "kogge_stone.cu", "work/labs/02_kogge_stone/scan.cu",
     "Scan_02.CU", "scan-02-1.cu", "02-Kogge-Stone.cu", "scan_02 (1).cu", "kogge_stone/scan-3.cu"],
)  # fmt: skip
def test_names_that_say_the_lab(pile: Path, name: str) -> None:
    put(pile / "s0001" / name)
    (one,) = by_key(pile).values()
    assert [file.lab for file in one.files] == ["02_kogge_stone"]


@pytest.mark.parametrize(
    "name",
    ["lab02.cu", "lab2.cu", "scan2.cu", "scan_2.cu", "Lab 2/scan.cu", "Lab-2.cu", "scan_02.zip/scan.cu", "2.cu",
     "scan_02_final.cu", "lab2_koggestone_v3.cu", "My Kogge Stone.cu", "labor 2/mine.cu", "02 scan.cu",
     "2-scan (1).cu"],
)  # fmt: skip
def test_names_that_can_mean_one_lab_only(pile: Path, name: str) -> None:
    if ".zip/" in name:
        archive, inside = name.split("/")
        (pile / "s0001").mkdir(parents=True)
        with zipfile.ZipFile(pile / "s0001" / archive, "w") as packed:
            packed.writestr(inside, TEXT)
    else:
        put(pile / "s0001" / name)
    put(pile / "s0001/scan_01.cu")
    (one,) = by_key(pile).values()
    assert [file.lab for file in one.files] == [*LABS]
    assert "its name is taken to say 02_kogge_stone" in one.files[1].taken_as
    assert not one.questions


@pytest.mark.parametrize(
    "name", ["scan_v2.cu", "final2.cu", "lab3_kogge_stone.cu", "Lab 3/scan2.cu", "x2.cu", "2026.cu", "scan_022.cu"]
)
def test_names_that_can_mean_several_labs_or_none_are_asked_about(pile: Path, name: str) -> None:
    put(pile / "s0001" / name)
    put(pile / "s0001/scan_01.cu")
    put(pile / "s0002/scan_02.cu")
    one = by_key(pile)["s0001"]
    assert [file.lab for file in one.files] == [LABS[0]]
    assert [question.kind for question in one.questions] == ["lab"]


def test_a_file_of_another_name_beside_a_labs_own_is_asked_about(pile: Path) -> None:
    put(pile / "s0001/scan_01.cu")
    put(pile / "s0001/scan_02.cu")
    put(pile / "s0001/scan_02_final.cu", NEWER)
    put(pile / "s0002/scan_02.cu")
    put(pile / "s0002/lab2.cu", TEXT)  # the same text
    got = by_key(pile)
    assert [file.lab for file in got["s0001"].files] == [LABS[0]]
    assert [len(question.candidates) for question in got["s0001"].questions] == [2]
    assert [file.lab for file in got["s0002"].files] == [LABS[1]]


@pytest.mark.parametrize(
    "name", ["scan_02.h", "scan_02.cuh", "scan_02.pdf", "lab2.ipynb", "Lab 2/work.docx", "scan_02"]
)
def test_a_labs_file_that_is_no_program_is_asked_about(pile: Path, name: str) -> None:
    put(pile / "s0001/scan_01.cu")
    put(pile / "s0001" / name)
    put(pile / "s0002/scan_02.cu")
    put(pile / "s0002" / name)  # beside work it is none
    got = by_key(pile)
    assert [(question.kind, question.lab) for question in got["s0001"].questions] == [("file", LABS[1])]
    assert len(got["s0001"].questions[0].candidates) == (1 if name.endswith(("h", "cuh")) else 0)
    assert not got["s0002"].questions


def test_one_file_of_any_name_is_the_one_lab_that_is_graded(pile: Path) -> None:
    put(pile / "s0001/mine.cu")
    put(pile / "s0002/a.cu")
    put(pile / "s0002/b.cu", NEWER)
    put(pile / "s0003/a.cu")
    put(pile / "s0003/copy/a.cu")
    put(pile / "s0004.cu")
    got = by_key(pile, "02_kogge_stone")
    assert got["s0001"].files
    assert got["s0004"].files
    assert got["s0003"].files, "the same text twice is no question"
    assert not got["s0002"].files
    assert "2 files may be this lab's" in reasons(got["s0002"])


def test_the_copy_of_the_skeleton_in_a_students_kit_is_not_taken_for_their_work(pile: Path) -> None:
    put(pile / "scan-one/labs/02_kogge_stone/scan.cu", NEWER)
    put(pile / "scan-one/grader/skeletons/02_kogge_stone.cu", TEXT)
    put(pile / "scan-two/grader/skeletons/01_sequential.cu", TEXT)
    got = taken(pile)
    one, two = got.taken_in.submissions
    assert [got.sources[file.sha256] for file in one.files] == [NEWER]
    assert (one.problems, two.files) == ((), ())


def test_any_name_will_do_in_a_labs_own_folder(pile: Path) -> None:
    put(pile / "s0001/02_kogge_stone/mine.cu", NEWER)
    put(pile / "s0001/01.cu")
    one = by_key(pile, *LABS)["s0001"]
    assert [(file.lab, file.name) for file in one.files] == [(LABS[0], "01.cu"), (LABS[1], "02_kogge_stone/mine.cu")]


def test_nothing_is_guessed_where_no_name_says_the_lab(pile: Path) -> None:
    put(pile / "s0001/mine.cu")
    with pytest.raises(UsageError, match=r"name the lab with --lab$"):
        taken(pile)
    put(pile / "s0002/scan_01.cu")
    put(pile / "s0002/scan_02.cu")
    one = by_key(pile)["s0001"]
    assert one.files == ()
    assert "mine.cu: does not say which lab it is, as 01_sequential/scan.cu or scan_01.cu would" in reasons(one)


def test_other_labs_are_counted_and_not_graded(pile: Path) -> None:
    for lab in ("01", "02", "03"):
        put(pile / f"s0001/scan_{lab}.cu")
    got = taken(pile, "02_kogge_stone")
    assert got.other_labs == 2
    assert [file.lab for file in got.taken_in.submissions[0].files] == ["02_kogge_stone"]
