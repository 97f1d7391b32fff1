"""The line table of PTX: which of the learner's lines an instruction was made of, and through which calls."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

FILE = re.compile(rb'\.file\t(\d+) "([^"\n]+)"')
LOC = re.compile(
    rb"\.loc\t(\d+) (\d+) (\d+)(?:, function_name (\$L__info_string\d+)(?:\+\d+)?, inlined_at (\d+) (\d+) (\d+))?"
)
ASM_MARKS = (b"// begin inline asm", b"// end inline asm")
FUNCTION = re.compile(rb"^(?:\.visible |\.weak |\.extern )*\.(?:entry|func) .*", re.MULTILINE)


@dataclass(frozen=True)
class Frame:
    """A place in the chain of calls that an instruction stands in, and the function that it is in (mangled)."""

    file: int
    line: int
    function: bytes


def texts(object_text: bytes) -> Iterator[bytes]:
    """Return the PTX texts in an object; each ends with a zero."""
    at = object_text.find(b".version ")
    while at >= 0:
        end = object_text.find(b"\0", at)
        end = len(object_text) if end < 0 else end
        yield object_text[at:end]
        at = object_text.find(b".version ", end)


def chains(ptx: bytes, wanted: set[int]) -> Iterator[list[Frame]]:
    """Return the chain of calls of every `.loc` in one of the files `wanted`, the innermost place first."""
    seen: set[tuple[bytes, ...]] = set()
    for _, found, symbol, callers in _locs(ptx):
        if int(found[1]) in wanted and (symbol, *found.groups()) not in seen:
            seen.add((symbol, *found.groups()))
            yield _chain(found, symbol, callers)


def line_at(ptx: bytes, number: int, names: Collection[str]) -> int:
    """Return the line of a file, which has one of these names, that a line of PTX was made of; 0 if it is not known."""
    return next((line for line, made in _lines(ptx, names) if number in made), 0)


def line_with_most(ptx: bytes, names: Collection[str]) -> int:
    """Return the line of a file, which has one of these names, that most of the PTX was made of; 0 for none."""
    counts: Counter[int] = Counter()
    for line, made in _lines(ptx, names):
        counts[line] += len(made)
    del counts[0]
    return max(counts, key=lambda line: counts[line], default=0)


def _lines(ptx: bytes, names: Collection[str]) -> Iterator[tuple[int, range]]:
    """Yield the lines of a file, 0 for what is not of it, with the lines of PTX that were made of them."""
    files = {int(number) for number, name in FILE.findall(ptx) if Path(os.fsdecode(name)).name in names}
    line, begin = 0, 1
    for number, found, symbol, callers in _locs(ptx):
        yield line, range(begin, number)
        begin = number
        line = next((frame.line for frame in _chain(found, symbol, callers) if frame.file in files), 0)
    yield line, range(begin, ptx.count(b"\n") + 2)


Spot = tuple[bytes, bytes, bytes]
"""A file's number, a line and a column."""
Callers = dict[Spot, tuple[Spot, bytes]]
"""From where what stands at a place was called, and the function that it is in."""


def _locs(ptx: bytes) -> Iterator[tuple[int, re.Match[bytes], bytes, Callers]]:
    """Yield each `.loc` of nvcc's with its line, its function, and the calls of this function up to there."""
    symbol = b""
    callers: Callers = {}
    is_asm = False
    for number, text in enumerate(ptx.split(b"\n"), 1):
        if text.lstrip().startswith(ASM_MARKS):
            is_asm = text.lstrip().startswith(ASM_MARKS[0])
        if is_asm:  # what a file has written there itself
            continue
        if text.startswith(b"."):
            if FUNCTION.match(text):
                symbol, callers = next(iter(text.rstrip(b"( \r").split()[-1:]), b""), {}
            found = LOC.match(text)
        else:
            found = LOC.match(text.lstrip()) if text.startswith(b"\t.loc") else None
        if not found:
            continue
        place = (found[1], found[2], found[3])
        if found[4]:
            callers[place] = ((found[5], found[6], found[7]), found[4])
        else:
            callers.pop(place, None)
        yield number, found, symbol, callers


def _chain(found: re.Match[bytes], symbol: bytes, callers: Callers) -> list[Frame]:
    chain: list[Frame] = []
    at = (found[1], found[2], found[3])
    while len(chain) < 256:
        outer = callers.get(at)
        chain.append(Frame(int(at[0]), int(at[1]), outer[1] if outer else symbol))
        if outer is None:
            break
        at = outer[0]
    return chain
