"""Rosters as platforms export them, and whom a name belongs to."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conftest  # noqa: F401  (puts the package on the path)
from scanlab.classroom.intake.handing import Who
from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.intake.whose import find
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


def found(roster, kind: str, name: str = "", exact: tuple[str, ...] = ()) -> list[str]:
    return [student.id for student in find(kind, Who(name, exact), roster).students]


def test_canvas_gradebook(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, CANVAS)
    assert [(one.name, one.first_name, one.last_name) for one in roster.students] == [
        ("Ada Müller", "Ada", "Müller"),
        ("Student de la Cruz", "Student", "de la Cruz"),
    ]
    ada = roster.students[0].id
    assert roster.students[0].columns["Section"] == "A"
    for name in ("501", "U501", "amuller", "Ada Müller", "Müller, Ada (u501)"):
        assert found(roster, "folders", exact=(name,)) == [ada], name
    assert found(roster, "canvas", "müllerada", ("501",)) == [ada]
    assert found(roster, "canvas", "team7", ("501",)) == [ada], "Canvas's own number, and a group's name"
    assert found(roster, "canvas", "delacruzstudent", ("777",)) == [roster.students[1].id]
    assert found(roster, "canvas", "nobody", ("777",)) == []


def test_a_canvas_gradebook_with_two_columns_of_names(tmp_path: Path) -> None:
    roster = roster_of(
        tmp_path,
        "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,,\n"
        "Müller,Ada,501,u501,amuller,A\n"
        "Student,Test,999,,3f2a,A\nStudent,Test,998,u998,tstudent,A\n",
    )
    assert [(one.name, one.columns["ID"]) for one in roster.students] == [
        ("Ada Müller", "501"),
        ("Test Student", "998"),
    ]


def test_moodle_worksheet(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, MOODLE, "utf-8-sig")
    assert [one.id for one in roster.students] == ["0007", "772"]
    assert found(roster, "moodle", "Student Other", ("771",)) == ["0007"]
    assert found(roster, "moodle", "Two Student", ("999",)) == ["772"]
    assert found(roster, "moodle", "Group 1-Student Two", ("999",)) == ["772"]
    assert roster.students[0].columns["Identifier"] == "Participant 771"


def test_github_classroom_roster(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, GITHUB)
    assert found(roster, "github", exact=("Octo-One",)) == ["s0001"]
    for other in ("one", "x-octo-one", "octo-one-x", "s0001"):  # a login may be called like another's id
        assert found(roster, "github", exact=(other,)) == [], other


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_plain_roster_in_any_dress(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = "id,name,email\r\ns0001,Student Ünö,one@example.org\r\n\r\ns0002,Student Two,two@example.org\r\n"
    roster = roster_of(tmp_path, text.replace(",", delimiter), encoding)
    assert [(one.id, one.name) for one in roster.students] == [("s0001", "Student Ünö"), ("s0002", "Student Two")]
    assert found(roster, "folders", exact=("uno student",)) == ["s0001"]
    assert found(roster, "folders", exact=("ONE@example.org",)) == ["s0001"]


PEOPLE = """id,name,login,email
20001,Anne-Marie Smith,asmith,ams@example.org
20003,Bob Lee,lee,bob-lee@example.org
10001,"Núñez, Ana-María",amnunez,
u-77,Jürgen Müller,j-mueller,
40001,Ana Lee,alee,
40002,Zoë 🚀 Smith,zsmith,
"""


@pytest.mark.parametrize(
    ("stem", "whose"),
    [
        ("Anne-Marie Smith (20001)", "20001"),
        ("20003 - Bob Lee", "20003"),
        ("20003-Bob Lee", "20003"),
        ("Bob-Lee-20003", "20003"),
        ("Lee, Bob – 20003", "20003"),
        ("Núñez, Ana-María (10001)", "10001"),
        ("Núñez, Ana-María(amnunez)", "10001"),
        ("Núñez_Ana-María_amnunez_10001", "10001"),
        ("Ana María Núñez - amnunez", "10001"),
        ("j-mueller - Jürgen Müller", "u-77"),
        ("Jürgen Müller-u-77", "u-77"),
        ("j-mueller (u-77)", "u-77"),
        ("bob-lee@example.org-Bob", "20003"),
        ("Zoë 🚀 Smith (40002)", "40002"),
        ("40001 - Ana-Lee", "40001"),
        ("lee-ana", "40001"),  # her name, though it begins with his login
        # More than a name and an identifier, another's identifier, or two people's.
        ("scan-20003", ""),
        ("x-lee", ""),
        ("20003-2", ""),
        ("20003-20001", ""),
        ("20003 20001", ""),
        ("asmith - Bob Lee", ""),
        ("alee - Lee", ""),  # his login is a word of her name
        ("Anne-Marie Smith (20003)", ""),
        ("Bob Lee - 2000", ""),
        ("Marie - 20001 - Bob", ""),
        ("-", ""),
    ],
)
def test_a_folder_with_an_identifier_and_a_name_and_nothing_else(tmp_path: Path, stem: str, whose: str) -> None:
    assert found(roster_of(tmp_path, PEOPLE), "folders", exact=(stem,)) == ([whose] if whose else [])


@pytest.mark.parametrize("cell", ["10001", "#10001", '="10001"', '"=""10001"""', "'10001", "10001.0", " 10001.00 "])
@pytest.mark.parametrize("header", ["id,name,login", "OrgDefinedId,Full Name,Username"])
def test_ids_as_platforms_and_spreadsheets_write_them(tmp_path: Path, header: str, cell: str) -> None:
    login = cell.replace("10001", "anone") if ".0" not in cell else "anone"
    roster = roster_of(tmp_path, f"{header}\n{cell},Ann One,{login}\n007,Bob Two,0x1e+5\n")
    assert [(one.id, one.login) for one in roster.students] == [("10001", "anone"), ("007", "0x1e+5")]
    for name in ("10001", "#10001", "10001.0", "AnOne", "Ann One - 10001"):
        assert found(roster, "folders", exact=(name,)) == ["10001"], name
    for name in ("7", "1000", "10001.1", "#", "'"):
        assert found(roster, "folders", exact=(name,)) == [], name


def test_two_rows_of_one_id_in_two_forms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r":3: the id '10001' stands in line 2 already"):
        roster_of(tmp_path, "id,name\n10001,Ann One\n#10001,Bob Two\n")


@pytest.mark.parametrize("header", ["id,name", "name,SIS User ID", "name,Matrikelnummer", "name,N° étudiant"])
@pytest.mark.parametrize("cell", ["1.00023E+11", '"1,00023E+11"', "1e+15", '="1.7E+14"'])
def test_an_id_that_a_spreadsheet_has_rounded_is_refused(tmp_path: Path, header: str, cell: str) -> None:
    rows = [f"{cell},Ann One" if header.startswith("id") else f"Ann One,{cell}"] * 2
    with pytest.raises(
        UsageError, match=r":2: a spreadsheet has rounded a number to .*E\+1.*its digits are lost"
    ) as raised:
        roster_of(tmp_path, "\n".join([header, *rows]).replace("1e+15", "1E+15") + "\n")
    assert "\n" not in str(raised.value)


def test_two_of_one_name_are_distinguished_by_an_id_only(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "id,name\ns1,Student Same\ns2,Student Same\n")
    assert found(roster, "folders", exact=("Student Same",)) == ["s1", "s2"]
    assert found(roster, "folders", exact=("s2",)) == ["s2"]
    assert found(roster, "moodle", "Student Same", ("77",)) == ["s1", "s2"]


@pytest.mark.parametrize(
    ("text", "message"),
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
def test_a_broken_roster_is_one_clear_line(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "roster.csv").write_bytes(text)
    with pytest.raises(UsageError, match=r"\S") as raised:
        read_roster(tmp_path / "roster.csv")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_roster_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.csv: cannot read it"):
        read_roster(tmp_path / "nowhere.csv")


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("roster") / "roster.csv"
    path.write_bytes(data)
    message = ""
    try:
        assert read_roster(path).students
    except UsageError as error:
        message = str(error)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Name;Vorname;Matrikelnummer;E-Mail-Adresse", "Berg;Ann;00123;ann@example.org"),
        ("Vorname;Nachname;Matr.-Nr.;E-Mail", "Ann;Berg;00123;ann@example.org"),
        ("ID;Vollständiger Name;Matrikelnummer;E-Mail-Adresse", "Teilnehmer/in 771;Ann Berg;00123;ann@example.org"),
        ("Nom,Prénom,Numéro d'étudiant,Adresse de courriel", "Berg,Ann,00123,ann@example.org"),
        ("Prénom et nom,N° étudiant,Adresse e-mail", "Ann Berg,00123,ann@example.org"),
        ("Nombre,Apellido(s),Número de ID,Dirección de correo", "Ann,Berg,00123,ann@example.org"),
        ("Cognome,Nome,Matricola,Indirizzo email", "Berg,Ann,00123,ann@example.org"),
        ("Nome,Apelido(s),Número de identificação,Endereço de e-mail", "Ann,Berg,00123,ann@example.org"),
        ("Họ và tên,MSSV,Thư điện tử", "Ann Berg,00123,ann@example.org"),
    ],
)
def test_headers_in_other_languages_keep_names(header: str, row: str, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(f"{header}\n{row}\n", encoding="utf-8-sig")
    (student,) = read_roster(tmp_path / "roster.csv").students
    assert (student.name, student.email) == ("Ann Berg", "ann@example.org")
    assert student.person().is_called("00123")
    if "771" in row:
        assert student.person().is_called("771")


def test_a_name_beside_a_first_name_is_the_last_name_only_where_no_column_has_that(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(
        'Name,Vorname,Nachname\nAnn Berg,Ann,Berg\n"Dal, Bob",Bob,Dal\n', encoding="utf-8"
    )
    assert [student.name for student in read_roster(tmp_path / "roster.csv").students] == ["Ann Berg", "Dal, Bob"]
    (tmp_path / "other.csv").write_text('Name,Vorname\nAnn Berg,Ann\n"Dal, Bob",Bob\n', encoding="utf-8")
    assert [student.name for student in read_roster(tmp_path / "other.csv").students] == ["Ann Berg", "Bob Dal"]
