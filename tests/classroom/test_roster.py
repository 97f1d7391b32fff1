"""Rosters as platforms export them, and whom a name belongs to."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conftest  # noqa: F401  (puts the package on the path)
from scanlab.classroom.intake.roster import Hints, read_roster
from scanlab.errors import UsageError

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lab 2 (7001)
    Points Possible,,,,,100
"Müller, Ada",501,u501,amuller,A,
"de la Cruz, Student",502,u502,scruz,A,
"Student, Test",999,,,A,
"""
MOODLE = """Identifier,Full name,ID number,Email address,Status,Grade
Participant 771,Student One,0007,one@example.org,Submitted,
Participant 772,Student Two,,two@example.org,Submitted,
"""
GITHUB = """identifier,github_username,github_id,name
s0001,octo-one,11,
s0002,,,
"""


def roster_of(tmp_path: Path, text: str, encoding: str = "utf-8"):
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding=encoding)
    return read_roster(path)


def found(roster, **hints) -> list[str]:
    return [student.id for student in roster.find(Hints(**hints))]


def test_canvas_gradebook(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, CANVAS)
    assert [(one.name, one.first_name, one.last_name) for one in roster.students] == [
        ("Ada Müller", "Ada", "Müller"),
        ("Student de la Cruz", "Student", "de la Cruz"),
    ]
    ada = roster.students[0].id
    assert roster.students[0].columns["Section"] == "A"
    for hints in ({"exact": ("501",)}, {"exact": ("U501",)}, {"exact": ("amuller",)}, {"name": "müllerada"}):
        assert found(roster, **hints) == [ada], hints
    assert found(roster, name="delacruzstudent") == [roster.students[1].id]
    assert found(roster, name="nobody") == []


def test_moodle_worksheet(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, MOODLE, "utf-8-sig")
    assert [one.id for one in roster.students] == ["0007", "772"]
    assert found(roster, exact=("771",), name="Somebody Else") == ["0007"]
    assert found(roster, name="Two Student") == ["772"]
    assert roster.students[0].columns["Identifier"] == "Participant 771"


def test_github_classroom_roster(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, GITHUB)
    assert found(roster, exact=("scan-octo-one", "octo-one", "one")) == ["s0001"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_plain_roster_in_any_dress(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = "id,name,email\r\ns0001,Student Ünö,one@example.org\r\n\r\ns0002,Student Two,two@example.org\r\n"
    roster = roster_of(tmp_path, text.replace(",", delimiter), encoding)
    assert [(one.id, one.name) for one in roster.students] == [("s0001", "Student Ünö"), ("s0002", "Student Two")]
    assert found(roster, name="uno student") == ["s0001"]
    assert found(roster, exact=("ONE@example.org",)) == ["s0001"]


def test_two_of_one_name_are_told_apart_by_an_id_only(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "id,name\ns1,Student Same\ns2,Student Same\n")
    assert found(roster, name="Student Same") == ["s1", "s2"]
    assert found(roster, exact=("s2",), name="Student Same") == ["s2"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"id,name\n", "names no students"),
        (b"colour,size\nred,1\n", ":1: no column names students (there are: colour, size)"),
        (b"id,name\ns1,A\ns2,B\nS1,C\n", ":4: the id 'S1' stands in line 2 already"),
        (b"id,name\ns1,A,extra\n", ":2: 3 cells, but the header names 2 columns"),
        (b"id,name\ns1,M\xfcller\n", ":2: not UTF-8 text"),
        (b'id,name\ns1,"open\n', "no CSV"),
        (b"id,name\0\n", "NUL"),
    ],
)
def test_a_broken_roster_is_one_clear_line(tmp_path: Path, text: bytes, told: str) -> None:
    (tmp_path / "roster.csv").write_bytes(text)
    with pytest.raises(UsageError, match=r"\S") as raised:
        read_roster(tmp_path / "roster.csv")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_roster_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.csv: cannot read it"):
        read_roster(tmp_path / "nowhere.csv")


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("roster") / "roster.csv"
    path.write_bytes(data)
    told = ""
    try:
        assert read_roster(path).students
    except UsageError as error:
        told = str(error)
    assert "\n" not in told
