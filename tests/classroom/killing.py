"""Grade a class quietly, then kill another run of it again and again, go on each time, and compare what both wrote."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from made_up import REPOSITORY, MadeUp

MARK = "CLASS_TEST_MARK"
NOT_COMPARED = {"usage"}


@dataclass
class Run:
    """How one command ended."""

    code: int
    out: str
    err: str
    seconds: float


def command(made: MadeUp, out: Path, *more: str) -> list[str]:
    start = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["grade", str(made.pile), "--out", str(out), "--roster", str(made.roster), "--seed", "7", *more]
    return [sys.executable, "-c", start, *words]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python"), "NO_COLOR": "1", **changes}


def run(made: MadeUp, out: Path, *more: str, timeout: float = 24 * 3600) -> Run:
    began = time.monotonic()
    done = subprocess.run(
        command(made, out, *more), env=environment(), capture_output=True, text=True, timeout=timeout, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def with_mark(mark: str) -> list[str]:
    """Return the processes that have inherited a mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120])
        except OSError:
            continue
    return found


def kill_when(made: MadeUp, out: Path, files: int, seconds: float, whole_group: bool, *more: str) -> bool:
    """Begin or go on, and kill that run by SIGKILL `seconds` after so many files are graded.

    Return whether it had not ended by then. Raises AssertionError when something of it still runs 15 s later.
    """
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        command(made, out, *more),
        env=environment(**{MARK: mark}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not out.exists() or len(finished(out)) < files:
        time.sleep(0.02)
        if process.poll() is not None:
            return False
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        if whole_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
    deadline = time.monotonic() + 15
    while left := with_mark(mark):
        assert time.monotonic() < deadline, f"still running after SIGKILL: {left}"
        time.sleep(0.1)
    return True


def finished(out: Path) -> dict[str, tuple[int, int]]:
    """Return the units that are graded: each file's inode and time, which change when it is written again."""
    return {
        str(path.relative_to(out)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (out / "graded").glob("*/[0-9a-f]*.json")
    }


def contents(out: Path) -> dict[str, bytes]:
    """Return all that a results folder holds and that does not say how long it took."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.relative_to(out).parts[0] not in NOT_COMPARED and path.name != ".lock"
    }


def killed_run(made: MadeUp, out: Path, kills: int, files: int, seed: int, *more: str) -> list[str]:
    """Kill a run `kills` times at random moments on its way through all `files`, and let it end.

    Return what went wrong, which is also when it had ended before it could be killed.
    """
    rng = random.Random(seed)
    wrong = []
    for number, reached in enumerate(sorted(rng.choices(range(files * 2 // 3), k=kills))):
        before = finished(out) if out.exists() else {}
        was_running = kill_when(made, out, reached, rng.uniform(0, 0.2), number % 2 == 1, "--resume", *more)
        after = finished(out) if out.exists() else {}
        wrong += [f"{name} was lost or done again" for name in before if after.get(name) != before[name]]
        wrong += [] if was_running else [f"kill {number + 1}: the run had ended"]
        print(f"  killed {number + 1} of {kills}: {len(after)} of {files} files", flush=True)
    before = finished(out)
    last = run(made, out, "--resume", *more)
    after = finished(out)
    wrong += [f"{name} was lost or done again" for name in before if after.get(name) != before[name]]
    if last.code != 0:
        wrong.append(f"the last run ended with exit code {last.code}: {last.err}")
    return wrong


def differences(one: Path, other: Path) -> list[str]:
    """Return in what two results folders differ."""
    first, second = contents(one), contents(other)
    names = sorted(first.keys() ^ second.keys())
    return [f"{name} is in one only" for name in names] + [
        f"{name} differs" for name in first if name in second and first[name] != second[name]
    ]
