"""Write exports: each file whole or not at all, and never over what was downloaded."""

import sys
from pathlib import Path

from scanlab import files
from scanlab.errors import UsageError
from scanlab.gradebooks.model import Gradebook
from scanlab.paths import shown

MOST_GRADEBOOK = 64 << 20
"""Bytes; no gradebook is as large."""


def read_gradebook(path: Path) -> Gradebook:
    """Return a downloaded file. Raises UsageError when it cannot be read."""
    try:
        if path.stat().st_size > MOST_GRADEBOOK:
            raise UsageError(f"{shown(path)}: too large for a gradebook")
        return Gradebook(path, path.read_bytes())
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot read it: {error.strerror}") from error


def require_other(path: Path | None, gradebook: Path | None) -> None:
    """Raise UsageError when `path` is the downloaded file: it is the only copy of what the platform has."""
    if path is None or gradebook is None:
        return
    try:
        is_same = path.exists() and path.samefile(gradebook)
    except OSError:
        is_same = False
    if is_same or path.absolute() == gradebook.absolute():
        raise UsageError(f"{shown(path)} is the downloaded file, which is kept as it is; name another with --out")


def write(path: Path | None, content: bytes) -> None:
    """Write a file, or stdout without a path. Raises UsageError where it cannot be written."""
    if path is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    if path.is_dir():
        raise UsageError(f"cannot write {shown(path)}: it is a folder")
    try:
        files.replace(path, content, is_lasting=True)
    except OSError as error:
        raise UsageError(f"cannot write {shown(path)}: {error.strerror}") from error


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there. Raises UsageError where it cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {shown(path)}: {error.strerror}") from error
