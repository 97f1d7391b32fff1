"""The commands as a learner types them, over stand-ins for nvcc and the judge."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import REPOSITORY, Scanlab, command_line, environment


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    """A folder shaped like solutions/, every file of which passes."""
    for lab in (REPOSITORY / "labs").glob("[0-9][0-9]_*"):
        (tmp_path / lab.name).mkdir()
        (tmp_path / lab.name / "scan.cu").write_text("// PASSES\n")
    return tmp_path


def test_list_shows_the_labs_in_order(scanlab: Scanlab) -> None:
    done = scanlab("list")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert names == sorted(names)
    assert "02_kogge_stone" in names


def test_a_pass_exits_0(scanlab: Scanlab, handed_in: Path) -> None:
    done = scanlab("check", "02", handed_in / "02_kogge_stone/scan.cu")
    assert done.returncode == 0
    assert "PASS 02_kogge_stone" in done.stdout
    assert done.stderr == ""


def test_a_narrow_check_says_that_its_points_are(scanlab: Scanlab, handed_in: Path) -> None:
    file = handed_in / "02_kogge_stone/scan.cu"
    said = scanlab("check", "02", file, "--n", "3", "--schedule", "random").stdout
    last = said.splitlines()[-1]
    assert last.startswith("the results are of n = 3 and schedule random only, and so are the points; all: ")
    assert last.endswith(f"grader/scanlab check 02 {file}")
    assert "only" not in scanlab("check", "02", file).stdout
    one = scanlab("check", "02", file, "--n", "3", "--trail", "inclusive:1:0.0")
    assert (one.returncode, one.stderr) == (0, "")
    assert one.stdout.splitlines()[-1].endswith(f"all: grader/scanlab check 02 {file}")


def test_a_fail_exits_1_and_says_what_to_type(scanlab: Scanlab, tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    file.write_text("// FAILS\n")
    result_file = tmp_path / "result.json"
    done = scanlab("check", "kogge_stone", "mine.cu", "--json", "result.json", "--seed", "9", cwd=tmp_path)
    assert done.returncode == 1
    assert "FAIL 02_kogge_stone: inclusive scan of floats, n = 1025, seed 9\n" in done.stdout
    assert "  y[1024] = 0, expected 523776\n  mine.cu:31, kernel k, block 1, thread 0\n" in done.stdout
    assert "  again: grader/scanlab check 02 mine.cu --n 1025 --seed 7\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert json.loads(result_file.read_text())["verdict"] == "fail"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["check", "kogge_stnoe"], 2, "no lab is called 'kogge_stnoe'; did you mean 02_kogge_stone?"),
        (["check", "99"], 2, "no lab is called '99'"),
        (["check", ""], 2, "no lab is called ''"),
        (["check", "02", "nowhere.cu"], 2, "nowhere.cu does not exist"),
        (["check", "02", "folder"], 2, "folder is a folder"),
        (["check", "02", "empty.cu"], 1, "empty.cu is empty"),
        (["check", "02", "latin.cu"], 1, "latin.cu:2: not UTF-8 text (byte 0xe4)"),
        (["check", "02", "--n", "-1"], 2, ""),
        (["check", "02", "--device", "tpu"], 2, "tpu"),
        (["check", "02", "passes.cu", "--json", "no/such/folder.json"], 2, "cannot write no/such/folder.json"),
        (["check", "02", "faults.cu"], 3, "the judge ended with exit code 3"),
        (["check", "02", "crashes.cu"], 3, "the judge was killed by signal 6"),
        (["grade", "nowhere"], 2, "nowhere does not exist"),
        (["grade", "passes.cu"], 2, "passes.cu is a file"),
        (["grade", "folder"], 2, "folder has no lab's folder"),
        (["hint", "02", "--level", "99"], 2, "there is no --level 99"),
        (["run", "nowhere.cu"], 2, "nowhere.cu does not exist"),
        (["run", "folder"], 2, "folder is a folder"),
        (["run"], 2, ""),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_bad_input_is_one_clear_message(
    scanlab: Scanlab, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.cu").write_text("\n \n")
    (tmp_path / "latin.cu").write_bytes(b"// one\n// \xe4\n")
    for asked in ("passes", "faults", "crashes"):
        (tmp_path / f"{asked}.cu").write_text(f"// {asked.upper()}\n")
    done = scanlab(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr


def test_an_unreadable_file_is_named(scanlab: Scanlab, tmp_path: Path) -> None:
    file = tmp_path / "secret.cu"
    file.write_text("// PASSES\n")
    file.chmod(0)
    if os.access(file, os.R_OK):  # by root, who cannot be refused: reading a program's own memory at 0 fails for all
        file.unlink()
        file.symlink_to("/proc/self/mem")
    done = scanlab("check", "02", file)
    assert done.returncode == 1
    assert "cannot read it" in done.stderr


def test_a_compile_error_is_nvccs_own_at_the_learners_line(scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text("// one\n\nSYNTAX ERROR\n")
    done = scanlab("check", "02", "mine.cu", cwd=tmp_path)
    assert done.returncode == 1
    assert "FAIL 02_kogge_stone: mine.cu does not compile\n" in done.stdout
    assert 'mine.cu(3): error: identifier "oops" is undefined' in done.stdout


def test_grade_ends_with_a_table(scanlab: Scanlab, handed_in: Path, tmp_path: Path) -> None:
    result_file = tmp_path / "grade.json"
    done = scanlab("grade", handed_in, "--json", result_file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[:2] == ["together", "pass"]
    grade = json.loads(result_file.read_text())
    assert (grade["schema"], grade["version"], grade["verdict"]) == ("scanlab-grade", 1, "pass")
    assert grade["points"] == grade["max_points"] > 0


def test_grade_fails_what_is_missing_or_broken_and_grades_the_rest(scanlab: Scanlab, handed_in: Path) -> None:
    (handed_in / "01_sequential/scan.cu").unlink()
    (handed_in / "02_kogge_stone/scan.cu").write_text("SYNTAX ERROR")
    (handed_in / "77_unheard_of").mkdir()
    done = scanlab("grade", handed_in)
    assert done.returncode == 1
    assert "01_sequential/scan.cu does not exist" in done.stdout
    assert "02_kogge_stone/scan.cu does not compile" in done.stdout
    rows = {words[0]: words[1] for words in map(str.split, done.stdout.splitlines()) if len(words) > 1}
    assert rows["01_sequential"] == rows["02_kogge_stone"] == rows["together"] == "fail"
    assert rows["03_double_buffer"] == "pass"
    assert "77_unheard_of is no lab of this kit" in done.stderr


def test_grade_of_one_labs_own_folder_says_what_to_type(scanlab: Scanlab, handed_in: Path) -> None:
    done = scanlab("grade", "02_kogge_stone", cwd=handed_in)
    assert done.returncode == 2
    assert "grader/scanlab check 02 02_kogge_stone/scan.cu" in done.stderr


def test_run_passes_arguments_and_the_exit_code_on(scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "program.cu").write_text("// any\n")
    done = scanlab("run", "program.cu", "--schedule", "random", "--seed", "3", "--", "--help", "-x", cwd=tmp_path)
    assert done.returncode == 7  # the stand-in for a program
    assert done.stdout == "--name program --schedule random --seed 3 --profile small\n--help -x\n"


def test_run_links_the_device_code_of_relocatable_files(scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "program.cu").write_text("// any\n")
    done = scanlab("run", "program.cu", "--nvcc-flag=-rdc=true", cwd=tmp_path)
    assert done.returncode == 7, done.stderr  # the stand-in for a program: it links


def test_run_shows_the_cause_and_nvccs_own_message(scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "program.cu").write_text("SYNTAX ERROR\n")
    done = scanlab("run", "program.cu", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "program.cu does not compile",
        "  program.cu:1",
        "  1 | SYNTAX ERROR",
        "  `oops` is not declared here: declare it first, in this block or one around it, or correct its name",
        '  program.cu(1): error: identifier "oops" is undefined',
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_running(fake_build: Path, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "hangs.cu").write_text("// HANGS\n")
    pid_file = tmp_path / "pid"
    process = subprocess.Popen(
        command_line("check", "02", "hangs.cu"),
        cwd=tmp_path,
        env=environment(fake_build, SCANLAB_TEST_PID=str(pid_file)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 20
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child = int(pid_file.read_text())
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert said == "scanlab: stopped\n"
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1][:3]:
            return
        time.sleep(0.02)
    pytest.fail(f"process {child} still runs")


def test_a_signal_ends_the_command_whatever_its_threads_do() -> None:
    code = """
import signal, sys, time
from concurrent.futures import ThreadPoolExecutor
from scanlab import process
process.PATIENCE = 0.5
process.stop_on_signals()
with ThreadPoolExecutor(1) as pool:
    waits = pool.submit(time.sleep, 100)
    print("ready", flush=True)
    waits.result()
"""
    began = time.monotonic()
    running = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python")},
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 128 + signal.SIGTERM
    assert time.monotonic() - began < 20
