"""The adapters' own scripts, run in a folder like the platform's, and what is made for an instructor to upload."""

import base64
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import made_results
from conftest import KOGGE_STONE, REPOSITORY, Scanlab, script_environment, strict_json
from scanlab.classroom.records import Class
from scanlab.classroom.store import Store, Unit
from scanlab.course import seeds
from scanlab.gradebooks import platforms
from scanlab.gradebooks.hand_in import HandIn, Settings
from scanlab.gradebooks.hand_in import grade as hand_in_grade
from test_formats import Classroom50, Gradescope, PrairieLearn

ADAPTERS = REPOSITORY / "grader/adapters"
GOOD, WRONG, FAULT, BROKEN = "// PASSES\n", "// FAILS\n", "// FAULTS\n", "int x = SYNTAX ERROR;\n"
"""What the stand-ins of the compiler and the judge answer to (tests/grader/conftest.py)."""


@dataclass
class Place:
    """One platform's folder, and how its script is run there."""

    platform: str
    root: Path
    home: Path
    build: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def submission(self) -> Path:
        return self.root / {"gradescope": "submission", "prairielearn": "student"}.get(self.platform, "")

    @property
    def result(self) -> Path:
        return {
            "gradescope": self.root / "results/results.json",
            "prairielearn": self.root / "results/results.json",
            "classroom50": self.root / "result.json",
        }.get(self.platform, self.root / "output")

    def hand_in(self, text: str, name: str = "scan.cu") -> None:
        path = self.submission / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self) -> subprocess.CompletedProcess[bytes]:
        command = {
            "gradescope": [str(ADAPTERS / "gradescope/run_autograder")],
            "autolab": ["make", "--no-print-directory"],
            "prairielearn": [str(ADAPTERS / "prairielearn/entrypoint.sh")],
            "classroom50": [sys.executable, str(self.root.parent / "bundle/autograder.py")],
            "github-classroom": [
                str(self.home / "grader/scanlab"),
                "inside",
                "github-classroom",
                "--lab",
                "02",
                "--no-sandbox",
            ],
        }[self.platform]
        more = {"SCANLAB_AUTOGRADER": str(self.root), "SCANLAB_GRADE": str(self.root)}
        if self.platform == "github-classroom":
            more["GITHUB_OUTPUT"] = str(self.root / "output")
        environment = script_environment(self.home, self.build, **more, **self.variables)
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, timeout=60, check=False)
        assert b"Traceback" not in done.stdout + done.stderr
        assert b"a warning that says nothing" in done.stderr + done.stdout or self.platform == "autolab"
        return done

    def score(self, done: subprocess.CompletedProcess[bytes]) -> float:
        """What the platform would take for the score, out of 100."""
        if self.platform == "autolab":
            return strict_json(done.stdout.decode().rstrip().splitlines()[-1])["scores"][KOGGE_STONE]
        if self.platform == "github-classroom":
            line = self.result.read_text().strip().splitlines()[-1]
            result = strict_json(base64.b64decode(line.removeprefix("result=")))
            return sum(test["score"] for test in result["tests"])
        result = strict_json(self.result.read_bytes())
        model = {"gradescope": Gradescope, "classroom50": Classroom50, "prairielearn": PrairieLearn}[self.platform]
        model.model_validate(result)
        if self.platform == "prairielearn" and not result["gradable"]:
            return 0
        return result["score"] * (100 if self.platform == "prairielearn" else 1)


PLATFORMS = ("gradescope", "autolab", "prairielearn", "classroom50", "github-classroom")
MOST = {"pass": 115}
"""The stand-in of the judge knows no checks that are not run: it may give all of a lab's 115 points."""


@pytest.fixture(params=PLATFORMS)
def place(request: pytest.FixtureRequest, tmp_path: Path, home: Path, fake_build: Path) -> Place:
    platform: str = request.param
    root = tmp_path / "root"
    root.mkdir()
    made = Place(platform, root, home, fake_build)
    # What stands in for nvcc and the judge is not made for the sandbox.
    settings = json.dumps({"platform": platform, "labs": [KOGGE_STONE], "is_sandboxed": False})
    if platform == "gradescope":
        (root / "source").mkdir()
        (root / "source/adapter.json").write_text(settings)
        (root / "submission").mkdir()
        metadata = {
            "id": 123456, "created_at": "2026-10-05T14:22:32.365935-07:00", "previous_submissions": [{"score": 0}],
            "users": [{"email": "s0001@example.org", "id": 1234, "name": "Student 0001"}],
            "assignment": {"title": "Scan", "total_points": "100.0"},
        }  # fmt: skip
        (root / "submission_metadata.json").write_text(json.dumps(metadata))
    elif platform == "autolab":
        (root / "Makefile").write_bytes((ADAPTERS / "autolab/autograde-Makefile").read_bytes())
        with tarfile.open(root / "autograde.tar", "w") as archive:
            archive.add(ADAPTERS / "autolab/driver.sh", "driver.sh")
            (tmp_path / "adapter.json").write_text(settings)
            archive.add(tmp_path / "adapter.json", "adapter.json")
    elif platform == "prairielearn":
        for folder in ("student", "tests", "data"):
            (root / folder).mkdir()
        (root / "tests/adapter.json").write_text(settings)
        (root / "data/data.json").write_text(json.dumps({"variant_seed": "12", "submitted_answers": {}}))
    elif platform == "classroom50":
        bundle = tmp_path / "bundle"
        bundle.mkdir()
        (bundle / "autograder.py").write_bytes((ADAPTERS / "classroom50/autograder.py").read_bytes())
        (bundle / "adapter.json").write_text(settings)
        made.variables = {
            "CLASSROOM": "scan", "ASSIGNMENT": "kogge-stone", "SUBMISSION_TAG": "submit/1", "OWNER": "login0001",
            "COMMIT_URL": "https://example.org/c", "RELEASE_URL": "https://example.org/r", "REVIEW_URL": "",
        }  # fmt: skip
    return made


def test_a_good_submission(place: Place) -> None:
    place.hand_in(GOOD)
    done = place.run()
    assert done.returncode == 0, done.stderr.decode()
    assert place.score(done) == pytest.approx(100 if place.platform == "prairielearn" else MOST["pass"])
    text = place.result.read_text() if place.result.exists() else ""
    if place.platform == "classroom50":
        result = strict_json(text)
        assert (result["classroom"], result["owner"], result["review"]) == (
            "scan",
            "login0001",
            "https://example.org/c",
        )
    if place.platform == "autolab":
        assert done.stderr == b""
        assert done.stdout.endswith(b"}\n")


def test_a_wrong_submission(place: Place) -> None:
    place.hand_in(BROKEN if place.platform in ("gradescope", "autolab") else WRONG)
    done = place.run()
    assert done.returncode == 0, done.stderr.decode()
    assert place.score(done) == 0
    if place.platform in ("gradescope", "autolab"):
        output = done.stdout.decode() if place.platform == "autolab" else place.result.read_text()
        assert "identifier" in output


def test_no_file(place: Place) -> None:
    done = place.run()
    assert done.returncode == 0, done.stderr.decode()
    assert place.score(done) == 0
    if place.platform == "prairielearn":
        result = strict_json(place.result.read_bytes())
        assert result == {"gradable": False, "format_errors": ["scan.cu: not in what was handed in"]}


def test_the_kits_own_fault_is_no_score(place: Place) -> None:
    place.hand_in(FAULT)
    has_file = place.platform not in ("autolab", "github-classroom")
    if has_file:
        place.result.parent.mkdir(exist_ok=True)
        place.result.write_text("earlier")
    done = place.run()
    assert done.returncode != 0
    assert (place.result.read_text() == "earlier") if has_file else not place.result.exists()
    last = (done.stdout.decode().rstrip().splitlines() or [""])[-1]
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(last)
    assert b"the kit's own fault" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{", "Invalid JSON"),
        (b"\xff", "not UTF-8"),
        (b'{"platform": "gradescope", "labs": 3}', "labs"),
        (b'{"platform": "gradescope", "labs": ["02"], "sede": 3}', "sede"),
        (b'{"platform": "autolab", "labs": ["02"]}', "is for autolab, not for gradescope"),
        (None, "No such file"),
        (b'{"platform": "gradescope", "labs": ["02"], "course": {"title": "T"}}', "course.secret_seed: Field required"),
    ],
)
def test_broken_settings_are_the_kits_own_fault(
    text: bytes | None, said: str, scanlab: Scanlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCANLAB_AUTOGRADER", str(tmp_path))
    path = tmp_path / "adapter.json"
    if text is not None:
        path.write_bytes(text)
    done = scanlab("inside", "gradescope", "--settings", path)
    assert done.returncode == 3
    assert said in done.stderr.decode()
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("metadata", [None, b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"users": [7], "id": null}'])
def test_metadata_decides_nothing(
    metadata: bytes | None, tmp_path: Path, scanlab: Scanlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "submission").mkdir()
    if metadata is not None:
        (tmp_path / "submission_metadata.json").write_bytes(metadata)
    monkeypatch.setenv("SCANLAB_AUTOGRADER", str(tmp_path))
    done = scanlab("inside", "gradescope", "--lab", "02")
    assert done.returncode == 0, done.stderr.decode()
    assert strict_json((tmp_path / "results/results.json").read_bytes())["score"] == 0


def test_who_handed_in_is_passed_on(tmp_path: Path, scanlab: Scanlab, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[HandIn] = []
    monkeypatch.setenv("SCANLAB_AUTOGRADER", str(tmp_path))
    monkeypatch.setattr(
        platforms, "grade", lambda settings, hand_in: seen.append(hand_in) or hand_in_grade(settings, hand_in)
    )
    (tmp_path / "submission").mkdir()
    metadata = {
        "id": 123456, "created_at": "2026-10-05T14:22:32.365935-07:00", "previous_submissions": [{"score": 0}],
        "users": [
            {"email": "s0001@example.org", "id": 1234, "sid": "0077", "name": "Student\x07 0001"},
            {"email": None, "id": 5, "sid": None, "name": None}, {"id": None, "email": "", "sid": [], "name": ""}, 7,
        ],
    }  # fmt: skip
    (tmp_path / "submission_metadata.json").write_text(json.dumps(metadata))
    assert scanlab("inside", "gradescope", "--lab", "02", "--no-sandbox").returncode == 0
    (one,) = seen
    first, second = one.students
    assert (first.id, first.name) == ("s0001@example.org", "Student� 0001")
    assert all(first.person().is_called(text) for text in ("1234", "0077", "S0001@EXAMPLE.org"))
    assert (second.id, second.name) == ("5", "5")
    assert (one.submitted_at, one.attempt) == ("2026-10-05T14:22:32.365935-07:00", 2)
    assert one.metadata == {"gradescope_submission": "123456"}


IN_GROUP = """
title = "T"
[late]
percent = 10
[[lab]]
name = "02"
due = 2027-03-14T23:59:00Z
[[student]]
id = "{id}"
[[student.extension]]
hours = 48
"""


@pytest.mark.parametrize(
    ("called", "left"),
    [("s0002@EXAMPLE.org", 1.0), ("0088", 1.0), ("5678", 1.0), ("S0001@example.org", 1.0), ("s0002", 0.9), ("9", 0.9)],
)
def test_of_a_group_the_result_is_that_of_whom_the_course_leaves_most(
    called: str, left: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scanlab.classroom import grading
    from scanlab.course.read import read_course

    (tmp_path / "course.toml").write_text(IN_GROUP.format(id=called))
    course = read_course(tmp_path / "course.toml").course
    (tmp_path / "scan.cu").write_text("// mine")
    most = course.lab("02_kogge_stone").max_points("vgpu")

    def graded(store: Store, _: Class, unit: Unit, **__: object) -> None:
        got = made_results.result(made_results.check(max_points=most), lab=unit.lab)
        store.write_graded(unit, got, {"seconds": 0, "cpu_seconds": 0})

    monkeypatch.setattr(grading, "grade_unit", graded)
    members = [
        {"email": "s0001@example.org", "id": 1234, "sid": "0077", "name": "Ann"},
        {"email": "s0002@example.org", "id": 5678, "sid": "0088", "name": "Bob"},
    ]
    students = [platforms.student_of(user) for user in members]
    settings = Settings(platform="gradescope", labs=("02_kogge_stone",), course=course, is_sandboxed=False)
    record, _ = hand_in_grade(settings, HandIn(tmp_path, students=students, submitted_at="2027-03-15T12:00:00Z"))
    assert record.points == pytest.approx(left * most)


def test_setup_prepares_the_kit(tmp_path: Path) -> None:
    program = tmp_path / "home/grader/scanlab"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@" > "$SCANLAB_AUTOGRADER/asked"\n')
    program.chmod(0o755)
    environment = {**os.environ, "SCANLAB_HOME": str(tmp_path / "home"), "SCANLAB_AUTOGRADER": str(tmp_path)}
    subprocess.run([str(ADAPTERS / "gradescope/setup.sh")], env=environment, timeout=30, check=True)
    assert (tmp_path / "asked").read_text() == "prepare\n"


# ---- which file is which lab -----------------------------------------------------------------------------------------

Take = Callable[..., tuple[dict[str, str], list[str]]]


@pytest.fixture
def take(tmp_path: Path) -> Take:
    """Which file is taken for each lab, and what is said of the others."""
    from scanlab.gradebooks.hand_in import take as take_files
    from scanlab.labs.folders import find_lab

    def run(*labs: str) -> tuple[dict[str, str], list[str]]:
        files, problems, _ = take_files(tmp_path, [find_lab(lab).name for lab in labs])
        return {file.lab: file.name for file in files}, [problem.reason for problem in problems]

    return run


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["scan.cu"], "scan.cu"),
        (["my.cu"], "my.cu"),
        (["a/b/scan.cu", "other.cu"], "a/b/scan.cu"),
        (["02.cu", "scan.cu"], "02.cu"),
        (["02_kogge_stone/scan.cu", "01_sequential/scan.cu"], "02_kogge_stone/scan.cu"),
        (["labs/02_kogge_stone/scan.cu", "labs/02_kogge_stone/old.cu"], "labs/02_kogge_stone/scan.cu"),
        (["deep/02_kogge_stone/scan.cu", "02_kogge_stone/scan.cu"], "02_kogge_stone/scan.cu"),
        (["__MACOSX/scan.cu", ".git/scan.cu", "._scan.cu", "scan.cu"], "scan.cu"),
        (["a.cu", "b.cu"], None),
        (["scan.cpp"], None),
    ],
)
def test_the_file_of_a_lab_is_found(names: list[str], taken: str | None, take: Take, tmp_path: Path) -> None:
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    files, reasons = take("02")
    assert files == ({KOGGE_STONE: taken} if taken else {})
    assert bool(reasons) == (taken is None)


def test_links_and_pipes_and_giants_are_not_taken(take: Take, tmp_path: Path) -> None:
    (tmp_path / "scan.cu").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.cu")
    with (tmp_path / "zeros.cu").open("wb") as file:
        file.truncate(1 << 30)
    (tmp_path / "folder.cu").mkdir()
    files, reasons = take("02")
    assert files == {}
    assert {reason.split(",")[0].split(" which")[0] for reason in reasons[:3]} == {
        "is no plain file", "is a link", "has 1.0 GiB; a lab's file has at most 1.0 MiB",
    }  # fmt: skip
    assert "not in what was handed in" in reasons[3]


def test_each_lab_has_its_file(take: Take, tmp_path: Path) -> None:
    for name in ("01.cu", "kogge_stone.cu"):
        (tmp_path / name).write_text("x")
    assert take("01", "02", "03")[0] == {"01_sequential": "01.cu", KOGGE_STONE: "kogge_stone.cu"}


# ---- what is uploaded ------------------------------------------------------------------------------------------------


def uploaded(path: Path) -> dict[str, bytes]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            return {name: archive.read(name) for name in archive.namelist()}
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_is_uploaded_has_no_answers(platform: str, scanlab: Scanlab, tmp_path: Path) -> None:
    done = scanlab("adapter", platform, "--lab", "02", "--out", "up")
    assert done.returncode == 0, done.stderr.decode()
    files = uploaded(tmp_path / "up")
    assert "README.md" in files
    kit = [name.split("scanlab/", 1)[1] for name in files if name.startswith(("scanlab/", "image/scanlab/"))]
    assert {"grader/scanlab", "meson.build", "labs/scanlab.cuh", "labs/02_kogge_stone/lab.toml"} <= set(kit)
    assert [name for name in kit if name.startswith("tests")] == ["tests/meson.build"]
    assert not [name for name in kit if name.startswith(("solutions", "handouts", ".")) or name.endswith("scan.cu")]
    assert [name for name in sorted(kit) if name.endswith(".cu")] == [
        "grader/runner/control.cu",
        "grader/vgpu/bench/kernels.cu",
    ]  # the kit's own
    options = next(content for name, content in files.items() if name.endswith("scanlab/meson.options"))
    assert b"option('native', type: 'boolean', value: false" in options
    texts = [content for name, content in files.items() if name.endswith((".cuh", ".cpp", ".hpp", ".h"))]
    assert not [text for text in texts if b'#include "scanlab.cuh"' in text and b"__global__" in text]


def test_gradescopes_zip_has_its_scripts_at_the_root(scanlab: Scanlab, tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        words = ["--lab", "02", "--lab", "3", "--seed", "11", "--title", "Scan", "--problem", "02=Two"]
        done = scanlab("adapter", "gradescope", *words, "--out", name)
        assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
        settings = strict_json(archive.read("adapter.json"))
    assert all(modes[name] == 0o755 for name in ("setup.sh", "run_autograder", "scanlab/grader/scanlab"))
    assert settings == {
        "platform": "gradescope", "labs": [KOGGE_STONE, "03_double_buffer"], "device": "vgpu", "seed": 11,
        "title": "Scan", "problems": {KOGGE_STONE: "Two"}, "course": None, "is_sandboxed": True,
    }  # fmt: skip


def test_the_other_uploads_have_their_parts(scanlab: Scanlab, tmp_path: Path) -> None:
    assert scanlab("adapter", "autolab", "--lab", "02", "--out", "autolab").returncode == 0
    with tarfile.open(tmp_path / "autolab/autograde.tar") as archive:
        assert archive.getnames() == ["driver.sh", "adapter.json"]
    assert (tmp_path / "autolab/autograde-Makefile").read_text().startswith("#")
    assert scanlab("adapter", "prairielearn", "--lab", "02", "--image", "org/scan:1", "--out", "pl").returncode == 0
    info: dict[str, Any] = strict_json((tmp_path / "pl/questions/02_kogge_stone/info.json").read_text())
    assert info["externalGradingOptions"]["image"] == "org/scan:1"
    assert info["externalGradingOptions"]["timeout"] <= 600
    entry = info["externalGradingOptions"]["entrypoint"].removeprefix("/opt/scanlab/")
    assert os.access(tmp_path / "pl/image/scanlab" / entry, os.X_OK)
    assert scanlab("adapter", "github-classroom", "--lab", "02", "--image", "org/scan:1", "--out", "gh").returncode == 0
    workflow = (tmp_path / "gh/.github/workflows/classroom.yml").read_text()
    seed = re.search(r"inside github-classroom --lab 02_kogge_stone --device vgpu --seed (\d+)\n", workflow)
    assert seed
    assert int(seed[1]) >= 1 << 48, "a random one"
    assert "@" not in workflow.replace("actions/checkout@", "").replace("grading-reporter@", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gradescope", "--out", "x"], "name the labs to grade"),
        (["gradescope", "--out", "x", "--lab", "97"], "no lab is called"),
        (["autolab", "--out", "x", "--lab", "02", "--lab", "03"], "one lab an assignment"),
        (["prairielearn", "--out", "x.zip", "--lab", "02"], "name a folder"),
        (["gradescope", "--out", ".", "--lab", "02"], "exists; name another"),
        (["github-classroom", "--out", "x", "--lab", "02", "--problem", "02=x"], "nothing else"),
        (["gradescope", "--out", "x", "--course", "none.toml"], "none.toml does not exist"),
    ],
)
def test_an_adapter_that_cannot_be_made(words: list[str], said: str, scanlab: Scanlab, tmp_path: Path) -> None:
    done = scanlab("adapter", *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


# ---- with a course ---------------------------------------------------------------------------------------------------

COURSE = """
title = "Scans"
secret_seed = "correct horse battery"
[late]
percent = 10
[[lab]]
name = "02"
title = "Scan it"
due = 2026-10-05T00:00:00-07:00
seconds = 33
[[lab.check]]
name = "barriers"
title = "a title that no student may read"
visibility = "hidden"
points = 30
[[lab.check]]
name = "sectors"
visibility = "after_due_date"
[[lab]]
name = "03"
weight = 2
[[student]]
id = "s0009@example.org"
excused = ["03"]
"""
POINTS = 115 - 10 + 30  # of a stand-in, which runs all checks; barriers had 10
CONCEALED = {"barriers": "hidden", "sectors": "after_due_date"}


def settings_in(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The settings that an upload brings along, wherever they lie."""
    places = [name for name in files if name.endswith("adapter.json")]
    if places:
        return strict_json(files[places[0]])
    with tarfile.open(fileobj=io.BytesIO(files["autograde.tar"])) as archive:
        member = archive.extractfile("adapter.json")
        assert member
        return strict_json(member.read())


def adapter_by(course: str, platform: str, tmp_path: Path, scanlab: Scanlab) -> dict[str, bytes]:
    (tmp_path / "course.toml").write_text(course)
    words = ["--course", "course.toml", "--lab", "02", "--no-sandbox", "--out", "up"]
    done = scanlab("adapter", platform, *words)
    assert done.returncode == 0, done.stderr.decode()
    assert f"give the assignment {POINTS - 15} points" in done.stdout.decode()  # there is no GPU
    return uploaded(tmp_path / "up")


def use_settings(place: Place, settings: Mapping[str, Any]) -> None:
    """Put other settings where the platform has them."""
    text = json.dumps(settings)
    if place.platform == "autolab":
        with tarfile.open(place.root / "autograde.tar", "w") as archive:
            archive.add(ADAPTERS / "autolab/driver.sh", "driver.sh")
            (place.root.parent / "adapter.json").write_text(text)
            archive.add(place.root.parent / "adapter.json", "adapter.json")
        return
    folder = {"gradescope": "source", "prairielearn": "tests", "classroom50": "../bundle"}[place.platform]
    (place.root / folder / "adapter.json").write_text(text)


def test_a_platform_shows_what_the_course_says(place: Place, tmp_path: Path, scanlab: Scanlab) -> None:
    if place.platform == "github-classroom":
        (tmp_path / "course.toml").write_text(COURSE)
        words = ["--course", "course.toml", "--lab", "02", "--out", "up"]
        done = scanlab("adapter", "github-classroom", *words)
        assert (done.returncode, b"nothing else" in done.stderr, (tmp_path / "up").exists()) == (2, True, False)
        return
    use_settings(place, settings_in(adapter_by(COURSE, place.platform, tmp_path, scanlab)))
    place.hand_in(GOOD)
    good = place.run()
    assert good.returncode == 0, good.stderr.decode()
    late = 0.1 * POINTS if place.platform == "gradescope" else 0  # the others say neither who nor when
    assert place.score(good) == pytest.approx(100 if place.platform == "prairielearn" else POINTS - late)
    place.hand_in(WRONG)
    wrong = place.run()
    assert place.score(wrong) == 0
    output = wrong.stdout.decode() if place.platform == "autolab" else place.result.read_text()
    assert "inclusive scan of each section" in output
    if place.platform == "gradescope":
        tests = strict_json(output)["tests"]
        assert {test["tags"][1]: test["visibility"] for test in tests if test["visibility"] != "visible"} == CONCEALED
        assert [test["max_score"] for test in tests if test["tags"][1] == "barriers"] == [30]
        assert "Scan it" in strict_json(output)["output"]
    else:
        assert "a title that no student may read" not in output
        assert "coalesced" not in output  # in the title of sectors
    if place.platform == "classroom50":
        tests = [test for test in strict_json(output)["tests"] if "not shown" in test["test-name"]]
        assert [test["max-score"] for test in tests] == [30 + 10], "one line for barriers and sectors: not how many"


@pytest.mark.parametrize("platform", ["gradescope", "autolab", "prairielearn", "classroom50"])
def test_a_course_goes_along_as_far_as_it_is_needed(platform: str, tmp_path: Path, scanlab: Scanlab) -> None:
    files = adapter_by(COURSE, platform, tmp_path, scanlab)
    settings = settings_in(files)
    (lab,) = settings["course"]["labs"]
    assert (lab["name"], lab["rubric"]["limits"]["seconds"]) == (KOGGE_STONE, 33)
    assert settings["seed"] == seeds.class_seed("correct horse battery")
    assert not [name for name, content in files.items() if b"correct horse battery" in content]
    knows = platform == "gradescope"
    assert (lab["due"] is not None, lab["late"] is not None) == (knows, knows)
    assert bool(settings["course"]["students"]) is knows
    if platform == "prairielearn":
        assert strict_json(files[f"questions/{KOGGE_STONE}/info.json"])["title"] == "Scan it"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lab", "04"], "--lab 04_brent_kung: the course has 02_kogge_stone, 03_double_buffer"),
        ([], "different weights (02_kogge_stone 1, 03_double_buffer 2)"),
        (["--lab", "02", "--seed", "-1"], "--seed"),
    ],
)
def test_a_course_that_an_adapter_cannot_follow(words: list[str], said: str, scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(COURSE)
    done = scanlab("adapter", "gradescope", "--course", "course.toml", "--out", "up", *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["course.toml"]


def test_without_lab_all_of_the_courses_are_graded(scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(COURSE.replace("weight = 2", ""))
    done = scanlab("adapter", "gradescope", "--course", "course.toml", "--seed", "12", "--out", "up")
    assert done.returncode == 0, done.stderr.decode()
    settings = settings_in(uploaded(tmp_path / "up"))
    assert (settings["labs"], settings["seed"]) == ([KOGGE_STONE, "03_double_buffer"], 12)
