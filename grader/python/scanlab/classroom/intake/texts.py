"""Read what a person would read: programs in the encodings and with the line ends that editors leave behind.

Nothing of a program changes: its letters and its lines stay what they are. Where that is not certain, it is not done.
"""

import re
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
WIDE = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
CODE = re.compile(r"__global__|__device__|#\s{0,9}include\b|\bElement\b")
"""What a lab's program has, and notes or a program's output do not have."""
MOST_LOOKED_AT = 1 << 20


@dataclass(frozen=True)
class Read:
    """A file as it is graded."""

    data: bytes = b""
    """UTF-8; empty where it cannot be read."""
    done: str = ""
    """What was done to read it; empty where nothing had to be."""
    fault: str = ""
    """Why it cannot be read, or not for certain."""
    is_doubtful: bool = False
    """A person can read it: `read` with `is_decided` does."""


def read(data: bytes, is_decided: bool = False) -> Read:
    """Return a text as UTF-8; with `is_decided` also one that a person has declared to be meant."""
    if not data.strip():
        return Read(fault="is empty")
    done: list[str] = []
    wide = next((encoding for mark, encoding in WIDE if data.startswith(mark)), "") or _wide_without_mark(data)
    if wide:
        try:
            text = data.decode(wide)
            data = text.encode()
        except UnicodeError:
            return Read(fault=f"is {wide.upper()} text, and damaged: save it as UTF-8")
        done.append(f"was {wide.upper()[:6]} text")
    if data.startswith(BOM):
        data = data[len(BOM) :]
        done += [] if wide else ["began with a byte order mark"]
    if not data.strip():
        return Read(fault="is empty")
    if b"\0" in data:
        return Read(fault="is a binary file, no text")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, byte = data[: error.start].count(b"\n") + 1, data[error.start]
        if not (is_decided or _is_only_in_comments(data)):
            fault = f"is not UTF-8 text (line {line}, byte {byte:#04x}, in the program itself)"
            return Read(fault=fault, is_doubtful=True)
        data = _as_latin_1(data)
        done.append(f"was not UTF-8 (line {line}, byte {byte:#04x}): such bytes are read as Latin-1")
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
        done.append("had old line ends")
    return Read(data, "; ".join(done))


def looks_like_code(data: bytes) -> bool:
    """Return whether a text is a lab's program rather than notes or a program's output."""
    taken = read(data[:MOST_LOOKED_AT], is_decided=True)
    return bool(CODE.search(taken.data.decode("utf-8", "replace")))


def _wide_without_mark(data: bytes) -> str:
    """Return the encoding of a text every other byte of which is 0."""
    if len(data) < 4 or len(data) % 2 or b"\0" not in data:
        return ""
    for encoding, zeros, others in (("utf-16-le", data[1::2], data[::2]), ("utf-16-be", data[::2], data[1::2])):
        if zeros.count(0) >= 0.95 * len(zeros) and others.count(0) == 0:
            return encoding
    return ""


def _as_latin_1(data: bytes) -> bytes:
    """Return a text in which each byte that is not part of UTF-8 stands for its character in Latin-1."""
    return data.decode("utf-8", "surrogateescape").translate(_LATIN_1).encode()


_LATIN_1 = {0xDC00 + byte: chr(byte) for byte in range(0x80, 0x100)}


_BEGINS = re.compile("//|/\\*|[\"'\udc80-\udcff]")
_ENDS = {"//": re.compile(r"\n|\\"), '"': re.compile(r'["\n\\]'), "'": re.compile(r"['\n\\]")}


def _is_only_in_comments(data: bytes) -> bool:
    """Return whether all bytes that are not UTF-8 stand in comments and strings, where no compiler looks at them."""
    text = data.decode("utf-8", "surrogateescape")
    at = 0
    while found := _BEGINS.search(text, at):
        begin, at = found[0], found.end()
        if begin == "/*":
            end = text.find("*/", at)
            if end < 0:
                return True
            at = end + 2
        elif begin in _ENDS:
            while (end_of := _ENDS[begin].search(text, at)) and end_of[0] == "\\":
                at = end_of.end() + (2 if text.startswith("\r\n", end_of.end()) else 1)
            if end_of is None:
                return True
            at = end_of.end()
        else:
            return False
    return True
