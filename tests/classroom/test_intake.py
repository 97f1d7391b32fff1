"""Whose each file is, and what is refused: archives and folders of unknown origin."""

import hashlib
import io
import os
import random
import shutil
import tarfile
import time
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import made_up
from made_up import encrypted, make, tarred, zeros_zipped, zipped
from needs import skip_without
from scanlab.classroom.attempts import graded_files
from scanlab.classroom.intake import archives
from scanlab.classroom.intake.archives import expand
from scanlab.classroom.intake.items import safe_parts
from scanlab.classroom.intake.platforms.gradescope import iso_time
from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.intake.take_in import Wanted, take_in
from scanlab.errors import UsageError, WorkError
from scanlab.on_demand import YAML
from taking_in import LABS, NEWER, TEXT, by_key, put, reasons, taken

SCHEMES = sorted(made_up.SCHEMES)


@pytest.fixture
def pile(tmp_path: Path) -> Path:
    folder = tmp_path / "pile"
    folder.mkdir()
    return folder


# ---- a class of every kind -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(made_up.KINDS))
def test_a_class_of_every_kind_and_every_oddity(tmp_path: Path, kind: str) -> None:
    if kind == "gradescope":
        skip_without(YAML)
    made = make(tmp_path, 90, 3, LABS, zeros=8 << 20, kind=kind)
    before = set(tmp_path.rglob("*"))
    got = take_in(made.pile, Wanted(), read_roster(made.roster))
    assert set(tmp_path.rglob("*")) == before, "taking in writes nothing"
    submissions = {one.key: one for one in got.taken_in.submissions}
    assert submissions.keys() == made.files.keys()
    for key, one in submissions.items():
        assert one.student, key
        assert one.student.id == key
        assert {file.lab: got.sources[file.sha256] for file in one.files} == made.files[key], key
        if key in made.faults:
            assert made.faults[key] in reasons(one), key
            assert all(len(line) < 300 for line in reasons(one).splitlines())
        else:
            assert one.problems == (), key
    assert [student.id for student in got.taken_in.missing] == made.absent
    assert got.taken_in.ignored == ()
    assert got.taken_in == take_in(made.pile, Wanted(), read_roster(made.roster)).taken_in


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("packing", ["zip", "tar.gz"])
def test_an_archive_of_the_pile_is_the_same_class(tmp_path: Path, scheme: str, packing: str) -> None:
    if scheme == "gradescope":
        skip_without(YAML)
    made = make(tmp_path, 0, 1, LABS, odd=0)
    rng = random.Random(5)
    for number in (1, 2, 3):
        made_up.SCHEMES[scheme](made, made_up.Person(number), {LABS[0]: TEXT, LABS[1]: b"// %d\n" % number}, rng)
    if made.metadata:
        put(made.pile / "submission_metadata.yml", "".join(made.metadata).encode())
    members = {
        f"export/{path.relative_to(made.pile)}": path.read_bytes() for path in made.pile.rglob("*") if path.is_file()
    }
    data = zipped(members) if packing == "zip" else tarred(dict(members), packing.partition(".")[2])
    archive = put(tmp_path / f"pile.{packing}", data)
    from_folder, from_archive = (take_in(path, Wanted(title="x")).taken_in for path in (made.pile, archive))
    assert [len(one.files) for one in from_folder.submissions] == [2, 2, 2]
    assert from_folder == from_archive
    folders = {
        f"{parent.as_posix()}/": b"" for name in members for parent in PurePosixPath(name).parents if parent.name
    }
    if packing == "zip":  # as `zip -r` and desktops make them: with an entry for each folder
        put(archive, zipped({**folders, **members}))
        assert take_in(archive, Wanted(title="x")).taken_in == from_folder


def test_the_metadata_that_exports_have(pile: Path) -> None:
    skip_without(YAML)
    put(
        pile / "submission_metadata.yml",
        b"---\nsubmission_77:\n  :submitters:\n  - :name: Student One\n    :sid: '0012'\n    :email: one@example.org\n"
        b"  :created_at: 2026-03-01 23:30:00.5 -05:00\n  :results: !ruby/object:Hash\n    a: &x [1, 2]\n    b: *x\n",
    )
    put(pile / "submission_77/scan_01.cu")
    put(pile / "submission_78/scan_01.cu")
    got = by_key(pile, roster="id,name\n0012,Student One\n12,Student Two\n")
    assert got["0012"].submitted_at == "2026-03-02T04:30:00.500000+00:00"
    assert got["0012"].metadata["gradescope_submission"] == "77"
    assert "does not name it" in reasons(got["submission_78"])


def test_a_groups_members_each_have_what_it_handed_in(pile: Path) -> None:
    skip_without(YAML)
    people = "".join(f"  - :name: Student {n}\n    :sid: s{n}\n" for n in (1, 2))
    put(pile / "submission_metadata.yml", f"submission_1:\n  :submitters:\n{people}".encode())
    put(pile / "submission_1/scan_01.cu")
    for roster in ("", "id,name\ns1,Student 1\ns2,Student 2\ns3,Student 3\n"):
        got = by_key(pile, roster=roster)
        assert sorted(got) == ["s1", "s2"]
        for one in got.values():
            assert one.student
            assert one.student.id == one.key
            assert one.group
            assert one.group.members == ("Student 1", "Student 2")
            assert len(one.files) == 1
    assert [student.id for student in taken(pile, roster=roster).taken_in.missing] == ["s3"]


@pytest.mark.parametrize("data", [b"a: [", b"- 1\n", b"\xff\xfe\x00", b"&a [*a, *a]"])
def test_broken_metadata_is_one_line(pile: Path, data: bytes) -> None:
    skip_without(YAML)
    put(pile / "submission_metadata.yml", data)
    put(pile / "submission_1/scan_01.cu")
    with pytest.raises(UsageError, match=r"^submission_metadata\.yml[^\n]*$"):
        take_in(pile, Wanted())


def test_anonymous_canvas_and_blind_moodle(pile: Path) -> None:
    put(pile / "anon_Ab3xY_501_scan_01.cu")
    put(pile / "LATE_anon_Zz9_502_scan_01.cu")
    put(pile / "student_1_two_123_text.html", b"<p>see mail</p>")
    got = by_key(pile)
    assert got["anonymous-Ab3xY"].metadata == {"scheme": "canvas", "canvas_user": "Ab3xY"}
    assert got["anonymous-Zz9"].metadata["late"] == "yes"
    assert "a text typed into Canvas, no file" in reasons(got["student_1_two-123"])
    blind = pile.parent / "blind"
    put(blind / "Participant_771_assignsubmission_file/scan_01.cu")
    assert by_key(blind)["anonymous-771"].metadata["moodle_participant"] == "771"


# ---- whose -----------------------------------------------------------------------------------------------------------


def test_unmatched_and_ambiguous_ones_are_kept_and_reported(pile: Path) -> None:
    put(pile / "Same Name/scan_01.cu")
    put(pile / "stranger/scan_01.cu")
    put(pile / "s0003/scan_01.cu")
    got = taken(pile, roster="id,name\ns0001,Same Name\ns0002,Same Name\ns0003,Student Three\n").taken_in
    s0003, same, stranger = sorted(got.submissions, key=lambda one: one.key.casefold() != "s0003")
    assert s0003.student
    assert stranger.student is None
    assert (same.student, same.claims) == (None, ("s0001", "s0002"))
    assert same.files
    assert "may be s0001, s0002, and the roster does not decide: whose is it?" in same.questions[0].text
    assert got.missing == ()
    assert [student.id for student in got.claimed] == ["s0001", "s0002"]


def test_keys_are_different_on_every_file_system(pile: Path) -> None:
    for name in ("Ünö", "uno", "UNO", "日本", "...", "-"):
        put(pile / name / "scan_01.cu")
    keys = [key.casefold() for key in by_key(pile)]
    assert len(set(keys)) == 6
    assert "submission" in keys


def test_what_belongs_to_no_student_is_listed(pile: Path) -> None:
    put(pile / "s0001/scan_01.cu")
    put(pile / "notes.txt")
    put(pile / ".DS_Store")
    put(pile / "__MACOSX/._x")
    archive = put(pile.parent / "all.zip", zipped({"s0001/scan_01.cu": TEXT, "../scan_01.cu": TEXT}))
    assert [problem.name for problem in taken(pile).taken_in.ignored] == ["notes.txt"]
    assert [(one.name, one.reason) for one in taken(archive).taken_in.ignored] == [
        ("../scan_01.cu", "its name leaves the folder by `..`")
    ]


EMPTY = "id,name,login\ns0001,Ann One,ann\ns0002,Bob Two,bob\ns0003,Cal Three,cal\ns0004,Dan Four,dan\n"


@pytest.mark.parametrize(
    ("one", "two", "three"),
    [
        ("s0001", "s0002", "s0003"),
        ("Ann One", "Bob Two", "Cal Three"),
        (
            "Ann One_11_assignsubmission_file_",
            "Bob Two_12_assignsubmission_file_",
            "Cal Three_13_assignsubmission_file_",
        ),
        ("Lab 1/One, Ann(ann)", "Lab 1/Two, Bob(bob)", "Lab 1/Three, Cal(cal)"),
        ("scan-ann", "scan-bob", "scan-cal"),
    ],
)
@pytest.mark.parametrize("packing", ["folder", "zip", "tar.gz"])
def test_a_folder_without_any_file_is_no_hand_in(pile: Path, one: str, two: str, three: str, packing: str) -> None:
    roster = EMPTY.replace("login", "github_username") if one == "scan-ann" else EMPTY
    put(pile / one / "Submission attachment(s)/scan_01.cu")
    (pile / one / "Feedback Attachment(s)").mkdir()
    (pile / two).mkdir(parents=True)
    (pile / three / "Submission attachment(s)/more").mkdir(parents=True)
    put(pile / three / ".DS_Store")
    where = pile
    if packing != "folder":
        where = Path(shutil.make_archive(str(pile), {"zip": "zip", "tar.gz": "gztar"}[packing], pile))
    got = taken(where, roster=roster).taken_in
    assert [(one.student and one.student.id, len(one.files)) for one in got.submissions] == [("s0001", 1)]
    assert [student.id for student in got.missing] == ["s0002", "s0003", "s0004"]
    assert got.ignored == ()
    got = taken(where).taken_in
    assert len(got.submissions) == 1
    assert [problem.reason for problem in got.ignored] == ["is an empty folder: nothing was handed in"] * 2


def test_an_empty_archive_and_an_empty_file_are_hand_ins(pile: Path) -> None:
    put(pile / "s0001.zip", zipped({}))
    put(pile / "s0002/work.zip", zipped({"src/": b""}))
    put(pile / "s0003/scan_01.cu", b"")
    put(pile / "s0004/report.pdf", b"%PDF")
    (pile / "stranger").mkdir()
    got = taken(pile, LABS[0], roster=EMPTY).taken_in
    assert [one.student.id for one in got.submissions if one.student] == ["s0001", "s0002", "s0003", "s0004"]
    assert all(one.problems for one in got.submissions)
    assert [problem.name for problem in got.ignored] == ["stranger"]


def test_a_pile_of_empty_folders_holds_no_submissions(pile: Path) -> None:
    (pile / "s0001").mkdir()
    (pile / "s0002").mkdir()
    with pytest.raises(WorkError, match="holds no submissions\n  s0001 is an empty folder"):
        taken(pile, LABS[0])


# ---- attempts --------------------------------------------------------------------------------------------------------


def test_the_newest_of_canvas_files_counts(pile: Path) -> None:
    put(pile / "one_11_900_scan_01-1.cu", NEWER)
    put(pile / "one_11_899_scan_01.cu", TEXT)
    got = taken(pile)
    (one,) = got.taken_in.submissions
    assert [got.sources[file.sha256] for file in one.files] == [TEXT, NEWER], "the oldest first"
    assert not one.problems
    assert graded_files(got.taken_in, one) == [one.files[1]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("scan_01.cu", "01_sequential.cu"),
        ("01_sequential.cu", "scan_01-1.cu"),
        ("scan_01-1.cu", "scan_01.cu"),  # the student's own names: Canvas numbers them in their order
        ("one.zip", "two.zip"),
        ("scan_01.cu", "work.zip"),
    ],
)
@pytest.mark.parametrize("wrapper", ["", "submissions"])
def test_files_of_different_names_in_canvas_came_together(pile: Path, first: str, second: str, wrapper: str) -> None:
    for number, (name, text) in enumerate(((first, TEXT), (second, NEWER))):
        data = zipped({"scan_01.cu": text}) if name.endswith(".zip") else text
        put(pile / wrapper / f"one_11_{900 + number}_{name}", data)
    put(pile / wrapper / "two_12_800_scan_01.cu")
    one = by_key(pile)["one-11"]
    assert one.files == ()
    (question,) = one.questions
    assert {file.sha256 for file in question.candidates} == {hashlib.sha256(text).hexdigest() for text in (TEXT, NEWER)}


@pytest.mark.parametrize("names", [("a.tar.gz", "a-1.tar.gz"), ("scan_01.cu", "scan_01-9.cu", "scan_01-10.cu")])
def test_a_name_that_canvas_numbers_replaces_the_one_before(pile: Path, names: tuple[str, ...]) -> None:
    written = [b"// %d\n" % number for number in range(len(names))]
    for number, (name, text) in enumerate(zip(names, written, strict=True)):
        data = tarred({"scan_01.cu": text}) if ".tar" in name else text
        put(pile / f"one_11_{900 + number}_{name}", data)
    got = taken(pile)
    (one,) = got.taken_in.submissions
    assert [got.sources[file.sha256] for file in one.files] == written
    assert not one.questions


def test_the_newest_counts_per_lab(pile: Path) -> None:
    put(pile / "one_11_900_scan_01.cu", TEXT)
    put(pile / "one_11_901_scan_02.cu", TEXT)
    put(pile / "one_11_902_scan_01-1.cu", NEWER)
    got = taken(pile)
    (one,) = got.taken_in.submissions
    assert [(file.lab, got.sources[file.sha256]) for file in one.files] == [
        (LABS[0], TEXT), (LABS[0], NEWER), (LABS[1], TEXT)
    ]  # fmt: skip
    assert graded_files(got.taken_in, one) == [*one.files[1:]]


@pytest.mark.parametrize("name", ["attempt_{}", "Attempt {}", "my-version-{}", "Try{}", "scan submission {}"])
def test_a_folders_number_says_which_file_is_newer_and_is_no_attempts_number(pile: Path, name: str) -> None:
    for number, text in ((2, NEWER), (10, TEXT)):
        os.utime(put(pile / f"s0001/{name.format(number)}/scan_01.cu", text), (1e9 - number, 1e9 - number))
    put(pile / "s0002/scan_01.cu")
    got = taken(pile)
    one = got.taken_in.submissions[0]
    assert [(file.attempt, got.sources[file.sha256]) for file in one.files] == [(None, NEWER), (None, TEXT)]
    assert one.attempt is None


@pytest.mark.parametrize("name", ["geometry{}", "entry {}", "attempt {} of 2026", "conversion{}", "retry_{}", "lab-{}"])
def test_other_words_with_a_number_say_nothing(pile: Path, name: str) -> None:
    for number, text in ((2, NEWER), (10, TEXT)):
        put(pile / f"s0001/{name.format(number)}/scan_01.cu", text)
    put(pile / "s0002/scan_01.cu")
    one = taken(pile).taken_in.submissions[0]
    assert one.files == ()
    assert [len(question.candidates) for question in one.questions] == [2]


def test_a_text_that_is_handed_in_again_is_no_attempt_but_going_back_is_one(pile: Path) -> None:
    for number, text in enumerate((TEXT, TEXT, NEWER, TEXT)):
        put(pile / f"one_11_{900 + number}_scan_01-{number}.cu", text)
    got = taken(pile)
    assert [got.sources[file.sha256] for file in got.taken_in.submissions[0].files] == [TEXT, NEWER, TEXT]


def test_folders_in_moodle_are_ordered_by_their_names(pile: Path) -> None:
    for number, text in ((1, TEXT), (2, NEWER)):
        put(pile / f"Student One_11_assignsubmission_file/Attempt {number}/scan_01.cu", text)
    got = taken(pile, roster="id,name,login\ns0001,Student One,one\ns0002,Student Two,two\n")
    attempts = {
        one.key: [(file.attempt, got.sources[file.sha256]) for file in one.files] for one in got.taken_in.submissions
    }
    assert attempts == {"s0001": [(None, TEXT), (None, NEWER)]}


def test_attempts_of_unknown_age_are_no_guess(pile: Path) -> None:
    skip_without(YAML)
    people = "".join(f"submission_{n}:\n  :submitters:\n  - :name: One\n    :sid: s0001\n" for n in (1, 2))
    put(pile / "submission_metadata.yml", people.encode())
    for n in (1, 2):
        os.utime(put(pile / f"submission_{n}/scan_01.cu", b"// %d\n" % n), (1e9, 1e9))
    (one,) = by_key(pile, roster="id,email\ns0001,one@example.org\n").values()
    assert one.files == ()
    assert "nothing says which is meant" in reasons(one)
    assert [len(question.candidates) for question in one.questions] == [2]


# ---- archives that mean harm -----------------------------------------------------------------------------------------


def test_a_bad_member_costs_itself_alone(pile: Path) -> None:
    members = {"../scan_02.cu": TEXT, "/scan_02.cu": TEXT, "C:\\scan_02.cu": TEXT, "scan_01.cu": TEXT}
    put(pile / "s0001.zip", zipped(members))
    put(pile / "s0002.tar.gz", tarred(dict(members)))
    got = by_key(pile)
    for key in ("s0001", "s0002"):
        assert [file.lab for file in got[key].files] == ["01_sequential"]
        assert len(got[key].problems) == 3


def test_twice_the_same_name_is_reported_unless_the_text_is_the_same(pile: Path) -> None:
    def twice(second: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("scan_01.cu", TEXT)
            archive.writestr("scan_01.cu", second)
        return out.getvalue()

    with pytest.warns(UserWarning, match="Duplicate name"):
        put(pile / "s0001.zip", twice(TEXT))
    with pytest.warns(UserWarning, match="Duplicate name"):
        put(pile / "s0002.zip", twice(NEWER))
    put(pile / "s0003.zip", zipped({"scan_01.cu": TEXT, "Scan_01.cu": NEWER}))
    got = by_key(pile)
    assert got["s0001"].files
    for key in ("s0002", "s0003"):
        assert not got[key].files
        assert "2 files may be this lab's" in reasons(got[key])


def test_bombs_cost_no_time_and_no_memory(pile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST_UNPACKED", 16 << 20)
    put(pile / "s0001.zip", zeros_zipped("scan_01.cu", 64 << 20))
    put(pile / "s0002.zip", zeros_zipped("data.bin", 64 << 20))
    put(pile / "s0003.tar.gz", tarred({"scan_01.cu": TEXT, "data.bin": bytes(20 << 20), "scan_02.cu": TEXT}))
    put(pile / "s0004.zip", zipped({f"{n}.cu": TEXT for n in range(2100)}))
    began = time.process_time()
    got = by_key(pile, *LABS)
    assert time.process_time() - began < 5
    assert "has 64.0 MiB" in reasons(got["s0001"])
    assert "data.bin: unpacks" in reasons(got["s0002"])
    assert "unpacks to more than 16.0 MiB: the rest is not read" in reasons(got["s0003"])
    assert [file.lab for file in got["s0003"].files] == ["01_sequential"]
    assert "2,000" in reasons(got["s0004"])


def test_links_in_folders_are_not_followed(pile: Path) -> None:
    secret = put(pile.parent / "secret/scan_01.cu", b"// secret\n")
    put(pile / "s0001/scan_02.cu")
    (pile / "s0001/labs").symlink_to(secret.parent)
    (pile / "s0002").symlink_to(secret.parent)
    (pile / "s0003.zip").symlink_to(put(pile.parent / "x.zip", zipped({"scan_01.cu": TEXT})))
    got = taken(pile)
    assert b"// secret\n" not in got.sources.values()
    for one in got.taken_in.submissions:
        assert "is a link, which is not followed" in reasons(one)
    assert len(got.taken_in.submissions) == 3


@pytest.mark.parametrize(
    "name",
    ["../x.cu", "a/../../x.cu", "/x.cu", "\\x.cu", "C:/x.cu", "c:\\x.cu", "a\\..\\x.cu", "a/..\\x.cu", "x\0.cu",
     "x\n.cu", "\x1b[31m.cu", "x\u202euc.txt", "a" * 300, "/".join("a" * 30), ".."],
)  # fmt: skip
def test_names_that_are_refused(name: str) -> None:
    parts, refused = safe_parts(name)
    assert refused
    assert parts == ()


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_a_name_that_is_taken_stays_inside(name: str) -> None:
    parts, refused = safe_parts(name)
    if not refused:
        assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)
        inside = os.path.normpath("/pile/" + "/".join(parts))
        assert inside == "/pile" or inside.startswith("/pile/")


SEEDS = [
    zipped({"scan_01.cu": TEXT, "a/b.cu": NEWER}),
    encrypted(zipped({"scan_01.cu": TEXT})),
    tarred({"scan_01.cu": TEXT, "x": (tarfile.SYMTYPE, "/etc")}, ""),
    tarred({"scan_01.cu": TEXT}, "gz"),
    tarred({"scan_01.cu": TEXT}, "xz"),
]


@settings(max_examples=80)
@given(
    st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=12), st.data()
)
def test_damaged_archives_are_reported_and_never_break(
    data: bytes, changes: list[tuple[int, int]], more: st.DataObject
) -> None:
    damaged = bytearray(data)
    for at, value in changes:
        damaged[at % len(damaged)] = value
    cut = more.draw(st.integers(0, len(damaged)))
    for item in expand(io.BytesIO(bytes(damaged[:cut])), ("s0001.zip",)):
        assert item.parts[0] == "s0001.zip"
        assert ".." not in item.parts
        assert item.data is None or len(item.data) <= 1 << 20


# ---- piles that are none ---------------------------------------------------------------------------------------------


def test_piles_that_cannot_be_graded(tmp_path: Path, pile: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        taken(tmp_path / "nowhere")
    with pytest.raises(WorkError, match="holds no submissions"):
        taken(pile)
    with pytest.raises(WorkError, match=r"holds no submissions\n  it is no archive that can be read"):
        taken(put(tmp_path / "pile.zip", b"no archive at all"))
    with pytest.raises(UsageError, match="is one file; use: grader/scanlab check"):
        taken(put(tmp_path / "one.cu"))


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-03-01 12:34:56.123456789 Z", "2026-03-01T12:34:56.123456+00:00"),
        ("2026-03-01T12:34:56Z", "2026-03-01T12:34:56+00:00"),
        ("2026-03-01 12:34:56 -05:00", "2026-03-01T17:34:56+00:00"),
        ("2026-13-01 12:34:56 Z", None),
        ("yesterday", None),
    ],
)
def test_times(text: str, iso: str | None) -> None:
    assert iso_time(text) == iso
