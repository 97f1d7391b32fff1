"""What a submission may not name: macros and instructions that are the kit's own, and directives of the line table.

The virtual GPU grades a build of its own, whose `+` is an instruction that no GPU has (`grader/runner/by_name`). A file
that writes such an instruction itself is graded for what it is nowhere else.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import accumulate

from scanlab.judging.learners_file import NO_CODE
from scanlab.paths import LABS, ROOT

BY_NAME = ROOT / "grader/runner/by_name"
"""The folder of the header whose `+` makes names; it is searched before the labs' own."""
PREFIX = "SCANLAB_"
MACRO = re.compile(rf"\b{PREFIX}\w*")
WITH_ARGUMENTS = re.compile(rf"^#define ({PREFIX}\w+)\(", re.MULTILINE)
INSTRUCTION = re.compile(r"\"(scanlab\.\w+)")
OF_ELEMENTS = f"{PREFIX}ELEMENT_AFFINE"
"""Tells floats from maps, which are different types: each build is graded by itself."""
SETS = re.compile(rf"(?:#|%:|\?\?=)\s*(?:define|undef)\s+({PREFIX}\w+)")
LINE_TABLE = re.compile(r"(?:(?<!\w)|(?<=\\[nt]))(\.(?:loc|file))\s+[0-9]")
BETWEEN = re.compile(r"\"\s*+\"")
"""Between two texts, which the compiler joins."""
SPLICES = ("\\", "??/")


def named(source: str, given: Collection[str] = ()) -> tuple[int, str] | None:
    """Return the first line of a file that names what is the kit's own, and why it may not; None where none does.

    `given` has the lines of the lab's file that are not the learner's, without indents.
    """
    paths = [*sorted(LABS.glob("*.cuh")), *sorted(BY_NAME.glob("*.cuh"))]
    headers = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    allowed = {*WITH_ARGUMENTS.findall(headers), OF_ELEMENTS}
    instructions = re.compile("|".join(re.escape(name) + r"\b" for name in {*INSTRUCTION.findall(headers)}) or r"(?!)")
    text = NO_CODE.sub(_without_comment, _with_whole_lines(source))
    found = [*_macros(NO_CODE.sub(" ", text), allowed), *_in_texts(text, instructions)]
    lines = source.split("\n")
    return min((one for one in found if lines[one[0] - 1].strip() not in given), default=None)


def _macros(code: str, allowed: Collection[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(code.split("\n"), 1):
        for name in [name for name in MACRO.findall(line) if name not in allowed] + SETS.findall(line):
            yield number, f"{name} is the kit's own: a scan is the same for each element"


def _in_texts(text: str, instructions: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield what stands in asm that may not, with the line in which it begins; texts may go on in others."""
    begins, ends = [0], []  # of the pieces that are left of the text
    for gap in BETWEEN.finditer(text):
        ends.append(gap.start())
        begins.append(gap.end())
    pieces = [text[begin:end] for begin, end in zip(begins, [*ends, len(text)], strict=True)]
    places = [0, *accumulate(map(len, pieces))]  # of the pieces when they are joined

    def line(place: int) -> int:
        piece = bisect_right(places, place) - 1
        return text.count("\n", 0, begins[piece] + place - places[piece]) + 1

    joined = "".join(pieces)
    for found in instructions.finditer(joined):
        yield line(found.start()), f"{found[0]} is the kit's own instruction: add elements with `+`"
    for found in LINE_TABLE.finditer(joined):
        yield line(found.start(1)), f"a {found[1]} directive makes messages name wrong lines: remove it"


def _with_whole_lines(source: str) -> str:
    """Return a text whose continued lines are whole where they begin; the others stay where they are."""
    lines: list[str] = []
    parts: list[str] = []
    for line in source.split("\n"):
        text = line.rstrip(" \t\r")
        splice = next((one for one in SPLICES if text.endswith(one)), "")
        parts.append(text.removesuffix(splice))
        if not splice:
            lines += ["".join(parts), *[""] * (len(parts) - 1)]
            parts = []
    return "\n".join([*lines, "".join(parts), *[""] * (len(parts) - 1)] if parts else lines)


def _without_comment(found: re.Match[str]) -> str:
    return found[0] if found[0][0] in "\"'" else " " + "\n" * found[0].count("\n")
