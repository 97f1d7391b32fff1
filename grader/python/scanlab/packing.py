"""Sets of files that others get, as a folder or a zip file: whole or not at all, and equal sets as equal bytes."""

import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of all files in archives."""


@dataclass(frozen=True)
class File:
    """One file of a set."""

    content: bytes
    is_program: bool = False

    @classmethod
    def of(cls, path: Path) -> "File":
        """Return a file as it lies here. Raises OSError."""
        return cls(path.read_bytes(), os.access(path, os.X_OK))


Files = Mapping[str, File]
"""By their places in the set, with slashes."""


def write(files: Files, out: Path, inside: str = "") -> None:
    """Write a set where nothing is yet: a zip file, with all of it in the folder `inside`, or a folder.

    Raises OSError.
    """
    if out.suffix == ".zip":
        _write_zip(files, out, f"{inside}/" if inside else "")
    else:
        _write_folder(files, out)


@contextmanager
def placing(out: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes `out`, a file or an empty folder until then, when all went well.

    Otherwise nothing stays. Raises OSError.
    """
    with tempfile.TemporaryDirectory(prefix=f".{out.name[:60]}-", dir=out.absolute().parent) as scratch:
        made = Path(scratch) / out.name
        yield made
        made.rename(out)


def _write_zip(files: Files, out: Path, inside: str) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, file in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{inside}{name}", LONG_AGO)
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100755 if file.is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.content)


def _write_folder(files: Files, out: Path) -> None:
    for name, file in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.is_program else 0o644)
