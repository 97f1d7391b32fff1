"""Processes that grade one unit each: whatever happens to one costs nothing but its unit.

A worker is a copy of this process (fork), in a session of its own, which starts within milliseconds. When this process
dies, by whatever signal, its workers get a signal (SIGTERM) and end with all that they have started.
"""

import ctypes
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scanlab import machine
from scanlab.errors import ScanlabError
from scanlab.process import Interrupted, stop_on_signals

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
DONE, FAULTED, CRASHED, STOPPED = 0, 69, 70, 71
GRACE = 5.0
"""Seconds that a worker gets to end what it has started."""
SAID_BYTES = 4000
MOST_DESCRIPTORS = 1 << 16
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@dataclass(frozen=True)
class Ended:
    """How a worker ended."""

    fault: str
    """Why it did not do its work, in one line or more; empty where it did."""
    seconds: float
    cpu_seconds: float
    """Of the worker and of all that it waited for."""
    is_error: bool = False
    """It did its work, which ended with the verdict `error`."""


class Worker:
    """One running process."""

    def __init__(self, work: Callable[[], object], scratch: Path, environment: dict[str, str], limit: float) -> None:
        """Start `work` in a process of its own. This process must have no other threads.

        `scratch` is made for it, for temporary files of all that it starts, and removed when it has ended. Past
        `limit` seconds it is ended.
        """
        self.scratch, self.limit = scratch, limit
        self.began = time.monotonic()
        self.scratch.mkdir()
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal between the fork and the next lines would find a worker that is not registered yet, or one that takes
        # itself for its parent.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _live(work, scratch, environment, parent)
            self._handle = os.pidfd_open(self.pid)
            _known.append(self)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def fileno(self) -> int:
        """Return a descriptor that is readable when the process has ended."""
        return self._handle

    def poll(self) -> Ended | None:
        """Return how the worker ended, or None while it runs. Ends it when it has run past its limit."""
        seconds = time.monotonic() - self.began
        if not select.select([self._handle], [], [], 0)[0]:
            if seconds <= self.limit:
                return None
            self.stop()
            return self._collect(f"grading did not end within {self.limit:.0f} s")
        return self._collect("")

    def ask_to_end(self) -> None:
        """Ask the worker to end itself and what it has started."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    def stop(self) -> None:
        """Ask the worker to end, and kill it if it does not."""
        self.ask_to_end()
        if not select.select([self._handle], [], [], GRACE)[0]:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _collect(self, fault: str) -> Ended:
        _, status, used = os.wait4(self.pid, 0)
        os.close(self._handle)
        _known.remove(self)
        code = os.waitstatus_to_exitcode(status)
        said = _said(self.scratch)
        shutil.rmtree(self.scratch, ignore_errors=True)
        if not fault and code not in (DONE, FAULTED):
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            fault = f"the process that graded it {how}{said}"
        return Ended(fault, time.monotonic() - self.began, used.ru_utime + used.ru_stime, code == FAULTED)


_known: list[Worker] = []


def end_all() -> None:
    """End every worker that runs, side by side, and wait until they have."""
    for worker in _known:
        worker.ask_to_end()
    for worker in list(_known):
        worker.stop()
        worker._collect("stopped")


def adopt_orphans() -> None:
    """Become the parent of what children leave behind."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans() -> None:
    """Kill what workers that were killed had started: compilers and judges, each with its whole group."""
    known = {worker.pid for worker in _known}
    try:
        children = [int(pid) for pid in Path("/proc/self/task", str(os.getpid()), "children").read_text().split()]
    except OSError:
        return  # a kernel that does not list them
    for pid in set(children) - known:
        with suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(pid)
            if group != os.getpgrp():
                os.killpg(group, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _said(scratch: Path) -> str:
    """Return the end of what a worker printed, one line or lines below: nothing, unless something is wrong."""
    try:
        with (scratch / "said").open("rb") as file:
            file.seek(-min(SAID_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            text = file.read().decode(errors="replace").strip()
    except OSError:
        return ""
    lines = text.splitlines()[-20:]
    return f": {lines[0]}" if len(lines) == 1 else "".join(f"\n{line}" for line in lines)


def _live(work: Callable[[], object], scratch: Path, environment: dict[str, str], parent: int) -> None:
    """Be the worker; never return."""
    code = CRASHED
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()  # a terminal's Ctrl-C is for the process that started us: it ends us in order
        stop_on_signals()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            raise Interrupted(signal.SIGTERM)
        adopt_orphans()  # so that the time of what ran in sandboxes is counted: see process.reap_orphans
        null = os.open(os.devnull, os.O_RDONLY)
        said = os.open(scratch / "said", os.O_WRONLY | os.O_CREAT, 0o600)
        for descriptor, ours in ((null, 0), (said, 1), (said, 2)):
            os.dup2(descriptor, ours)
        os.closerange(3, MOST_DESCRIPTORS)
        os.environ.update(environment, TMPDIR=str(scratch))
        tempfile.tempdir = str(scratch)
        code = FAULTED if work() == "error" else DONE
    except Interrupted:
        code = STOPPED
    except ScanlabError as error:
        print(error, file=sys.stderr, flush=True)
    except BaseException as error:
        with suppress(BaseException):
            if said := machine.said_of(error):
                print(said, file=sys.stderr)
            else:
                traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(code)
