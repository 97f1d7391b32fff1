"""Temporary folders, which vanish even when the process that made them is killed: the next process removes them.

They lie in one folder per user, `scanlab-UID` in the folder for temporary files. Each is locked as long as its process
lives, and the kernel ends a lock with its process, however that ends. Standard library only.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scanlab.errors import KitError

_swept: set[Path] = set()


@contextmanager
def scratch() -> Iterator[Path]:
    """Make an empty folder that no other user may look into, and remove it afterwards.

    The first one in a process also removes those of processes that were killed. Raises KitError when it cannot be made.
    """
    try:
        shared = _parent()
        # A folder that is made, and not yet locked, must not be taken for one that was left.
        with _locked(shared):
            if shared not in _swept:
                _sweep(shared)
                _swept.add(shared)
            mine = Path(tempfile.mkdtemp(dir=shared))
            held = _open(mine)
            fcntl.flock(held, fcntl.LOCK_EX)
    except OSError as error:
        raise KitError(f"cannot make a folder in {tempfile.gettempdir()}: {error.strerror}") from error
    try:
        yield mine
    finally:
        shutil.rmtree(mine, ignore_errors=True)
        os.close(held)


def _parent() -> Path:
    """Return this user's folder. In /tmp any user may have made one of that name: it is not used."""
    path = Path(tempfile.gettempdir()) / f"scanlab-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    about = path.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        raise KitError(f"{path} belongs to another user: set TMPDIR to a folder of your own")
    return path


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = _open(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sweep(everybodys: Path) -> None:
    for folder in everybodys.iterdir():
        with suppress(OSError):  # locked: its process lives; or gone
            descriptor = _open(folder)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
