"""Whose each submission is: what a student can name decides nothing, and no grade depends on another's names."""

import random
import string
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import conftest  # noqa: F401  (puts the package on the path)
from made_up import zipped
from scanlab.classroom.additions import add, differences
from scanlab.classroom.intake.items import JUNK_FOLDERS, composed, printable
from scanlab.classroom.intake.roster import read_groups, read_roster
from scanlab.classroom.intake.schemes import Source
from scanlab.classroom.intake.take_in import TakenIn, Wanted, take_in
from scanlab.classroom.records import Class
from scanlab.errors import UsageError

LAB = "01_sequential"
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section\n"


def put(path: Path, text: str = "// text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def taken(pile: Path, roster: str = "", known: Class | None = None, source: str = "", groups: str = "") -> TakenIn:
    people = read_roster(put(pile.parent / "roster.csv", roster)) if roster else None
    if groups:
        people = read_groups(put(pile.parent / "groups.csv", groups), people)
    return take_in(pile, Wanted(source=Source.parse(source) if source else None), people, known)


def texts(got: TakenIn) -> dict[str, list[str]]:
    """What each is graded on: by the student's id, else by the origin in brackets."""
    return {
        one.student.id if one.student else f"({one.origin})": [got.sources[file.sha256].decode() for file in one.files]
        for one in got.taken_in.submissions
    }


# ---- names that a student may choose ---------------------------------------------------------------------------------


def test_a_file_named_like_another_participants_is_its_own_participants(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "Ann One_100_assignsubmission_file_scan_02.cu", "// ann\n")
    put(pile / "Bob Two_200_assignsubmission_file_x_100_assignsubmission_file_scan_02.cu", "// bob\n")
    put(pile / "Bob Two_200_assignsubmission_file_scan_01.cu", "// bob 1\n")
    for roster in (
        "",
        "id,name\ns1,Ann One\ns2,Bob Two\n",
        "Identifier,Full name\nParticipant 100,Ann One\nParticipant 200,Bob Two\n",
    ):
        got = taken(pile, roster).taken_in
        ann, bob = sorted(got.submissions, key=lambda one: one.metadata["moodle_participant"])
        assert [file.lab for file in ann.files] == ["02_kogge_stone"]
        assert [file.lab for file in bob.files] == [LAB, "02_kogge_stone"]
        assert bob.files[1].name == "x_100_assignsubmission_file_scan_02.cu"
        assert not [one for one in got.submissions if one.claims]


def test_a_name_in_canvas_that_holds_another_students_number(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "oneann_100_7_scan_01.cu", "// ann\n")
    put(pile / "x_100_9_two_200_8_scan_01.cu", "// two\n")  # Canvas takes `_100_` out of a name, but not `_100-_`
    put(pile / "threebob_300_10_02_kogge_stone.cu", "// bob\n")  # a file whose name begins with a number
    roster = CANVAS + '"One, Ann",100,s1,,A\n"x_100_9_two",200,s2,,A\n"Three, Bob",300,s3,,A\n'
    assert sorted(texts(taken(pile, roster)).values()) == [["// ann\n"], ["// bob\n"], ["// two\n"]]
    alone = taken(pile).taken_in
    assert {one.metadata["canvas_user"] for one in alone.submissions} == {"100", "200", "300"}
    assert all(len(one.files) == 1 for one in alone.submissions)


def test_a_repository_of_x_ann_is_not_anns(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    for login in ("ann", "bob", "x-ann", "ann-x"):
        put(pile / f"scan-{login}/scan_01.cu", f"// {login}\n")
    got = texts(taken(pile, "id,name,github_username\ns1,Ann One,ann\ns2,Bob Two,Bob\ns3,Eve Three,\n"))
    assert got == {
        "s1": ["// ann\n"], "s2": ["// bob\n"], "(scan-x-ann)": ["// x-ann\n"], "(scan-ann-x)": ["// ann-x\n"]
    }  # fmt: skip


def test_one_repository_alone_says_nothing_of_its_prefix(tmp_path: Path) -> None:
    put(tmp_path / "pile/scan-x-ann/scan_01.cu")
    roster = "id,name,github_username\ns1,Ann One,ann\ns2,Bob Two,bob\n"
    assert list(texts(taken(tmp_path / "pile", roster))) == ["(scan-x-ann)"]
    assert list(texts(taken(tmp_path / "pile", roster, source="github:scan-x-"))) == ["s1"]
    put(tmp_path / "first/scan-ann/scan_01.cu", "// ann\n")
    put(tmp_path / "first/scan-bob/scan_01.cu", "// bob\n")
    known = taken(tmp_path / "first", roster).taken_in
    assert known.source == {"kind": "github", "prefix": "scan-"}
    assert list(texts(taken(tmp_path / "pile", roster, known))) == ["(scan-x-ann)"]


def test_a_login_is_not_looked_for_among_ids(tmp_path: Path) -> None:
    for login in ("ann", "bob", "s2"):
        put(tmp_path / f"pile/scan-{login}/scan_01.cu", f"// {login}\n")
    got = texts(taken(tmp_path / "pile", "id,name,github_username\ns1,Ann One,ann\ns2,Bob Two,bob\n"))
    assert got == {"s1": ["// ann\n"], "s2": ["// bob\n"], "(scan-s2)": ["// s2\n"]}


@pytest.mark.parametrize("roster", ["", "id,name\nbob,Bob Two\nann,Ann One\ncal,Cal Three\n"])
def test_a_late_pile_with_one_students_folder_is_no_wrapper(tmp_path: Path, roster: str) -> None:
    for name in ("ann", "cal", "bob"):
        put(tmp_path / f"pile/{name}/scan_01.cu", f"// {name}\n")
    known = taken(tmp_path / "pile", roster).taken_in
    late = tmp_path / "late"
    put(late / "bob/ann/scan_01.cu", "// bob's, in a folder ann\n")
    put(late / "bob/cal/old/scan_02.cu", "// bob's, in a folder cal\n")
    now = taken(late, roster, known)
    added = add(known, now.taken_in)
    assert added.new == ()
    assert added.again == ("bob",)
    assert [one for one in added.taken_in.submissions if one.key != "bob"] == [
        one for one in known.submissions if one.key != "bob"
    ]


def test_a_folder_around_the_export_is_a_wrapper_where_the_roster_or_the_export_says_so(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        put(tmp_path / f"pile/late ones/{name}/scan_01.cu", f"// {name}\n")
    put(tmp_path / "moodle/submissions/Ann One_100_assignsubmission_file/scan_01.cu", "// ann\n")
    roster = "id,name\nbob,Bob Two\nann,Ann One\n"
    known = taken(tmp_path / "pile", roster).taken_in
    assert [one.key for one in known.submissions] == ["ann", "bob"]
    assert taken(tmp_path / "pile", roster, known).taken_in.submissions == known.submissions
    assert list(texts(taken(tmp_path / "moodle", roster))) == ["ann"]
    looks = taken(tmp_path / "pile")
    assert looks.wrapper == "late ones"
    assert list(texts(taken(tmp_path / "pile", source="folders"))) == ["(late ones)"]


# ---- letters of all scripts ------------------------------------------------------------------------------------------

MARKED = {
    "6101": "शर्मा, राहुल",
    "6102": "สมชาย ใจดี",
    "6103": "אֲבִיגַיִל כהן",
    "6104": "Nguyễn, Thị Hồng",
    "6105": "Smith, Al",
}


def canvas_name(name: str) -> str:
    """A name as Canvas writes it: letters and marks alone."""
    return "".join(letter for letter in name.lower() if letter.isalnum() or unicodedata.category(letter)[0] == "M")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_canvas_names_in_all_scripts_composed_or_not(tmp_path: Path, form: str) -> None:
    for number, name in MARKED.items():
        file = f"{canvas_name(name)}_{number}_70{number}_scan_01.cu"
        put(tmp_path / f"pile/submissions/{unicodedata.normalize(form, file)}", f"// {number}\n")
    roster = CANVAS + "".join(f'"{name}",{number},s{number},,A\n' for number, name in MARKED.items())
    for people in ("", roster):
        got = taken(tmp_path / "pile", people).taken_in
        assert got.source["kind"] == "canvas"
        assert {one.metadata["canvas_user"] for one in got.submissions} == MARKED.keys()
        assert not [one for one in got.submissions if one.claims or (people and not one.student)]
    # The numbers of a plain roster are other ones: only the names say who it is.
    plain = "id,name\n" + "".join(f'x{number},"{name}"\n' for number, name in MARKED.items())
    assert texts(taken(tmp_path / "pile", plain)) == {f"x{number}": [f"// {number}\n"] for number in MARKED}


def test_one_name_in_two_forms_is_one_students(tmp_path: Path) -> None:
    roster = "id,name\ns1,Jürgen Müller\ns2,Ann One\n"
    for at, form in enumerate(("NFC", "NFD"), 1):
        name = unicodedata.normalize(form, "müllerjürgen")
        put(tmp_path / f"canvas/{name}_5103_70{at}_scan_0{at}.cu", f"// {at}\n")
        put(tmp_path / f"folders/{unicodedata.normalize(form, 'Jürgen Müller')}/scan_0{at}.cu", f"// {at}\n")
    put(tmp_path / "canvas/oneann_5104_709_scan_01.cu", "// ann\n")
    put(tmp_path / "folders/Ann One/scan_01.cu", "// ann\n")
    for pile in ("canvas", "folders"):
        for people in ("", roster, unicodedata.normalize("NFD", roster)):
            got = taken(tmp_path / pile, people)
            assert sorted(texts(got).values()) == [["// 1\n", "// 2\n"], ["// ann\n"]], (pile, people)


def test_an_identifier_is_one_in_both_forms(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        put(tmp_path / f"{form}/{unicodedata.normalize(form, 'jmüller')}/scan_01.cu")
        put(tmp_path / f"{form}/ann/scan_01.cu")
        for other in ("NFC", "NFD"):
            roster = unicodedata.normalize(other, "id,name,login\ns1,Jürgen Müller,jmüller\ns2,Ann One,ann\n")
            assert sorted(texts(taken(tmp_path / form, roster))) == ["s1", "s2"]


def test_a_vowel_makes_another_name(tmp_path: Path) -> None:
    put(tmp_path / "pile/रोहल/scan_01.cu")
    put(tmp_path / "pile/ann/scan_01.cu")
    assert sorted(texts(taken(tmp_path / "pile", "id,name\ns1,राहुल\nann,Ann One\n"))) == ["(रोहल)", "ann"]


def test_points_and_what_draws_a_letter_are_no_part_of_a_name(tmp_path: Path) -> None:
    put(tmp_path / "pile/אביגיל כהן/scan_01.cu")
    put(tmp_path / "pile/Ann \u2764\ufe0f One/scan_01.cu")
    roster = "id,name\ns1,אֲבִיגַיִל כהן\ns2,Ann One\n"
    assert sorted(texts(taken(tmp_path / "pile", roster))) == ["s1", "s2"]


def zip_without_flag(path: Path, names: Sequence[bytes]) -> Path:
    """A zip whose names are these bytes, and that does not say what encoding they are in; each file says its place."""
    stand_ins = {f"{at:02}{'x' * (len(name) - 2)}": name for at, name in enumerate(names)}
    data = zipped({text: f"// {at}\n".encode() for at, text in enumerate(stand_ins)})
    for text, name in stand_ins.items():
        data = data.replace(text.encode(), name)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_in_a_zip_that_are_utf_8_without_the_flag(tmp_path: Path, form: str) -> None:
    people = {"s1": "Ana-María Núñez", "s2": "محمد علي", "s3": "Zoë 🚀 Smith"}
    roster = "id,name\n" + "".join(f"{key},{name}\n" for key, name in people.items())
    names = [f"subs/{unicodedata.normalize(form, name)}/scan_01.cu".encode() for name in people.values()]
    pile = zip_without_flag(tmp_path / "pile.zip", names)
    assert texts(taken(pile, roster)) == {f"s{at + 1}": [f"// {at}\n"] for at in range(3)}


@pytest.mark.parametrize("is_of_this_name", [True, False])
def test_names_in_a_zip_with_a_field_of_their_own(tmp_path: Path, is_of_this_name: bool) -> None:
    with zipfile.ZipFile(tmp_path / "pile.zip", "w") as archive:
        for old, name in (("J_rgen/scan_01.cu", "Jürgen/scan_01.cu"), ("Ann/scan_01.cu", "Ann/scan_01.cu")):
            info = zipfile.ZipInfo(old)
            text = struct.pack("<BI", 1, zlib.crc32(old.encode()) + (not is_of_this_name)) + name.encode()
            info.extra = b"\x55\x54\x01\0\0" + struct.pack("<HH", 0x7075, len(text)) + text + b"\x75\x70\xff"
            archive.writestr(info, f"// {old}\n")
    got = texts(taken(tmp_path / "pile.zip", "id,name\ns1,Jürgen\ns2,Ann\n"))
    assert got.keys() == {"s1" if is_of_this_name else "(J_rgen)", "s2"}


def test_names_in_a_zip_of_cp437(tmp_path: Path) -> None:
    pile = zip_without_flag(tmp_path / "pile.zip", ["Müller/scan_01.cu".encode("cp437"), b"Ann One/scan_01.cu"])
    assert texts(taken(pile, "id,name\ns1,Müller\ns2,Ann One\n")) == {"s1": ["// 0\n"], "s2": ["// 1\n"]}


# ---- two that claim one student --------------------------------------------------------------------------------------


def test_two_that_claim_one_student_are_both_kept_and_neither_counts(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "s1/scan_01.cu", "// by id\n")
    put(pile / "ann@example.org/scan_01.cu", "// by address\n")
    put(pile / "s2/scan_01.cu", "// bob\n")
    roster = "id,name,email\ns1,Ann One,ann@example.org\ns2,Bob Two,bob@example.org\n"
    got = taken(pile, roster)
    assert texts(got) == {"(s1)": ["// by id\n"], "(ann@example.org)": ["// by address\n"], "s2": ["// bob\n"]}
    assert [one.claims for one in got.taken_in.submissions if one.student is None] == [("s1",), ("s1",)]
    assert [one.id for one in got.taken_in.claimed] == ["s1"]
    assert got.taken_in.missing == ()


def test_who_has_a_grade_keeps_it_when_another_claims_them(tmp_path: Path) -> None:
    roster = "id,name,email\ns1,Ann One,ann@example.org\ns2,Bob Two,bob@example.org\n"
    put(tmp_path / "pile/s1/scan_01.cu", "// ann\n")
    put(tmp_path / "pile/s2/scan_01.cu", "// bob\n")
    known = taken(tmp_path / "pile", roster).taken_in
    put(tmp_path / "late/ann@example.org/scan_01.cu", "// another\n")
    put(tmp_path / "late/Bob Two/scan_01.cu", "// and another\n")
    now = taken(tmp_path / "late", roster, known).taken_in
    assert differences(known, now) == []
    added = add(known, now).taken_in
    assert [one for one in added.submissions if one.student] == list(known.submissions)
    assert sorted(one.claims for one in added.submissions if not one.student) == [("s1",), ("s2",)]
    assert added.missing == added.claimed == ()


def test_a_surer_identity_is_not_lost_to_a_name(tmp_path: Path) -> None:
    put(tmp_path / "pile/Ann One_100_assignsubmission_file/scan_01.cu", "// ann\n")
    put(tmp_path / "pile/Ann One_999_assignsubmission_file/scan_01.cu", "// another of that name\n")
    roster = "Identifier,Full name,Status\nParticipant 100,Ann One,\nParticipant 200,Bob Two,\n"
    got = taken(tmp_path / "pile", roster)
    assert texts(got)["100"] == ["// ann\n"]
    assert [one.claims for one in got.taken_in.submissions] == [(), ("100",)]


def test_a_number_of_another_kind_is_no_students_number(tmp_path: Path) -> None:
    put(tmp_path / "pile/Bob Two_1_assignsubmission_file/scan_01.cu", "// bob\n")
    put(tmp_path / "pile/Cal Three_2_assignsubmission_file/scan_01.cu", "// cal, who is on no roster\n")
    got = taken(tmp_path / "pile", "id,name\n1,Ann One\n2,Bob Two\n")
    assert texts(got) == {"2": ["// bob\n"], "(Cal Three_2_assignsubmission_file)": ["// cal, who is on no roster\n"]}
    assert [one.id for one in got.taken_in.missing] == ["1"]


# ---- found again by origin -------------------------------------------------------------------------------------------


def results(got: Class) -> dict[str, tuple[str, ...]]:
    return {one.key: tuple(file.sha256 for file in one.files) for one in got.submissions}


def test_names_that_look_alike_keep_their_results(tmp_path: Path) -> None:
    names = ["Ann  B", "Ann B", "ann b", "Ann-B", "Ann B.", "ANN B", "con", "nul.x", "COM1", "Ünö", "Uno"]
    for name in names:
        put(tmp_path / f"pile/{name}/scan_01.cu", f"// {name}\n")
    known = taken(tmp_path / "pile").taken_in
    keys = [one.key for one in known.submissions]
    assert len({key.casefold() for key in keys}) == len(names)
    assert not {"con", "nul", "com1"} & {key.casefold().partition(".")[0] for key in keys}
    for name in random.Random(1).sample(names, len(names)):  # each alone, as a late pile
        late = tmp_path / f"late {name}"
        put(late / f"{name}/scan_01.cu", f"// {name}\n")
        put(late / f"{name}/scan_02.cu", f"// {name}, again\n")
        now = taken(late, known=known).taken_in
        assert [one.origin for one in now.submissions] == [printable(name)]
        added = add(known, now)
        assert added.new == ()
        of_class = {key: files[:1] for key, files in results(added.taken_in).items()}  # the other lab's is new
        assert of_class == results(known)


NAME = (
    st.text(st.sampled_from(string.ascii_letters + " .-_()0123456789äÄß\u0308日\u00a0'’&+"), min_size=1, max_size=12)
    .filter(
        lambda name: name.strip(". ") and not name.casefold().endswith((".cu", ".txt", ".c", ".cc", ".tar", ".zip"))
    )
    .map(composed)
)
HOSTILE = st.sampled_from(
    ["x_100_assignsubmission_file_", "ann_1_2_scan_01.cu.d", "submission_1", "anon_1_2_x", "scan-ann", "x-ann", "ann",
     "Ann One", "s1", "01_sequential", "labs", "con", "ANN", "ann ", "s1 Ann One", "(s1)",
     "Participant_1_assignsubmission_file"]
)  # fmt: skip
ROSTER = "id,name,email,login\ns1,Ann One,ann@example.org,ann\ns2,Bob Two,bob@example.org,bob\n"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example({"0", "._"}, "", random.Random(1))
@example({"0", "Thumbs.db"}, "", random.Random(1))
@given(
    st.sets(NAME | HOSTILE, min_size=2, max_size=6), st.sampled_from(["", ROSTER]), st.randoms(use_true_random=False)
)
def test_every_submission_appears_once_and_no_student_loses_anything(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], roster: str, rng: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("class")
    written: dict[str, str] = {}
    for name in names:
        if name not in (".", "..") and name.casefold() not in JUNK_FOLDERS:
            written[name] = f"// the text of {name!r}\n"
            put(folder / "pile" / name / "scan_01.cu", written[name])
    first = taken(folder / "pile", roster, source="folders")
    everything = [text for found in _texts(first) for text in found]
    assert sorted(everything) == sorted(written.values()), "each file once, whosever it is"
    assert len({one.key.casefold() for one in first.taken_in.submissions}) == len(first.taken_in.submissions)
    # Whoever is given to a student alone is not changed by who else is there, nor by the order of the piles.
    known = first.taken_in
    order = [*written]
    rng.shuffle(order)
    for name in order:
        late = folder / f"late {order.index(name)}"
        put(late / name / "scan_01.cu", written[name])
        added = add(known, taken(late, roster, known, source="folders").taken_in)
        assert added.new == added.again == (), name
        assert added.taken_in.submissions == known.submissions


REST = st.sampled_from(
    ["scan_01.cu", "x_100_assignsubmission_file_scan_01.cu", "_1_assignsubmission_file_/scan_01.cu", "1_2_scan_01.cu",
     "LATE_1_2_scan_01.cu", "oneann_1_2_scan_01.cu", "text.html", "Ann One_1_assignsubmission_file/scan_01.cu",
     "submission_1/scan_01.cu", "submission_metadata.yml", "01_sequential/scan.cu", "anon_1_2_scan_01.cu",
     "link.html", "1_text.html", "LATE_1_text.html", "72_link.html"]
)  # fmt: skip
PEOPLE = [(1, "Ann One"), (2, "Bob Two"), (3, "Cal Three")]


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from(PEOPLE), REST, min_size=2), st.sampled_from(["moodle", "canvas"]), st.booleans())
@example({(1, "Ann One"): "scan_01.cu", (2, "Bob Two"): "text.html"}, "canvas", True)
def test_no_name_of_a_file_gives_it_to_another_participant(
    tmp_path_factory: pytest.TempPathFactory, handed: dict[tuple[int, str], str], kind: str, has_roster: bool
) -> None:
    folder = tmp_path_factory.mktemp("export")
    for (number, name), rest in handed.items():
        squashed = "".join(reversed(name.casefold().split()))
        own = f"{name}_{number}_assignsubmission_file_" if kind == "moodle" else f"{squashed}_{number}_7{number}_"
        path = folder / "pile" / f"{own}{rest}"
        if not path.exists() and not (kind == "canvas" and "/" in rest):
            put(path, f"// {number}\n")
    if not (folder / "pile").exists():
        return
    columns = "Identifier,Full name\n" if kind == "moodle" else CANVAS
    rows = [
        f"Participant {number},{name}\n"
        if kind == "moodle"
        else f'"{", ".join(reversed(name.split()))}",{number},,,A\n'
        for number, name in PEOPLE
    ]
    try:
        got = taken(folder / "pile", columns + "".join(rows) if has_roster else "")
    except UsageError:
        return  # no name says a lab
    field = "moodle_participant" if kind == "moodle" else "canvas_user"
    for one in got.taken_in.submissions:
        assert not one.claims
        for file in one.files:
            assert got.sources[file.sha256].decode() == f"// {one.metadata[field]}\n"
        if has_roster:
            assert one.student
            assert one.student.id == one.metadata[field]


NAMED = CANVAS + '"One, Ann",501,s1,,A\n"O\'Neil-Ødegård, Zoë",502,s2,,A\n"Nguyễn, Ánh Tuyết",503,s3,,A\n'
WORKSHEET = "Identifier,Full name\n" + "".join(
    f"Participant {number},{name}\n"
    for number, name in ((501, "Ann One"), (502, "Zoë O'Neil-Ødegård"), (503, "Ánh Tuyết Nguyễn"))
)


@pytest.mark.parametrize(
    ("roster", "names", "said"),
    [
        (NAMED, ["oneann_501_9", "oneilødegårdzoë_LATE_502_9", "nguyễnánhtuyết_503_9"], ()),
        (NAMED, ["one_ann_501_9", "o'neil-ødegårdzoë_502_9", "nguye\u0302\u0303nánhtuyê\u0301t_503_9"], ()),
        (NAMED, ["annone_501_9", "anon_x_8", "anon_y_7"], ()),
        (NAMED, ["oneann_501_9", "nguyễnánhtuyết_502_9"], ("502 (nguyễnánhtuyết)",)),
        (NAMED, ["projectgroup1_501_9", "projectgroup2_503_9"], ("501 (projectgroup1)", "503 (projectgroup2)")),
        (WORKSHEET, ["Ann One_501", "Zoë O'Neil-Ødegård_502", "Ánh Tuyết Nguyễn_503"], ()),
        (WORKSHEET, ["One Ann_501", "Zoë ONeil-Ødegård_502", "Participant_503"], ()),
        (WORKSHEET, ["G 1-Ann One_501", "G 1-Zoë O'Neil-Ødegård_502"], ()),
        ("Identifier,Status\nParticipant 501,x\nParticipant 502,x\n", ["Participant_501", "Teilnehmerin_502"], ()),
        ("id,name\n501,Ann One\n502,Bob Two\n", ["annone_501_9", "bobtwo_777_9"], ()),
    ],
)
def test_a_number_of_canvas_beside_another_name_counts_and_is_said(
    tmp_path: Path, roster: str, names: list[str], said: tuple[str, ...]
) -> None:
    for name in names:
        rest = "_assignsubmission_file_scan_01.cu" if "Identifier" in roster else "_scan_01.cu"
        put(tmp_path / f"pile/{name}{rest}", f"// {name}\n")
    got = taken(tmp_path / "pile", roster)
    assert got.other_names == said
    assert not any(one.claims for one in got.taken_in.submissions)
    for line in said:
        assert any(one.student and one.student.id == line.split()[0] for one in got.taken_in.submissions)


TEAMS = "group,id\nAlpha Team,Participant 502\nAlpha Team,Participant 503\n"


@pytest.mark.parametrize(
    ("name", "groups", "found"),
    [
        ("Group A_501", "", {"(Group A_501_assignsubmission_file)": ["501"]}),
        ("Ann One_502", "", {"(Ann One_502_assignsubmission_file)": ["502", "501"]}),
        ("Alpha Team_501", "", {"(Alpha Team_501_assignsubmission_file)": ["501"]}),
        ("Alpha Team_501", TEAMS, {"502": [], "503": []}),
        ("Alpha Team_77", TEAMS, {"502": [], "503": []}),
        ("Beta Team_501", TEAMS, {"(Beta Team_501_assignsubmission_file)": ["501"]}),
        ("Default group", TEAMS, {"(Default group_assignsubmission_file)": []}),
        ("Default group", "", {"(Default group_assignsubmission_file)": []}),
    ],
)
def test_a_teams_number_in_moodle_is_no_students(
    tmp_path: Path, name: str, groups: str, found: dict[str, list[str]]
) -> None:
    put(tmp_path / f"pile/{name}_assignsubmission_file/scan_01.cu")
    got = taken(tmp_path / "pile", WORKSHEET, groups=groups)
    assert {
        one.student.id if one.student else f"({one.origin})": [*one.claims] for one in got.taken_in.submissions
    } == found
    assert all(one.student or any(asked.kind == "who" for asked in one.questions) for one in got.taken_in.submissions)
    assert not got.other_names


def _texts(got: TakenIn) -> list[list[str]]:
    return [[got.sources[file.sha256].decode() for file in one.files] for one in got.taken_in.submissions]


# ---- groups ----------------------------------------------------------------------------------------------------------


def members(got: TakenIn) -> Mapping[str, tuple[str, ...]]:
    return {key: tuple(found) for key, found in texts(got).items()}


GROUPS = "id,name,email,group\ns1,Ann One,a@x.org,G 1\ns2,Bob Two,b@x.org,G 1\ns3,Cal Three,c@x.org,\n"


@pytest.mark.parametrize("name", ["s1", "Bob Two", "G 1", "g1"])
def test_a_group_of_the_roster_has_what_one_member_hands_in(tmp_path: Path, name: str) -> None:
    put(tmp_path / f"pile/{name}/scan_01.cu", "// together\n")
    put(tmp_path / "pile/s3/scan_01.cu", "// alone\n")
    got = taken(tmp_path / "pile", GROUPS)
    assert members(got) == {"s1": ("// together\n",), "s2": ("// together\n",), "s3": ("// alone\n",)}
    assert [one.group.name if one.group else "" for one in got.taken_in.submissions] == ["G 1", "G 1", ""]
    assert got.taken_in.missing == ()


def test_moodles_and_canvas_groups(tmp_path: Path) -> None:
    for name, number in (("Ann One", 1), ("Bob Two", 2)):
        put(tmp_path / f"moodle/G 1-{name}_{number}_assignsubmission_file/scan_01.cu", "// together\n")
    assert members(taken(tmp_path / "moodle", GROUPS)) == dict.fromkeys(("s1", "s2"), ("// together\n",))
    put(tmp_path / "canvas/g1_502_9_scan_01.cu", "// together\n")
    roster = CANVAS + '"One, Ann",501,s1,,A\n"Two, Bob",502,s2,,A\n"Three, Cal",503,s3,,A\n'
    groups = "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id\n" + (
        "Ann One,501,s1,,A,G 1,7\nBob Two,502,s2,,A,G 1,7\nCal Three,503,s3,,A,,\n"
    )
    got = taken(tmp_path / "canvas", roster, groups=groups)
    assert sorted(one.student.name for one in got.taken_in.submissions if one.student) == ["Ann One", "Bob Two"]
    assert got.other_names == ()
    assert all("canvas_user" not in one.metadata for one in got.taken_in.submissions), "it is one member's number"


def test_a_groups_late_hand_in_is_every_members(tmp_path: Path) -> None:
    put(tmp_path / "pile/s1/scan_01.cu", "// first\n")
    known = taken(tmp_path / "pile", GROUPS).taken_in
    put(tmp_path / "late/s2/scan_01.cu", "// second\n")
    added = add(known, taken(tmp_path / "late", GROUPS, known).taken_in)
    assert added.again == ("s1", "s2")
    assert [len(one.files) for one in added.taken_in.submissions] == [2, 2]
    assert not [one for one in added.taken_in.submissions if one.claims]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group,id\nG,s1\nG,nobody\n", "groups.csv:3: nobody is nobody on the roster"),
        ("group,id\nG,s1\nH,s1\n", "groups.csv:3: s1 is in the group 'G' already"),
        ("team of,id\nG,s1\n", "groups.csv:1: no column names groups"),
    ],
)
def test_a_broken_file_of_groups_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path / "pile/s1/scan_01.cu")
    with pytest.raises(UsageError, match=message):
        taken(tmp_path / "pile", GROUPS, groups=text)


def test_german_headers(tmp_path: Path) -> None:
    path = put(
        tmp_path / "roster.csv", "Matrikelnummer;Nachname;Vorname;E-Mail-Adresse;Gruppe\n0012;Eins;Ann;a@x.org;A\n"
    )
    (student,) = read_roster(path).students
    assert (student.id, student.name, student.email) == ("0012", "Ann Eins", "a@x.org")
    path = put(tmp_path / "other.csv", "Name;Vorname;Matrikelnummer\nEins;Ann;0012\n")
    assert read_roster(path).students[0].name == "Ann Eins"
