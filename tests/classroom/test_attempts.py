"""Several attempts of one student: which are graded, which counts, and what the record says of them."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from killing import finished
from made_up import zipped
from needs import skip_without
from scanlab.classroom.records import Deduction, LabGrade
from scanlab.classroom.store import Store
from scanlab.course.attempts import not_accepted
from scanlab.on_demand import YAML

Scanlab = Callable[..., subprocess.CompletedProcess[str]]
COURSE = 'title = "Scans"\n[attempts]\n{rule}\n[[lab]]\nname = "01"\n'


@pytest.fixture
def pile(tmp_path: Path) -> Path:
    folder = tmp_path / "pile"
    folder.mkdir()
    for number, text in enumerate(("FAILS", "PASSES", "SYNTAX ERROR")):
        (folder / f"one_11_{900 + number}_scan_01-{number}.cu").write_text(f"// {text}\n")
    return folder


@pytest.mark.parametrize(
    ("rule", "graded", "verdict", "which"),
    [
        ("", 1, "fail", "attempt 3 of 3"),
        ('count = "best"', 3, "pass", "attempt 2 of 3"),
        ("at_most = 2", 1, "pass", "attempt 2 of 3"),
        ('count = "best"\nat_most = 1', 1, "fail", "attempt 1 of 3"),
    ],
)
def test_the_courses_rule_says_what_is_graded_and_what_counts(
    scanlab: Scanlab, pile: Path, tmp_path: Path, rule: str, graded: int, verdict: str, which: str
) -> None:
    out, course = tmp_path / "out", tmp_path / "course.toml"
    course.write_text(COURSE.format(rule=rule))
    done = scanlab("grade", pile, "--out", out, "--course", course)
    assert done.returncode == 0, done.stderr
    assert len(finished(out)) == graded
    (record,) = Store(out).records()
    assert (record.verdict, record.labs[0].which_attempt) == (verdict, which)
    assert record.points == (record.max_points if verdict == "pass" else 0)
    assert f"attempt {record.attempt} of 3" == which
    attempts = record.labs[0].attempts
    assert [one.name for one in attempts] == [f"scan_01-{number}.cu" for number in range(3)]
    assert [one.number for one in attempts if not one.reason] == [record.attempt]
    assert sum(one.points is not None for one in attempts) == graded
    assert next(one.sha256 for one in attempts if not one.reason) == record.labs[0].sha256
    assert "handed in several times (1;" in done.stdout
    assert "01_sequential (3 attempts)" in done.stdout


ZIPPED = zipped({"scan_01.cu": b"// PASSES\n"})


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("ann_11_901_scan_version5.cu", b"// PASSES\n"),
        ("ann_11_901_lab1_submission_2026-11-26.zip", ZIPPED),
        ("ann_11_901_geometry12.zip", ZIPPED),
        ("ann_11_901_lab.zip", zipped({"par400-version-7/labs/01_sequential/scan.cu": b"// PASSES\n"})),
        ("ann_11_901_scan-5.cu", b"// PASSES\n"),
        ("Ann One_11_assignsubmission_file_/my version 12/scan.cu", b"// PASSES\n"),
        ("Ann One_11_assignsubmission_file_submission4.cu", b"// PASSES\n"),
        ("gradebook_PAR400_ann_attempt_2026-11-26-23-59-00_scan.cu", b"// PASSES\n"),
        ("Lab 1 submission 2026/ann/scan.cu", b"// PASSES\n"),
        ("ann/Attempt 9/scan.cu", b"// PASSES\n"),
        ("ann.try9/scan.cu", b"// PASSES\n"),
    ],
)
def test_no_name_makes_a_hand_in_one_that_the_course_does_not_accept(
    scanlab: Scanlab, tmp_path: Path, path: str, data: bytes
) -> None:
    file, out, course = tmp_path / "pile" / path, tmp_path / "out", tmp_path / "course.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    course.write_text(COURSE.format(rule="at_most = 3"))
    done = scanlab("grade", tmp_path / "pile", "--out", out, "--course", course)
    assert done.returncode == 0, done.stderr
    (record,) = Store(out).records()
    assert (record.verdict, record.points) == ("pass", record.max_points)
    assert (record.attempt, record.labs[0].deductions) == (None, ())
    assert "at_most" not in done.stdout


def test_what_at_most_costs_is_said_in_the_run_and_in_the_table(scanlab: Scanlab, pile: Path, tmp_path: Path) -> None:
    (pile / "two_12_800_scan_01.cu").write_text("// PASSES\n")
    out, course, table = tmp_path / "out", tmp_path / "course.toml", tmp_path / "grades.csv"
    course.write_text(COURSE.format(rule="at_most = 1"))
    done = scanlab("grade", pile, "--out", out, "--course", course)
    said = "01_sequential attempt 2: only the first counts, 01_sequential attempt 3: only the first counts"
    assert f"attempts that do not count, by the course's at_most (1): one-11 ({said})\n" in done.stdout
    assert scanlab("export", out, "--format", "csv", "--out", table).returncode == 0
    one, two = csv.DictReader(table.read_text().splitlines())
    assert "01_sequential: attempt 2: only the first counts" in one["problems"]
    assert "only the first" not in two["problems"]


def test_a_platforms_own_number_costs_points_and_is_said() -> None:
    reason = "attempt 4: only the first 3 count"
    late = Deduction(reason="1 day late at 10 %: due 2027-03-14", points=1)
    grade = LabGrade(
        lab="01_sequential", sha256=None, verdict="pass", points=0, max_points=9, not_run_points=0,
        deductions=(Deduction(reason=reason, points=9), late),
    )  # fmt: skip
    assert not_accepted(grade) == (reason,)


def test_each_attempt_is_late_by_its_own_time(scanlab: Scanlab, tmp_path: Path) -> None:
    skip_without(YAML)
    pile, out, course = tmp_path / "pile", tmp_path / "out", tmp_path / "course.toml"
    metadata = []
    for number, day in ((1, 10), (2, 15)):
        (pile / f"submission_{number}").mkdir(parents=True)
        (pile / f"submission_{number}/scan_01.cu").write_text(f"// PASSES {number}\n")
        metadata.append(
            f"submission_{number}:\n  :submitters:\n  - :name: Student One\n    :sid: s0001\n"
            f"  :created_at: 2027-03-{day} 12:00:00 Z\n"
        )
    (pile / "submission_metadata.yml").write_text("".join(metadata))
    (tmp_path / "roster.csv").write_text("id,name\ns0001,Student One\n")
    course.write_text(
        'title = "Scans"\n[late]\npercent = 10\n[attempts]\ncount = "best"\n'
        '[[lab]]\nname = "01"\ndue = 2027-03-14T23:59:00Z\n'
    )
    done = scanlab("grade", pile, "--out", out, "--course", course, "--roster", tmp_path / "roster.csv")
    assert done.returncode == 0, done.stderr
    (record,) = Store(out).records()
    first, second = record.labs[0].attempts
    assert record.labs[0].which_attempt == "attempt 1 of 2", "as good, and in time"
    assert record.points == record.max_points == first.points
    assert second.points == pytest.approx(0.9 * record.max_points)
    assert record.submitted_at == first.submitted_at
    table = tmp_path / "grades.csv"
    assert scanlab("export", out, "--format", "csv", "--out", table).returncode == 0
    assert "01_sequential: attempt 1 of 2 counts" in table.read_text()
    assert json.loads((out / "results/s0001.json").read_text())["attempt"] == 1
