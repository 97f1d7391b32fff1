"""The cache of what was compiled: each entry is a folder, and none ever changes.

The name of an entry is the hash of all that it was made from. So who has found one can use it while others compile.
Beside its files lie their hashes: an entry that a stopped machine has left in part is made again.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from scanlab.errors import KitError
from scanlab.paths import ROOT, STATE, shown

CACHE = STATE / "cache"
MAKING, SUMS = "making-", "sums.json"
"""How what is not yet an entry begins, and a file with an entry's hashes."""
CACHE_ENTRIES = 768
"""At most this many objects, programs and lists are kept, half a megabyte each: a class has six per different file."""
YOUNG = 600.0
"""Seconds after its last use in which an entry is not dropped: another process may be about to run it."""


def hash_of(*parts: str | bytes) -> str:
    """Return the name of an entry that is made from these parts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:32]


def folder() -> Path:
    """Return the cache's folder, which no other user can write.

    What is in it is run, and a grade comes of it. Where others could have written, all of it is dropped. Raises
    KitError when it belongs to another user (but for root and whoever the kit belongs to), or cannot be made.
    """
    try:
        CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = CACHE.stat()
        if about.st_uid not in (os.geteuid(), 0, ROOT.stat().st_uid):
            raise KitError(f"{shown(CACHE)} belongs to another user: remove it, or use a copy of the kit of your own")
        if about.st_mode & 0o022:
            CACHE.chmod(0o700)
            for entry in CACHE.iterdir():
                _drop(entry)
    except OSError as error:
        raise KitError(f"cannot use {shown(CACHE)}: {error.strerror}") from error
    return CACHE


def _drop(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)


def is_whole(entry: Path) -> bool:
    """Return whether an entry's files are those that were put there: a machine that stopped may have lost some."""
    try:
        known = json.loads((entry / SUMS).read_text())
        return bool(known) and all(hash_of((entry / name).read_bytes()) == digest for name, digest in known.items())
    except (OSError, ValueError, AttributeError):
        return False


def touch(entry: Path) -> None:
    """Mark an entry as used just now."""
    with suppress(OSError):  # a cache that cannot be written still serves
        os.utime(entry)


class Making:
    """A folder that vanishes with the block, unless it has become an entry of the cache."""

    def __enter__(self) -> Self:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix=MAKING, dir=folder()))
        except OSError as error:
            raise KitError(f"cannot write {shown(CACHE)}: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep_as(self, name: str) -> Path:
        """Make the folder an entry, and return it: that of another process, which is the same, where there is one."""
        files = [path for path in self.folder.iterdir() if path.is_file() and not path.is_symlink()]
        sums = {path.name: hash_of(path.read_bytes()) for path in files}
        (self.folder / SUMS).write_text(json.dumps(sums))
        entry = CACHE / name
        try:
            with suppress(OSError):
                self.folder.rename(entry)
                return entry
            if not is_whole(entry):  # out of the way; no process uses it
                entry.rename(CACHE / f"{MAKING}broken-{os.urandom(8).hex()}")
                self.folder.rename(entry)
        except OSError as error:
            if not is_whole(entry):  # nor has another process made it meanwhile
                raise KitError(f"cannot write {shown(CACHE)}: {error.strerror}") from error
        return entry

    def write(self, name: str, text: str) -> None:
        """Write a file of the cache, all of it at once."""
        handle, made = tempfile.mkstemp(prefix=MAKING, dir=CACHE)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(made).replace(CACHE / name)


def prune() -> None:
    """Drop the entries used longest ago, beyond CACHE_ENTRIES, and what an interrupted compiler left."""
    now = time.time()
    aged = []
    for entry in CACHE.iterdir() if CACHE.is_dir() else ():
        try:
            aged.append((now - entry.stat().st_mtime, entry))
        except OSError:
            continue  # another process has dropped it
    aged.sort()
    for position, (age, entry) in enumerate(aged):
        if age > YOUNG and (position >= CACHE_ENTRIES or entry.name.startswith(MAKING)):
            _drop(entry)
