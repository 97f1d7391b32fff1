"""What a Slurm task does on its node: look whether it can grade there, then grade its units one after the other.

The unit in hand is noted in a file, so that whoever watches knows what a task that was killed has lost: that unit only.
"""

import ctypes
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scanlab.bootstrap import build, cuda
from scanlab.classroom.grading import grade_unit
from scanlab.classroom.store import Store, Unit, write_atomically
from scanlab.errors import KIT_FAULT, KitError, ScanlabError
from scanlab.executors.interface import verdict_of
from scanlab.judging import sandbox
from scanlab.judging.toolchain import product, toolchain
from scanlab.paths import ROOT, build_folder
from scanlab.process import Interrupted, stop_on_signals

PR_SET_PDEATHSIG = 1
CLOSING = signal.SIGUSR2
"""Slurm sends it some time before a task's limit: the unit in hand may end, no other begins."""


@dataclass(frozen=True)
class Notice:
    """What a task says of itself, for whoever watches."""

    node: str
    unit: Unit | None = None
    """The one in hand."""
    fault: str = ""
    """Why the task has ended, in one line, where it is known."""


class Notices:
    """The files in which tasks report what they have in hand: `slurm/tasks/ID.json` in the results folder."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "slurm/tasks"

    def write(self, task: str, notice: Notice) -> None:
        """Report what a task does now. Raises KitError when the file cannot be written."""
        write_atomically(self._file(task), json.dumps(asdict(notice)) + "\n")

    def read(self, task: str) -> Notice | None:
        """Return what a task has reported last, or None."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            notice: Mapping[str, Any] = json.loads(self._file(task).read_text(encoding="utf-8"))
            unit = Unit(**notice["unit"]) if notice["unit"] else None
            return Notice(str(notice["node"]), unit, str(notice["fault"]))
        return None

    def drop(self, task: str) -> None:
        """Forget a task."""
        with suppress(OSError):
            self._file(task).unlink()

    def _file(self, task: str) -> Path:
        return self.folder / f"{task}.json"


def grade_chunk(results: str, units: list[Unit], how: Mapping[str, Any]) -> None:
    """Grade `units` of the results folder, with the keyword arguments `how` for grade_unit; runs in a Slurm task.

    Ends the process with the exit code 3, and a line in the log and in the notice, when the node cannot grade, and
    when a unit has no result: it stays the notice's unit in hand, as it does when the whole task is killed.
    """
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname().split(".")[0]
    array, index = (os.environ.get(name) for name in ("SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"))
    task = f"{array}_{index}" if array else os.environ.get("SLURM_JOB_ID", "")
    store, notices = Store(Path(results)), Notices(Path(results))
    unit: Unit | None = None
    is_closing = False

    def close(_number: int, _frame: object) -> None:
        nonlocal is_closing
        is_closing = True

    stop_on_signals()
    signal.signal(CLOSING, close)
    try:
        os.chdir(ROOT)
        check_node(Path(results), node)
        if how.get("is_sandboxed", True):
            sandbox.require()
        taken_in = store.read_class()
        for unit in units:
            if verdict_of(store, unit) in (None, "error"):
                notices.write(task, Notice(node, unit))
                _in_a_child(partial(grade_unit, store, taken_in, unit, **how))
                print(f"scanlab: {unit.lab} {unit.sha256[:12]} {verdict_of(store, unit)}", flush=True)
            if is_closing:
                print("scanlab: near the time limit; what is left goes to another task", flush=True)
                break
    except Interrupted as stopped:
        raise SystemExit(128 + stopped.signal) from stopped
    except Exception as error:
        what = str(error) if isinstance(error, ScanlabError) else f"{type(error).__name__}: {error}"
        print(f"scanlab: {what}", flush=True)
        with suppress(KitError):
            notices.write(task, Notice(node, unit, f"node {node}: {what.splitlines()[0]}"))
        if isinstance(error, ScanlabError):
            raise SystemExit(KIT_FAULT) from error
        raise
    notices.drop(task)


def _in_a_child(work: Callable[[], object]) -> None:
    """Do `work` in a process of its own, a copy of this one, which ends with this one.

    A kit's fault stops a process's other programs for good (`kill_all`), and must not cost the next unit.

    Raises KitError, one line, when it did not do its work.
    """
    sys.stdout.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        code = KIT_FAULT
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() == parent:
                work()
                code = 0
        except Interrupted as stopped:
            code = 128 + stopped.signal
        except ScanlabError as error:
            print(f"scanlab: {error}", flush=True)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)
        raise
    if code:
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else "failed"
        raise KitError(f"the process that graded the file {how}")


def check_node(results: Path, node: str) -> None:
    """Raise KitError, one line, when this machine cannot grade as the submitting one does.

    It has to see the results, the kit and its build as they are there, since tasks build nothing; and its compiler has
    to work, or whoever is graded here would get the blame.
    """
    if not Store(results).class_file.exists():
        raise KitError(f"cannot see {results}: the results folder has to lie where all nodes see it (--out)")
    tools = toolchain()
    for name in build.PRODUCTS:
        product(name)
    if not build.ready(str(tools.nvcc)):
        again = "grader/scanlab grade makes it anew when it starts"
        raise KitError(f"{build_folder()} is not made from the sources in {ROOT}: {again}")
    known = results / "slurm/nodes" / node
    if not known.exists():
        complaint = cuda.try_compile(tools.nvcc)
        if complaint:
            raise KitError(f"{tools.nvcc} cannot compile a small program: {complaint.splitlines()[0]}")
        write_atomically(known, "its compiler works\n")
