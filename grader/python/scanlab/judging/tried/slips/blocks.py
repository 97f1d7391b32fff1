"""What blocks know of each other: whose section is whose, what a status is packed into, the windows of a look-back."""

import re
from collections.abc import Iterator

from scanlab.judging.tried.slips.program import Edit, Program, Rule, compiled, rewrite
from scanlab.judging.tried.slips.threads import DEVICE_FUNCTION

ONE_LESS = re.compile(r"\b(\w{1,60})\s*(?:<[^<>;]{0,40}>\s*)?<<<\s*(\w{1,40}\s*-\s*1)\s*,")
SECTION = re.compile(
    r"(?<![(+])(?<!\+ )(\bblockIdx\.x)\s*\*\s*(?:section_size|blockDim\.x|block_size)(?!.*\+\s*section_size)"
)
PACKED = re.compile(r"(?:\b2\s*\*\s*([\w.]{1,40})|([\w.]{1,40})\s*(?:\*\s*2|<<\s*1))\s*[+|]")
IS_THERE = re.compile(r"(?<![\w.&])(\w*(?:[tT]ag|[mM]ark|[sS]tatus)\w*(?:\[\w{1,20}\])?)\s*(?:!=|>)\s*0\b")
WINDOW = re.compile(r"\b(\w{1,40})\s*-\s*(warp_size|32|warpSize)\s*[-+]\s*lane\b")
GOES_ON = re.compile(r"\b(\w*[pP]refix\w*)\s*=\s*(\1)\s*\+")
BEFORE = re.compile(r"(?:=|,)\s*(before)\s*(?=[;,)])")
KEEPS = re.compile(r"\b(\w{1,40})\s*(?:\+=|=\s*\1\s*\+|=)\s*([A-Za-z_]\w{0,40}(?:\[\w{1,20}\])?)\s*;")
SHUFFLES_UP = re.compile(r"\b(?:shuffle_up|__shfl_up_sync)\s*\(")
FIRST = re.compile(r"\b(\w{1,40})\s*=[^;=]*(?:__clz|__ffs)\s*\(|\bint\s+(\w{1,40})\s*=\s*\w{1,40}\(\w*[pP]refix\w*\)")
SCANNED = re.compile(r"\bscan_\w{1,20}\(\s*([\w.]{1,60})\s*\)")
MADE_NOTHING = re.compile(r"\bif\s*\(([^()]{1,60})\)\s*\w{1,40}\s*=\s*identity\(\)")
CONDITION_BEFORE = re.compile(r"\bif\s*\(([^()|]{1,80})\)\s*$")
FLAG = re.compile(r"\b(?:int|bool|unsigned)\s+(\w{1,40})\s*=\s*keep\(")
COUNTED = re.compile(r"=(?!=)\s*([\w.]{1,40}(?:\[\w{1,20}\])?\s*\+\s*[\w.]{1,40}(?:\[\w{1,20}\])?)\s*;")
ONE_NUMBER = re.compile(r"(?:^|\)|\{)\s*(\*\s*d_\w{1,40}|d_\w{1,40}\[0\])\s*=(?!=)")
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


def _of_any_call(program: Program) -> Iterator[Edit]:
    """Find a tag that is asked for being there, and not for the number that was packed into it."""
    for packed in sorted({one or other for one, other in PACKED.findall(program.whole)}):
        for number, found in program.matches(IS_THERE):
            if packed not in program.around(number) and "board" in program.around(number):
                because = f"what an earlier call has left is there as well: {packed} says of which call it is"
                meant = f"({found[1]}) / 2 == {packed}" if re.search(r"\W", found[1]) else f"{found[1]} / 2 == {packed}"
                yield Edit(number, *found.span(), meant, because)


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


def _own_prefix(program: Program) -> Iterator[Edit]:
    """Find a prefix that goes on from the block's last one, where what is before the tile is known."""
    for number, found in program.matches(GOES_ON):
        if re.search(r"\bbefore\b", program.around(number)):
            because = f"{found[1]} is of the last tile of this block, and other blocks had tiles since: before is known"
            yield Edit(number, *found.span(2), "before", because)


def _without_aggregate(program: Program) -> Iterator[Edit]:
    """Find what is before a tile where its inclusive prefix is meant, and no line says what the tile sums up to."""
    own = re.search(r"\b\w{1,40}(?:\.|->)\w{0,20}aggregate\w{0,20}\b", program.whole)
    for number, found in program.matches(BEFORE) if own else ():
        because = f"before is what comes before: without {own[0] if own else ''} it is no inclusive prefix"
        yield Edit(number, *found.span(1), f"before + {own[0] if own else ''}", because)


def _row_scans(program: Program) -> set[str]:
    """Return the functions that scan what the lanes of a warp have: those that shuffle up, in steps."""
    found = DEVICE_FUNCTION.finditer(program.whole)
    bodies = {one[1]: program.whole[one.end() :].partition("\n}")[0] for one in found}
    return {name for name, body in bodies.items() if SHUFFLES_UP.search(body) and name != "shuffle_up"}


def _not_of_the_last_lane(program: Program) -> Iterator[Edit]:
    """Find a lane's own sum where that of all lanes, which the last one has, is meant."""
    because = "each lane has its own sum here, of the lanes up to it: that of all lanes is the last lane's"
    scans = "|".join(sorted(_row_scans(program)))
    if not scans:
        return
    takes = ("of_last_lane(", ")") if "of_last_lane(" in program.whole else ("__shfl_sync(0xffffffffu, ", ", 31)")
    for number, found in program.matches(compiled(rf"(?<!of_last_lane\()\b(?:{scans})\s*<GROUP>")):
        if takes[0] == "of_last_lane(":
            yield Edit(number, *found.span(), f"{takes[0]}{found[0]}{takes[1]}", because)
    sums = set(re.findall(rf"\b([A-Za-z_]\w{{0,40}})(?:\[\w{{1,20}}\])?\s*=[^;=]*\b(?:{scans})\s*\(", program.whole))
    for number, found in program.matches(KEEPS):
        if found[2].partition("[")[0] in sums:
            yield Edit(number, *found.span(2), f"{takes[0]}{found[2]}{takes[1]}", because)


def _all_lanes_added(program: Program) -> Iterator[Edit]:
    """Find a window's sum with lanes that are in front of the prefix, which has them already."""
    firsts = dict.fromkeys(FIRST.findall(program.whole))
    for first in (one or other for one, other in firsts):
        because = f"the prefix of lane {first} is of all that is in front of it: lanes before {first} count twice"
        for number, found in program.matches(SCANNED):
            if "?" not in found[1] and "lane" not in found[1]:
                yield Edit(number, *found.span(1), f"lane >= {first} ? {found[1]} : identity()", because)
        for number, found in program.matches(MADE_NOTHING):
            yield Edit(number, *found.span(1), f"lane < {first}", because)


def _own_flag_counted(program: Program) -> Iterator[Edit]:
    """Find a place that is an inclusive count, which has the element itself."""
    for flag in dict.fromkeys(FLAG.findall(program.whole)):
        for number, found in program.matches(COUNTED):
            if re.search(rf"\b{flag}\b", program.around(number)) and flag not in found[0]:
                because = f"an inclusive count has the element itself, {flag}: its place is how many are kept before it"
                yield Edit(number, *found.span(1), f"{found[1]} - {flag}", because)


def _every_block_writes(program: Program) -> Iterator[Edit]:
    """Find one number of the whole array that every block writes, and that the last section's alone knows."""
    for number, found in program.matches(ONE_NUMBER):
        guards = [program.code(line) for line in program.enclosing(number)]
        if "s_section" in program.whole and not any("gridDim" in code for code in guards):
            because = f"each block writes {found[1]}, and only that with the last section knows all: which one is last?"
            condition = CONDITION_BEFORE.search(program.code(number)[: found.start(1)])
            if condition:  # the line's own: if (lane == 31) *d_kept = …
                yield Edit(number, condition.end(1), condition.end(1), " && s_section == gridDim.x - 1", because)
            else:
                yield Edit(number, found.start(1), found.start(1), "if (s_section == gridDim.x - 1) ", because)


RULES = (
    Rule(_section_of_a_block, "wrong|bounds", is_common=True),
    Rule(_unpacked, "wrong|deadlock|endless"),
    Rule(_of_any_call, "wrong|deadlock|endless"),
    Rule(_window_stays, WHICH_LANE, is_sure=True),
    Rule(_prefix_before, "wrong"),
    Rule(_own_prefix, "wrong"),
    Rule(_without_aggregate, "wrong"),
    Rule(_not_of_the_last_lane, "wrong|bounds|race", is_common=True),
    Rule(_own_flag_counted, "wrong|race|bounds", is_common=True),
    Rule(_every_block_writes, "wrong|race|bounds", is_common=True),
    Rule(_all_lanes_added, "wrong"),
    rewrite(
        r"(?<!31 - )(?<!31-)\b__clz\s*(<GROUP>)",
        r"31 - __clz\1",
        "__clz counts the zeros above the highest bit: the number of that bit is 31 less so many",
        f"{WHICH_LANE}|bounds",
    ),
    rewrite(
        r"\b(__ffs\s*<GROUP>)(?!\s*-\s*1)",
        r"\1 - 1",
        "__ffs counts from 1: the number of the lowest bit is one less",
        f"{WHICH_LANE}|bounds",
    ),
    rewrite(
        r"\b(\w{1,40})\s*-\s*(?:1\s*-\s*(\w{0,20}lane\w{0,20})|(\w{0,20}lane\w{0,20})\s*-\s*1)(?=\s*[;,)\]])",
        r"\1 - warp_size + \2\3",
        r"the lanes are added up from lane 0 on: lane 0 needs the first tile of the window, not the last",
        WHICH_LANE,
    ),
    rewrite(
        r"\bmemcpy\s*\(\s*(?:&\s*([\w.]{1,40})|\w{1,40})\s*,\s*(?:&\s*([\w.]{1,40})|\w{1,40})\s*,\s*((?!sizeof)\w{1,40})\s*\)",
        r"sizeof(\1\2)",
        r"memcpy counts bytes: \3 is less than all of \1\2",
        group=3,
        is_sure=True,
    ),
    rewrite(
        r"((?:static_cast<\s*)(?:unsigned\s+long\s+long|(?:std::)?uint64_t)\s*>)\s*\(\s*(\w{1,40})\s*<<\s*(\w{1,20})\s*\)",
        r"(\1(\2) << \3)",
        r"\2 is shifted as a number of 32 bits, which loses all of them, and made longer after that",
        is_sure=True,
    ),
    rewrite(
        r"(?<![\w>)])(?<!\w[ ])([a-z_]\w{0,40})\s*<<\s*32\b",
        r"static_cast<unsigned long long>(\1) << 32",
        r"\1 is a number of 32 bits, and is shifted out of them",
        is_sure=True,
    ),
    rewrite(
        r"(\b(?:all_lanes|\w*mask\w*|known|bits|\w*[pP]refix\w*|missing)\s*)>>(?=\s*[a-z])",
        r"\1<<",
        "shifted to the right the lowest bits are lost: those of the first lanes",
        WHICH_LANE,
    ),
    rewrite(
        r"(\b(?:all_lanes|\w*mask\w*|known|bits|\w*[pP]refix\w*|missing)\s*)<<(?=\s*[a-z])",
        r"\1>>",
        "shifted to the left the highest bits are lost: those of the last lanes",
        WHICH_LANE,
    ),
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
