"""What lies in a pile of submissions: files with the places where they were found, and what was refused of them.

Nothing is ever unpacked to a file: a member's name decides nothing but what it is called in messages. What is read is
held in memory, within the limits below.
"""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from scanlab.foreign_text import TURNING

KIB, MIB = 1 << 10, 1 << 20
LARGEST_SOURCE = 1 * MIB
"""Bytes of a .cu file; a lab has a few thousand."""
LARGEST_ARCHIVE = 64 * MIB
"""Bytes of an archive inside the pile: one student's."""
LARGEST_UNPACKED = 256 * MIB
"""How much of one student's archive is unpacked before the rest is given up."""
LARGEST_METADATA = 256 * MIB
MOST_MEMBERS = 2_000
"""Files in one student's archive."""
MOST_FILES = 200_000
"""Files in the whole pile."""
HIGHEST_RATIO = 200
"""Unpacked bytes for each packed one, beyond which a member of more than LARGEST_SOURCE bytes is called a bomb."""
DEEPEST = 24
"""Folders in folders."""
LONGEST_NAME = 255
SHOWN = 160
"""At most this many characters of a name are shown."""

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar.zst", ".tzst")
OTHER_ARCHIVES = (".rar", ".7z", ".gz", ".xz", ".bz2", ".zst", ".lz", ".cab")
TEXTS = (".cu", ".txt", ".cpp", ".cc", ".cxx", ".c++", ".c", ".cuda")
"""Endings of texts that are read: programs, and what editors and mail programs make of them."""
HEADERS = (".h", ".cuh", ".hpp", ".hh")
"""Endings of texts that a person may mean, and that nothing takes by itself."""
METADATA = "submission_metadata.yml"
HIDES_ORDER = re.compile(f"[{TURNING}]")
"""Marks that show a text from right to left: `uc.exe` as `exe.cu`."""
JUNK_FOLDERS = {"__macosx", ".git", ".github", ".svn", ".vscode", ".idea"}
JUNK_FILES = {".ds_store", "thumbs.db", "desktop.ini", ".git"}  # a .git that is a file stands for one elsewhere

Parts = tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """One file of the pile, or a place in it that was refused.

    `parts` is its place; an archive counts as a folder that has the archive's name.
    """

    parts: Parts
    size: int = 0
    data: bytes | None = None
    """Its bytes, for what is looked into (programs, metadata); None for anything else."""
    modified: float | None = None
    """Seconds since 1970, where it is known, perhaps by a student's own archive: it only distinguishes a newer attempt
    from an older one."""
    packed: float | None = None
    """The same by the pile: of what lies in a student's archive it is the archive's, whatever that says inside."""
    refused: str = ""
    """Why it is not taken, in a few words; empty for what is fine."""
    is_folder: bool = False
    """An empty folder or archive: nothing else would show that it is there."""
    is_doubtful: bool = False
    """It was refused, but a person might still be able to use it: a damaged archive, say."""
    label: str = ""
    """What a member of an archive is called that has no place: its name was refused."""

    def name(self, without: int = 0) -> str:
        """Return the place for people, without its first parts."""
        return self.label or printable("/".join(self.parts[without:] or self.parts))


def printable(name: str) -> str:
    """Return a name of any origin so that it can be shown and written as UTF-8: control characters are spelled out."""
    shown = "".join(
        letter
        if letter.isprintable() and not HIDES_ORDER.match(letter)
        else letter.encode("unicode_escape").decode("ascii")
        for letter in name
    )
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"


def composed(name: str) -> str:
    """Return a name as all names are compared: macOS writes `ü` as `u` and a mark, other systems as one letter."""
    return unicodedata.normalize("NFC", name)


def misleads(name: str) -> bool:
    """Return whether a name has control characters, or marks that change the order in which it is shown."""
    return HIDES_ORDER.search(name) is not None or any(unicodedata.category(letter) == "Cc" for letter in name)


def is_junk(parts: Parts, is_folder: bool = False) -> bool:
    """Return whether a file, or a folder, is what desktops and version control leave beside people's work.

    What macOS puts beside a file begins with `._`; a folder of such a name is a student's own.
    """
    *around, name = (part.casefold() for part in parts)
    if is_folder:
        around.append(name)
    return not JUNK_FOLDERS.isdisjoint(around) or (not is_folder and (name in JUNK_FILES or name.startswith("._")))


def suffix_of(name: str) -> str:
    """Return the archive's ending that a name has, or an empty text."""
    small = name.casefold()
    return next((ending for ending in ARCHIVES if small.endswith(ending)), "")


def is_source(name: str) -> bool:
    """Return whether a name is a CUDA file's."""
    return PurePosixPath(name).suffix.casefold() == ".cu"


def is_text(name: str) -> bool:
    """Return whether a name is that of a text which may be a CUDA program under another name: `scan.cu.txt`."""
    return name.casefold().endswith(TEXTS)


def is_header(name: str) -> bool:
    """Return whether a name is a header's, which a student may have handed in by mistake."""
    return name.casefold().endswith(HEADERS)


def bytes_text(count: int) -> str:
    """Return a number of bytes for people: 1.0 GiB."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.1f} {unit}"
    return f"{count} bytes"


def safe_parts(name: str) -> tuple[Parts, str]:
    """Return the parts of an archive member's name, and why it is refused (empty: it is not).

    Archives made on Windows may separate folders by backslashes.
    """
    if "\0" in name:
        return (), "its name has a NUL character"
    plain = name if "/" in name else name.replace("\\", "/")
    if plain.startswith(("/", "\\")) or (len(plain) > 1 and plain[1] == ":" and plain[0].isalpha()):
        return (), "its name is an absolute path"
    parts = tuple(part for part in composed(plain).split("/") if part not in ("", "."))
    if any(part == ".." for part in (*parts, *name.replace("\\", "/").split("/"))):
        return (), "its name leaves the folder by `..`"
    if misleads(plain):
        return (), "its name has control characters"
    if len(parts) > DEEPEST or any(len(part.encode(errors="surrogateescape")) > LONGEST_NAME for part in parts):
        return (), "its name is too long"
    return parts, ""


def too_large(name: str, size: int) -> str:
    """Return why a file of `size` bytes is not read, or an empty text."""
    if (is_text(name) or is_header(name)) and size > LARGEST_SOURCE:
        return f"has {bytes_text(size)}; a lab's file has at most {bytes_text(LARGEST_SOURCE)}"
    if suffix_of(name) and size > LARGEST_ARCHIVE:
        return f"has {bytes_text(size)}; an archive of one student has at most {bytes_text(LARGEST_ARCHIVE)}"
    return ""


def is_wanted(name: str) -> bool:
    """Return whether a file is looked into."""
    return is_text(name) or is_header(name) or bool(suffix_of(name)) or name == METADATA
