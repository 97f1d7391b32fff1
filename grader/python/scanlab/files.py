"""Write a file whole: at any moment a reader finds what it held before, or all of what it holds now.

Standard library only: the launcher uses it before anything is installed.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".new"
"""Ends the name of a file that is being written; it begins with a dot."""


@contextmanager
def replacing(path: Path, *, is_lasting: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write to that takes the place of `path` when all went well; else `path` stays as it was.

    A lasting one is on the disk by then: otherwise it may be empty after the machine, and not only this process, has
    crashed. What is no plain file, such as /dev/stdout or a pipe, is written to as it is. Raises OSError.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    made = path.with_name(f".{path.name[:60]}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
            yield file
            file.flush()
            if is_lasting:
                os.fsync(file.fileno())
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def replace(path: Path, content: bytes | str, *, is_lasting: bool = False) -> None:
    """Write a whole file; a text as UTF-8. Raises OSError as `replacing` does.

    What is no character, such as a byte of a file's name that is not UTF-8, becomes the escape that JSON has for it.
    """
    with replacing(path, is_lasting=is_lasting) as file:
        file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process has left half written in a folder; no process may be writing there."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)
