"""Which student each [[student]] table of course.toml means: by any identifier; none, and two, are reported."""

import unicodedata
from pathlib import Path

import pytest

from conftest import Write
from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.records import Class, HandedIn, Student, Submission
from scanlab.course import matching
from scanlab.course.changes import Changes, changes
from scanlab.course.read import Read
from scanlab.errors import UsageError

LAB = "02_kogge_stone"
COURSE = """
title = "T"
[[lab]]
name = "02"
due = 2027-03-14T23:59:00Z
"""
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Lab
    Points Possible,,,,,100
"Berg, Ann",1009,s1009,aberg,01,
"Dal, Bob",1010,S1010,bob@example.org,01,
"Dal, Cid",1011,s1009x,Cid.Dal@Example.org,01,
"Ek, Dan",1012,s 1012,dan@example.org,01,
"Ek, Dan",1013,s1013,dan@other.org,01,
"Øst, Élise",1014,ß-14,elise,01,
"""


def entry(name: str) -> str:
    return f"[[student]]\nid = '{name}'\n[[student.extension]]\nhours = 48\n"


def class_of(read: Read, students: tuple[Student, ...], *submissions: Submission) -> Class:
    view = read.course.public_view()
    return Class(title="T", device="vgpu", seed=1, labs=(LAB,), submissions=submissions, missing=students, course=view)


@pytest.fixture
def canvas(tmp_path: Path) -> tuple[Student, ...]:
    (tmp_path / "roster.csv").write_text(CANVAS, encoding="utf-8-sig")
    return read_roster(tmp_path / "roster.csv").students


@pytest.mark.parametrize(
    ("called", "whom"),
    [
        ("1009", "1009"),  # Canvas's number
        ("s1009", "1009"),  # the SIS id
        ("S1009", "1009"),
        (" s1009 ", "1009"),
        ("ABERG", "1009"),  # the login
        ("s1010", "1010"),
        ("BOB@example.ORG", "1010"),
        ("bob", "1010"),  # before the @, of one alone
        ("cid.dal", "1011"),
        ("S 1012", "1012"),
        ("dan@other.org", "1013"),
        ("Ann Berg", "1009"),
        ("berg, ann", "1009"),
        ("elise ost", ""),  # a letter of its own, no O with a mark
        ("Élise Øst", "1014"),
        (unicodedata.normalize("NFD", "Élise Øst"), "1014"),
        ("SS-14", "1014"),
    ],
)
def test_a_student_is_known_by_all_that_the_roster_has(
    course: Write, canvas: tuple[Student, ...], called: str, whom: str
) -> None:
    read = course(COURSE + entry(called))
    if not whom:
        with pytest.raises(UsageError, match="nobody on the roster is called"):
            matching.in_class(class_of(read, canvas), read, has_roster=True)
        return
    taken_in, unknown = matching.in_class(class_of(read, canvas), read, has_roster=True)
    assert unknown == []
    found = read.course.of(taken_in.course)
    assert [student.id for student in canvas if found.is_extended(LAB, student)] == [whom]
    assert changes(taken_in.course, read.course.public_view(), [LAB], 7) == Changes()


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (["s1O09"], ["course.toml:7: id: nobody on the roster is called 's1O09', by an id, login, address, number or"]),
        (["09"], ["course.toml:7: id: nobody on the roster is called '09'"]),  # no part of a number
        (
            ["dan"],
            ["course.toml:7: id: 2 people are with an address before whose @ stands 'dan' (1012, 1013); give an"],
        ),
        (["Dan Ek"], ["course.toml:7: id: 2 people are of the name 'Dan Ek' (1012, 1013); give an id"]),
        (
            ["s1009", "1010", "ABERG"],
            ["course.toml:15: id: 'ABERG' and 's1009' (course.toml:7) are one person, 1009; make it one table"],
        ),
        (["x", "s1009", "y"], ["course.toml:7: id: nobody", "course.toml:15: id: nobody"]),
        (["Student"], ["nobody on the roster"]),
    ],
)
def test_who_is_no_student_or_two_is_a_mistake_with_its_line(
    course: Write,
    canvas: tuple[Student, ...],
    names: list[str],
    parts: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    read = course(COURSE + "".join(map(entry, names)))
    with pytest.raises(UsageError) as caught:
        matching.in_class(class_of(read, canvas), read, has_roster=True)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(parts)
    assert all(part in line for part, line in zip(parts, lines, strict=True)), lines


def handed_in(key: str, student: Student | None = None, **metadata: str) -> Submission:
    file = HandedIn(lab=LAB, name="scan.cu", sha256="a" * 64)
    return Submission(key=key, student=student, origin=key, files=(file,), metadata=metadata)


def test_without_a_roster_the_export_knows_them_and_the_rest_is_reported(course: Write) -> None:
    read = course(COURSE + entry("771") + entry("ann") + entry("s9"))
    submissions = (handed_in("Ann-B-771", moodle_participant="771"), handed_in("ann"), handed_in("bob"))
    taken_in, unknown = matching.in_class(class_of(read, (), *submissions), read, has_roster=False)
    found = read.course.of(taken_in.course)
    assert [one.key for one in submissions if found.is_extended(LAB, one)] == ["Ann-B-771", "ann"]
    assert len(unknown) == 1
    assert unknown[0].endswith("course.toml:15: 's9'")


def test_a_number_of_the_platform_is_known_beside_the_roster(course: Write) -> None:
    ann, bob = Student(id="s1", name="Ann"), Student(id="s2", name="Bob")
    read = course(COURSE + entry("90001") + entry("BOB"))
    submissions = (handed_in("s1", ann, canvas_user="90001"), handed_in("stranger", None, canvas_user="90002"))
    taken_in, _ = matching.in_class(class_of(read, (bob,), *submissions), read, has_roster=True)
    found = read.course.of(taken_in.course)
    assert found.is_extended(LAB, ann)
    assert found.is_extended(LAB, submissions[0])
    assert found.is_extended(LAB, bob)
    assert not found.is_extended(LAB, submissions[1])
    assert not found.is_extended(LAB, None)


def test_the_key_of_a_stranger_is_not_the_id_of_a_student(course: Write) -> None:
    ann = Student(id="s1", name="Ann", login="ann")
    read = course(COURSE + entry("s1"))
    with pytest.raises(UsageError, match=r"2 people are called 's1' \(s1, s1\)"):
        matching.in_class(class_of(read, (ann,), handed_in("s1")), read, has_roster=True)
    by_login = course(COURSE + entry("ann"))
    taken_in, _ = matching.in_class(class_of(by_login, (ann,), handed_in("s1")), by_login, has_roster=True)
    found = by_login.course.of(taken_in.course)
    assert found.is_extended(LAB, ann)
    assert not found.is_extended(LAB, handed_in("s1"))


def test_with_no_class_to_look_in_any_identifier_will_do(course: Write) -> None:
    found = course(COURSE + entry("S0077") + entry("77")).course
    ann = Student(id="ann@example.org", name="Ann", email="ann@example.org", identifiers=("s0077", "77"))
    assert found.is_extended(LAB, ann)
    assert found.due(LAB, ann) == found.due(LAB, "s0077")
    assert not found.is_extended(LAB, Student(id="077", name="Bob"))
