"""When work was handed in, from every source: late work is late on every platform, and what is unknown is reported."""

import io
import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scanlab.classroom.times import commit_time

Scanlab = Callable[..., subprocess.CompletedProcess[str]]
LAB = "01_sequential"
COURSE = """\
title = "T"
timezone = "Europe/Berlin"
[late]
percent = 10
{late}
[[lab]]
name = "01"
due = 2027-03-14T23:59:00
{more}
"""
ANN, BOB, CID = "berg", "dal", "ek"


@pytest.fixture
def at(tmp_path: Path) -> Path:
    course(tmp_path)
    return tmp_path


def course(folder: Path, late: str = "", more: str = "") -> None:
    (folder / "course.toml").write_text(COURSE.format(late=late, more=more))


def hand_in(folder: Path, name: str, text: str = "PASSES") -> None:
    path = folder / "pile" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"// {text}\n")


def moodle(folder: Path) -> None:
    for name, number in (("Ann Berg", 771), ("Bob Dal", 772), ("Cid Ek", 773)):
        hand_in(folder, f"{name}_{number}_assignsubmission_file/scan_01.cu")


def grade(scanlab: Scanlab, folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = scanlab("grade", "pile", "--out", "out", "--course", "course.toml", *words, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def off(folder: Path, out: str = "out") -> dict[str, list[float]]:
    """Return what was taken off each, by key, in percent of the lab."""
    found = {}
    for path in (folder / out / "results").glob("*.json"):
        (lab,) = json.loads(path.read_text())["labs"]
        found[path.stem] = [round(100 * one["points"] / lab["max_points"], 1) for one in lab["deductions"]]
    return found


def reasons(folder: Path, key: str) -> str:
    (lab,) = json.loads((folder / f"out/results/{key}.json").read_text())["labs"]
    return " ".join(one["reason"] for one in lab["deductions"])


MOODLE = """\
Identifier{d}Full name{d}ID number{d}Email address{d}Status{d}{column}{d}Last modified (grade)
Participant 771{d}Ann Berg{d}b1{d}ann@example.org{d}Submitted{d}"{one}"{d}-
Participant 772{d}Bob Dal{d}b2{d}bob@example.org{d}Submitted{d}"{two}"{d}"Friday, 19 March 2027, 9:00 AM"
Participant 773{d}Cid Ek{d}b3{d}cid@example.org{d}Submitted{d}{three}{d}-
"""


@pytest.mark.parametrize(
    ("delimiter", "encoding", "column", "one", "two"),
    [
        (
            ",",
            "utf-8",
            "Last modified (submission)",
            "Sunday, 14 March 2027, 11:59 PM",
            "Monday, 15 March 2027, 12:00 AM",
        ),
        (
            ";",
            "utf-8-sig",
            "Zuletzt geändert (Abgabe)",
            "Sonntag, 14. März 2027, 23:59",
            "Montag, 15. März 2027, 00:00",
        ),
        ("\t", "utf-16", "Dernière modification (travail remis)", "14 mars 2027, 23:59", "lundi 15 mars 2027, 00:00"),
        (",", "utf-8", "Last modified (submission)", "14/03/2027 23:59", "15/03/2027 00:00"),
    ],
)
def test_moodles_worksheet_has_the_times(
    scanlab: Scanlab, at: Path, delimiter: str, encoding: str, column: str, one: str, two: str
) -> None:
    moodle(at)
    text = MOODLE.format(d=delimiter, column=column, one=one, two=two, three="-")
    (at / "roster.csv").write_bytes(text.encode(encoding))
    done = grade(scanlab, at, "--roster", "roster.csv")
    assert sorted(off(at).values()) == [[], [0], [10]]
    assert "times of submission: 2 from the roster's columns" in done.stdout
    assert "no time of submission, so that nobody knows whether it is late (1 of 3): b3" in done.stdout
    assert "not known" in reasons(at, "b3")


GROUP = """\
Identifier,Full name,Email address,Status,Group,Last modified (submission)
Participant 771,Ann Berg,ann@example.org,Submitted,{team},"{one}"
Participant 772,Bob Dal,bob@example.org,Submitted,{team},{two}
Participant 773,Cid Ek,cid@example.org,Submitted,{team},{three}
Participant 774,Dan Falk,dan@example.org,-,Other,-
"""
LATE, LATER = "Monday, 15 March 2027, 12:00 PM", "Tuesday, 16 March 2027, 12:00 PM"


@pytest.mark.parametrize(
    ("who", "cells", "taken"),
    [
        ("Ann Berg_771", (LATE, "-", "-"), [10, 10, 10]),  # whoever has not pressed the button has no time
        ("Ann Berg_771", (LATE, f'"{LATER}"', "-"), [10, 20, 10]),  # Bob's own time is Bob's
        ("Red-Ann Berg_771", ("-", f'"{LATER}"', "-"), [20, 20, 20]),
        ("Red_9", (LATE, f'"{LATER}"', "-"), [10, 20, 20]),  # in the group's name: the last change
        ("Ann Berg_771", ("-", "-", "-"), [0, 0, 0]),
    ],
)
def test_a_groups_member_without_a_time_has_that_of_who_handed_in(
    scanlab: Scanlab, at: Path, who: str, cells: tuple[str, str, str], taken: list[int]
) -> None:
    hand_in(at, f"{who}_assignsubmission_file/scan_01.cu")
    (at / "roster.csv").write_text(GROUP.format(team="Red", **dict(zip(("one", "two", "three"), cells, strict=True))))
    done = grade(scanlab, at, "--roster", "roster.csv")
    assert [percent for _, (percent,) in sorted(off(at).items())] == taken
    has_none = cells == ("-", "-", "-")
    assert ("no time of submission" in done.stdout) == has_none
    assert ("from the member who handed in" in done.stdout) == ("-" in cells and not has_none)
    grade(scanlab, at, "--resume")
    assert [percent for _, (percent,) in sorted(off(at).items())] == taken


def test_a_time_that_cannot_be_read_is_said_and_not_guessed(scanlab: Scanlab, at: Path) -> None:
    moodle(at)
    text = MOODLE.format(d=",", column="Last modified (submission)", one="03/04/2027 10:00", two="soon", three="-")
    (at / "roster.csv").write_text(text)
    done = grade(scanlab, at, "--roster", "roster.csv")
    assert "of the roster's times 2 cannot be read" in done.stdout
    assert "which is the day and which the month" in done.stdout
    assert "(3 of 3)" in done.stdout


TIMES = """\
\ufeffWho;Time;Lab
BOB@example.org;2027-03-15 00:00;
ann berg;2027-03-14T22:59:00Z;1
Ann Berg;2027-03-20T22:59:00Z;02
773;2027-03-16 23:59:01;01
nobody@example.org;2027-03-16 23:59:01;
"""


def test_a_table_of_times_names_people_by_any_identifier(scanlab: Scanlab, at: Path) -> None:
    moodle(at)
    (at / "roster.csv").write_text(MOODLE.format(d=",", column="x", one="", two="", three=""))
    (at / "times.csv").write_text(TIMES, encoding="utf-8")
    done = grade(scanlab, at, "--roster", "roster.csv", "--times", "times.csv")
    assert off(at) == {"b1": [], "b2": [10], "b3": [30]}  # a second into the third day
    assert "times of submission: 3 from times.csv" in done.stdout
    assert "times.csv names 1 who are not in this class: nobody@example.org (line 6)" in done.stdout
    assert "no time of submission" not in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "times.csv:1: no column says who, or when"),
        ("id\nb1\n", "times.csv:1: no column says who, or when (there are: id); such as identifier,time,lab"),
        ("id,time\nb1,yesterday\n", "times.csv:2: 'yesterday' has no time of day"),
        ("id,time,lab\nb1,2027-03-14T22:59:00Z,99\n", "times.csv:2: no lab is called '99'"),
        ("id,time\nDan,2027-03-14T22:59:00Z\n", "times.csv:2: 2 people are of the name 'Dan' (d1, d2)"),
    ],
)
def test_a_table_that_is_none_is_one_clear_line(scanlab: Scanlab, at: Path, text: str, message: str) -> None:
    moodle(at)
    (at / "roster.csv").write_text("id,name\nb1,Ann Berg\nb2,Bob Dal\nb3,Cid Ek\nd1,Dan\nd2,Dan\n")
    (at / "times.csv").write_text(text)
    done = grade(scanlab, at, "--roster", "roster.csv", "--times", "times.csv", code=2)
    assert message in done.stderr
    assert not (at / "out/class.json").exists()


def test_times_that_come_later_reach_what_was_graded(scanlab: Scanlab, at: Path) -> None:
    moodle(at)
    grade(scanlab, at)
    assert all(taken == [0] for taken in off(at).values())
    rows = "".join(f"{number},2027-03-15 10:00\n" for number in (771, 772, 773))
    (at / "times.csv").write_text(f"id,time\n{rows}")
    grade(scanlab, at, "--resume", "--times", "times.csv")
    assert list(off(at).values()) == [[10]] * 3
    again = {path.name: path.read_bytes() for path in (at / "out/results").iterdir()}
    done = grade(scanlab, at, "--resume")
    assert {path.name: path.read_bytes() for path in (at / "out/results").iterdir()} == again
    assert "0 new" in done.stdout


# ---- Canvas's marker -------------------------------------------------------------------------------------------------


def canvas(folder: Path) -> None:
    hand_in(folder, f"{ANN}_LATE_1001_70001_scan_01.cu")
    hand_in(folder, f"{BOB}_LATE_1002_70002_scan_01.cu")
    hand_in(folder, f"{CID}_1003_70003_scan_01.cu")


def test_what_is_marked_late_has_no_grade_until_a_person_decides(scanlab: Scanlab, at: Path) -> None:
    canvas(at)
    done = grade(scanlab, at, code=2)
    assert "marked LATE, and nothing says by how much (2): " in done.stderr
    assert 'decide: in course.toml [late] late_marker = "one_unit", "in_time" or "no_points"; ' in done.stderr
    assert "--times FILE.csv" in done.stderr
    assert not (at / "out/class.json").exists()


@pytest.mark.parametrize(
    ("late", "taken"),
    [
        ('late_marker = "one_unit"', [10]),
        ('late_marker = "one_unit"\ngrace_minutes = 600', [10]),
        ('late_marker = "one_unit"\nmaximum = 5', [5]),
        ('late_marker = "one_unit"\ncut_off_hours = 0', [100]),
        ('late_marker = "in_time"', [0]),
        ('late_marker = "no_points"', [100]),
    ],
)
def test_the_course_decides_what_the_marker_costs(scanlab: Scanlab, at: Path, late: str, taken: list[float]) -> None:
    course(at, late)
    canvas(at)
    done = grade(scanlab, at)
    found = {key.split("-")[0]: points for key, points in off(at).items()}
    assert found == {ANN: taken, BOB: taken, CID: [0]}
    assert "marked LATE by the platform (2): " in done.stdout
    key = next(key for key in off(at) if key.startswith(ANN))
    assert "marked late by the platform, which does not say by how much" in reasons(at, key)


def test_a_time_decides_before_the_marker_and_an_extension_is_no_lateness(scanlab: Scanlab, at: Path) -> None:
    course(at, 'late_marker = "no_points"', '[[student]]\nid = "1002"\n[[student.extension]]\nhours = 48\n')
    canvas(at)
    (at / "times.csv").write_text("who,time\n1001,2027-03-15 10:00\n")
    grade(scanlab, at, "--times", "times.csv")
    assert {key.split("-")[0]: points for key, points in off(at).items()} == {ANN: [10], BOB: [0], CID: [0]}


# ---- git -------------------------------------------------------------------------------------------------------------


def git(folder: Path, *words: str, when: str = "2027-03-14T23:00:00+01:00") -> None:
    who = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True, timeout=30)


def repository(folder: Path, name: str, *times: str) -> Path:
    path = folder / "pile" / name
    for number, when in enumerate(times):
        hand_in(folder, f"{name}/labs/{LAB}/scan.cu", f"PASSES {number}")
        if number == 0:
            git(path, "init", "-q", "-b", "main")
        git(path, "add", ".")
        git(path, "commit", "-qm", "x", when=when)
    return path


def test_commits_give_times_and_it_is_said_that_they_can_be_forged(scanlab: Scanlab, at: Path) -> None:
    repository(at, "scan-ann", "2027-03-14T23:00:00+01:00")
    late = repository(at, "scan-bob", "2027-03-14T23:00:00+01:00", "2027-03-16T10:00:00+01:00")
    git(late, "pack-refs", "--all")
    git(late, "gc", "-q")
    later = repository(at, "scan-cid", "2027-03-14T23:00:00+01:00")
    (later / "notes.md").write_text("x")
    git(later, "add", ".")
    git(later, "commit", "-qm", "another file", when="2027-04-16T10:00:00+01:00")
    done = grade(scanlab, at)
    assert sorted(off(at).values()) == [[], [], [20]]
    assert "times of submission: 3 from commits, whose time is their author's clock's" in done.stdout


def test_commits_of_folders_whose_names_are_not_composed(scanlab: Scanlab, at: Path) -> None:
    repository(at, "u\u0308no\u0308", "2027-03-16T10:00:00+01:00")
    repository(at, "ann", "2027-03-14T23:00:00+01:00")
    grade(scanlab, at)
    assert off(at) == {"ann": [], "uno": [20]}


def test_a_repository_runs_nothing_and_reads_nothing_else(at: Path, tmp_path: Path) -> None:
    path = repository(at, 'scan-"a:n', "2027-03-14T23:00:00+01:00")
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    with (path / ".git/config").open("a") as file:
        file.write(
            f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {program}\n[core]\n\tpager = {program}\n"
            f"\tfsmonitor = {program}\n\tsshCommand = {program}\n[diff]\n\texternal = {program}\n"
        )
    (path / ".git/hooks").mkdir(exist_ok=True)
    (path / ".gitattributes").write_text("* diff=x\n")
    found = commit_time(path / ".git", f"labs/{LAB}/scan.cu")
    assert found == datetime(2027, 3, 14, 22, tzinfo=UTC)
    assert not mark.exists()
    assert commit_time(path / ".git", "no/such/file") is None
    (path / ".git/HEAD").unlink()
    (path / ".git/HEAD").symlink_to("/etc/hostname")
    assert commit_time(path / ".git", f"labs/{LAB}/scan.cu") is None
    for head in ("ref: refs/../../../x", "ref: refs/heads/none", "--help", "0" * 40, ""):
        (path / ".git/HEAD").unlink()
        (path / ".git/HEAD").write_text(head)
        assert commit_time(path / ".git", f"labs/{LAB}/scan.cu") is None


def test_what_the_platform_says_comes_before_commits(scanlab: Scanlab, at: Path) -> None:
    for name in ("scan-ann", "scan-bob"):
        repository(at, name, "2027-03-10T23:00:00+01:00")  # the student's clock
    (at / "roster.csv").write_text(
        "assignment_name,github_username,roster_identifier,submission_timestamp\n"
        "scan,ann,a1,2027-03-15 10:00:00 UTC\nscan,bob,b1,\n"
    )
    grade(scanlab, at, "--roster", "roster.csv")
    assert off(at) == {"a1": [10], "b1": []}


# ---- archives --------------------------------------------------------------------------------------------------------


def test_an_archives_times_count_only_where_they_are_asked_for(scanlab: Scanlab, at: Path) -> None:
    with zipfile.ZipFile(at / "pile", "w") as archive:
        for name, clock in {"ann": (2027, 3, 14, 23, 59, 0), "bob": (2027, 3, 15, 0, 0, 0)}.items():
            archive.writestr(zipfile.ZipInfo(f"{name}/scan_01.cu", clock), "// PASSES\n")
    (at / "pile").rename(at / "pile.zip")
    words = ["grade", "pile.zip", "--course", "course.toml"]
    done = scanlab(*words, "--out", "out", cwd=at)
    assert done.returncode == 0, done.stderr
    assert off(at) == {"ann": [0], "bob": [0]}
    assert "(2 of 2): ann, bob" in done.stdout
    done = scanlab(*words, "--out", "out", "--resume", "--times", "archive", cwd=at)
    assert done.returncode == 0, done.stderr
    assert "2 from the files' own times" in done.stdout
    assert off(at) == {"ann": [], "bob": [10]}


def test_times_in_a_students_own_archive_never_count(scanlab: Scanlab, at: Path) -> None:
    """In a zip, in a tar, and beside others in a folder: the archive's own time is when it came, not its members'."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as own:
        own.writestr(zipfile.ZipInfo("scan_01.cu", (2027, 3, 1, 0, 0, 0)), "// PASSES\n")
    forged = io.BytesIO()
    with tarfile.open(fileobj=forged, mode="w") as tar:
        member, text = tarfile.TarInfo("scan_01.cu"), b"// PASSES, too\n"
        member.size, member.mtime = len(text), 0
        tar.addfile(member, io.BytesIO(text))
    late = (2027, 3, 15, 0, 0, 0)
    with zipfile.ZipFile(at / "pile.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("ann/work.zip", late), inner.getvalue())
        archive.writestr(zipfile.ZipInfo("bob/work.tar", late), forged.getvalue())
    words = ["grade", "pile.zip", "--course", "course.toml", "--times", "archive"]
    done = scanlab(*words, "--out", "out", cwd=at)
    assert done.returncode == 0, done.stderr
    assert off(at) == {"ann": [10], "bob": [10]}
    for name, data in {"ann/work.zip": inner, "bob/work.tar": forged}.items():
        path = at / "folder" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data.getvalue())
        moment = datetime(*late, tzinfo=UTC).timestamp()
        os.utime(path, (moment, moment))
    words[1] = "folder"
    done = scanlab(*words, "--out", "out_of_folder", cwd=at)
    assert done.returncode == 0, done.stderr
    assert "2 from the files' own times" in done.stdout
    assert off(at, "out_of_folder") == {"ann": [10], "bob": [10]}
