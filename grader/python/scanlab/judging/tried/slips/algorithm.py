"""Indices, bounds and sums of a scan that are off a little."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from scanlab.judging.tried.slips.cuda import CALL
from scanlab.judging.tried.slips.order import swapped_lines
from scanlab.judging.tried.slips.program import Edit, Program, Rule, arguments, compiled, rewrite
from scanlab.judging.tried.slips.strides import (
    copied_too_early,
    downwards,
    halves,
    not_copied,
    places_of_a_level,
    steps,
    upwards,
)
from scanlab.judging.tried.slips.threads import guards, whose_turn

INDICES = (
    ("t", "i"),
    ("tid", "gid"),
    ("tid", "i"),
    ("threadIdx.x", "i"),
    ("blockIdx.x", "s_section"),
    ("lane", "warp"),
    ("t", "warp"),
)
SIZES = (("block_size", "section_size"), ("warp_size", "block_size"))
"""Names that stand for each other by mistake."""
COMPARED = re.compile(r"(?<![<>=\-])(?<!\bshift)(?<!<kind)([<>])(=?)(?![<>=])")
DOUBLING = re.compile(r"\bfor\s*\(.*(?:\*=\s*2|<<=\s*1|=\s*2\s*\*|\*\s*2\s*\))")
LOOP_OR_IF = re.compile(r"\b(?:for|if|while)\s*\(|\?|\bbool\s|=\s*\(?\s*\w{1,40}\s*[<>]")
LAST_LET_IN = re.compile(
    r"\bif\s*\(\s*\w{1,20}\s*<\s*((?:\w{1,40}|\([^()]{1,40}\))(?:\s*[/*]\s*(?:\w{1,40}|\([^()]{1,40}\))){0,2})\s*\)"
)
TIMES = re.compile(r"\b(?:t|tid|threadIdx\.x)\s*\*\s*(block_size|blockDim\.x|section_size)\b")
NESTED = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]{1,40}\]){1,80})\]")
INDEX = re.compile(r"\[([^\[\]]{1,60})\]")
BEGINS = re.compile(
    r"\bfor\s*\(\s*\w{1,20}\s+(\w{1,40})\s*=\s*([012])\s*;[^;]{1,80};\s*(?:\+\+\s*\1|\1\s*(?:\+\+|\+=\s*1))\s*\)"
)
BEGINS_AT = re.compile(r"\bint\s+(\w{1,40})\s*=\s*((?:[^;=+\-]|->){1,60}?)\s*;")
ADDED = compiled(r"(?<![=!<>+\-*/])\b([\w.\[\] ]{1,60}?)\s*=\s*(<OPERAND>)\s*\+\s*(<OPERAND>)\s*;")
STORES = re.compile(r"\bd_y\s*\[[^;=]{1,60}\]\s*=\s*(s_\w{1,40})\s*\[")
KEPT_ALONE = re.compile(r"^\s*([A-Za-z_]\w{0,40})\s*=\s*([^;=?]{1,80});")
BEGINS_BEHIND = re.compile(r"\bfor\s*\(\s*int\s+\w{1,40}\s*=\s*(\w{1,40})(\s*\+\s*1)\s*;")
ADDS_TO = re.compile(
    r"\s*([\w.]{1,40}(?:\[[^\[\]]{1,40}\])?)\s*(?:\+=|=\s*[^;=+]{1,60}\+\s*\1\s*;|=\s*\1\s*\+)[^;]*;?\s*"
)
KEEPS_ADDING = re.compile(r"(?<![\w.\]])([\w.]{1,40})\s*(\+=|=\s*\1\s*\+)\s*(?=[^;]{1,80};)")
PAIR = re.compile(
    r"\b(?:int|unsigned|Element\s*\*)\s*(\w{1,40})\s*=\s*[^,;=]{1,40},\s*\*?\s*(\w{1,40})\s*=\s*[^,;=]{1,40};"
)
STORED_FROM = re.compile(r"\bd_y\s*\[[^;=]{1,60}\]\s*=(?!=)\s*([^;]{1,100});")
EQUAL = re.compile(r"\bif\s*\(\s*[A-Za-z_]\w{0,40}\s*(==)\s*([A-Za-z_]\w{0,40})\s*\)")
CONDITION = compiled(r"\bif\s*(<GROUP>)")
LIMIT = re.compile(r"[<>]=?\s*n\b")
TAIL = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,40})\s*<\s*n\b")
STORED = re.compile(r"\bd_\w{1,40}\s*\[[^;]{1,80}\]\s*=(?!=)")
WRONG = "wrong"
Lines = Iterable[tuple[int, str]]
"""Numbers and codes of lines."""


def _both_ways(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for one, other in pairs for pair in ((one, other), (other, one))]


def _confused_indices(program: Program) -> Iterator[Edit]:
    """Find an index in the place of one like it, in lines that take part."""
    for was, meant in _both_ways(INDICES):
        index = rf"(?<=\[){re.escape(was)}(?=\s*[-+\]])"
        guard = rf"(?<![\w.\[]){re.escape(was)}(?=\s*(?:<=?\s*n\b|(?:<|>=?)\s*shift<kind>))"
        places = [(number, code, index) for number, code in program.involved()]
        is_wrong = program.mistake.id.startswith(WRONG)
        near = program.each() if is_wrong else program.involved(above=3)
        places += [(number, code, guard) for number, code in near if program.is_of_device(number)]
        for number, code, pattern in places:
            for found in re.finditer(pattern, code):
                if re.search(rf"(?<![\w.]){re.escape(meant)}\b", program.around(number)):
                    yield Edit(number, *found.span(), meant, f"the index is {was} here, and {meant} is meant")
    if "s_section" in program.whole:
        for number, found in program.matches(re.compile(r"\bblockIdx\.x(?=\s*(?:\+\s*1\s*)?[!=]=|\s*\])")):
            because = "blocks take their sections in the order in which they start: the section is s_section"
            yield Edit(number, *found.span(), "s_section", because)


def _confused_sizes(
    program: Program, place: str = r"\bfor\s*\(", sizes: Sequence[tuple[str, str]] = SIZES
) -> Iterator[Edit]:
    """Find a size in the place of another: in loops, or in lines of another kind."""
    for was, meant in _both_ways(sizes):
        for number, found in program.matches(re.compile(rf"(?<![\w.]){was}\b")):
            is_in_place = re.search(place, program.code(number))
            if is_in_place and re.search(rf"(?<![\w.]){meant}\b", program.whole):
                yield Edit(number, *found.span(), meant, f"{meant} is meant, not {was}")


def _confused_numbers_of_threads(program: Program) -> Iterator[Edit]:
    """Find a size in the place of another, in launches; those of the last kernel first, which all others lead to."""
    yield from sorted(_confused_sizes(program, "<<<", SIZES[:1]), key=lambda edit: -edit.line)


def _mixed_arguments(program: Program) -> Iterator[Edit]:
    """Find an array that is passed where another one of the same call is meant."""
    for number, found in program.matches(CALL):
        given = arguments(found[3])
        arrays = [(at, name) for at, name in given if re.fullmatch(r"d_\w{1,40}", name)]
        for at, was in arrays:
            for meant in sorted({name for _, name in arrays if name != was}):
                begin = found.start(3) + at
                yield Edit(number, begin, begin + len(was), meant, f"{meant} is meant here, not {was}")


def _begins(program: Program) -> Iterator[Edit]:
    """Find a loop that begins one too early or too late: at 2, or where lines take part that may be edited."""
    involved = {number for number, _ in program.involved(above=3)}
    for number, loop in program.matches(BEGINS):
        if loop[2] == "2" or number in involved or not involved:
            meant = "0" if loop[2] == "1" else "1"
            because = f"the loop begins one too {'early' if loop[2] == '0' else 'late'}"
            yield Edit(number, *loop.span(2), meant, because)
    for number, loop in program.matches(BEGINS_BEHIND):
        if number in involved:
            yield Edit(number, *loop.span(2), "", f"the loop begins one too late: {loop[1]} is the first")


def _begins_at_another(program: Program) -> Iterator[Edit]:
    """Find a loop over a run whose first turn takes the element before the run, which is another thread's."""
    involved = dict(program.involved())
    for number, found in program.matches(BEGINS_AT):
        name, start = found.groups()
        turns = [code for line, code in involved.items() if number <= line <= number + 6]
        is_index = any(re.search(rf"\[[^\[\]]*\b{name}\s*-\s*1\s*\]", code) for code in turns)
        if is_index and not start.isdigit() and LOOP_OR_IF.search(f"{program.code(number)}{program.code(number + 1)}"):
            because = f"the run begins at {start}, and before its first element nothing is to be added"
            yield Edit(number, *found.span(2), f"{start} + 1", because)


def _not_summed_up(program: Program) -> Iterator[Edit]:
    """Find a sum over a loop's turns of which the last turn alone is kept."""
    for number, found in program.matches(KEPT_ALONE):
        name, value = found.groups()
        for first, codes in program.loops_around(number):
            body = "\n".join(code for line, code in codes.items() if line != number)
            begins = rf"\b{name}\s*(?:=\s*(?:0|identity\(\))|\{{\s*\}})\s*[;,]"
            before = "\n".join(program.code(one) for one in program.function(number) if one < first)
            if re.search(begins, before) and re.search(rf"\b{name}\s*\+", body):
                because = f"{name} is to be the sum of all turns, and this keeps that of the last turn alone"
                yield Edit(number, *found.span(2), f"{name} + {value}", because)


def _sums(program: Program, lines: Lines | None = None) -> Iterator[Edit]:
    """Find an addition that is one too many, or whose operands stand the wrong way round, in lines that take part."""
    for number, code in lines or program.involved():
        found = ADDED.search(code)
        if not found:
            continue
        to, one, other = (part.strip() for part in found.groups())
        name = to.split()[-1] if to else ""
        because = "what comes earlier has to stand left of the `+`"
        yield Edit(number, found.start(2), found.end(3), f"{other} + {one}", because)
        if name in (one, other):
            because = f"{name} is part of the other operand already, and counts twice"
            yield Edit(number, found.start(2), found.end(3), other if name == one else one, because)


def _one_off(program: Program) -> Iterator[Edit]:
    """Find a comparison that is off by one or reversed, in lines that take part or in the loop around them."""
    near = dict(program.involved(above=3))
    others = {number: code for number, code in program.each() if number not in near and program.is_of_device(number)}
    for number, code in (near | (others if program.mistake.id.startswith(WRONG) else {})).items():
        for found in COMPARED.finditer(code) if LOOP_OR_IF.search(code) else ():
            was = found[1] + found[2]
            is_guard = "for" not in code and re.match(r"\s*n\b", code[found.end() :])
            if is_guard and program.mistake.id.startswith(WRONG):
                continue
            if was == "<" and DOUBLING.search(code):  # another step is for nothing, and swaps buffers once more
                continue
            meant = found[1] if found[2] else f"{found[1]}="
            because = f"the comparison is off by one: `{meant}` is meant"
            is_sure = was == "<=" and program.mistake.id.startswith("bounds")
            yield Edit(number, *found.span(), meant, because, is_sure=is_sure)
            if "for" not in code:
                meant = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[was]
                yield Edit(number, *found.span(), meant, f"the comparison is reversed: `{meant}` is meant")


def _one_too_many(program: Program) -> Iterator[Edit]:
    """Find a guard in front of an access beyond an array's end that lets one thread too many through."""
    for number, code in program.involved(above=3):
        for found in LAST_LET_IN.finditer(code):
            because = f"not every index below {found[1].strip()} has an element there"
            for meant in (f"{found[1].strip()} - 1", f"{found[1].strip()} / 2"):
                yield Edit(number, *found.span(1), meant, because, is_sure=True)


def _times_a_size(program: Program) -> Iterator[Edit]:
    """Find a thread's place that is counted in the size of a block, where each thread has a run."""
    if not re.search(r"\brun_length\b", program.whole):
        return
    for number, found in program.matches(TIMES):
        because = "each thread has run_length elements side by side: its own begin at t * run_length"
        is_sure = program.mistake.id.startswith("bounds")
        yield Edit(number, *found.span(1), "run_length", because, is_sure=is_sure)


def _index(program: Program, lines: Lines | None = None) -> Iterator[Edit]:
    """Find an index that is off by one, or goes the other way, in lines that take part."""
    for number, code in lines or program.involved():
        outer = [found for found in NESTED.finditer(code) if "[" in found[1]]
        for found in (*outer, *INDEX.finditer(code)):
            was, because = found[1], f"the index {found[1]} is off"
            if was.isdigit():
                continue
            for sign, other in ((" + ", " - "), (" - ", " + ")):
                if sign in was:
                    yield Edit(number, *found.span(1), was.replace(sign, other, 1), because)
            if was.endswith((" - 1", " - shift<kind>")):
                yield Edit(number, *found.span(1), was.rpartition(" - ")[0], because)
            else:
                yield Edit(number, *found.span(1), f"{was} + 1", because)
                yield Edit(number, *found.span(1), f"{was} - 1", because)


def _once_more(program: Program) -> Iterator[Edit]:
    """Find what is added once more than it has to be, in lines that take part."""
    for number, code in program.involved():
        if ADDS_TO.fullmatch(code):
            because = "what this adds is part of the sum already"
            yield Edit(number, 0, len(program.lines[number - 1]), "", because, f"leave out line {number}")
        for found in KEEPS_ADDING.finditer(code):
            because = f"what is added to {found[1]} has it already"
            yield Edit(number, *found.span(2), "=", because)


def _other_half(program: Program) -> Iterator[Edit]:
    """Find a result that is taken from the other one of two buffers, or halves, which a step swaps."""
    pairs = [(one, other) for one, other in PAIR.findall(program.whole)]
    for number, found in program.matches(STORED_FROM):
        for was, meant in _both_ways(pairs):
            for name in re.finditer(rf"(?<![\w.]){was}\b", found[1]):
                begin = found.start(1) + name.start()
                because = f"after the last step the result is in the other one: {meant}, not {was}"
                yield Edit(number, begin, begin + len(was), meant, because)


def _equal_only(program: Program) -> Iterator[Edit]:
    """Find a comparison with one number where it is about all up to it, or from it on."""
    for number, found in program.matches(EQUAL):
        for meant in ("<=", ">=") if program.is_of_device(number) else ():
            because = f"this is about {found[2]} alone, and not about what is before or behind it"
            yield Edit(number, *found.span(1), meant, because)


def _tail_guard(program: Program) -> Iterator[Edit]:
    """Find a condition for a write without a look at the end of the data, which lines nearby have."""
    for number, found in program.matches(CONDITION):
        behind = f"{program.code(number)[found.end() :]}{program.code(number + 1)}"
        if LIMIT.search(found[0]) or not STORED.search(behind):
            continue
        for index in dict.fromkeys(TAIL.findall(program.around(number))):
            because = f"beyond {index} = n - 1 there are no elements, and threads write there"
            condition = f"({found[1][1:-1]})" if "||" in found[1] else found[1][1:-1]
            yield Edit(number, *found.span(1), f"({condition} && {index} < n)", because)


def _further(find: Callable[[Program, Lines], Iterator[Edit]]) -> Callable[[Program], Iterator[Edit]]:
    """Return what looks for the same in the lines from which a mistake may come."""
    return lambda program: find(program, program.sources())


def _other_array(program: Program) -> Iterator[Edit]:
    """Find a result that is taken from another shared array than that which has it."""
    arrays = sorted(set(re.findall(r"\bs_\w{1,40}", program.whole)))
    for number, found in program.matches(STORES):
        for other in arrays:
            if other != found[1]:
                yield Edit(number, *found.span(1), other, f"the result is not in {found[1]} at the end")


FIRST = (Rule(_sums, r"wrong\.order"), Rule(_further(_sums), r"wrong\.order"))
"""What is looked for before all others: where the order of operands is wrong, sums are."""
RULES = (
    rewrite(
        r"\bElement\s*(?:\{\s*\}|\(\s*\))",
        "identity()",
        "all bits of Element{} are 0, and the identity of an affine map is another",
        WRONG,
    ),
    rewrite(
        r"(?<=\bElement )\s*(\w{1,40})\s*(?:\{\s*\}|=\s*(?:\{\s*\}|0(?:\.0{0,3}f?)?))(?=\s*[;,])",
        r"\1 = identity()",
        "all bits of it are 0, and the identity of an affine map is another",
        WRONG,
    ),
    rewrite(
        r"\bn\s*/\s*(\w{1,40})\b(?!\s*[+*])",
        r"(n + \1 - 1) / \1",
        r"n / \1 is rounded down, and what is left over has no block",
        "wrong|launch|cuda|bounds",
    ),
    rewrite(
        r"\bfor\s*\(\s*\w{1,20}\s+\w{1,40}\s*=\s*(0)\s*;[^;]{1,80};[^;]{0,40}(?:\*=|<<=)",
        "1",
        "a stride of 0 stays 0 when it is doubled",
        group=1,
        is_sure=True,
    ),
    rewrite(
        r"\bfor\s*\(\s*\w{1,20}\s+\w{1,40}\s*=\s*(2)\s*;[^;]{1,80};[^;]{0,40}(?:\*=|<<=)",
        "1",
        "the first stride is 1",
        WRONG,
        group=1,
    ),
    rewrite(r"<\s*n\s*-\s*(?:1|shift<kind>)(?=\s*[;)&])", "< n", "the last element is left out", WRONG),
    Rule(_one_too_many, r"bounds\.shared"),
    Rule(_begins_at_another, r"bounds|race|wrong", is_sure=True),
    Rule(_times_a_size, "wrong|bounds|uninitialised|race"),
    Rule(downwards, WRONG),
    Rule(_confused_numbers_of_threads, "wrong|race|bounds|launch|uninitialised"),
    Rule(steps, "wrong|endless|race", is_common=True),
    Rule(not_copied, "wrong|uninitialised|race", is_sure=True),
    Rule(copied_too_early, WRONG, is_common=True),
    Rule(_not_summed_up, "wrong|bounds|race", is_common=True),
    Rule(_confused_indices, "wrong|race|bounds|uninitialised", is_common=True),
    Rule(_confused_sizes, "wrong|race|bounds|uninitialised"),
    rewrite(
        r"(\bfor\s*\([^;]{1,80};\s*\w{1,40}\s*<=?\s*\w{1,40})\s*/\s*2(?=\s*;[^;]{1,40}(?:\*=|<<=))",
        r"\1",
        "the last step is left out",
        WRONG,
    ),
    Rule(_once_more, r"wrong", is_common=True),
    Rule(_other_half, "wrong"),
    Rule(_other_array, r"wrong\.(?:not_stored|nothing_added|steps_missing)"),
    Rule(_begins, WRONG, is_common=True),
    Rule(_sums, WRONG),
    Rule(places_of_a_level, "wrong|bounds|race|uninitialised", is_common=True),
    Rule(_one_off, "wrong|bounds|race", is_common=True),
    Rule(whose_turn, "wrong|race|uninitialised"),
    Rule(_index, "wrong|bounds", is_common=True),
    Rule(halves, "wrong|race"),
    Rule(_tail_guard, "wrong|bounds|race"),
    rewrite(
        r"\bblockIdx\.x\s*\*\s*(blockDim\.x|block_size)(?=\s*[;+)])",
        "section_size",
        r"a block has a section of section_size elements, and \1 threads",
        "wrong|bounds|race|uninitialised",
        group=1,
    ),
    Rule(_further(_index), "wrong|bounds|race|uninitialised", is_common=True),
    Rule(_further(_sums), "wrong|race", is_common=True),
    Rule(_equal_only, "wrong|bounds|race|deadlock"),
    Rule(_other_array, WRONG),
    Rule(_mixed_arguments, "wrong|race|uninitialised"),
    Rule(swapped_lines, "wrong|uninitialised|deadlock"),
    Rule(upwards, WRONG),
    Rule(guards, WRONG),
)
