"""The problem matcher of `.vscode/tasks.json`, applied to what `check --editor` prints of files with real mistakes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY
from scanlab.labs import skeleton
from scanlab.labs.folders import find_lab
from scanlab.paths import build_folder

BUILT = build_folder() / "grader/autograder/judge"
SOLUTION = (REPOSITORY / "solutions/02_kogge_stone/scan.cu").read_text(encoding="utf-8")
BARRIER = "__syncthreads();"
TASKS = json.loads((REPOSITORY / ".vscode/tasks.json").read_text(encoding="utf-8"))["tasks"]

pytestmark = pytest.mark.skipif(not BUILT.exists(), reason=f"{BUILT} is not built")


@dataclass(frozen=True)
class Problem:
    file: str
    line: int
    severity: str
    message: str


def the_task() -> dict[str, Any]:
    (task,) = (task for task in TASKS if "--editor" in task["args"])
    return task


def matched(text: str, root: Path) -> list[Problem]:
    """Return what VS Code lists of a task's output, each file found from the workspace's folder."""
    matcher = the_task()["problemMatcher"]
    assert (matcher["owner"], matcher["fileLocation"]) == ("scanlab", ["relative", "${workspaceFolder}"])
    pattern = matcher["pattern"]
    problems = []
    for line in text.splitlines():
        if found := re.search(pattern["regexp"], line):
            file, number, severity, message = (found[pattern[key]] for key in ("file", "line", "severity", "message"))
            assert (root / file).is_file()
            assert 1 <= int(number) <= len((root / file).read_text(encoding="utf-8").splitlines())
            problems.append(Problem(file, int(number), severity, message))
    return problems


def scanlab(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    start = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", start, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


Checked = Callable[[str], list[Problem]]


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    """Check a text as lab 02, in a workspace of its own, as the task does."""

    def run(text: str) -> list[Problem]:
        file = tmp_path / "labs/02_kogge_stone/scan.cu"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        done = scanlab(tmp_path, "check", "02", "labs/02_kogge_stone/scan.cu", "--editor")
        assert done.returncode in (0, 1), done.stderr
        problems = matched(done.stdout, tmp_path)
        assert (done.returncode == 1) == any(one.severity == "error" for one in problems)
        assert {one.file for one in problems} <= {"labs/02_kogge_stone/scan.cu"}
        return problems

    return run


def line_of(text: str, what: str) -> int:
    (found,) = (number for number, line in enumerate(text.splitlines(), 1) if what in line)
    return found


def test_a_race_has_its_two_lines_and_its_fix(checked: Checked) -> None:
    head, _, tail = SOLUTION.rpartition(BARRIER)
    text = f"{head};{tail}"
    first, second, *_ = checked(text)
    assert (first.line, first.severity) == (line_of(text, "if (t >= stride)"), "error")
    store = line_of(text, "s_xy[t] = sum;")
    assert re.match(r"RACE \(write-after-read\): shared s_xy\[\d+\], .*: read by thread \d+; ", first.message)
    assert f"(fix: put __syncthreads(); before line {store}" in first.message
    assert (second.line, second.severity) == (store, "note")
    assert second.message.startswith("write by thread ")


def test_each_line_that_does_not_compile_is_an_error(checked: Checked) -> None:
    text = SOLUTION.replace("d_x[i - shift<kind>]", "d_x[j - shift<kind>]").replace("s_xy[t] = sum", "s_xz[t] = sum")
    first, second = checked(text)
    assert (first.line, first.severity) == (line_of(text, "d_x[j"), "error")
    assert first.message.startswith("`j` is not declared here")
    assert (second.line, second.severity) == (line_of(text, "s_xz[t]"), "error")
    assert second.message == 'identifier "s_xz" is undefined'


def test_a_wrong_result_is_at_the_addition_that_is_wrong(checked: Checked) -> None:
    text = SOLUTION.replace("d_y[i] = s_xy[t];", "d_y[i] = s_xy[t] + s_xy[t];")
    (one,) = checked(text)
    assert (one.line, one.severity) == (line_of(text, "s_xy[t] + s_xy[t]"), "error")
    assert "x0 counts more than once" in one.message


def test_a_count_that_misses_has_its_lines_and_advice_is_a_warning(checked: Checked) -> None:
    head, _, tail = SOLUTION.partition(BARRIER)
    text = f"{head}{BARRIER}\n    {BARRIER}{tail}"
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith(BARRIER)]
    first, second, third, *advice = checked(text)
    assert [(one.line, one.severity) for one in (first, second, third)] == list(
        zip(lines, ("error", "note", "note"), strict=True)
    )
    assert first.message.startswith("barriers = ")
    assert advice
    assert {(one.line, one.severity) for one in advice} <= {(line, "warning") for line in lines}


def test_nothing_is_listed_of_a_solution(checked: Checked) -> None:
    assert checked(SOLUTION) == []


def test_a_skeleton_has_its_error_where_one_begins_to_write(checked: Checked) -> None:
    text = skeleton.pristine(find_lab("02"))[0]
    first, *_ = checked(text)
    assert first.severity == "error"
    assert first.line == line_of(text, skeleton.OPEN)


def test_every_task_starts_a_command_of_the_kit() -> None:
    for task in TASKS:
        assert task["command"] == "${workspaceFolder}/grader/scanlab"
        done = scanlab(REPOSITORY, task["args"][0], "--help")
        assert done.returncode == 0
        assert all(word in done.stdout for word in task["args"][1:] if word.startswith("--"))
