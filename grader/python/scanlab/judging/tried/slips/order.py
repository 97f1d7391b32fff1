"""What has to come before what: values, flags, counters, kernels."""

import re
from collections.abc import Iterator
from itertools import pairwise

from scanlab.judging.tried.slips.cuda import CALL, DEFINED
from scanlab.judging.tried.slips.program import Edit, Program, Rule, arguments, rewrite

WAITS = re.compile(r"\bwhile\s*\(\s*(!?\s*)([A-Za-z_]\w{0,40})\s*(?:[=!<>]=?|\))")
PLAIN_WAIT = re.compile(
    r"\bwhile\s*\(\s*!?\s*(\*\s*\w{1,40}|[A-Za-z_][\w.]{0,60}(?:->\w{1,40})?\[[^\[\]]{1,60}\])\s*(?:[=!<>]=?\s*\w{1,20}\s*)?\)"
)
COUNTED = re.compile(r"^\s*(atomicAdd\s*\(\s*([&\w.\->\[\]]{1,80})\s*,\s*1\s*\))\s*;")
STATEMENT = re.compile(r"^\s*[^\s{}].*;\s*$")
STARTS = re.compile(r"^\s*(?:return|break|continue|case|default|else|for|while|do|if)\b")
LAUNCHES = re.compile(r"<<<.*>>>")


def _read_again(program: Program) -> Iterator[Edit]:
    """Find a value that was read once, before the loop that waits for it to change."""
    for number, found in program.matches(WAITS):
        for back in range(number - 1, max(0, number - 12), -1):
            read = re.search(rf"\b{found[2]}\s*=\s*([^;=]{{1,80}});", program.code(back))
            if read and re.search(r"[*\[(]", read[1]):
                because = f"{found[2]} is read once, in line {back}, and the loop looks at that for ever"
                yield Edit(number, *found.span(2), f"({read[1]})", because)
                break


def _plain_flag(program: Program) -> Iterator[Edit]:
    """Find a flag that a loop waits for and reads like any other memory."""
    for number, found in program.matches(PLAIN_WAIT):
        flag = found[1]
        if re.search(r"\bvolatile\b|atomic", program.code(number)):
            continue
        pointer = flag.lstrip("* ") if flag.startswith("*") else f"&{flag}"
        because = f"{flag} is read like any other memory, which may be kept: an atomic reads it again each time"
        yield Edit(number, *found.span(1), f"atomicAdd({pointer}, 0)", because)


def _read_behind(program: Program) -> Iterator[Edit]:
    """Find a counter that is read behind the atomic, where it may have changed once more."""
    for number, found in program.matches(COUNTED):
        pointer = found[2].removeprefix("&")
        use = re.compile(("" if found[2] != pointer else r"\*\s*") + rf"{re.escape(pointer)}\s*-\s*1\b")
        for later in range(number + 1, number + 4):
            if at := use.search(program.code(later)):
                line = program.lines[later - 1]
                line = line[: at.start()] + found[1] + line[at.end() :]
                because = "between the atomic and the look at its counter another thread may count on"
                cure = f"write line {later} as `{line.split('//')[0].strip()}` and leave out line {number}"
                lines = "\n".join([*program.lines[number : later - 1], line])
                yield Edit(number, 0, len(program.lines[number - 1]), lines, because, cure, later - number)


def swapped_lines(program: Program) -> Iterator[Edit]:
    """Find two statements in a row of which the second has to come first: those that take part, and launches."""
    involved = {number for number, _ in program.involved()}
    for number in program.numbers:
        pair = (number, number + 1)
        codes = [program.code(one) for one in pair]
        takes_part = involved.intersection(pair) or all(LAUNCHES.search(code) for code in codes)
        if number + 1 not in program.numbers or not takes_part or program.indent(number) != program.indent(number + 1):
            continue
        if all(STATEMENT.match(code) and not STARTS.match(code) for code in codes) and codes[0] != codes[1]:
            lines = f"{program.lines[number]}\n{program.lines[number - 1]}"
            because = f"line {number + 1} has to come before line {number}"
            cure = f"change lines {number} and {number + 1} about"
            yield Edit(number, 0, len(program.lines[number - 1]), lines, because, cure, more=1)


def _arguments(program: Program) -> Iterator[Edit]:
    """Find two arguments of a function of the learner's that may stand in each other's place."""
    own = {found[1] for found in DEFINED.finditer(program.whole)}
    for number, found in program.matches(CALL):
        given = arguments(found[3]) if found[1] in own and program.is_of_device(number) else []
        for (at, one), (to, other) in pairwise(given):
            if one != other:
                between = found[3][at + len(one) : to]
                begin, end = found.start(3) + at, found.start(3) + to + len(other)
                because = f"{one} and {other} stand in each other's place"
                yield Edit(number, begin, end, f"{other}{between}{one}", because)


RULES = (
    Rule(_plain_flag, r"race\.global|deadlock|endless", is_sure=True),
    Rule(_read_again, "endless|deadlock"),
    Rule(_read_behind, r"race\.global|wrong|deadlock"),
    rewrite(
        r"\b(?:while|until)\s*\(.*?atomicAdd\s*\([^;]{1,80}?,\s*(1)\s*\)",
        "0",
        "each look adds 1: the second one finds what the first has written, not what another block has",
        group=1,
    ),
    rewrite(
        r"(?<=while \()\s*"
        r"(atomic(?:Exch|CAS(?=[^;,]{1,80},\s*(\w+),[^;()]{1,40}\)\s*==\s*\2\b))\s*\(([^;,]{1,80}),[^;()]{1,40}\))",
        r"atomicAdd(\3, 0)",
        "each look writes: the next one finds what this one has written, not what another block has",
        group=1,
    ),
    rewrite(
        r"([\w.\->\[\]]{1,80})\s*=\s*(?=atomicAdd\s*\(\s*&\s*\1\s*,)",
        "",
        "atomicAdd returns what was there before, and that is stored over the sum",
    ),
    Rule(swapped_lines, "race|fence"),
    Rule(_arguments, "wrong|bounds|race"),
)
