"""Canvas and Moodle: a downloaded file comes back with one column filled in, or is refused with one reason per line."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import (
    GOLDEN,
    KOGGE_STONE,
    SEQUENTIAL,
    Scanlab,
    check,
    grade,
    record,
    student,
    unreadable,
    write_store,
)
from made_course import made_course
from scanlab.classroom.records import Record
from scanlab.errors import UsageError
from scanlab.gradebooks import csv_cells
from scanlab.gradebooks.model import Export, Gradebook, Options
from scanlab.gradebooks.systems import canvas, moodle

BOM = b"\xef\xbb\xbf"
CANVAS = (GOLDEN / "canvas_before.csv").read_bytes()
MOODLE = (GOLDEN / "moodle_before.csv").read_bytes()


def put(tmp_path: Path, content: bytes, name: str = "downloaded.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def changed(before: bytes, after: bytes) -> list[tuple[int, int, str, str]]:
    """Which cells differ: row, column, before, after; read by Python's own reader."""
    both = [list(csv.reader(io.StringIO(text.decode("utf-8-sig"), newline=""))) for text in (before, after)]
    assert [len(row) for row in both[0]] == [len(row) for row in both[1]]
    return [
        (at, column, old, new)
        for at, (row, other) in enumerate(zip(*both, strict=True))
        for column, (old, new) in enumerate(zip(row, other, strict=True))
        if old != new
    ]


# ---- round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_only_the_column_changes(platform: str, small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    before = (GOLDEN / f"{platform}_before.csv").read_bytes()
    given_file = put(tmp_path, before)
    done = scanlab("export", small_class, "--format", platform, "--gradebook", given_file, "--out", "upload.csv")
    errors = done.stderr.decode()
    assert done.returncode == 3, errors  # s0004 is the kit's own fault
    assert "s0004" in errors
    assert (tmp_path / "upload.csv").read_bytes() == (GOLDEN / f"{platform}_after.csv").read_bytes()
    assert given_file.read_bytes() == before
    again = put(tmp_path, (tmp_path / "upload.csv").read_bytes(), "again.csv")
    scanlab("export", small_class, "--format", platform, "--gradebook", again, "--out", "upload2.csv")
    assert (tmp_path / "upload2.csv").read_bytes() == again.read_bytes()


@pytest.mark.parametrize("mark", [b"", BOM])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [True, False])
def test_marks_and_line_ends_stay(
    mark: bytes, end: bytes, last: bool, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    for name, before in (("canvas", CANVAS), ("moodle", MOODLE)):
        expected = (GOLDEN / f"{name}_after.csv").read_bytes()
        texts = [mark + (text if last else text.removesuffix(b"\n")).replace(b"\n", end) for text in (before, expected)]
        path = put(tmp_path, texts[0])
        done = scanlab("export", small_class, "--format", name, "--gradebook", path)
        assert done.returncode == 3, done.stderr.decode()
        assert done.stdout == texts[1]


@pytest.mark.parametrize("name", ["canvas", "moodle"])
def test_a_stranger_is_left_out_and_listed(name: str, scanlab: Scanlab, tmp_path: Path) -> None:
    good = grade(KOGGE_STONE, [check("inclusive", 61, 61), check("barriers", 39, 39)])
    store = write_store(tmp_path / "results", [record("s0001", student(1), good), record("ghost", None, good)])
    before = CANVAS if name == "canvas" else MOODLE
    done = scanlab("export", store, "--format", name, "--gradebook", put(tmp_path, before))
    assert done.returncode == 0, done.stderr.decode()
    assert "on no roster and in no row, and left out: ghost" in done.stderr.decode()
    assert len(changed(before, done.stdout)) == 1
    store = write_store(tmp_path / "other", [record("s9999", student(9999), good), record("s0001", student(1), good)])
    done = scanlab("export", store, "--format", name, "--gradebook", put(tmp_path, before))
    assert done.returncode == 2
    assert "s9999: downloaded.csv has no row for it" in done.stderr.decode()


def test_semicolons_and_decimal_commas(small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    before = (
        b"Student;ID;SIS User ID;SIS Login ID;Section;02_kogge_stone (4712)\n"
        b"    Points Possible;;;;;15,00\n"
        b'"0001; Student";9001;s0001;login0001;A;\n'
        b"0002 Student;9002;s0002;login0002;A;7,50\n"
        b"0003 Student;9003;s0003;login0003;A;0,00\n"
    )
    done = scanlab(
        "export", small_class, "--format", "canvas", "--scale", "proportional",
        "--gradebook", put(tmp_path, before),
    )  # fmt: skip
    assert done.returncode == 3, done.stderr.decode()
    assert done.stdout == before.replace(b"A;\n", b"A;15\n")  # 50 of 100 is 7,50 of 15: the same, and not touched


def test_a_decimal_comma_between_commas_is_quoted(tmp_path: Path, scanlab: Scanlab) -> None:
    labs = grade(KOGGE_STONE, [check("inclusive", 60.5, 61), check("barriers", 39, 39)])
    store = write_store(tmp_path / "results", [record("s0001", student(1), labs)])
    before = CANVAS.replace(b"100.00", b'"100,0"')
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, before))
    assert done.returncode == 0, done.stderr.decode()
    assert changed(before, done.stdout) == [(3, 6, "", "99,5")]
    assert b'8.00,"99,5","a' in done.stdout


PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
BYTES = st.binary(max_size=12).map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))


@settings(max_examples=40)
@given(st.data(), st.sampled_from([",", ";"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_bytes_in_other_columns_survive(data: st.DataObject, delimiter: str, end: str, quoted: bool) -> None:
    def cell(text: str, force: bool = False) -> str:
        needs = force or any(char in text for char in '",;\r\n')
        return '"' + text.replace('"', '""') + '"' if needs else text

    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Other (1)", "02_kogge_stone (4712)", "Last"]
    rows = [header, ["    Points Possible", "", "", "", "", "10", "100.00", "(read only)"]]
    for at in range(1, 4):
        free = [data.draw(PLAIN | BYTES, label=f"row {at}") for _ in range(3)]
        rows.append([f"Student {at}", str(9000 + at), f"s{at:04d}", "", *free[:2], "", free[2]])
    texts = [delimiter.join(cell(text, quoted) for text in row) + end for row in rows]
    content = "".join(texts).encode("utf-8", "surrogateescape")
    sheet = csv_cells.read(content, "x.csv")
    assert sheet.encode() == content
    expected = [list(row) for row in rows]
    expected[3][6] = "50"
    wanted = "".join(
        delimiter.join(cell(text, quoted) for text in row) + end for row in expected
    ).encode("utf-8", "surrogateescape")  # fmt: skip
    half = grade(KOGGE_STONE, [check("inclusive", 50, 100)])
    export = Export("Scan", (KOGGE_STONE,), (record("k", student(2, login="", email=""), half),))
    written = canvas.whole(export, Gradebook(Path("x.csv"), content))
    assert written.content == wanted


@given(st.binary(max_size=200))
def test_any_file_is_read_whole_or_refused(content: bytes) -> None:
    try:
        kept = csv_cells.read(content, "x.csv").encode()
    except UsageError as error:
        kept, message = content, str(error)
        assert message.startswith("x.csv")
    assert kept == content


@given(st.lists(st.lists(PLAIN, min_size=2, max_size=4), min_size=1, max_size=5))
def test_cells_are_those_of_pythons_reader(rows: list[list[str]]) -> None:
    sink = io.StringIO(newline="")
    csv.writer(sink).writerows(rows)
    text = sink.getvalue()
    if text.strip():
        sheet = csv_cells.read(text.encode(), "x.csv", (",",))
        assert [row.texts() for row in sheet.rows] == list(
            csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
        )


@pytest.mark.parametrize(
    ("platform", "old", "new"),
    [("canvas", b",8.00,,", b",8.00,100.0,"), ("moodle", b'- ",,100.00', b'- ",100.0,100.00')],
)
def test_what_has_become_of_the_cells_is_said(
    platform: str, old: bytes, new: bytes, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    before = (GOLDEN / f"{platform}_before.csv").read_bytes()
    words = ["export", small_class, "--format", platform, "--gradebook"]
    said = scanlab(*words, put(tmp_path, before)).stderr.decode()
    assert ": 2 filled, 1 raised, 0 lowered, 0 had these points already\n" in said
    more = before.replace(old, new, 1).replace(b"12.00", b"99.50")
    said = scanlab(*words, put(tmp_path, more)).stderr.decode()
    assert ": 1 filled, 0 raised, 1 lowered, 1 had these points already\n" in said
    assert "lowered: s0002 99.50 to 50\n" in said


def test_lowered_points_are_named_and_why_they_are_0(tmp_path: Path, scanlab: Scanlab) -> None:
    wrong = grade(KOGGE_STONE, [check("inclusive", 0, 100)])
    records = [record("s0001", student(1), wrong), only("s0002", 2), only("s0003", 3)]
    store = write_store(tmp_path / "results", records)
    before = CANVAS.replace(b",8.00,,", b",8.00,7,").replace(b"Scan B,,,=", b"Scan B,,A-,=")
    said = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, before)).stderr.decode()
    assert "0 filled, 0 raised, 2 lowered, 1 in place of a text, 0 had these points already" in said
    assert "lowered: s0001 7 to 0, s0002 12.00 to 0 (nothing could be graded)\n" in said
    assert "in place of a text: s0003 A- to 0 (nothing could be graded)\n" in said


def test_at_most_ten_lowered_ones_are_named(tmp_path: Path, scanlab: Scanlab) -> None:
    store = write_store(tmp_path / "results", [only(f"s{at:04d}", at) for at in range(1, 13)])
    head = CANVAS.splitlines(keepends=True)[:3]
    rows = [f'"{at:04d}, Student",{9000 + at},s{at:04d},,A,,3,,,\n'.encode() for at in range(1, 13)]
    before = b"".join([*head, *rows])
    said = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, before)).stderr.decode()
    assert said.count(" 3 to 0") == 10
    assert "… (12 in all)" in said


def test_excused_in_canvas_stays_excused(small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    before = CANVAS.replace(b"7.50,12.00", b"7.50,EX")
    done = scanlab("export", small_class, "--format", "canvas", "--gradebook", put(tmp_path, before))
    assert [cell[2:] for cell in changed(before, done.stdout)] == [("", "100"), ("", "0")]
    assert "excused: s0002" in done.stderr.decode()


def test_excused_by_the_course_is_ex(tmp_path: Path, scanlab: Scanlab) -> None:
    terms = made_course('[[student]]\nid = "s0001"\nexcused = ["02"]')
    good = grade(KOGGE_STONE, [check("inclusive", 100, 100)])
    store = write_store(tmp_path / "results", [record("s0001", student(1), good)], course=terms)
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, CANVAS))
    assert changed(CANVAS, done.stdout) == [(3, 6, "", "EX")]
    done = scanlab("export", store, "--format", "moodle", "--gradebook", put(tmp_path, MOODLE))
    assert done.stdout == MOODLE


def test_a_locked_grade_in_moodle_stays(small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    before = MOODLE.replace(b"12.00,100.00,Yes", b"12.00,100.00,No")
    done = scanlab("export", small_class, "--format", "moodle", "--gradebook", put(tmp_path, before))
    assert [cell[2:] for cell in changed(before, done.stdout)] == [("", "100"), ("", "0")]
    assert "locked in Moodle, and left so: s0002" in done.stderr.decode()


def test_moodles_feedback_stands_beside_grades_only(small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    done = scanlab("export", small_class, "--format", "moodle", "--feedback", "--gradebook", put(tmp_path, MOODLE))
    cells = changed(MOODLE, done.stdout)
    assert {(row, column) for row, column, *_ in cells} == {(at, column) for at in (1, 2, 3) for column in (5, 10)}
    assert {row: new.partition('<pre class="scanlab">')[0] for row, column, _, new in cells if column == 10} == {
        1: "", 2: "<p>see me</p>\n", 3: ""
    }  # fmt: skip
    reports = [new.partition('<pre class="scanlab">')[2] for _, column, _, new in cells if column == 10]
    assert all(text.endswith("</pre>") and "<" not in text[:-6] for text in reports)
    assert "feedback: 1 had a comment already, which stays" in done.stderr.decode()


def test_a_teachers_comment_in_moodle_stays_whatever_is_exported(tmp_path: Path, scanlab: Scanlab) -> None:
    def export(content: bytes, points: int) -> bytes:
        labs = grade(KOGGE_STONE, [check("inclusive", points, 100)])
        store = write_store(tmp_path / f"results{points}", [record("s0002", student(2), labs)])
        path = put(tmp_path, content)
        done = scanlab("export", store, "--format", "moodle", "--feedback", "--gradebook", path)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def feedback_of(content: bytes) -> list[str]:
        return list(csv.reader(io.StringIO(content.decode(), newline="")))[2][10].split('<pre class="scanlab">')

    for own in ('"<p>see me</p>"', "see me", '"a <pre>listing</pre>, ""well"""', "'=1+1", '"two\nlines"'):
        before = MOODLE.replace(b'"<p>see me</p>"', own.encode())
        (kept,) = feedback_of(before)
        first = export(before, 50)
        assert feedback_of(first)[0] == f"{kept}\n"
        assert export(first, 50) == first
        second = export(first, 100)
        assert feedback_of(second)[0] == f"{kept}\n"
        assert len(feedback_of(second)) == 2, "the earlier report has gone"
        assert export(before, 100) == second
    behind = first.replace(b"</pre>", b"</pre><p>well done</p>")
    assert feedback_of(export(behind, 100))[1].endswith("</pre><p>well done</p>")


def test_moodle_knows_a_participant_by_the_downloads_name(tmp_path: Path, scanlab: Scanlab) -> None:
    labs = grade(KOGGE_STONE, [check("inclusive", 100, 100)])
    made = record("x", None, labs, metadata={"moodle_participant": "70003"})
    store = write_store(tmp_path / "results", [made])
    done = scanlab("export", store, "--format", "moodle", "--gradebook", put(tmp_path, MOODLE))
    assert changed(MOODLE, done.stdout) == [(3, 5, "", "100")]


def test_several_labs_add_up(tmp_path: Path, scanlab: Scanlab) -> None:
    labs = [grade(SEQUENTIAL, [check("inclusive", 25, 50)]), grade(KOGGE_STONE, [check("inclusive", 50, 50)])]
    store = write_store(tmp_path / "results", [record("s0001", student(1), *labs)])
    given_file = put(tmp_path, CANVAS)
    done = scanlab("export", store, "--format", "canvas", "--gradebook", given_file, "--column", "02_KOGGE_stone")
    assert changed(CANVAS, done.stdout) == [(3, 6, "", "75")]
    by_number = scanlab("export", store, "--format", "canvas", "--gradebook", given_file, "--column", "4712")
    assert by_number.stdout == done.stdout


# ---- refusals --------------------------------------------------------------------------------------------------------


def only(key: str, at: int) -> Record:
    return unreadable(key, student(at))


@pytest.mark.parametrize(
    ("platform", "old", "new", "more", "said"),
    [
        ("canvas", b"02_kogge_stone (4712)", b"Own", ["--column", "Own"], "a new assignment"),
        ("canvas", b"", b"", ["--column", "Domino"], "no assignment 'Domino'; there are 'Homework 1, sorting (4711)'"),
        ("canvas", b"02_kogge_stone (4712)", b"Other (4712)", [], "name it with --column"),
        ("canvas", b"Notes", b"02_kogge_stone (99)", [], "several columns are called so"),
        ("canvas", b"Notes", b"02_kogge_stone (4712)", [], "several columns are called so"),
        ("canvas", b"Points Possible", b"Points", [], "0 rows 'Points Possible'"),
        ("canvas", b"Student,ID", b"Name,ID", [], "no gradebook of Canvas"),
        ("canvas", b"Section,", b"Group,", [], "no gradebook of Canvas"),
        ("canvas", b"10.00,100.00", b"10.00,(read only)", [], "cannot be filled in"),
        ("canvas", b"10.00,100.00", b"10.00,", [], "cannot be filled in"),
        ("canvas", b"10.00,100.00", b"10.00,20.00", [], "is out of 20, and this is out of 100; --scale proportional"),
        ("canvas", b"9002,s0002,login0002", b"9002,x,y", [], "s0002: downloaded.csv has no row for it"),
        ("canvas", b"9003,s0003", b"s0001,s0003", [], "s0001: lines 4 and 7 of downloaded.csv may be meant"),
        ("canvas", b'"two', b"two", [], "downloaded.csv:"),
        ("canvas", b",12.00,", b'"12.00,', [], "downloaded.csv:"),
        ("moodle", b"Identifier", b"ID", [], "no column 'Identifier'"),
        ("moodle", b",Grade,", b",Note,", [], "no column 'Grade'"),
        ("moodle", b"Last modified (grade)", b"Changed", [], "no column 'Last modified (grade)'"),
        ("moodle", b"Status", b"Grade", [], "2 columns are called 'Grade'"),
        ("moodle", b"12.00,100.00", b"12.00,50.00", [], "s0002: the assignment is out of 50, and this is out of 100"),
        ("moodle", b"12.00,100.00", b"Good,Scale", [], "not a number"),
        ("moodle", b"Participant 70003", b"Somebody", [], "no 'Participant' and number"),
        ("moodle", b",kept", b"", [], ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    platform: str, old: bytes, new: bytes, more: list[str], said: str, small_class: Path, scanlab: Scanlab,
    tmp_path: Path,
) -> None:  # fmt: skip
    before = CANVAS if platform == "canvas" else MOODLE
    assert old in before
    path = put(tmp_path, before.replace(old, new, 1))
    done = scanlab("export", small_class, "--format", platform, "--gradebook", path, "--out", "upload.csv", *more)
    if not said:  # a short row that is not needed is no fault
        assert done.returncode == 3
        return
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert not (tmp_path / "upload.csv").exists()


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xff\xfeS\0t\0", b"PK\x03\x04\0\0", b'"', b"{}", b"<html>", b"a,b\n1"]
)
@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_another_file_is_refused(
    platform: str, content: bytes, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    done = scanlab("export", small_class, "--format", platform, "--gradebook", put(tmp_path, content), "--out", "x.csv")
    assert done.returncode == 2
    assert len(done.stderr.decode().strip().splitlines()) == 1
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("how", ["same", "link", "hard link", "other spelling"])
def test_the_downloaded_file_is_never_overwritten(
    how: str, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    path = put(tmp_path, CANVAS)
    out = {"same": path, "other spelling": tmp_path / "results/.." / path.name}.get(how, tmp_path / "other.csv")
    if how == "link":
        out.symlink_to(path)
    elif how == "hard link":
        out.hardlink_to(path)
    done = scanlab("export", small_class, "--format", "canvas", "--gradebook", path, "--out", out)
    assert done.returncode == 2
    assert "kept as it is" in done.stderr.decode()
    assert path.read_bytes() == CANVAS


def test_every_reason_has_its_line(tmp_path: Path, scanlab: Scanlab) -> None:
    records = [only("a", 1), only("b", 1), only("c", 77), unreadable("d", None), only("e", 2)]
    store = write_store(tmp_path / "results", records)
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, CANVAS), "--out", "x.csv")
    errors = done.stderr.decode().splitlines()
    assert done.returncode == 2
    assert errors[0].endswith("nothing is written:")
    assert [line.strip().split(":")[0] for line in errors[1:]] == ["b", "c"]  # d is a stranger
    assert "so is a: line 4" in errors[1]
    assert "login0077, s0077, s0077@example.org" in errors[2]
    done = scanlab(
        "export", store, "--format", "canvas", "--gradebook", put(tmp_path, CANVAS), "--without", "b", "--without", "c"
    )
    assert done.returncode == 0
    assert [cell[2:] for cell in changed(CANVAS, done.stdout)] == [("", "0"), ("12.00", "0")]


def test_one_column_may_identify(tmp_path: Path, scanlab: Scanlab) -> None:
    store = write_store(tmp_path / "results", [only("a", 1)])
    before = CANVAS.replace(b"9003,s0003", b"s0001,s0003")
    words = ["export", store, "--format", "canvas", "--gradebook", put(tmp_path, before)]
    assert scanlab(*words).returncode == 2
    done = scanlab(*words, "--match", "SIS User ID")
    assert changed(before, done.stdout) == [(3, 6, "", "0")]


def test_ids_of_a_spreadsheet_are_compared_as_they_are_meant_or_not_at_all(tmp_path: Path, scanlab: Scanlab) -> None:
    store = write_store(tmp_path / "results", [only("a", 1), only("b", 2)])
    before = CANVAS.replace(b",s0001,", b",#s0001,").replace(b",s0002,", b',"=""s0002""",')
    words = ["export", store, "--format", "canvas", "--match", "SIS User ID", "--gradebook"]
    done = scanlab(*words, put(tmp_path, before))
    assert changed(before, done.stdout) == [(3, 6, "", "0"), (4, 6, "12.00", "0")]
    rounded = CANVAS.replace(b",s0001,", b",1.00023E+11,").replace(b",s0002,", b",1.00023E+11,")
    done = scanlab(*words[:4], "--gradebook", put(tmp_path, rounded))  # the logins are there
    assert changed(rounded, done.stdout) == [(3, 6, "", "0"), (4, 6, "12.00", "0")]
    done = scanlab(*words, put(tmp_path, rounded))
    assert done.returncode == 2
    assert "'SIS User ID' in line 4: a spreadsheet has rounded a number to 1.00023E+11" in done.stderr.decode()
    big = student(1, id="1.00023E+11", login="", email="")  # of an older class: two rows have it, and no one's is it
    store = write_store(tmp_path / "older", [unreadable("c", big)])
    assert scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, rounded)).returncode == 2


def test_names_are_never_compared(tmp_path: Path, scanlab: Scanlab) -> None:
    who = student(90, name="0001, Student")
    store = write_store(tmp_path / "results", [unreadable("a", who)])
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, CANVAS))
    assert done.returncode == 2


def test_the_test_student_is_no_student(tmp_path: Path, scanlab: Scanlab) -> None:
    store = write_store(tmp_path / "results", [unreadable("a", student(1, id="9999"))])
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, CANVAS), "--match", "ID")
    assert done.returncode == 2


def test_what_the_test_student_has_handed_in_is_left_out(tmp_path: Path, scanlab: Scanlab) -> None:
    test = unreadable("studenttest-9999", None, metadata={"canvas_user": "9999"})
    store = write_store(tmp_path / "results", [only("s0001", 1), test])
    before = CANVAS.replace(b"9999,,,", b"9999,,3f2a9c7be1,")
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, before))
    assert done.returncode == 0, done.stderr.decode()
    assert changed(before, done.stdout) == [(3, 6, "", "0")]
    assert "Canvas's Test Student, and left out: studenttest-9999" in done.stderr.decode()
    split = before.replace(b"Student,ID", b"LastName,FirstName,ID").replace(b", Student", b'","Student')
    split = (
        split.replace(b"Student, Test", b'Student","Test')
        .replace(b"Possible,", b"Possible,,")
        .replace(b"\n,,", b"\n,,,")
    )
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, split))
    assert changed(split, done.stdout) == [(3, 7, "", "0")], done.stderr.decode()
    real = CANVAS.replace(b"9999,,,", b"9999,s0009,,")  # who is called so has an id of the university's
    done = scanlab("export", store, "--format", "canvas", "--gradebook", put(tmp_path, real))
    assert changed(real, done.stdout) == [(3, 6, "", "0"), (8, 6, "", "0")]


@pytest.mark.parametrize(
    ("platform", "match", "said"),
    [
        ("canvas", "Foo", "no column 'Foo', which --match names; there are 'ID', 'SIS Login ID', 'SIS User ID'"),
        ("moodle", "Foo", "no column 'Foo', which --match names; there are 'Email address', 'ID number'"),
        ("canvas", "Section", "--match Section: nobody is known by that; one of ID, Integration ID, SIS Login ID"),
        ("moodle", "Full name", "--match Full name: nobody is known by that"),
    ],
)
def test_a_column_that_does_not_identify_is_one_line(
    platform: str, match: str, said: str, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    path = put(tmp_path, (GOLDEN / f"{platform}_before.csv").read_bytes())
    done = scanlab("export", small_class, "--format", platform, "--gradebook", path, "--match", match)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("delimiter", [b";", b"\t"])
def test_a_worksheet_of_moodle_with_another_separator(
    delimiter: bytes, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    def separated(content: bytes) -> bytes:
        """With this separator between cells, and commas inside them as they were."""
        sheet = csv_cells.read(content, "x.csv")
        rows = (delimiter.decode().join(row.raw) + row.end for row in sheet.rows)
        return sheet.mark + "".join(rows).encode()

    path = put(tmp_path, separated(MOODLE))
    done = scanlab("export", small_class, "--format", "moodle", "--gradebook", path)
    assert done.returncode == 3, done.stderr.decode()
    assert done.stdout == separated((GOLDEN / "moodle_after.csv").read_bytes())
    done = scanlab("export", small_class, "--format", "moodle", "--feedback", "--gradebook", path)
    again = scanlab(
        "export", small_class, "--format", "moodle", "--feedback", "--gradebook", put(tmp_path, done.stdout)
    )
    assert again.stdout == done.stdout


@pytest.mark.parametrize(
    "header",
    [
        "ID;Vollständiger Name;ID-Nummer;E-Mail-Adresse;Status;Bewertung;Bestwertung;Zuletzt geändert (Bewertung)",
        "Identifiant,Nom complet,Adresse de courriel,Statut,Note,Note maximale,Dernière modification (note)",
        '"Identificador","Nombre completo","Estado","Calificación","Calificación máxima"',
        "Identifier,Volledige naam,Status,Cijfer,Maximumcijfer",
    ],
)
def test_a_worksheet_in_another_language_says_what_to_do(
    header: str, small_class: Path, scanlab: Scanlab, tmp_path: Path
) -> None:
    path = put(tmp_path, f"{header}\nParticipant 70001\n".encode("utf-8-sig"))
    done = scanlab("export", small_class, "--format", "moodle", "--gradebook", path)
    assert done.returncode == 2
    assert "or not in English; set Moodle to English for the download and for the upload" in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_points_have_two_decimals() -> None:
    labs = grade(KOGGE_STONE, [check("inclusive", 200 / 3, 100)])
    export = Export("Scan", (KOGGE_STONE,), (record("k", student(1), labs),), options=Options())
    for module, content in ((canvas, CANVAS), (moodle, MOODLE)):
        written = module.whole(export, Gradebook(Path("x.csv"), content))
        assert [cell[3] for cell in changed(content, written.content)] == ["66.67"]


def test_a_file_that_cannot_be_written_leaves_no_other(small_class: Path, scanlab: Scanlab, tmp_path: Path) -> None:
    out = tmp_path / "none" / "upload.csv"
    done = scanlab("export", small_class, "--format", "canvas", "--gradebook", put(tmp_path, CANVAS), "--out", out)
    assert done.returncode == 2
    assert "No such file" in done.stderr.decode()
    assert not out.parent.exists()
