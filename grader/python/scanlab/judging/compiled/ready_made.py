"""Find ready-made code, a library's scan, in what was compiled.

A file may name a header by a macro, include it in the device's pass only, or reach it through another header. So the
PTX is asked: its line table says of each instruction which header it comes from, and through which calls it came to
stand where it stands. The list of included headers is asked too, for libraries that are forbidden as a whole.

What a file has copied out of a header is its own text, and is not found here.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

from scanlab.judging.compiled.line_table import FILE, Frame, chains, texts

CALLED_BY = {"cooperative_groups/details/coalesced_scan.h": "cooperative_groups/details/*reduce.h"}
"""Headers that others, which are not forbidden, are made with: cooperative groups' reductions scan their lanes."""

BYTES = re.compile(rb"\s*\.b8 ([0-9, ]+)")
INCLUDE = re.compile(r"\s*#\s*include\s*[<\"]([^>\"\n]+)")
LENGTH = re.compile(r"\d+")
LONGEST_NAME = 2000


@dataclass(frozen=True)
class ReadyMade:
    """Code of a forbidden header: its function (or nothing), the header's name, and the learner's line (or 0)."""

    function: str
    header: str
    line: int

    def __str__(self) -> str:
        """Return it in words: cub::BlockScan (<cub/block/block_scan.cuh>)."""
        return f"{self.function} (<{self.header}>)" if self.function else f"<{self.header}>"


def included(
    names: Sequence[str], source: str, forbidden: Sequence[str], is_cudas: Callable[[str], bool]
) -> ReadyMade | None:
    """Return the first included header of CUDA's that fits a pattern, with the line that names it, if one does."""
    for name in names:
        header = _header(name, forbidden)
        if header and is_cudas(name):
            return ReadyMade("", header, _line_that_includes(source, forbidden))
    return None


def compiled(
    object_text: bytes, source: str, forbidden: Sequence[str], is_cudas: Callable[[str], bool]
) -> ReadyMade | None:
    """Return the code of a header of CUDA's that fits a pattern in an object's PTX, if there is any.

    A header counts when the learner's file calls it, or when a function of its own stands in the PTX. One that another
    header of CUDA's calls counts too, but for those in CALLED_BY.
    """
    for ptx in texts(object_text):
        files = {int(number): os.path.normpath(os.fsdecode(name)) for number, name in FILE.findall(ptx)}
        headers: dict[int, str] = {}
        for number, name in files.items():
            header = _header(name, forbidden)
            if header and is_cudas(name):
                headers[number] = header
        if not headers:
            continue
        names = _Names(ptx)
        best: ReadyMade | None = None
        for chain in chains(ptx, set(headers)):
            found = _in_chain(chain, headers, files, is_cudas, names)
            if found and found.line:
                return found
            best = best or found
        if best:
            return ReadyMade(best.function, best.header, _line_that_includes(source, forbidden))
    return None


def _in_chain(
    chain: Sequence[Frame],
    headers: Mapping[int, str],
    files: Mapping[int, str],
    is_cudas: Callable[[str], bool],
    names: "_Names",
) -> ReadyMade | None:
    """Return what a chain of calls, the innermost first, has of the forbidden headers."""
    found: tuple[Frame, str] | None = None
    for frame, caller in zip(chain, [*chain[1:], None], strict=True):
        header = headers.get(frame.file)
        if header is None:
            continue
        pattern = CALLED_BY.get(header)
        if pattern and caller and _header(files.get(caller.file, ""), [pattern]):
            continue
        found = frame, header  # the outermost: what the learner has called
    if found is None:
        return None
    frame, header = found
    outside = chain[chain.index(frame) :]
    line = next((one.line for one in outside if not is_cudas(files.get(one.file, ""))), 0)
    return ReadyMade(names.of(frame.function), header, line)


class _Names:
    """The functions' names, which stand in the PTX's debugging strings as numbers."""

    def __init__(self, ptx: bytes) -> None:
        self.ptx = ptx

    def of(self, label: bytes) -> str:
        """Return the name of a function, as a learner writes it, by the label of its string or by its symbol."""
        if not label.startswith(b"$L__info_string"):
            return _written(label.decode(errors="replace"))
        at = self.ptx.find(label + b":")
        codes: list[int] = []
        while at >= 0 and len(codes) < LONGEST_NAME:
            at = self.ptx.find(b"\n", at)
            line = BYTES.match(self.ptx, at + 1) if at >= 0 else None
            if line is None:
                break
            codes += [int(code) for code in line[1].split(b",") if code.strip().isdigit()]
            if 0 in codes:
                break
            at = line.end() - 1
        return _written(bytes(code & 255 for code in codes).split(b"\0")[0].decode(errors="replace"))


def _written(mangled: str) -> str:
    """Return the names in a mangled one, up to its template arguments: cub::BlockScan; the libraries' own left out."""
    text = mangled.removeprefix("_Z").lstrip("NKL")
    names: list[str] = ["std"] if text.startswith("St") else []
    text = text.removeprefix("St")
    while length := LENGTH.match(text):
        begin, count = length.end(), int(length.group(0)[:6])
        names.append(text[begin : begin + count])
        text = text[begin + count :]
    kept = [name for name in names if not name.startswith("_") and not name.startswith("CUB_") and name != "details"]
    return "::".join(kept)


def _header(file: str, patterns: Sequence[str]) -> str | None:
    """Return the end of a header's path that fits one of the patterns: cub/cub.cuh."""
    found = _ends(tuple(patterns)).search(os.path.normpath(file))
    return found[1] if found else None


@cache
def _ends(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds the longest end of a path that fits one of the patterns."""
    return re.compile(f"/({'|'.join(map(translate, patterns))})" if patterns else r"(?!)")


def _line_that_includes(source: str, forbidden: Sequence[str]) -> int:
    """Return the first line of a file that includes a forbidden header by its name; 0 for none."""
    for number, line in enumerate(source.splitlines(), 1):
        found = INCLUDE.match(line)
        if found and _header(f"/{found.group(1)}", forbidden):
            return number
    return 0


# ---- lines that lie -------------------------------------------------------------------------------------------------

SPLICES = ("\\\r\n", "\\\n", "??/\r\n", "??/\n")
HASHES = ("#", "%:", "??=")


def line_directive(source: str) -> int:
    """Return the line of the first `#line` (or `# 12 "file"`) of a file, 0 for none.

    Such a line makes all that follows, messages and the line table, name other lines and files. It is looked for at
    the beginning of every line, also within comments and strings: whoever hides one there means no good.
    """
    text = source
    for splice in SPLICES:  # what continues a line; a mark keeps count of the lines
        text = text.replace(splice, "\x00")
    number = 1
    for line in text.split("\n"):
        if _is_line_directive(line.replace("\x00", "")):
            return number
        number += 1 + line.count("\x00")
    return 0


def _is_line_directive(line: str) -> bool:
    pieces = line.split("*/")
    for at, piece in enumerate(pieces):
        text = piece.lstrip()
        mark = next((mark for mark in HASHES if text.startswith(mark)), None)
        if mark is None:
            continue
        rest = text[len(mark) :].lstrip()
        while rest.startswith("/*") and at + 1 < len(pieces):  # a comment, which ends where the next piece begins
            at += 1
            rest = pieces[at].lstrip()
        if _names_line(rest):
            return True
    return False


def _names_line(rest: str) -> bool:
    if rest.startswith("line"):
        return not (rest[4:5].isalnum() or rest[4:5] == "_")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    # GNU's: a number alone, or with a file's name.
    return digits > 0 and rest[digits:].lstrip()[:1] in ("", '"', "/")


def is_below(file: str, tops: Sequence[Path]) -> bool:
    """Return whether a file, wherever links lead, is in one of the folders."""
    path = Path(os.path.realpath(file))
    return any(path.is_relative_to(top) for top in tops)
