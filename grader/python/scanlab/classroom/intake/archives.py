"""Read zip and tar archives of unknown origin: no member is written anywhere, and no size or name is believed.

Whatever is wrong with a member costs that member, with a line that says what; the others are read.
"""

import bz2
import calendar
import gzip
import io
import lzma
import shutil
import stat
import struct
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from scanlab.classroom.intake.items import (
    HIGHEST_RATIO,
    LARGEST_ARCHIVE,
    LARGEST_METADATA,
    LARGEST_SOURCE,
    LARGEST_UNPACKED,
    METADATA,
    MOST_FILES,
    MOST_MEMBERS,
    OTHER_ARCHIVES,
    Item,
    Parts,
    bytes_text,
    is_junk,
    is_source,
    is_wanted,
    printable,
    safe_parts,
    suffix_of,
    too_large,
)
from scanlab.process import end_group, start_group

MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zst", b"PK": "zip"}
CENTRAL_ENTRY = b"PK\x01\x02"
ENCRYPTED, IS_UTF_8 = 0x1, 0x800
"""Bits of a zip member's flags."""
UNICODE_NAME = 0x7075
"""An extra field of a zip member: a version, a checksum of the name that it stands for, and the name in UTF-8."""


MOST_NESTED = 2
"""One student's archive may hold another, which holds the work; what lies deeper is not opened."""


class DamagedError(Exception):
    """An archive that cannot be read, or not to its end; the text says why."""


class TooMuchError(DamagedError):
    """An archive that unpacks to more than any student's work: a person need not open it either."""


class Budget:
    """What may still be unpacked of one student's archives, however they lie in each other."""

    def __init__(self) -> None:
        self.bytes, self.files = LARGEST_UNPACKED, MOST_MEMBERS

    def take(self, size: int) -> None:
        """Take off the bytes of a member. Raises DamagedError when too many have been unpacked."""
        self.bytes -= size
        if self.bytes < 0:
            raise TooMuchError(f"unpacks to more than {bytes_text(LARGEST_UNPACKED)}: the rest is not read")

    def take_file(self) -> None:
        """Take off a member. Raises DamagedError when there were too many."""
        self.files -= 1
        if self.files < 0:
            raise TooMuchError(f"holds more than {MOST_MEMBERS:,} files: the rest is not read")


def expand(
    file: IO[bytes], place: Parts, is_pile: bool = False, depth: int = 1, budget: Budget | None = None
) -> Iterator[Item]:
    """Yield what an archive holds, each member's place under `place`.

    The pile (`is_pile`) may hold students' archives, and each of those MOST_NESTED - 1 further ones in each other, all
    of them within one `budget`. A damaged archive's last item says so.
    """
    try:
        yield from _members(file, place, is_pile, depth, budget or Budget())
    except DamagedError as error:
        yield Item(place, refused=str(error), is_doubtful=not isinstance(error, TooMuchError))


def _members(file: IO[bytes], place: Parts, is_pile: bool, depth: int, budget: Budget) -> Iterator[Item]:
    head = file.read(8)
    file.seek(0)
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "tar")
    count = 0
    within = None if is_pile else budget
    reader = _zip_members(file, within) if kind == "zip" else _tar_members(file, kind, within)
    for count, item in enumerate(reader, 1):
        if within:
            within.take_file()
        elif count > MOST_FILES:
            raise TooMuchError(f"holds more than {MOST_FILES:,} files: the rest is not read")
        placed = replace(item, parts=(*place, *item.parts), packed=item.modified)
        yield from _opened(placed, *((1, Budget()) if is_pile else (depth + 1, budget)))
    if not count:
        yield Item(place, is_folder=True)


def _opened(item: Item, depth: int, budget: Budget) -> Iterator[Item]:
    """Yield an item, or what it holds where it is an archive, the `depth`-th in each other, that may be opened."""
    name = item.parts[-1] if item.parts else ""
    if item.refused or item.is_folder or not suffix_of(name):
        if not item.refused and name.casefold().endswith(OTHER_ARCHIVES):
            item = replace(item, data=None, refused="only zip and tar archives are read", is_doubtful=True)
        yield item
    elif depth > MOST_NESTED:
        refused = f"lies in {depth - 1} archives, each in the next: it is not opened"
        yield Item(item.parts, item.size, refused=refused, is_doubtful=True)
    elif item.data is not None:
        inner = expand(io.BytesIO(item.data), item.parts, depth=depth, budget=budget)
        yield from (replace(one, packed=item.packed) for one in inner)


# ---- zip -------------------------------------------------------------------------------------------------------------


def _zip_members(file: IO[bytes], budget: Budget | None) -> Iterator[Item]:
    if budget and (listed := _listed(file)) > 4 * MOST_MEMBERS:
        raise TooMuchError(f"lists {listed:,} files; an archive of one student has at most {MOST_MEMBERS:,}")
    try:
        archive = zipfile.ZipFile(file)
    except Exception as error:  # what a hostile archive makes the library raise is not foreseen
        raise DamagedError(f"is no zip archive that can be read: {_said(error)}") from error
    with archive:
        for info in archive.infolist():
            item = _zip_member(archive, info, budget)
            if budget:
                budget.take(len(item.data or b""))
            if item.parts or item.refused:
                yield item


def _listed(file: IO[bytes]) -> int:
    """Return how many members a zip archive in memory lists, before a library makes an object of each."""
    count, kept = 0, b""
    while piece := file.read(1 << 20):
        count += (kept + piece).count(CENTRAL_ENTRY)
        kept = piece[-(len(CENTRAL_ENTRY) - 1) :]
    file.seek(0)
    return count


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name: macOS writes UTF-8 without the flag that says so, WinRAR in a field of its own."""
    name = info.orig_filename
    if info.flag_bits & IS_UTF_8:
        return name
    raw = name.encode("cp437")  # the library has read its bytes so
    for text in (_unicode_name(info.extra, raw), raw):
        with suppress(UnicodeError):
            if text:
                return text.decode()
    return name


def _unicode_name(extra: bytes, raw: bytes) -> bytes:
    """Return a name in UTF-8 from a member's extra fields, if it belongs to its own name `raw`; else nothing."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        text, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == UNICODE_NAME and len(text) > 5 and text[:5] == struct.pack("<BI", 1, zlib.crc32(raw)):
            return text[5:]
    return b""


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget | None) -> Item:
    """Return one member; without parts where there is nothing to report of it."""
    name = _zip_name(info)
    parts, refused = safe_parts(name)
    if refused:
        return Item((), info.file_size, refused=refused, label=printable(name))
    mode = info.external_attr >> 16
    is_folder = info.is_dir() or stat.S_ISDIR(mode)
    if not parts or is_junk(parts, is_folder):
        return Item(())
    name, modified = parts[-1], _zip_time(info)
    if is_folder:
        return Item(parts, is_folder=True)
    refused = (
        _not_plain(mode) or ("is encrypted" if info.flag_bits & ENCRYPTED else "") or too_large(name, info.file_size)
    )
    if not refused and info.file_size > max(LARGEST_SOURCE, HIGHEST_RATIO * info.compress_size):
        refused = f"unpacks {bytes_text(info.compress_size)} to {bytes_text(info.file_size)}: not read"
    if refused or not is_wanted(name):
        is_doubtful = bool(info.flag_bits & ENCRYPTED) and is_wanted(name)
        return Item(parts, info.file_size, modified=modified, refused=refused, is_doubtful=is_doubtful)
    limit = _limit(name)
    if budget and min(limit, info.file_size) > budget.bytes:
        return Item(parts, info.file_size, refused=f"the archive unpacks to more than {bytes_text(LARGEST_UNPACKED)}")
    try:
        with archive.open(info) as member:
            data = member.read(limit + 1)
    except Exception as error:  # see above
        return Item(parts, info.file_size, refused=f"cannot be unpacked: {_said(error)}", is_doubtful=True)
    if len(data) > limit:
        return Item(parts, len(data), refused=f"has more than {bytes_text(limit)}, though it claims less")
    return Item(parts, len(data), data, modified)


def _zip_time(info: zipfile.ZipInfo) -> float | None:
    try:
        return float(calendar.timegm((*info.date_time, 0, 0, 0))) if info.date_time[0] > 1980 else None
    except (ValueError, OverflowError):
        return None


def _not_plain(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a link, which is not followed"
    return "is no plain file" if stat.S_IFMT(mode) not in (0, stat.S_IFREG) else ""


def _limit(name: str) -> int:
    return LARGEST_SOURCE if is_source(name) else LARGEST_METADATA if name == METADATA else LARGEST_ARCHIVE


# ---- tar -------------------------------------------------------------------------------------------------------------


class _Bounded(io.RawIOBase):
    """A stream that ends with TooMuchError where the budget ends."""

    def __init__(self, stream: IO[bytes], budget: Budget | None) -> None:
        self.stream, self.budget = stream, budget

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size if size >= 0 else 1 << 20)
        if self.budget:
            self.budget.take(len(data))
        return data


def _tar_members(file: IO[bytes], kind: str, budget: Budget | None) -> Iterator[Item]:
    with _unpacked(file, kind) as stream:
        bounded = _Bounded(stream, budget)
        last = ""
        try:
            with tarfile.open(fileobj=bounded, mode="r|", errors="surrogateescape") as archive:
                for info in archive:
                    last = info.name
                    item = _tar_member(archive, info)
                    archive.members = []  # of a stream nothing is read again
                    if item.parts or item.refused:
                        yield item
        except DamagedError:
            raise
        except Exception as error:  # what a hostile archive makes the library raise is not foreseen
            after = f" after {printable(last)}" if last else ""
            raise DamagedError(f"is no archive that can be read{after}: {_said(error)}") from error


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Item:
    parts, refused = safe_parts(info.name)
    if refused:
        return Item((), info.size, refused=refused, label=printable(info.name))
    if not parts or is_junk(parts, info.isdir()):
        return Item(())
    if info.isdir():
        return Item(parts, is_folder=True)
    if info.issym() or info.islnk():
        return Item(parts, refused="is a link, which is not followed")
    if not info.isreg():
        return Item(parts, refused="is no plain file")
    name = parts[-1]
    refused = too_large(name, info.size)
    if refused or not is_wanted(name):
        return Item(parts, info.size, refused=refused)
    member = archive.extractfile(info)
    data = member.read(_limit(name)) if member else b""
    if len(data) < info.size:
        raise DamagedError(f"ends in the middle of {printable(info.name)}")
    return Item(parts, len(data), data, float(info.mtime) if info.mtime else None)


@contextmanager
def _unpacked(file: IO[bytes], kind: str) -> Iterator[IO[bytes]]:
    if kind == "gz":
        yield gzip.GzipFile(fileobj=file)  # type: ignore[misc]
    elif kind == "bz2":
        yield bz2.BZ2File(file)
    elif kind == "xz":
        with lzma.LZMAFile(file) as stream:
            yield stream
    elif kind == "zst":
        with _zstd(file) as stream:
            yield stream
    else:
        yield file


@contextmanager
def _zstd(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Unpack with the zstd program: this Python's library may not know the format."""
    program = shutil.which("zstd")
    if program is None:
        raise DamagedError("is packed with zstd, which is not installed here; type: sudo apt-get install zstd")
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        process = start_group([program, "-dcq", "-M256MB"], copy.fileno(), subprocess.PIPE, subprocess.DEVNULL)
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.stdout.close()
            end_group(process)


def _said(error: Exception) -> str:
    text = printable(str(error).splitlines()[0]) if str(error) else ""
    return text or type(error).__name__


def open_archive(path: Path) -> IO[bytes]:
    """Open an archive on disk for `expand`. Raises OSError."""
    return path.open("rb")
