"""Files that a person would take are taken, or asked for; until that is answered there is no grade, and no 0."""

import csv
import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from killing import contents
from made_up import zipped
from scanlab.classroom.intake import texts
from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.intake.take_in import TakenIn, Wanted, take_in
from scanlab.classroom.records import Submission
from scanlab.classroom.store import Store

Scanlab = Callable[..., subprocess.CompletedProcess[str]]
LABS = ("01_sequential", "02_kogge_stone")
CODE = "#include <cstdio>\n__global__ void scan() {} // PASSES\n"


def put(path: Path, data: str | bytes = CODE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def one_of(pile: Path, *labs: str) -> tuple[Submission, TakenIn]:
    got = take_in(pile, Wanted(labs=labs or LABS[:1]))
    (one,) = got.taken_in.submissions
    return one, got


# ---- what is safe ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("scan_01.cu", ""),
        ("scan_01.cu.txt", "taken for scan_01.cu"),
        ("scan_01.cpp", "taken for scan_01.cu"),
        ("01_sequential/scan.cu.cu", "taken for scan.cu"),
        ("01_sequential/scan.cpp", "taken for scan.cu"),
        ("01_sequential/scan (1).cu", ""),
        ("scan_01.CU.TXT", "taken for scan_01.cu"),
        ("work.cu", ""),
        ("work.cpp", "taken for work.cu"),
        ("my scan.txt", "taken for my scan.cu"),
    ],
)
def test_names_that_a_person_would_take(tmp_path: Path, name: str, remark: str) -> None:
    put(tmp_path / "pile/ann" / name)
    put(tmp_path / "pile/ann/notes.txt", "it scans, it took me a week\n")
    one, got = one_of(tmp_path / "pile")
    assert [got.sources[file.sha256].decode() for file in one.files] == [CODE]
    assert one.files[0].taken_as == remark
    assert one.questions == ()


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        (CODE.encode("utf-16"), "was UTF-16 text"),
        (b"\xfe\xff" + CODE.encode("utf-16-be"), "was UTF-16 text"),
        (CODE.encode("utf-16-le"), "was UTF-16 text"),
        (CODE.encode("utf-8-sig"), "began with a byte order mark"),
        (CODE.encode("utf-32"), "was UTF-32 text"),
        (CODE.replace("\n", "\r").encode(), "had old line ends"),
    ],
)
def test_encodings_that_a_person_would_take(tmp_path: Path, data: bytes, remark: str) -> None:
    put(tmp_path / "pile/ann/scan_01.cu", data)
    one, got = one_of(tmp_path / "pile")
    assert [got.sources[file.sha256].decode() for file in one.files] == [CODE]
    assert one.files[0].taken_as == remark


def test_bytes_of_latin_1_are_taken_where_no_compiler_looks() -> None:
    for before, after in ((b"// gr", b"n\n"), (b"/* a\n", b" */"), (b'auto x = "', b'";'), (b"'", b"'")):
        data = before + b"\xfc" + after + b"int ok;\n"
        read = texts.read(data)
        assert read.data == before + "ü".encode() + after + b"int ok;\n"
        assert "read as Latin-1" in read.done
    for data in (b"int gr\xfcn;\n", b"// a comment\nint \xfc;", b"/* a */ \xfc", b'"a" \xfc', b"// a\\\n b\n \xfc"):
        read = texts.read(data)
        assert read.fault.startswith("is not UTF-8 text (line ")
        assert read.is_doubtful
        assert texts.read(data, is_decided=True).data == data.replace(b"\xfc", "ü".encode())
    assert texts.read(b"// a\\\n \xfc\nint x;").data, "a comment goes on behind a backslash"
    assert not texts.read(b"\x7fELF\0\0\1").is_doubtful


def test_an_archive_in_an_archive_and_the_twins_of_macos(tmp_path: Path) -> None:
    inner = zipped({"01_sequential/scan.cu": CODE.encode(), "__MACOSX/01_sequential/._scan.cu": b"\0\5\x16\7"})
    put(tmp_path / "pile/ann.zip", zipped({"work.zip": inner, "__MACOSX/._work.zip": b"\0\5\x16\7"}))
    one, got = one_of(tmp_path / "pile")
    assert [got.sources[file.sha256].decode() for file in one.files] == [CODE]
    assert one.problems == ()


def test_the_kits_untouched_file_beside_the_work_is_no_question(tmp_path: Path) -> None:
    bare = "// >>> your code\n  // TODO\n// <<< your code\n"
    put(tmp_path / "pile/ann/01_sequential/scan.cu", bare)
    put(tmp_path / "pile/ann/scan_01.cu.txt")
    one, got = one_of(tmp_path / "pile")
    assert [got.sources[file.sha256].decode() for file in one.files] == [CODE]


BARE = "// >>> your code\n  // TODO\n// <<< your code\n"
OTHER = CODE + "// other\n"
LAYOUTS = {
    "canvas": "pile/annone_11_{at}_{name}",
    "moodle": "pile/Ann One_11_assignsubmission_file_/{name}",
    "moodle, flat": "pile/Ann One_11_assignsubmission_file_{name}",
    "github": "pile/scan-ann/{name}",
    "folders": "pile/ann/{name}",
    "below": "pile/ann/code/cuda/{name}",
}


def lay(tmp_path: Path, layout: str, files: dict[str, str | bytes]) -> Path:
    """Put what one person has handed in where a platform has it, one file after the other."""
    for at, (name, data) in enumerate(files.items()):
        if "canvas" in layout or "flat" in layout:
            name = name.replace("/", "-")
        put(tmp_path / LAYOUTS[layout].format(at=900 + at, name=name), data)
    return tmp_path / "pile"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "work", ["scan-1.cu", "scan (1).cu", "scan_v2.cu", "mine.cu", "new/scan.cu", "scan.cu.txt", "x.cpp"]
)
@pytest.mark.parametrize("bare", ["scan.cu", "scan_01.cu", "scan-7.cu"])
def test_a_file_as_it_was_handed_out_is_in_no_works_way(tmp_path: Path, layout: str, work: str, bare: str) -> None:
    for files in ({bare: BARE, work: CODE}, {work: CODE, bare: BARE}):
        one, got = one_of(lay(tmp_path / next(iter(files)).replace("/", "-"), layout, files))
        assert [got.sources[file.sha256].decode() for file in one.files] == [CODE]
        assert one.questions == ()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "other", ["scan (1).cu", "scan_v2.cu", "scan-final.cu", "Scan2.cu", "my_scan.cu", "old/scan.cu"]
)
def test_two_files_that_are_called_like_the_labs_own_are_a_question(tmp_path: Path, layout: str, other: str) -> None:
    for files in ({"scan.cu": CODE, other: OTHER}, {other: OTHER, "scan.cu": CODE}):
        one, got = one_of(lay(tmp_path / next(iter(files)).replace("/", "-"), layout, files))
        assert one.files == ()
        assert [len(question.candidates) for question in one.questions] == [2]
        assert [*got.taken_in.pending().values()] == [(LABS[0],)]
    one, _ = one_of(lay(tmp_path / "same", layout, {"scan.cu": CODE, other: CODE}))
    assert len(one.files) == 1, "the same text twice is no question"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_canvas_numbers_what_is_handed_in_again(tmp_path: Path, layout: str) -> None:
    one, got = one_of(lay(tmp_path, layout, {"scan.cu": OTHER, "scan-1.cu": CODE, "helper.cu": OTHER + "// more\n"}))
    found = [got.sources[file.sha256].decode() for file in one.files]
    assert found == ([OTHER, CODE] if layout == "canvas" else [])
    assert len(one.questions) == (layout != "canvas")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("name", "other"),
    [("scan.cu", "helper.cu"), ("scan.cu", "main.cu"), ("scan.cu", "scan_notes.txt"), ("scan.cu", "scan_old.pdf"),
     ("scan_01.cu", "scan.cu"), ("01.cu", "scan.cu"), ("scan.cu", "scan_02.cu")],
)  # fmt: skip
def test_another_file_beside_the_labs_own_is_no_question(tmp_path: Path, layout: str, name: str, other: str) -> None:
    one, _ = one_of(lay(tmp_path, layout, {other: OTHER, name: CODE}))
    assert [file.name.rpartition("/")[2] for file in one.files] == [name]
    assert one.questions == ()


def test_a_labs_own_folder_may_hold_two(tmp_path: Path) -> None:
    """The same in each lab's folder, where several are graded."""
    pile = tmp_path / "pile/ann"
    put(pile / "01_sequential/scan.cu", BARE)
    put(pile / "01_sequential/mine.cu", CODE)
    put(pile / "02_kogge_stone/scan.cu", CODE)
    put(pile / "02_kogge_stone/scan_v2.cu", OTHER)
    one, got = one_of(tmp_path / "pile", *LABS)
    assert [(file.name, got.sources[file.sha256].decode()) for file in one.files] == [("01_sequential/mine.cu", CODE)]
    assert [(question.kind, question.lab) for question in one.questions] == [("file", LABS[1])]


def test_the_kits_own_programs_are_nobodys_work(tmp_path: Path) -> None:
    kit = tmp_path / "pile/ann/kit"
    put(kit / "labs/01_sequential/scan.cu", BARE)
    for name in ("handouts/findings/race_shared.cu", "grader/bench/cub_scan.cu", "build/runner/scan_all.cpp"):
        put(kit / name, OTHER)
    put(tmp_path / "pile/bob/scan_01.cu")

    def texts_of_ann() -> list[str]:
        got = take_in(tmp_path / "pile", Wanted(labs=LABS[:1]))
        ann, _ = got.taken_in.submissions
        assert (ann.questions, ann.problems) == ((), ())
        return [got.sources[file.sha256].decode() for file in ann.files]

    assert texts_of_ann() == [BARE]
    put(kit / "labs/mine.cu", CODE)
    assert texts_of_ann() == [CODE]


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"scan_01.cu": CODE, "01_sequential/scan.cu": CODE + "// other\n"}, "file"),
        ({"a.cu": CODE, "b.cu": CODE + "// other\n"}, "file"),
        ({"scan_01.cu": b"int gr\xfcn;\n"}, "file"),
        ({"work.rar": b"Rar!"}, "file"),
        ({"work.zip": b"PK\3\4 torn"}, "file"),
    ],
)
def test_what_is_not_safe_is_asked(tmp_path: Path, files: dict[str, str | bytes], kind: str) -> None:
    for name, data in files.items():
        put(tmp_path / "pile/ann" / name, data)
    one, got = one_of(tmp_path / "pile")
    assert [question.kind for question in one.questions] == [kind]
    assert got.taken_in.pending() == {"ann": (LABS[0],)}
    again, _ = one_of(tmp_path / "pile")
    assert again.questions == one.questions, "a question has the same name whenever it is asked"


def test_what_names_no_lab_is_asked_where_a_lab_has_no_file(tmp_path: Path) -> None:
    put(tmp_path / "pile/ann/scan_01.cu")
    put(tmp_path / "pile/ann/helper.cu", CODE + "// mine\n")
    one, got = one_of(tmp_path / "pile", *LABS)
    assert [question.kind for question in one.questions] == ["lab"]
    assert got.taken_in.pending() == {"ann": (LABS[1],)}
    one, got = one_of(tmp_path / "pile", LABS[0])
    assert not got.taken_in.pending()


@pytest.mark.parametrize("data", [b"", b" \n", b"\x7fELF\2\1\1\0\0"])
def test_what_no_person_could_take_is_no_question(tmp_path: Path, data: bytes) -> None:
    put(tmp_path / "pile/ann/scan_01.cu", data)
    one, _ = one_of(tmp_path / "pile")
    assert (one.files, one.questions) == ((), ())


# ---- a class with questions, from its first run to its answers -------------------------------------------------------


def table(scanlab: Scanlab, out: Path) -> dict[str, dict[str, str]]:
    path = out.with_suffix(".csv")
    done = scanlab("export", out, "--format", "csv", "--out", path)
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader(path.read_text().splitlines())
    return {row["student_id"] or row["key"]: row for row in rows}


def test_a_class_waits_for_answers_and_then_goes_on(scanlab: Scanlab, tmp_path: Path) -> None:
    pile, out, roster = tmp_path / "pile", tmp_path / "out", tmp_path / "roster.csv"
    roster.write_text("id,name,email\n" + "".join(f"s{n},Student {n},s{n}@x.org\n" for n in range(1, 7)))
    put(pile / "s1/scan_01.cu", "// PASSES\n")
    put(pile / "s2/a.cu", "// PASSES a\n")
    put(pile / "s2/b.cu", "// FAILS b\n")
    put(pile / "s3/scan_01.cu", b"int \xfc; // PASSES\n")
    put(pile / "s4/work.rar", b"Rar!")
    put(pile / "s5/scan_01.cu", "// PASSES s5\n")
    put(pile / "s5@x.org/scan_01.cu", "// FAILS s5\n")
    words = ("grade", pile, "--out", out, "--roster", roster, "--lab", "01")
    done = scanlab(*words)
    assert done.returncode == 0, done.stderr
    head = done.stdout[: done.stdout.index("graded ")]
    assert "3 pending: no grade until" in head
    assert "2 claimed: graded, and nobody's until" in head
    rows = table(scanlab, out)
    assert {who: row["verdict"] for who, row in rows.items() if who in ("s2", "s3", "s4", "s6")} == {
        "s2": "pending", "s3": "pending", "s4": "pending", "s6": "missing"
    }  # fmt: skip
    assert all(rows[who]["points"] == "" for who in ("s2", "s3", "s4", "s5"))
    assert rows["s1"]["points"] == rows["s1"]["max_points"]
    exported = scanlab("export", out, "--format", "nbgrader")
    students = [row["student_id"] for row in csv.DictReader(exported.stdout.splitlines())]
    assert students == ["s1", "s6"], "neither a 0 nor anything else for who waits"
    assert "pending, and without a score" in exported.stderr
    assert scanlab("export", out, "--format", "gradescope", "--key", "s2").returncode == 2

    # The file of answers is written to be filled in, and answers nothing by itself.
    answers = out / "answers.toml"
    text = answers.read_text()
    assert tomllib.loads(text) == {}
    before = contents(out)
    assert scanlab(*words, "--resume").returncode == 0
    assert contents(out) == before

    given = {"s2": "a.cu", "s3": "1", "s4": "none", "s5": "s5"}
    for one in Store(out).read_class().submissions:
        for question in one.questions:
            answer = given.get(one.key, "nobody")
            text = text.replace(f'#[{question.id}]\n#answer = ""', f'[{question.id}]\nanswer = "{answer}"')
    text = text.replace('"a.cu"', '"s2/a.cu"')
    answers.write_text(text)
    done = scanlab(*words[:4], "--resume")
    assert done.returncode == 0, done.stderr
    assert "pending" not in done.stdout
    rows = table(scanlab, out)
    assert [rows[f"s{n}"]["verdict"] for n in range(1, 7)] == ["pass", "pass", "pass", "fail", "pass", "missing"]
    after = contents(out)
    assert after["results/s1.json"] == before["results/s1.json"]
    assert scanlab(*words[:4], "--resume").returncode == 0
    assert contents(out) == after, "answered once"
    late = tmp_path / "late"
    put(late / "s6/scan_01.cu", "// PASSES\n")
    assert scanlab("grade", late, "--out", out, "--resume").returncode == 0
    rows = table(scanlab, out)
    assert [rows[f"s{n}"]["verdict"] for n in (2, 3, 5, 6)] == ["pass"] * 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[q]\nanswer = 1", ":2: [q]: there is no such question in this class"),
        ("answer = 'x'", ":1: answer stands outside a question"),
        ("\n[{file}]\nanswr = 'a.cu'", ":3: answr: a question has the one key `answer`"),
        ("[{file}]", ":1: [{file}] needs an answer in quotes"),
        (
            "[{file}]\nanswer = 'c.cu'",
            ":2: 'c.cu' is no file of the question; the answer is one of 's2/a.cu', 's2/b.cu'",
        ),
        ("[{file}]\nanswer = 9", ":2: '9' is no file of the question"),
        ("[{who}]\nanswer = 's9'", ":2: 's9': nobody on the roster is called so"),
        ("[", ":1: not TOML"),
    ],
)
def test_bad_answers_are_errors_with_their_lines(scanlab: Scanlab, tmp_path: Path, text: str, message: str) -> None:
    pile, out, roster = tmp_path / "pile", tmp_path / "out", tmp_path / "roster.csv"
    roster.write_text("id,name\ns1,Student 1\ns2,Student 2\n")
    put(pile / "s2/a.cu", "// PASSES a\n")
    put(pile / "s2/b.cu", "// FAILS b\n")
    put(pile / "stranger/scan_01.cu", "// PASSES\n")
    words = ("grade", pile, "--out", out, "--roster", roster, "--lab", "01")
    assert scanlab(*words).returncode == 0
    names = {question.kind: question.id for one in Store(out).read_class().submissions for question in one.questions}
    before = contents(out)
    given = tmp_path / "given.toml"
    for kind, name in names.items():
        text, message = text.replace(f"{{{kind}}}", name), message.replace(f"{{{kind}}}", name)
    given.write_text(text)
    done = scanlab(*words, "--resume", "--answers", given)
    assert done.returncode == 2
    assert message in done.stderr
    assert contents(out) == before


# ---- the seed --------------------------------------------------------------------------------------------------------


def test_a_class_has_a_random_secret_seed_and_keeps_it(scanlab: Scanlab, tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "s1/scan_01.cu", "// PASSES\n")
    put(pile / "s2/scan_01.cu", "// FAILS\n")
    seeds = set()
    for name in ("one", "two"):
        assert scanlab("grade", pile, "--out", tmp_path / name).returncode == 0
        seeds.add(Store(tmp_path / name).read_class().seed)
    assert len(seeds) == 2
    assert min(seeds) >= 1 << 48
    before = contents(tmp_path / "one")
    put(pile / "s3/scan_01.cu", "// FAILS more\n")
    assert scanlab("grade", pile, "--out", tmp_path / "one", "--resume").returncode == 0
    after = contents(tmp_path / "one")
    assert Store(tmp_path / "one").read_class().seed in seeds
    secret = str(Store(tmp_path / "one").read_class().seed)
    with_seed = {name: data for name, data in after.items() if secret.encode() in data}
    assert list(with_seed) == ["class.json"], "results name seeds of single files"
    units = [json.loads(data)["seed"] for name, data in after.items() if name.startswith("graded/")]
    assert len(set(units)) == 3
    assert all(after[name] == before[name] for name in before if name.startswith("graded/"))


def test_people_of_a_submission_are_found_by_all_that_is_known(tmp_path: Path) -> None:
    put(tmp_path / "pile/Ann One_100_assignsubmission_file/scan_01.cu")
    put(tmp_path / "roster.csv", "Identifier,Full name,ID number,Email address\nParticipant 100,Ann One,s1,Ann@X.org\n")
    (one,) = take_in(tmp_path / "pile", Wanted(), read_roster(tmp_path / "roster.csv")).taken_in.submissions
    for text in ("s1", "S1", "100", "participant 100", "ann@x.org"):
        assert one.person().is_called(text), text
    assert not one.person().is_called("Ann One")
