"""Run other programs so that nothing of them is left: a program's whole process group ends with it."""

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

OUTPUT_LIMIT = 1 << 20
"""Bytes of a program's output that are kept."""

_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.RLock()  # kill_all may run in a signal handler, inside this thread's own critical section
_stopping = threading.Event()


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit code (negative: a signal; None: it ran past the limit) and its output."""

    code: int | None
    output: str


def run_group(
    command: Sequence[str],
    timeout: float,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    *,
    niceness: int | None = None,
) -> Finished:
    """Run `command` in a session of its own for at most `timeout` seconds; it inherits the descriptors `pass_fds`.

    When it ends or runs past its limit, and when `kill_all` is called, its whole process group is killed. With a
    `niceness`, 0 or more, it stays in this session: among the programs of one session Linux goes by their niceness,
    and every session gets an equal share (autogroups, see sched(7)).

    Raises OSError when the program cannot be started.
    """
    with tempfile.TemporaryFile() as sink:
        if niceness:
            command = ["nice", "-n", str(niceness), *command]
        is_apart = niceness is None
        process = start_group(command, subprocess.DEVNULL, sink, subprocess.STDOUT, cwd, pass_fds, is_apart=is_apart)
        try:
            code = process.wait() if ends_within(process, timeout) else None
        finally:
            end_group(process)
        sink.seek(0)
        return Finished(code, sink.read(OUTPUT_LIMIT).decode(errors="replace"))


def ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process to end, and return whether it has, within so many seconds.

    `Popen.wait` with a limit looks 20 times a second only: it would add as much to each command as a small one takes.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # a kernel before Linux 5.3
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.returncode is not None
    try:
        end = select.poll()
        end.register(handle, select.POLLIN)
        return bool(end.poll(1000 * seconds))
    finally:
        os.close(handle)


def start_group(
    command: Sequence[str],
    stdin: int,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    *,
    is_apart: bool = True,
) -> subprocess.Popen[bytes]:
    """Start `command` in a group of its own, known to `kill_all`, until `end_group` is called with it.

    The group has a session of its own if it `is_apart`.

    Raises OSError when the program cannot be started.
    """
    with _lock:
        if _stopping.is_set():
            raise InterruptedError("scanlab is stopping")
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            start_new_session=is_apart,
            process_group=None if is_apart else 0,
            pass_fds=pass_fds,
        )
        _running.add(process)
    return process


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a program's process group."""
    _kill_group(process)
    with _lock:
        _running.discard(process)


def reap_orphans(seconds: float = 0.3) -> None:
    """Collect processes that have ended and whose parents ended before them, so that their time is counted as ours.

    bubblewrap ends without waiting for the first process of its sandbox. For a process that adopts orphans
    (PR_SET_CHILD_SUBREAPER) and runs nothing; in others there are none. Waits at most `seconds` for one that is ending.
    """
    deadline = time.monotonic() + seconds
    with suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.002)


def kill_all() -> None:
    """Kill every program that runs, and let no more start: this program is stopping."""
    with _lock:
        _stopping.set()
        for process in list(_running):
            _signal_group(process, signal.SIGTERM)
            _signal_group(process, signal.SIGKILL)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # The group's number stays taken while any process of it lives, so this reaches no stranger.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    _signal_group(process, signal.SIGKILL)
    process.wait()


class Interrupted(BaseException):
    """This program was asked to stop; `signal` is the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


PATIENCE = 45.0
"""Seconds: cancelling a cluster's jobs may take 20."""


def _end(number: int) -> None:
    time.sleep(PATIENCE)
    os._exit(128 + number)


def stop_on_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP kill what runs and raise Interrupted in the main thread.

    Whatever threads still do then, the process ends within PATIENCE seconds.
    """

    def stop(number: int, _: object) -> None:
        threading.Thread(target=_end, args=(number,), daemon=True).start()
        kill_all()
        raise Interrupted(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
