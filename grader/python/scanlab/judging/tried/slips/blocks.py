"""What blocks know of each other: whose section is whose, what a status is packed into, the windows of a look-back."""

import re
from collections.abc import Iterator

from scanlab.judging.tried.slips.program import Edit, Program, Rule, rewrite

ONE_LESS = re.compile(r"\b(\w{1,60})\s*(?:<[^<>;]{0,40}>\s*)?<<<\s*(\w{1,40}\s*-\s*1)\s*,")
SECTION = re.compile(
    r"(?<![(+])(?<!\+ )(\bblockIdx\.x)\s*\*\s*(?:section_size|blockDim\.x|block_size)(?!.*\+\s*section_size)"
)
PACKED = re.compile(r"(?:\b2\s*\*\s*([\w.]{1,40})|([\w.]{1,40})\s*(?:\*\s*2|<<\s*1))\s*[+|]")
WINDOW = re.compile(r"\b(\w{1,40})\s*-\s*(warp_size|32|warpSize)\s*[-+]\s*lane\b")
WHICH_LANE = "wrong|deadlock|endless|race|fence"


def _section_of_a_block(program: Program) -> Iterator[Edit]:
    """Find a grid without a block for the first section, in whose kernel block 0 works on that section all the same."""
    for launch, found in program.matches(ONE_LESS):
        kernel = re.compile(rf"__global__[^;{{}}]*\b{found[1]}\s*\(")
        for number in program.numbers:
            code = program.code(number)
            index = SECTION.search(code)
            if index and program.is_of_device(number) and kernel.search(program.around(number)):
                because = (
                    f"line {launch} launches {found[2].strip()} blocks: none for section 0, and block 0 has section 1"
                )
                yield Edit(number, *index.span(1), "(blockIdx.x + 1)", because, is_sure=True)


def _unpacked(program: Program) -> Iterator[Edit]:
    """Find a number that was packed with a bit and is compared as if it was alone."""
    for packed in sorted({one or other for one, other in PACKED.findall(program.whole)}):
        compared = re.compile(rf"(?<![\w.])(?<!/ )([\w.\[\]]{{1,40}})(?=\s*[=!]=\s*{re.escape(packed)}(?![\w.]))")
        for number, found in program.matches(compared):
            because = f"what is stored is {packed} * 2 and a bit: without the bit it is {found[1]} / 2"
            yield Edit(number, *found.span(1), f"{found[1]} / 2", because)


def _window_stays(program: Program) -> Iterator[Edit]:
    """Find a loop over windows that looks at the same one in each round."""
    for number, code in program.each():
        if not re.match(r"\s*(?:while\s*\(.*\)|do|for\s*\([^;]*;[^;]*;\s*\))\s*\{\s*$", code):
            continue
        indent = program.indent(number)
        lines = range(number + 1, min(number + 40, len(program.lines)))
        end = next((line for line in lines if program.code(line).startswith(f"{' ' * indent}}}")), 0)
        body = "\n".join(program.code(line) for line in range(number + 1, end))
        for name, size in dict.fromkeys(WINDOW.findall(body)):
            if not re.search(rf"\b{name}\s*(?:[-+]?=(?!=)|--)|--\s*{name}\b", body):
                meant = f"{' ' * (indent + 2)}{name} -= {size};\n{program.lines[end - 1]}"
                because = f"{name} stays as it is in the loop of line {number}: each round looks at the same places"
                cure = f"put `{name} -= {size};` at the end of the loop, before line {end}"
                yield Edit(end, 0, len(program.lines[end - 1]), meant, because, cure)


def _prefix_before(program: Program) -> Iterator[Edit]:
    """Find what is before a tile where its inclusive prefix is meant, which a line nearby calculates."""
    for number, found in program.matches(re.compile(r"=\s*(\w{1,40});")):
        for near in range(number - 6, number + 7):
            sums = re.findall(rf"(?<![\w.]){found[1]}\s*\+\s*([\w.]{{1,60}})(?=\s*[,;)])", program.code(near))
            for own in sums if near != number else ():
                because = f"{found[1]} is what comes before: without {own} it is no inclusive prefix"
                yield Edit(number, *found.span(1), f"{found[1]} + {own}", because)


RULES = (
    Rule(_section_of_a_block, "wrong|bounds", is_common=True),
    Rule(_unpacked, "wrong|deadlock|endless"),
    Rule(_window_stays, WHICH_LANE),
    Rule(_prefix_before, "wrong"),
    rewrite(
        r"\b__ffs\s*(<GROUP>)\s*-\s*1\b",
        r"31 - __clz\1",
        "__ffs finds the lowest lane of a mask, and the highest is meant",
        WHICH_LANE,
    ),
    rewrite(
        r"\b31\s*-\s*__clz\s*(<GROUP>)",
        r"__ffs\1 - 1",
        "__clz counts from the top: this is the highest lane of a mask, and the lowest is meant",
        WHICH_LANE,
    ),
)
