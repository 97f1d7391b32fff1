"""How Brightspace, Blackboard, ILIAS and Sakai call what is handed in: the right person, the time, and nobody else."""

from pathlib import Path

import pytest

import conftest  # noqa: F401  (puts the package on the path)
from scanlab.classroom.intake.platforms import PLATFORMS
from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.intake.schemes import Source
from scanlab.classroom.intake.take_in import Wanted, take_in
from scanlab.classroom.records import Class, Submission
from scanlab.errors import UsageError

ROSTER = """id,name,email,login
101,Ann One,a.one@uni.edu,a_one
102,Bob Two,b.two@uni.edu,btwo
103,Zoë-Marie van der Berg,z.berg@uni.edu,zberg
104,Bob Two,bob2@uni.edu,btwo2
"""
BRIGHTSPACE = "OrgDefinedId,Username,Last Name,First Name,End-of-Line Indicator\n" + "".join(
    f"#{number},#{login},{last},{first},#\n"
    for number, login, last, first in (
        (101, "a_one", "One", "Ann"),
        (103, "zberg", "van der Berg", "Zoë-Marie"),
        (105, "dash", "Dash", "Dora - Lee"),
    )
)


def put(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"// {path}\n")


def taken(pile: Path, roster: str = ROSTER, source: str = "") -> Class:
    (pile.parent / "roster.csv").write_text(roster)
    wanted = Wanted(labs=("02_kogge_stone",), source=Source.parse(source) if source else None)
    return take_in(pile, wanted, read_roster(pile.parent / "roster.csv")).taken_in


def by_id(one: Class) -> dict[str, Submission]:
    return {each.student.id if each.student else f"({each.origin})": each for each in one.submissions}


def times(one: Class) -> dict[str, list[str | None]]:
    return {who: [file.submitted_at for file in each.files] for who, each in by_id(one).items()}


def test_brightspace(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "index.html")
    put(pile / "31001-401 - Ann One - Nov 20, 2026 1130 AM/scan.cu")
    put(pile / "31001-409 - Ann One - Nov 21, 2026 905 PM/scan.cu")
    put(pile / "31003-403 - Group 4 - Zoë-Marie van der Berg - Nov 20, 2026 1200 AM/scan.cu")
    put(pile / "31005-404 - Dora - Lee Dash - Nov 20, 2026 1200 PM/scan.cu")
    put(pile / "31009-405 - Ann Other - Nov 20, 2026 1130 AM/101 scan.cu")
    got = taken(pile, BRIGHTSPACE)
    assert got.source == {"kind": "brightspace", "prefix": ""}
    assert times(got) == {
        "101": ["2026-11-20T11:30:00", "2026-11-21T21:05:00"],
        "103": ["2026-11-20T00:00:00"],
        "105": ["2026-11-20T12:00:00"],
        "(31009-405 - Ann Other - Nov 20, 2026 1130 AM)": ["2026-11-20T11:30:00"],
    }
    assert by_id(got)["101"].owners == ("brightspace 31001",)


def test_two_of_one_name_in_brightspace_are_asked_about(tmp_path: Path) -> None:
    put(tmp_path / "pile/31001-401 - Bob Two - Nov 20, 2026 1130 AM/scan.cu")
    put(tmp_path / "pile/31002-402 - Bob Two - Nov 20, 2026 1131 AM/scan.cu")
    got = taken(tmp_path / "pile")
    assert [one.claims for one in got.submissions] == [("102", "104"), ("102", "104")]
    assert not any(one.student for one in got.submissions)


@pytest.mark.parametrize("has_texts", [True, False])
@pytest.mark.parametrize("assignment", ["Lab 2", "Lab_2_Kogge-Stone", "Lab 2_b"])
def test_blackboard(tmp_path: Path, assignment: str, has_texts: bool) -> None:
    pile = tmp_path / "pile"

    def attempt(user: str, name: str, at: str, *files: str) -> None:
        stem = f"{assignment}_{user}_attempt_{at}"
        if has_texts:
            put(pile / f"{stem}.txt", f"Name: {name} ({user})\nAssignment: {assignment}\n")
        for file in files:
            put(pile / f"{stem}_{file}")

    attempt("a_one", "Ann One", "2026-11-20-10-00-00", "scan.cu")
    attempt("a_one", "Ann One", "2026-11-21-10-00-00", "scan.cu", "notes.txt")
    attempt("btwo", "Bob Two", "2026-11-20-09-00-00", "x_attempt_2026-11-20-10-00-00.txt", "scan_02.cu")
    attempt("btwo2", "Bob Two", "2026-11-20-09-00-00", "btwo_attempt_2026-11-29-10-00-00_scan.cu")
    attempt("one", "Ann One", "2026-11-20-09-00-00", "scan.cu")
    got = taken(pile)
    assert got.source == {"kind": "blackboard", "prefix": ""}
    assert times(got) == {
        "101": ["2026-11-20T10:00:00", "2026-11-21T10:00:00"],
        "102": ["2026-11-20T09:00:00"],
        "104": ["2026-11-20T09:00:00"],
        f"({assignment}_one_attempt_2026-11-20-09-00-00)": ["2026-11-20T09:00:00"],
    }
    assert got.submissions[-1].claims == (("101",) if has_texts else ())


def test_a_text_alone_in_blackboard_is_no_file(tmp_path: Path) -> None:
    put(tmp_path / "pile/Lab 2_a_one_attempt_2026-11-20-10-00-00.txt", "Name: Ann One (a_one)\n")
    put(tmp_path / "pile/Lab 2_btwo_attempt_2026-11-20-10-00-00.txt", "Name: Bob Two (btwo)\n")
    put(tmp_path / "pile/Lab 2_btwo_attempt_2026-11-20-10-00-00_scan.cu")
    got = taken(tmp_path / "pile")
    assert [*by_id(got)] == ["102"]
    assert "101" in [student.id for student in got.missing]


def test_ilias(tmp_path: Path) -> None:
    for name in ("One_Ann_a_one_501", "Two_Bob_btwo_502", "__zberg_503", "Two_Bob_nobody_504", "One_Ann_x_btwo2_505"):
        put(tmp_path / f"pile/Lab 2/Abgaben/{name}/scan.cu")
    got = taken(tmp_path / "pile")
    assert got.source == {"kind": "ilias", "prefix": ""}
    assert sorted(by_id(got)) == ["(Two_Bob_nobody_504)", "101", "102", "103", "104"]


def test_names_that_ilias_might_write_are_folders_where_nobody_knows_them(tmp_path: Path) -> None:
    for name in ("lab_two_x_501", "lab_two_y_502"):
        put(tmp_path / f"pile/{name}/scan.cu")
    assert taken(tmp_path / "pile").source == {"kind": "folders", "prefix": ""}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-20T10:00:00.123Z", "2026-11-20T10:00:00.123000+00:00"),
        ("20261120100000123", "2026-11-20T10:00:00+00:00"),
        ("20 November", None),
        ("20269920100000123", None),
    ],
)
def test_sakai(tmp_path: Path, text: str, at: str | None) -> None:
    pile = tmp_path / "pile/Lab 2"
    put(pile / "grades.csv")
    for name in ("One, Ann(a_one)", "Two, Bob(btwo)", "Two, Bob(btwo2)", "One, Ann(ghost)"):
        put(pile / name / "timestamp.txt", text)
        put(pile / name / f"{name}_submissionText.html", " ")
        put(pile / name / "comments.txt", " ")
        if "btwo2" not in name:
            put(pile / name / "Submission attachment(s)/scan.cu")
    got = taken(tmp_path / "pile")
    assert got.source == {"kind": "sakai", "prefix": ""}
    assert times(got) == {"101": [at], "102": [at], "(One, Ann(ghost))": [at]}
    assert "104" in [student.id for student in got.missing]
    assert next(one.claims for one in got.submissions if not one.student) == ("101",)


def test_a_group_in_sakai(tmp_path: Path) -> None:
    name = "One, Ann(a_one); Two, Bob(btwo2)"
    put(tmp_path / f"pile/{name}/Submission attachment(s)/scan.cu")
    put(tmp_path / f"pile/{name}/timestamp.txt", "2026-11-20T10:00:00Z")
    got = by_id(taken(tmp_path / "pile"))
    assert [*got] == ["101", "104"]
    assert all(one.group and len(one.group.members) == 2 for one in got.values())


def test_a_prefix_that_accounts_make_up_is_asked_about(tmp_path: Path) -> None:
    roster = "id,name,github_username\na,Ann,ann\nb,Bob,bob\nc,Cy,cy\n"
    for login in ("cy", "x-ann", "x-bob"):  # ann and bob have handed in nothing, and others own x-ann and x-bob
        put(tmp_path / f"pile/lab02-{login}/scan.cu")
    with pytest.raises(UsageError) as error:
        taken(tmp_path / "pile", roster)
    assert str(error.value).splitlines()[1:] == ["  --from github:lab02-x-  a, b", "  --from github:lab02-  c"]
    assert [*by_id(taken(tmp_path / "pile", roster, "github:lab02-"))] == ["c", "(lab02-x-ann)", "(lab02-x-bob)"]


def test_a_second_repository_is_its_owners_or_anothers(tmp_path: Path) -> None:
    roster = "id,name,github_username\na,Ann,ann\nb,Bob,bob\nc,Cy,cy-1\n"
    for login in ("ann", "ann-1", "bob", "cy-1"):
        put(tmp_path / f"pile/lab02-{login}/scan.cu")
    got = by_id(taken(tmp_path / "pile", roster))
    assert [*got] == ["a", "b", "c", "(lab02-ann-1)"]
    assert got["(lab02-ann-1)"].claims == ("a",)


def test_what_from_takes() -> None:
    assert {*PLATFORMS} == {
        "moodle", "canvas", "gradescope", "github", "folders", "brightspace", "blackboard", "ilias", "sakai"
    }  # fmt: skip
    assert Source.parse("sakai") == Source("sakai")
    with pytest.raises(UsageError, match="--from x: one of"):
        Source.parse("x")


def test_a_pile_of_which_the_roster_knows_hardly_anyone_is_refused(tmp_path: Path) -> None:
    for name in ("One_Ann-a_one-1", "Two-Bob", "x", "y", "z", "v"):
        put(tmp_path / f"pile/{name}/scan_02.cu")
    with pytest.raises(UsageError, match=r"of 6 submissions in .* the roster knows 1: is it this class's"):
        taken(tmp_path / "pile")
    assert len(taken(tmp_path / "pile", source="folders").submissions) == 6
    put(tmp_path / "pile/btwo/scan_02.cu")
    put(tmp_path / "pile/btwo2/scan_02.cu")
    assert len(taken(tmp_path / "pile").submissions) == 8


def test_who_is_no_student_has_no_row(tmp_path: Path) -> None:
    roles = ("Student", "TA", "Instructor", "Reader", "", "student", "Teaching Assistant", "Student of physics")
    rows = "".join(f"Ann,One{at},{at},a{at}@uni.edu,{role}\n" for at, role in enumerate(roles))
    put(tmp_path / "pile/0/scan_02.cu")
    got = taken(tmp_path / "pile", "First Name,Last Name,SID,Email,Role\n" + rows)
    assert [one.id for one in got.students()] == ["0", "4", "5", "7"]
