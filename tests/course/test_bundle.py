"""The students' copy of the kit: what is in it, and that the look through it finds whatever must not be."""

import base64
import gzip
import html
import json
import stat
import textwrap
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import REPOSITORY, uncommented_example
from scanlab import packing
from scanlab.course.bundle import make_bundle, pack
from scanlab.course.bundle.code_windows import Pieces, comments
from scanlab.course.bundle.leaks import Secrets, leaks
from scanlab.course.bundle.rubric_text import rubric_text
from scanlab.course.read import Read, read_course
from scanlab.errors import UsageError, WorkError
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab, all_labs
from scanlab.labs.rubric_file import read_rubric
from scanlab.packing import File

SECRET = "correct horse battery staple"
EXPLANATION = "a long sentence of the instructor's own about what goes wrong with lengths that are odd and large"
COURSE = f"""
title = "Scans for all"
secret_seed = "{SECRET}"
[[lab]]
name = "02"
due = 2027-03-14T23:59:00Z
[[lab.check]]
name = "barriers"
points = 7
[[lab.check]]
name = "additions"
visibility = "hidden"
at_most = "n * log2(n) + 13 * n"
[[lab.check]]
name = "inclusive"
visibility = "after_due_date"
sizes = [5, 40961]
[[lab.check]]
name = "odd_lengths"
title = "lengths that are not published"
kind = "correctness"
visibility = "hidden"
entry = "inclusive_scan"
element = "float"
operation = "inclusive"
points = 5
sizes = [1777, 1300021]
schedules = ["random"]
explain = "{EXPLANATION}"
[[lab]]
name = "04"
[[student]]
id = "e1234567"
excused = ["04"]
"""


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    path = tmp_path_factory.mktemp("course") / "course.toml"
    path.write_text(COURSE)
    return read_course(path)


@pytest.fixture(scope="module")
def secrets(read: Read) -> Secrets:
    return Secrets([read.course.lab(lab.name) for lab in read.course.labs], read)


@pytest.fixture(scope="module")
def files(read: Read, secrets: Secrets) -> dict[str, File]:
    return dict(pack.contents(secrets.labs, read, secrets.has).files)


def region(lab: str, number: int = 0) -> str:
    return skeleton.regions((REPOSITORY / f"solutions/{lab}/scan.cu").read_text())[number]


# ---- what is in it ---------------------------------------------------------------------------------------------------


def test_nothing_leaks(files: dict[str, File], secrets: Secrets) -> None:
    assert leaks(files, secrets) == []


def test_a_rubric_has_the_visible_checks_only(files: dict[str, File], tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_bytes(files["labs/02_kogge_stone/lab.toml"].content)
    rubric = read_rubric(tmp_path / "lab.toml")
    by_name = {check.name: check for check in rubric.check}
    kits = Lab(REPOSITORY / "labs/02_kogge_stone").rubric.check
    assert list(by_name) == [check.name for check in kits if check.name not in ("inclusive", "additions")]
    assert by_name["barriers"].points == 7
    (orphan, *_) = (check.name for check in kits if check.needs == "inclusive")
    assert by_name[orphan].needs is None  # it needed inclusive, which students do not see
    (tmp_path / "lab.toml").write_bytes(files["labs/04_brent_kung/lab.toml"].content)
    assert read_rubric(tmp_path / "lab.toml") == Lab(REPOSITORY / "labs/04_brent_kung").rubric


def test_its_labs_are_skeletons_also_where_they_are_filled_in_here(
    read: Read, secrets: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_from: list[Path] = []
    real = Path.read_bytes

    def watched(path: Path) -> bytes:
        taken_from.append(path)
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", watched)
    found = pack.contents(secrets.labs, read, secrets.has).files
    assert not [path for path in taken_from if path.name == "scan.cu"]
    text = found["labs/02_kogge_stone/scan.cu"].content.decode()
    assert skeleton.untouched(text)
    assert "TODO" in text


def test_what_is_not_in_it(files: dict[str, File]) -> None:
    for name in files:
        assert not name.startswith(("solutions/", "tests/", "grader/bench/variants", "grader/vgpu/bench/")), name
    for name in ("grader/scanlab", "grader/runner/runner.cpp", "meson.build", "handouts/conf.py", "labs/scanlab.cuh"):
        assert name in files
    assert files["grader/scanlab"].is_program
    assert not files["meson.build"].is_program
    assert {name.split("/")[1] for name in files if name.startswith("labs/") and name.count("/") > 1} == {
        "02_kogge_stone",
        "04_brent_kung",
    }


def test_excerpts_that_the_skeleton_gives_stay_and_the_others_go(files: dict[str, File]) -> None:
    text = files["handouts/02_kogge_stone.md"].content.decode()
    assert "s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();" in text
    assert "literalinclude" not in text
    assert "Here stands a part of the solution" in text
    assert "](../solutions" not in text
    assert "](../labs/02_kogge_stone/scan.cu)" in text
    assert "](../labs/05_coarsening/scan.cu)" not in files["handouts/05_coarsening.md"].content.decode()


def test_full_handouts_have_the_excerpts(tmp_path: Path) -> None:
    path = tmp_path / "course.toml"
    path.write_text('title = "T"\nhandouts = "full"\n[[lab]]\nname = "01"\n')
    full = read_course(path)
    labs = [full.course.lab("01_sequential")]
    secrets = Secrets(labs, full)
    found = dict(pack.contents(labs, full, secrets.has).files)
    text = found["handouts/02_kogge_stone.md"].content.decode()
    assert "for (int stride = 1; stride < section_size; stride *= 2) {\n  __syncthreads();  // makes what" in text
    published = {name: file for name, file in found.items() if not name.startswith("grader/")}
    assert leaks(published, secrets) == []
    published["grader/notes.md"] = File(region("02_kogge_stone").encode())
    assert {leak.path for leak in leaks(published, secrets)} == {"grader/notes.md"}


def test_without_handouts(tmp_path: Path) -> None:
    path = tmp_path / "course.toml"
    path.write_text('title = "T"\nhandouts = "none"\n')
    none = read_course(path)
    found = pack.contents([none.course.lab("02_kogge_stone")], none, lambda _: False).files
    assert not [name for name in found if name.startswith("handouts/")]
    assert "handouts --open" not in found["README.md"].content.decode()


def test_the_readme_says_how_many_checks_are_not_there_and_not_which(files: dict[str, File]) -> None:
    text = files["README.md"].content.decode()
    assert "# Scans for all" in text
    assert "3 more checks run than here" in text
    assert "2027-03-14 23:59 +0000" in text
    assert "odd_lengths" not in text


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.name)
def test_a_rubric_is_written_as_it_was_read(lab: Lab, tmp_path: Path) -> None:
    odd = lab.rubric.model_copy(update={"summary": 'a "b" \\ \t é \x7f # \'\'\'\nnew line """ end'})
    (tmp_path / "lab.toml").write_text(rubric_text(odd), encoding="utf-8")
    assert read_rubric(tmp_path / "lab.toml") == odd


def test_equal_bundles_have_equal_bytes(files: dict[str, File], tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        packing.write(dict(reversed(files.items())) if name == "b.zip" else files, tmp_path / name, pack.INSIDE)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(f"scanlab/{name}" for name in files)
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    modes = {entry.filename: stat.S_IMODE(entry.external_attr >> 16) for entry in entries}
    assert modes["scanlab/grader/scanlab"] == 0o755
    assert modes["scanlab/meson.build"] == 0o644
    packing.write(files, tmp_path / "folder")
    assert pack.read_back(tmp_path / "folder") == pack.read_back(tmp_path / "a.zip") == dict(files)


# ---- what must not be in it ------------------------------------------------------------------------------------------

KOGGE_STONE = region("02_kogge_stone")


def seed_as(form: Callable[[int], str]) -> Callable[[Read], bytes]:
    return lambda read: f"// {form(read.seed)}\n".encode()


REDUCTION = region("04_brent_kung")
LINES = KOGGE_STONE.splitlines()
IN_02, IN_04, IN_05 = (f"solutions/{lab}/scan.cu" for lab in ("02_kogge_stone", "04_brent_kung", "05_coarsening"))
NOT_FOR_STUDENTS = "is nothing for students"

# kind: (file, its content, what has to be said, the line)
LEAKS: dict[str, tuple[str, str | bytes | Callable[[Read], bytes], str, int]] = {
    # a solution, whole and in parts, dressed up
    "a region": ("handouts/index.md", KOGGE_STONE, f"{IN_02}, region 1", 1),
    "a region in one line": ("README.md", " ".join(KOGGE_STONE.split()), f"{IN_02}, region 1", 1),
    "a region deeper": ("labs/x.cuh", "\n\n" + textwrap.indent(KOGGE_STONE, "\t  "), f"{IN_02}, region 1", 3),
    "without blanks": ("labs/x.cuh", REDUCTION.replace("  ", "").replace(" = ", "="), IN_04, 1),
    "without comments": ("grader/x.hpp", "\n".join(line.split("//")[0] for line in LINES), IN_02, 1),
    "a half": ("handouts/x.md", "\n".join(region("05_coarsening").splitlines()[:6]), IN_05, 2),
    "in a table": ("handouts/x.md", "\n".join(f"| {line}" for line in LINES), IN_02, 1),
    "a diff": ("handouts/x.md", "\n".join(f"+{line}" for line in LINES), IN_02, 1),
    "in HTML": ("handouts/x.html", html.escape(KOGGE_STONE), IN_02, 1),
    "in JSON": ("handouts/x.json", json.dumps(KOGGE_STONE), IN_02, 1),
    "a short region": ("handouts/x.md", region("01_sequential", 1), "solutions/01_sequential/scan.cu, region 2", 1),
    "of another lab": ("labs/x.cuh", region("11_look_back", 2), "solutions/11_look_back/scan.cu, region 3", 1),
    "a comment": ("handouts/x.md", "x\n" + " ".join(comments(REDUCTION).split()[:24]), IN_04, 2),
    # forbidden places
    "a solution's path": ("solutions/02_kogge_stone/scan.cu", "x", NOT_FOR_STUDENTS, 0),
    "a test": ("tests/grader/test_x.py", "x", NOT_FOR_STUDENTS, 0),
    "a mutant": ("grader/mutants/x.cu", "x", NOT_FOR_STUDENTS, 0),
    "the course": ("grader/course.toml", "x", NOT_FOR_STUDENTS, 0),
    "the seed's file": ("course.seed", "x", NOT_FOR_STUDENTS, 0),
    "results": ("results/s0001.json", "{}", NOT_FOR_STUDENTS, 0),
    "a class": ("class.json", "{}", NOT_FOR_STUDENTS, 0),
    "history": (".git/HEAD", "x", NOT_FOR_STUDENTS, 0),
    "a student's work": ("labs/02_kogge_stone/scan.cu.bak-20270101", "x", NOT_FOR_STUDENTS, 0),
    "a way out": ("labs/../../x", "x", "a path that leaves the bundle", 0),
    "packed": ("handouts/x.bin", gzip.compress(b"x"), "is packed", 0),
    "this machine": ("grader/x.txt", f"a\n{REPOSITORY}/x", "names a folder of this machine", 2),
    # hidden checks
    "a hidden name": ("handouts/x.md", "a\nb\nthe check odd_lengths runs", "has the name of the check odd_lengths", 3),
    "a hidden title": ("README.md", "lengths that\nare not published", "has the title of the check odd_lengths", 1),
    "a hidden limit": ("handouts/x.md", "at most n*log2(n)+13*n", "has the limit n * log2(n) + 13 * n", 1),
    "a hidden number": ("grader/x.py", "N = 1_300_021", "has the number 1300021 of the check odd_lengths", 1),
    "a number of later": ("handouts/x.md", "try 40,961 elements", "has the number 40961 of the check inclusive", 1),
    "a small hidden number": ("handouts/x.md", "\n1777", "has the number 1777", 2),
    "a hidden explanation": ("handouts/x.md", EXPLANATION.upper(), "hidden check odd_lengths", 1),
    # the seed and the students
    "the secret": ("grader/x.py", f"\n\nseed = '{SECRET}'", "secret seed", 3),
    "the secret in hex": ("grader/x.py", SECRET.encode().hex().upper(), "secret seed", 1),
    "the secret in base64": ("grader/x.py", base64.b64encode(SECRET.encode()), "secret seed", 1),
    "its number": ("handouts/x.md", seed_as(str), "secret seed", 1),
    "its number in hex": ("handouts/x.md", seed_as(hex), "secret seed", 1),
    "its number in groups": ("handouts/x.md", seed_as(lambda seed: f"{seed:,}"), "secret seed", 1),
    "its number with lines": ("handouts/x.md", seed_as(lambda seed: f"{seed:_}"), "secret seed", 1),
    "its bytes": ("handouts/x.png", lambda read: b"\x89PNG\0\0" + read.seed.to_bytes(8, "little"), "secret seed", 1),
    "its bytes, turned": ("handouts/x.png", lambda read: b"\0" + read.seed.to_bytes(8, "big"), "secret seed", 1),
    "a student": ("README.md", "not for e1234567!", "names a student of course.toml", 1),
}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_planted_leak_is_found(kind: str, secrets: Secrets, read: Read) -> None:
    path, content, said, line = LEAKS[kind]
    given = content(read) if callable(content) else content
    planted = {path: File(given.encode() if isinstance(given, str) else given)}
    found = leaks(planted, secrets)
    assert [(leak.path, leak.line) for leak in found if said in leak.what] == [(path, line)]
    harmless = {path: replace(file, content=b"nothing at all") for path, file in planted.items()}
    assert not [leak for leak in leaks(harmless, secrets) if leak.line]


def test_a_lab_that_is_filled_in_is_no_skeleton(files: dict[str, File], secrets: Secrets) -> None:
    name = "labs/02_kogge_stone/scan.cu"
    text = files[name].content.decode()
    ones = text.replace("  // >>> your code\n", "  // >>> your code\n  s_xy[t] = 1;\n")
    assert [leak.what for leak in leaks({name: File(ones.encode())}, secrets)] == [
        "is no skeleton: there is code between its marks"
    ]
    other = text.replace("// Tail guard", "// a hint")
    assert "outside the marks" in leaks({name: File(other.encode())}, secrets)[0].what
    solution = (REPOSITORY / "solutions/02_kogge_stone/scan.cu").read_bytes()
    reported = [leak.text() for leak in leaks({name: File(solution)}, secrets)]
    assert f"{name}:20: is no skeleton: there is code between its marks" in reported
    assert f"{name}:20: has a part of solutions/02_kogge_stone/scan.cu, region 1" in reported


def test_a_rubric_with_a_hidden_check_is_found(secrets: Secrets) -> None:
    name = "labs/02_kogge_stone/lab.toml"
    kit = (REPOSITORY / name).read_bytes()
    line = kit.splitlines().index(b'name = "inclusive"') + 1
    reported = [leak.text() for leak in leaks({name: File(kit)}, secrets)]
    assert f"{name}: has the check additions, which is hidden" in reported
    assert f"{name}: has the check inclusive, which is after due date" in reported
    assert f"{name}:{line}: has the name of the check inclusive of 02_kogge_stone, which is after due date" in reported


def test_a_lab_that_was_not_asked_for_is_found(secrets: Secrets) -> None:
    name = "labs/03_double_buffer/scan.cu"
    content = skeleton.pristine(Lab(REPOSITORY / "labs/03_double_buffer"))[0].encode()
    assert "is of a lab that was not asked for" in [leak.what for leak in leaks({name: File(content)}, secrets)]


# ---- the command -----------------------------------------------------------------------------------------------------


def test_a_bundle_that_leaks_is_not_written(
    tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch, files: dict[str, File]
) -> None:
    bad = {"README.md": files["README.md"], "handouts/index.md": File(KOGGE_STONE.encode())}
    monkeypatch.setattr(pack, "contents", lambda *_: pack.Contents(bad, 0, {}))
    for name in ("x.zip", "folder"):
        with pytest.raises(WorkError) as raised:
            make_bundle.make(tmp_path / name, read.path, None)
        first, *rest = str(raised.value).splitlines()
        assert first.endswith(f"{name} is not written: 1 leak")
        assert rest == ["  handouts/index.md:1: has a part of solutions/02_kogge_stone/scan.cu, region 1"]
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_is_written(tmp_path: Path, read: Read) -> None:
    made = make_bundle.make(tmp_path / "x.zip", read.path, "4")
    assert made.labs == "04"
    assert made.remarks == ()
    assert zipfile.ZipFile(tmp_path / "x.zip").testzip() is None
    assert list(tmp_path.iterdir()) == [tmp_path / "x.zip"]


def test_the_kits_own_example_is_packed_with_all_that_it_has_in_comments(tmp_path: Path) -> None:
    (tmp_path / "x.seed").write_text(SECRET)
    (tmp_path / "course.toml").write_text(uncommented_example("x.seed"))
    made = make_bundle.make(tmp_path / "x.zip", tmp_path / "course.toml", None)
    assert made.labs == "01, 02"
    assert "2 checks are not in it: hidden, or shown after the due date" in made.remarks
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        every = {name: archive.read(name) for name in archive.namelist()}
    assert not [name for name, content in every.items() if b"odd_sizes" in content]


PUBLISHED = """
title = "T"
[[lab]]
name = "01"
[[lab.check]]
name = "bank_conflicts"
title = "no bank conflicts"
kind = "count"
visibility = "hidden"
entry = "inclusive_scan"
element = "float"
points = 5
n = 1024
counter = "bank_conflict_replays"
at_most = "n * log2(n) - (n - 1)"
explain = "{explain}"
[[lab]]
name = "02"
"""


def test_what_the_kit_itself_publishes_is_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "course.toml"
    explain = " ".join(Lab(REPOSITORY / "labs/02_kogge_stone").rubric.check[6].explain.split())
    path.write_text(PUBLISHED.format(explain=explain))
    make_bundle.make(tmp_path / "x.zip", path, None)
    read = read_course(path)
    secrets = Secrets([read.course.lab(lab.name) for lab in read.course.labs], read)
    files = {"handouts/x.md": File(b"line\nthe check bank_conflicts"), "labs/01_sequential/lab.toml": File(b"")}
    assert "has the name of the check bank_conflicts" in leaks(files, secrets)[0].what  # more than the committed file
    mine = b'[[check]]\nname = "bank_conflicts"\n'
    assert [leak for leak in leaks({"labs/01_sequential/lab.toml": File(mine)}, secrets) if leak.line == 2]


def test_what_another_skeleton_gives_is_reported() -> None:
    labs = all_labs()
    given = [(one.of, one.by) for one in Secrets(labs[4:6], None).given]
    assert given == [("05_coarsening", "06_hierarchical")]
    assert Secrets(labs[:4], None).given == []


def test_places_that_cannot_be_written(tmp_path: Path, read: Read) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    (tmp_path / "d.zip").mkdir()
    for out, said in {
        tmp_path / "full": "is there already",
        tmp_path / "no/x.zip": "its folder does not exist",
        tmp_path / "d.zip": "it is a folder",
        REPOSITORY / "x": "lies in the kit itself",
    }.items():
        with pytest.raises(UsageError, match=said):
            make_bundle.make(out, read.path, None)
    with pytest.raises(
        UsageError, match="01_sequential is no lab of this course; it has 02_kogge_stone, 04_brent_kung"
    ):
        make_bundle.make(tmp_path / "x.zip", read.path, "01")


def test_a_lab_without_a_visible_check_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "course.toml"
    path.write_text('title = "T"\n[[lab]]\nname = "02"\nvisibility = "hidden"\n')
    with pytest.raises(UsageError, match="no check of 02_kogge_stone is visible, so a student could check nothing"):
        make_bundle.make(tmp_path / "x.zip", path, None)


def test_without_git_the_files_are_those_of_a_kit(tmp_path: Path) -> None:
    for name in ("grader/scanlab", "grader/a.cpp", "grader/notes.docx", "grader/__pycache__/a.py", "handouts/x.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "handouts/link.md").symlink_to("/etc/passwd")
    names, left_out = pack.kit_files(tmp_path)
    assert (names, left_out) == (["grader/a.cpp", "grader/scanlab", "handouts/x.md"], 1)


def test_letters_that_grow_when_they_are_made_small() -> None:
    pieces = Pieces()
    pieces.add_sentences("one two three four five six seven eight nine ten eleven twelve thirteen İstanbul", "here")
    text = "İİİ\n\nOne two three four five six seven eight nine ten eleven twelve thirteen İstanbul."
    assert [(hit.line, hit.origin) for hit in pieces.find(text)] == [(3, "here")]
