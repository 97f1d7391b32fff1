"""Cgroups (version 2) in which submissions run: all of their memory, the kernel's for them included, has one limit.

A group is made below the nearest folder of the cgroup file system that this user may write to and that gives memory and
processes to its children: root's, on most machines, and a systemd user's. Elsewhere there is none, and the sandbox does
with other limits. A group that a killed run has left is ended and removed by the next.
"""

import fcntl
import functools
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "scanlab-"
NEEDED = ("memory", "pids")
CONTROLLERS = (*NEEDED, "cpu")
PERIOD = 100_000
"""Microseconds, cgroup's default."""
MOST_CPUS = 4
REMOVING = 5.0
"""Seconds for which the kernel may take to end a group's processes."""

_numbers = itertools.count()


@dataclass(frozen=True)
class Limits:
    """What all processes of a group may have together."""

    memory: int
    """Bytes, the kernel's own for them included; nothing is swapped."""
    processes: int
    cpus: int = MOST_CPUS


@dataclass(frozen=True)
class Group:
    """A group that was made."""

    folder: Path

    @property
    def procs(self) -> Path:
        """Return the file into which a process writes 0 to be in the group."""
        return self.folder / "cgroup.procs"

    def is_out_of_memory(self) -> bool:
        """Return whether its processes were killed because they wanted more memory than the group may have.

        `oom_kill` alone also counts those that were killed because the machine had none left.
        """
        with suppress(OSError, ValueError):
            events = dict(line.split() for line in (self.folder / "memory.events").read_text().splitlines())
            return int(events.get("oom_kill", 0)) > 0 and int(events.get("oom", 0)) > 0
        return False


@contextmanager
def group(limits: Limits) -> Iterator[Group | None]:
    """Make a group until the block ends, when all that is in it ends, too; None where none can be had."""
    above = parent()
    made = None if above is None else _make(above, limits)
    if made is None:
        yield None
        return
    folder, lock = made
    try:
        yield Group(folder)
    finally:
        _remove(folder)
        os.close(lock)


@functools.cache
def parent() -> Path | None:
    """Return the folder in which groups can be made; None where there is none."""
    try:
        mounts = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        top = next((Path(before.split()[4]) for before, after in mounts if after.startswith("cgroup2 ")), None)
        own = next(
            (line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::/")), None
        )
    except (OSError, ValueError, IndexError):
        return None
    if top is None or own is None or "/.." in own:
        return None
    here = top / own.lstrip("/")
    # A job stays where Slurm has put it: elsewhere its limits, and its end, would not hold.
    for folder in (here,) if "SLURM_JOB_ID" in os.environ else (here, *here.parents):
        if not folder.is_relative_to(top):
            break
        if _gives(folder):
            _sweep(folder)
            probe = _make(folder, Limits(memory=1 << 30, processes=8))
            if probe is not None:
                _remove(probe[0])
                os.close(probe[1])
                return folder
    return None


def _gives(folder: Path) -> bool:
    """Return whether a folder gives its children what they need, perhaps because it was just asked to."""
    try:
        if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.procs", os.W_OK):
            return False
        file = folder / "cgroup.subtree_control"
        for controller in CONTROLLERS:
            if controller not in file.read_text().split():
                with suppress(OSError):  # not there, not allowed, or the folder has processes of its own
                    file.write_text(f"+{controller}")
        return set(NEEDED) <= set(file.read_text().split())
    except OSError:
        return False


def _make(above: Path, limits: Limits) -> tuple[Path, int] | None:
    """Return a new group's folder, and the lock that says that it is in use."""
    folder = above / f"{PREFIX}{os.getpid()}-{next(_numbers)}-{time.monotonic_ns():x}"
    lock = -1
    try:
        folder.mkdir()
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / "memory.max").write_text(str(limits.memory))
        (folder / "pids.max").write_text(str(limits.processes))
        for name, text in (
            ("memory.swap.max", "0"),
            ("memory.oom.group", "1"),
            ("cpu.max", f"{min(limits.cpus, os.cpu_count() or 1) * PERIOD} {PERIOD}"),
        ):
            if (folder / name).exists():
                (folder / name).write_text(text)
        return folder, lock
    except OSError:
        if lock >= 0:
            os.close(lock)
        with suppress(OSError):
            folder.rmdir()
        return None


def _remove(folder: Path) -> None:
    end = time.monotonic() + REMOVING
    while time.monotonic() < end:
        with suppress(OSError):
            (folder / "cgroup.kill").write_text("1")
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)


def _sweep(above: Path) -> None:
    """End and remove the groups whose run was killed: the kernel has ended its locks."""
    for folder in above.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                # One that is being made by another is not locked for a moment: then it is new.
                if time.time() - folder.stat().st_mtime > 1:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(folder)
            finally:
                os.close(lock)
