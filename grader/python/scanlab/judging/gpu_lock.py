"""One process at a time measures on a GPU, whichever command started it."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scanlab.contract import Device
from scanlab.errors import KitError
from scanlab.paths import shown

FOLDER = Path("/tmp")
"""The same for all users and commands of this machine, whatever TMPDIR says."""


def lock_file() -> Path:
    """Return the file whose lock stands for the first GPU that programs see: `$SCANLAB_LOCKS`, else /tmp."""
    visible = re.sub(r"[^A-Za-z0-9-]+", "_", os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]) or "0"
    return Path(os.environ.get("SCANLAB_LOCKS") or FOLDER) / f"scanlab-gpu-{visible}.lock"


@contextmanager
def alone_on(device: Device) -> Iterator[None]:
    """Hold the GPU's lock, waiting for it; the virtual GPU needs none. It ends with this process, however that ends.

    Raises KitError when the lock's file cannot be opened.
    """
    if device != "gpu":
        yield
        return
    descriptor = _open(lock_file())
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    safe = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC  # no link is followed: the folder may be open to all users
    try:
        try:
            return os.open(path, safe)
        except FileNotFoundError:  # only now: in /tmp, Linux lets no user create over another user's file
            return os.open(path, safe | os.O_CREAT, 0o644)
    except OSError as error:
        raise KitError(f"cannot open {shown(path)}, the GPU's lock: {error.strerror}") from error
