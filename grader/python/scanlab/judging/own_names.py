"""What a submission may not name: macros and instructions that are the kit's own, and directives of the line table.

The virtual GPU grades a build of its own (`SCANLAB_PROVENANCE`), whose `+` is an instruction that no GPU has. A file
that asks in which build it is, or writes such an instruction itself, is graded for what it is nowhere else.
"""

import re
from collections.abc import Callable, Collection

from scanlab.judging.learners_file import NO_CODE
from scanlab.paths import LABS

PREFIX = "SCANLAB_"
MACRO = re.compile(rf"\b{PREFIX}\w*")
WITH_ARGUMENTS = re.compile(rf"^#define ({PREFIX}\w+)\(", re.MULTILINE)
INSTRUCTION = re.compile(r"\"(scanlab\.\w+)")
OF_ELEMENTS = f"{PREFIX}ELEMENT_AFFINE"
"""Tells floats from maps, which are different types: each build is graded by itself."""
SETS = re.compile(rf"(?:#|%:|\?\?=)\s*(?:define|undef)\s+({PREFIX}\w+)")
LINE_TABLE = re.compile(r"(?:(?<!\w)|(?<=\\[nt]))(\.(?:loc|file))\s+[0-9]")
CONTINUED = re.compile(r"(?:[^\n]*(?:\\|\?\?/)[ \t]*\r?\n)+[^\n]*")
SPLICE = re.compile(r"(?:\\|\?\?/)[ \t]*\r?\n")
TEXT = r"\"(?:\\.|[^\"\\\n])*+\""
TEXTS = re.compile(rf"{TEXT}(?:\s*+{TEXT})+")
"""Texts that the compiler joins."""
BETWEEN = re.compile(r"\"\s*+\"")


def named(source: str, given: Collection[str] = ()) -> tuple[int, str] | None:
    """Return the first line of a file that names what is the kit's own, and why it may not; None where none does.

    `given` has the lines of the lab's file that are not the learner's, without indents.
    """
    headers = "\n".join(path.read_text(encoding="utf-8") for path in sorted(LABS.glob("*.cuh")))
    allowed = {*WITH_ARGUMENTS.findall(headers), OF_ELEMENTS}
    instructions = re.compile("|".join(re.escape(name) + r"\b" for name in {*INSTRUCTION.findall(headers)}) or r"(?!)")
    lines = source.split("\n")
    for number, (code, text) in enumerate(zip(*_read(source), strict=True), 1):
        if lines[number - 1].strip() in given:
            continue
        other = [name for name in MACRO.findall(code) if name not in allowed] + SETS.findall(code)
        if other:
            return number, f"{other[0]} is the kit's own: a scan is the same for each element"
        if found := instructions.search(text):
            return number, f"{found[0]} is the kit's own instruction: add elements with `+`"
        if found := LINE_TABLE.search(text):
            return number, f"a {found[1]} directive makes messages name wrong lines: remove it"
    return None


def _read(source: str) -> tuple[list[str], list[str]]:
    """Return the lines of a file without comments and texts, and those with texts; what is continued is joined.

    A text that goes on in another one is joined with it, too. Each begins in its own line.
    """

    def joined(between: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
        return lambda found: between.sub("", found[0]) + "\n" * found[0].count("\n")

    def without_comment(found: re.Match[str]) -> str:
        return found[0] if found[0][0] in "\"'" else " " + "\n" * found[0].count("\n")

    text = NO_CODE.sub(without_comment, CONTINUED.sub(joined(SPLICE), source))
    code = NO_CODE.sub(" ", text)
    return code.split("\n"), TEXTS.sub(joined(BETWEEN), text).split("\n")
