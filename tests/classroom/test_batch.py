"""Grading a class over stand-ins for nvcc and the judge: what one submission does costs no other student."""

import itertools
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import made_results
from conftest import command_line, environment
from killing import MARK, finished, with_mark
from scanlab.classroom.records import Class
from scanlab.classroom.store import Store, Unit
from scanlab.judging.gpu_lock import alone_on

Scanlab = Callable[..., subprocess.CompletedProcess[str]]
LAB = "01_sequential"


@pytest.fixture
def pile(tmp_path: Path) -> Path:
    for key, text in {"s0001": "PASSES", "s0002": "FAILS", "s0003": "SYNTAX ERROR", "s0004": "PASSES"}.items():
        put(tmp_path / "pile", key, text)
    return tmp_path / "pile"


def put(pile: Path, key: str, text: str) -> None:
    (pile / key).mkdir(parents=True, exist_ok=True)
    (pile / key / "scan_01.cu").write_text(f"// {text}\n")


@pytest.fixture(scope="module")
def graded(fake_build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a class that is graded, and with what a class cannot be graded into."""
    folder = tmp_path_factory.mktemp("graded")
    put(folder / "pile", "s0001", "PASSES")
    (folder / "empty").mkdir()
    (folder / "full").mkdir()
    (folder / "full/letter.txt").write_text("mine")
    (folder / "roster.csv").write_text("id,name\ns0001,Student 0001\n")
    command = command_line("grade", "pile", "--out", "out")
    subprocess.run(command, cwd=folder, env=environment(fake_build), check=True, capture_output=True, timeout=60)
    return folder


def verdicts(out: Path) -> dict[str, str]:
    return {path.stem: json.loads(path.read_text())["verdict"] for path in (out / "results").glob("*.json")}


@pytest.fixture
def begun(fake_build: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a run that goes on beside the test, with a mark by which its processes are found."""
    started = []
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def begin(mark: str, *words: str | Path) -> subprocess.Popen[str]:
        changes = {MARK: mark, "SCANLAB_TEST_PID": str(tmp_path / "pid"), "TMPDIR": str(temporary)}
        started.append(
            subprocess.Popen(
                command_line(*words),
                env=environment(fake_build, **changes),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for(what: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_a_class_is_graded_and_the_grades_are_no_exit_code(scanlab: Scanlab, pile: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = scanlab("grade", pile, "--out", out)
    assert done.returncode == 0, done.stderr
    assert verdicts(out) == {"s0001": "pass", "s0002": "fail", "s0003": "fail", "s0004": "pass"}
    assert "graded 4 submissions: 2 pass, 2 fail" in done.stdout
    assert len(finished(out)) == 3, "the same file twice is graded once"
    assert "\x1b" not in done.stdout + done.stderr
    assert "does not compile" in (out / "results/s0003.json").read_text()
    assert not [path for path in out.rglob("*") if path.name.endswith(".new")]


def test_a_number_beside_another_name_is_one_line_of_the_run(scanlab: Scanlab, tmp_path: Path) -> None:
    pile, roster, groups = tmp_path / "pile", tmp_path / "roster.csv", tmp_path / "groups.csv"
    pile.mkdir()
    for name in ("projectgroup1_11_900", "projectgroup2_12_901", "threecal_13_902"):
        (pile / f"{name}_scan_01.cu").write_text("// PASSES\n")
    roster.write_text(
        'Student,ID,SIS Login ID,Section\n"One, Ann",11,ann,A\n"Two, Bob",12,bob,A\n"Three, Cal",13,cal,A\n'
    )
    groups.write_text("group_name,canvas_user_id\nProject Group 1,11\nProject Group 2,12\n")
    done = scanlab("grade", pile, "--out", tmp_path / "out", "--roster", roster)
    line = "  2 have another name than the roster, and the number counts: 11 (projectgroup1), 12 (projectgroup2)"
    assert f"{line}; a group's submission? --groups CSV\n" in done.stdout
    assert "graded 3 submissions: 3 pass" in done.stdout
    done = scanlab("grade", pile, "--out", tmp_path / "with groups", "--roster", roster, "--groups", groups)
    assert done.returncode == 0, done.stderr
    assert "another name" not in done.stdout


def test_the_kits_fault_costs_its_own_unit_alone_and_is_tried_again(
    scanlab: Scanlab, pile: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    put(pile, "s0005", "CRASHES")
    put(pile, "s0006", "FAULTS")
    first = scanlab("grade", pile, "--out", out, "--jobs", "3")
    assert first.returncode == 3
    before = finished(out)
    assert verdicts(out) == {
        "s0001": "pass", "s0002": "fail", "s0003": "fail", "s0004": "pass", "s0005": "error", "s0006": "error"
    }  # fmt: skip
    assert "the judge was killed by signal 6" in first.stdout
    assert "the kit failed to grade 2 files; --resume tries again" in first.stdout
    again = scanlab("grade", pile, "--out", out, "--resume")
    assert again.returncode == 3
    changed = {name for name, stamp in finished(out).items() if before[name] != stamp}
    assert len(changed) == 2
    assert all(json.loads((out / name).read_text())["verdict"] == "error" for name in changed)


def test_a_fault_never_replaces_a_grade(tmp_path: Path) -> None:
    store, unit = Store(tmp_path), Unit(LAB, "0" * 64)
    graded = made_results.result(made_results.check(max_points=100), lab=LAB)
    fault = graded.model_copy(update={"verdict": "error"})
    store.write_graded(unit, fault, {})
    store.write_graded(unit, graded, {})
    store.write_graded(unit, fault, {})
    assert store.read_graded(unit) == graded


def test_a_worker_that_is_killed_costs_its_own_unit(pile: Path, tmp_path: Path, begun: Callable) -> None:
    out, mark = tmp_path / "out", uuid.uuid4().hex
    put(pile, "s0005", "HANGS")
    process = begun(mark, "grade", pile, "--out", out, "--jobs", "1")
    wait_for(lambda: (tmp_path / "pid").exists())
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1
    os.kill(int(children[0]), signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert verdicts(out)["s0005"] == "error"
    assert "s0005: the process that graded it was killed by signal 9" in output
    assert [verdict for key, verdict in sorted(verdicts(out).items())][:4] == ["pass", "fail", "fail", "pass"]
    wait_for(lambda: not with_mark(mark))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_nothing_and_goes_on(
    scanlab: Scanlab, pile: Path, tmp_path: Path, begun: Callable, number: signal.Signals
) -> None:
    out, mark = tmp_path / "out", uuid.uuid4().hex
    put(pile, "s0005", "HANGS")
    process = begun(mark, "grade", pile, "--out", out, "--jobs", "2")
    wait_for(lambda: (tmp_path / "pid").exists() and len(finished(out)) == 3)
    before = finished(out)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    wait_for(lambda: not with_mark(mark))
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number, errors
        assert "3 of 4 files are graded and kept; to go on, type:\n  grader/scanlab grade" in errors
        assert errors.endswith("--resume\nscanlab: stopped\n")
    assert finished(out) == before
    # The text that hangs is the same on --resume: what it is judged by is the stand-in's business.
    # What a killed run has left for the moment is removed by the next.
    words = ("grade", pile, "--out", out, "--resume", "--only", "s0001")
    assert scanlab(*words, TMPDIR=str(tmp_path / "tmp")).returncode == 0
    assert len(finished(out)) == 3
    assert not [*(tmp_path / "tmp").glob("scanlab-*/*")]


def test_two_runs_do_not_write_in_one_folder(scanlab: Scanlab, pile: Path, tmp_path: Path, begun: Callable) -> None:
    out, mark = tmp_path / "out", uuid.uuid4().hex
    put(pile, "s0005", "HANGS")
    process = begun(mark, "grade", pile, "--out", out)
    wait_for(lambda: (tmp_path / "pid").exists())
    second = scanlab("grade", pile, "--out", out, "--resume")
    assert second.returncode == 2
    assert "another run grades into" in second.stderr
    process.terminate()
    process.communicate(timeout=30)


def test_only_grades_those_again(scanlab: Scanlab, pile: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    scanlab("grade", pile, "--out", out)
    before = finished(out)
    done = scanlab("grade", pile, "--out", out, "--only", "s0002")
    assert done.returncode == 0, done.stderr
    changed = [name for name, stamp in finished(out).items() if before[name] != stamp]
    assert len(changed) == 1
    assert json.loads((out / changed[0]).read_text())["verdict"] == "fail"


def test_a_damaged_result_is_graded_again(scanlab: Scanlab, pile: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    scanlab("grade", pile, "--out", out)
    name = next(iter(finished(out)))
    whole = (out / name).read_bytes()
    (out / name).write_bytes(whole[:50])
    (out / "results/s0001.json").unlink()
    (out / "results/.s0001.json.abc.new").write_text("half")
    assert scanlab("grade", pile, "--out", out, "--resume").returncode == 0
    assert (out / name).read_bytes() == whole
    assert sorted(path.name for path in (out / "results").iterdir()) == [f"s000{n}.json" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["nowhere", "--out", "new"], 2, "nowhere does not exist"),
        (["empty", "--out", "new"], 1, "holds no submissions"),
        (["pile", "--out", "out"], 2, "go on with --resume"),
        (["pile", "--out", "out", "--resume", "--seed", "8"], 2, "the seed is another"),
        (["pile", "--out", "out", "--only", "s0001", "--lab", "02"], 2, "this class has no 02_kogge_stone"),
        (["pile", "--out", "out", "--only", "s0001", "--roster", "roster.csv"], 2, "take it in with --resume"),
        (["pile", "--out", "out", "--only", "s001"], 2, "no submission has that key; did you mean s0001?"),
        (["pile", "--out", "full"], 2, "is not empty and holds no results"),
        (["pile", "--out", "roster.csv"], 2, "is a file"),
        (["pile", "--out", "pile/out"], 2, "lies in the submissions"),
        (["pile", "--out", "new", "--lab", "77"], 2, "no lab is called '77'"),
        (["pile", "--out", "new", "--roster", "nowhere.csv"], 2, "nowhere.csv: cannot read it"),
        (["pile", "--out", "new", "--course", "roster.csv"], 2, "roster.csv:1: not TOML"),
        (["pile", "--out", "new", "--jobs", "0"], 2, "--jobs"),
        (["pile", "--out", "new", "--json", "x.json"], 2, "--json is for one person"),
        (["pile", "--out", "/proc/new"], 3, "cannot write"),
        (["pile", "--resume"], 2, "--resume is for a class: say with --out DIR"),
        (["pile"], 2, "for a class's submissions add --out DIR"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_message(scanlab: Scanlab, graded: Path, words: list[str], code: int, text: str) -> None:
    before = {path: path.read_bytes() for path in graded.rglob("*") if path.is_file()}
    done = scanlab("grade", *words, cwd=graded)
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert all(path.read_bytes() == data for path, data in before.items())
    shutil.rmtree(graded / "new", ignore_errors=True)


COURSE = """
title = "Scans of the spring"
seed = 11
[[lab]]
name = "01_sequential"
"""


def test_a_course_says_labs_title_and_seed(scanlab: Scanlab, pile: Path, tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(COURSE)
    (pile / "s0001/scan_02.cu").write_text("// PASSES\n")
    out = tmp_path / "out"
    words = ("grade", pile, "--out", out, "--course", tmp_path / "course.toml")
    done = scanlab(*words)
    assert done.returncode == 0, done.stderr
    taken_in = Store(out).read_class()
    assert (taken_in.title, taken_in.seed, taken_in.labs) == ("Scans of the spring", 11, (LAB,))
    assert "1 file of other labs: not graded" in done.stdout
    assert scanlab(*words, "--resume").returncode == 0
    (tmp_path / "course.toml").write_text(COURSE.replace("spring", "autumn"))
    changed = scanlab(*words, "--resume")
    assert changed.returncode == 2
    assert "the course file" in changed.stderr


def test_a_class_file_of_another_version_is_reported(scanlab: Scanlab, pile: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    scanlab("grade", pile, "--out", out)
    old = json.loads((out / "class.json").read_text())
    (out / "class.json").write_text(json.dumps({**old, "version": 99}))
    done = scanlab("grade", pile, "--out", out, "--resume")
    assert done.returncode == 2
    assert "class.json is damaged or of another version" in done.stderr
    assert Class.model_validate(old).labs == (LAB,)


def _measure(folder: str, queue: multiprocessing.Queue) -> None:
    os.environ["SCANLAB_LOCKS"] = folder
    with alone_on("gpu"):
        began = time.monotonic()
        time.sleep(0.2)
        queue.put((began, time.monotonic()))


def test_one_process_at_a_time_measures_on_a_gpu(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    processes = [context.Process(target=_measure, args=(str(tmp_path), queue)) for _ in range(3)]
    for process in processes:
        process.start()
    times = sorted(queue.get(timeout=20) for _ in processes)
    for process in processes:
        process.join(10)
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(times))
