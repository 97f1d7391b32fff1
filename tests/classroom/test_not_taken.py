"""Who has 0 points since nothing could be graded is said apart from what was not taken beside a grade."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from scanlab.classroom.intake.take_in import Wanted, take_in
from scanlab.classroom.not_taken import beside_work, without_work
from scanlab.classroom.records import Class
from scanlab.course.matching import in_class
from scanlab.course.read import read_course

Scanlab = Callable[..., subprocess.CompletedProcess[str]]
LABS = ("01_sequential", "02_kogge_stone")
CODE = b"__global__ void scan() {} // PASSES\n"


def put(path: Path, data: bytes = CODE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def taken(pile: Path, *labs: str) -> Class:
    return take_in(pile, Wanted(labs=labs or LABS[:1])).taken_in


def test_who_has_0_is_said_apart_from_what_stands_beside_a_grade(scanlab: Scanlab, tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "s0001/scan_01.cu")
    (pile / "s0001/more.cu").symlink_to("/etc/hostname")
    put(pile / "s0002/report.pdf", b"%PDF-1.7")
    put(pile / "s0003/scan_01.cu", b"")
    put(pile / "s0004/a.out", b"\x7fELF\2\1\1\0")
    put(pile / "s0005/scan_02.cu")
    put(pile / "s0006/work.rar", b"Rar!")
    put(pile / "s0007/notes.txt", b"I could not do it\n")
    put(pile / "s0008/scan_01.cu", b"\x7fELF\2\1\1\0")
    put(pile / "s0008/report.pdf", b"%PDF-1.7")
    put(pile / "s0009/scan_01.cu", CODE.replace(b"PASSES", b"FAILS"))
    done = scanlab("grade", pile, "--out", tmp_path / "out", "--lab", "01")
    assert done.returncode == 0, done.stderr
    listed = done.stdout.partition("0 points, since nothing of it could be graded (6):\n")[2]
    zero, _, rest = listed.partition("not taken as it was handed in (2):\n")
    assert [line.split(":")[0].strip() for line in zero.splitlines()] == [f"s000{n}" for n in (2, 3, 4, 5, 7, 8)]
    assert [line.split(": ")[0].strip() for line in rest.splitlines()[:2]] == ["s0001", "s0006"]
    assert "s0009" not in listed, "0 points, and graded"


def test_a_class_that_was_taken_whole_says_nothing(scanlab: Scanlab, tmp_path: Path) -> None:
    put(tmp_path / "pile/s0001/scan_01.cu")
    done = scanlab("grade", tmp_path / "pile", "--out", tmp_path / "out")
    assert "0 points" not in done.stdout
    assert "not taken" not in done.stdout


def test_of_several_labs_it_is_said_which(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "s0001/scan_01.cu")
    put(pile / "s0001/scan_02.cu", b"\0")
    put(pile / "s0002/scan_01.cu")  # the other lab was not handed in: nothing to say
    put(pile / "s0003/report.pdf", b"%PDF-1.7")
    put(pile / "s0004/scan_01.cu", b"")
    put(pile / "s0004/scan_02.cu", b"")
    put(pile / "s0005/scan_01.cu")
    put(pile / "s0005/mine.cu")  # may be the other lab's: a question
    class_ = taken(pile, *LABS)
    assert without_work(class_) == {
        "s0001": ["s0001 02_kogge_stone: scan_02.cu: is a binary file, no text"],
        "s0003": ["s0003: s0003: has no file for a lab that is graded; there are: report.pdf"],
        "s0004": ["s0004 01_sequential: scan_01.cu: is empty", "s0004 02_kogge_stone: scan_02.cu: is empty"],
    }
    assert [line.split(":")[0] for line in beside_work(class_)] == ["s0005"]


def test_an_excused_lab_is_not_worth_0(tmp_path: Path) -> None:
    put(tmp_path / "pile/s0001/scan_01.cu", b"")
    put(tmp_path / "pile/s0002/scan_01.cu", b"")
    course = tmp_path / "course.toml"
    course.write_text('title = "T"\n[[lab]]\nname = "01"\n[[student]]\nid = "s0001"\nexcused = ["01"]\n')
    read = read_course(course)
    class_ = taken(tmp_path / "pile").model_copy(update={"course": read.course.public_view()})
    class_, _ = in_class(class_, read, has_roster=False)
    assert [*without_work(class_)] == ["s0002"]
