"""Read a folder of submissions: links are not followed, and only plain files are opened."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from scanlab.classroom.intake.archives import expand
from scanlab.classroom.intake.items import (
    DEEPEST,
    MOST_FILES,
    OTHER_ARCHIVES,
    Item,
    Parts,
    composed,
    is_junk,
    is_wanted,
    misleads,
    suffix_of,
    too_large,
)
from scanlab.errors import UsageError
from scanlab.paths import shown


def walk(root: Path) -> Iterator[Item]:
    """Yield what lies in a folder, in the order of the names; archives count as folders.

    Raises UsageError when the folder cannot be read, or holds more than MOST_FILES files.
    """
    for count, item in enumerate(_walk(root, ())):
        if count == MOST_FILES:
            raise UsageError(f"{shown(root)} holds more than {MOST_FILES:,} files: is it the right folder?")
        yield item


def _walk(folder: Path, place: Parts) -> Iterator[Item]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        if not place:
            raise UsageError(f"{shown(folder)}: cannot read it: {error.strerror}") from error
        yield Item(place, refused=f"cannot be read: {error.strerror}")
        return
    if not entries:
        yield Item(place, is_folder=True)
    for entry in entries:
        parts = (*place, composed(entry.name))
        if is_junk((entry.name,), entry.is_dir()):
            continue
        if misleads(entry.name):
            yield Item(parts, refused="its name has control characters")
        elif entry.is_symlink():
            yield Item(parts, refused="is a link, which is not followed")
        elif not entry.is_dir(follow_symlinks=False):
            yield from _file(Path(entry.path), parts)
        elif len(parts) > DEEPEST:
            yield Item(parts, refused="lies too deep")
        else:
            yield from _walk(Path(entry.path), parts)


def _file(path: Path, parts: Parts) -> Iterator[Item]:
    name = parts[-1]
    if not is_wanted(name):
        refused = "only zip and tar archives are read" if name.casefold().endswith(OTHER_ARCHIVES) else ""
        yield Item(parts, refused=refused, is_doubtful=bool(refused))
        return
    try:
        # A link that takes the file's place meanwhile is not followed, and a pipe does not block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(file.fileno())
            refused = "is no plain file" if not stat.S_ISREG(about.st_mode) else too_large(name, about.st_size)
            if refused:
                yield Item(parts, about.st_size, refused=refused)
            elif suffix_of(name):
                yield from (replace(inner, packed=about.st_mtime) for inner in expand(file, parts))
            else:
                data = file.read(about.st_size)
                yield Item(parts, about.st_size, data, modified=about.st_mtime, packed=about.st_mtime)
    except OSError as error:
        yield Item(parts, refused=f"cannot be read: {error.strerror}")
