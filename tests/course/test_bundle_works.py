"""A student unpacks the bundle and checks their work, with real kernels: the same verdicts as in the whole kit."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from conftest import REPOSITORY
from scanlab.course.bundle import make_bundle
from scanlab.errors import KitError
from scanlab.judging.toolchain import toolchain
from scanlab.paths import build_folder

BUILT = build_folder() / "grader/autograder/judge"
PREPARE = """
import json, os, sys
from pathlib import Path
from scanlab.bootstrap import build, steps
from scanlab.bootstrap.environment import write_json
tools = steps._find_toolchain()
write_json(steps.toolchain_file(), tools)
write_json(build._stamp(), build._wanted(str(tools["nvcc"])))
"""
"""Says of a build that is there already that it is this copy's: it was made from the same sources."""

pytestmark = pytest.mark.skipif(not BUILT.exists(), reason=f"{BUILT} is not built")

COURSE = """
title = "Scans for all"
secret_seed = "correct horse battery staple"
[[lab]]
name = "02"
[[lab.check]]
name = "additions"
visibility = "hidden"
[[lab.check]]
name = "sectors"
points = 4
"""


class Bundle:
    """An unpacked bundle, and how to run its command line."""

    def __init__(self, root: Path, build: Path, nvcc: Path) -> None:
        self.root = root
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "SCANLAB_BUILD": str(build),
            "SCANLAB_PYTHON": sys.executable,
            "CUDACXX": str(nvcc),  # which may be in the kit's own .venv
            "NO_COLOR": "1",
        }

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / "grader/scanlab", *words],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("student")
    (folder / "course.toml").write_text(COURSE)
    make_bundle.make(folder / "b.zip", folder / "course.toml", None)
    with zipfile.ZipFile(folder / "b.zip") as archive:
        archive.extractall(folder)
    (folder / "scanlab/grader/scanlab").chmod(0o755)  # which unzip keeps, and Python's zipfile does not
    build = folder / "build"
    build.mkdir()
    (build / "grader").symlink_to(build_folder().resolve() / "grader")
    try:
        made = Bundle(folder / "scanlab", build, toolchain().nvcc)
    except KitError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [sys.executable, "-c", PREPARE],
        env={**made.environment, "PYTHONPATH": str(made.root / "grader/python"), "SCANLAB_NO_SETUP": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return made


def test_a_skeleton_fails_and_the_answer_passes(bundle: Bundle, tmp_path: Path) -> None:
    failed = bundle.run("check", "02", "--json", tmp_path / "failed.json")
    assert (failed.returncode, failed.stderr) == (1, "")
    assert "FAIL 02_kogge_stone" in failed.stdout
    shutil.copy(REPOSITORY / "solutions/02_kogge_stone/scan.cu", bundle.root / "labs/02_kogge_stone/scan.cu")
    passed = bundle.run("check", "02", "--json", tmp_path / "passed.json")
    assert (passed.returncode, passed.stderr) == (0, "")
    result = json.loads((tmp_path / "passed.json").read_text())
    assert (result["points"], result["max_points"]) == (100 - 5 - 10 + 4, 89)  # without additions, less for sectors
    assert "additions" not in [check["name"] for check in result["checks"]]
    reset = bundle.run("reset", "02")
    assert reset.returncode == 0, reset.stderr
    assert "labs/02_kogge_stone/scan.cu is the skeleton again, from grader/skeletons/02_kogge_stone.cu" in reset.stdout
    assert bundle.run("check", "02").returncode == 1


def test_it_says_what_a_students_copy_cannot_do(bundle: Bundle) -> None:
    for words in (["verify"], ["test"], ["grade", "solutions"], ["pack", "--out", "x.zip"], ["course", "check"]):
        done = bundle.run(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("scanlab: this is a student's copy of the kit, without ")
        assert done.stderr.count("\n") == 1


def test_hints_and_the_list_of_labs(bundle: Bundle) -> None:
    listed = bundle.run("list").stdout
    assert listed.startswith("02_kogge_stone  ")
    assert "Kogge-Stone scan" in listed.splitlines()[0]
    assert bundle.run("hint", "02", "--level", "3").returncode == 0


def test_an_editor_finds_each_file_that_is_named(bundle: Bundle) -> None:
    bundle.run("check", "02")
    entries = json.loads((bundle.root / ".scanlab/compile_commands.json").read_text())
    assert [entry["file"] for entry in entries] == ["labs/02_kogge_stone/scan.cu"]
    for entry in entries:
        assert entry["directory"] == str(bundle.root)
        words = entry["arguments"]
        folders = [words[words.index(option) + 1] for option in ("-idirafter", "-I")]
        assert all((bundle.root / name).exists() for name in (entry["file"], *folders))
    assert "CompilationDatabase: .scanlab" in (bundle.root / ".clangd").read_text()
    for name in ("tasks", "settings", "extensions"):
        assert json.loads((bundle.root / f".vscode/{name}.json").read_text())
    assert "grader/scanlab prepare" in (bundle.root / ".devcontainer/devcontainer.json").read_text()
