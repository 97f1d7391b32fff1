"""What no submission may have, whether or not it compiles: a library's scan, too much code, lines that lie."""

import json
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from scanlab.judging.compiled import ready_made
from scanlab.judging.compiled.line_table import line_with_most, texts
from scanlab.judging.compiler.errors import ForbiddenHeaderError, RefusedError, TooLargeError
from scanlab.judging.compiler.recipe import SANDBOXED_SOURCE, read_source
from scanlab.judging.toolchain import toolchain
from scanlab.labs.rubric import ONLY_CODE
from scanlab.paths import ROOT

MOST_CODE = 16 << 20
"""Bytes of PTX that a submission may have on the virtual GPU (autograder/device/virtual_device.cpp)."""


def refuse_ready_made(path: Path, made: Path, forbidden: Sequence[str]) -> None:
    """Raise ForbiddenHeaderError, with the learner's line, when an object has code of a forbidden header in it."""
    if not forbidden:
        return
    source = read_source(path).decode()
    names = json.loads((made.parent / "included.json").read_text())
    libraries = [pattern for pattern in forbidden if pattern not in ONLY_CODE]
    found = ready_made.included(names, source, libraries, _is_cudas)
    found = found or ready_made.compiled(made.read_bytes(), source, forbidden, _is_cudas)
    if found:
        rule = next((f' by its forbidden_headers, "{one}"' for one in forbidden if fnmatch(found.header, one)), "")
        sentence = f"{found}: write the scan yourself\nthe lab refuses libraries' scans{rule}"
        raise ForbiddenHeaderError(path, found.line, sentence)


def refuse_too_much(path: Path, made: Path) -> None:
    """Raise TooLargeError, with the learner's line, when an object has more code than the virtual GPU takes."""
    if made.stat().st_size < MOST_CODE:
        return
    codes = list(texts(made.read_bytes()))
    size = sum(map(len, codes))
    if size > MOST_CODE:
        line = line_with_most(max(codes, key=len), (path.name, SANDBOXED_SOURCE.name))
        raise TooLargeError(
            path,
            line,
            f"most of {size / (1 << 20):.1f} MiB of PTX comes from here, and the virtual GPU takes {MOST_CODE >> 20} "
            "MiB: let a loop repeat at run time what is written out",
        )


def refuse_line_directives(path: Path, text: bytes) -> None:
    """Raise CompileError when lines of a file would be called others: messages, and the line table, would lie."""
    if line := ready_made.line_directive(text.decode()):
        raise RefusedError(path, line, "a #line directive makes messages name wrong lines: remove it")


def _is_cudas(file: str) -> bool:
    """Return whether a header is CUDA's or the system's; a learner's own folder may be called as a library is."""
    tools = toolchain()
    toolkit = [tools.nvcc.resolve().parent.parent, *(folder.parent for folder in tools.libraries)]
    if ready_made.is_below(file, toolkit):
        return True
    return ready_made.is_below(file, [Path("/usr")]) and not ready_made.is_below(file, [ROOT])
