"""The steps of a scan: strides that do not double or halve, a place in a tree, what a step leaves behind."""

import re
from collections.abc import Iterator

from scanlab.judging.tried.slips.program import Edit, Program

DOWN = re.compile(
    r"\bfor\s*\(\s*(\w{1,20})\s+(\w{1,40})\s*=\s*([^;]{1,60}?)\s*/\s*2\s*;\s*\2\s*(?:>\s*0|>=\s*1)\s*;\s*\2\s*"
    r"(?:/=\s*2|>>=\s*1)\s*\)"
)
UP = re.compile(
    r"\bfor\s*\(\s*(\w{1,20})\s+(\w{1,40})\s*=\s*1\s*;\s*\2\s*<\s*([^;]{1,60}?)\s*;\s*\2\s*(?:\*=\s*2|<<=\s*1)\s*\)"
)
HALF = re.compile(
    r"(?:\b(?:constexpr|const)\s+int\s+\w{1,40}|\bfor\s*\(\s*int\s+\w{1,40})\s*=\s*\w{1,40}(\s*/\s*[24])\s*;"
)
PLACE = re.compile(
    r"\bint\s+\w{1,40}\s*=\s*((?=[^;]*\b(?:t|tid|threadIdx\.x)\b)(?=[^;]*\b(?:stride|distance|step|d|s)\b)"
    r"[^;?<>]*\*[^;?<>]*);"
)
STEP = re.compile(
    r"(?:^|[;{])\s*(stride|distance|dist|offset|step|gap|span|reach|d|s)"
    r"(\s*(?:\+\+|--|[+\-*/]=\s*\w{1,20}|<<=\s*\w{1,20}|>>=\s*\w{1,20}|=\s*\1\s*(?:[+\-*/]|<<|>>)\s*\w{1,20}|"
    r"=\s*\w{1,20}\s*[+*]\s*\1))\s*[;)]"
)
"""What makes a stride another: a statement, or the last part of a loop's head."""
DOUBLES = re.compile(r"=\s*\w+\s*(?:\*\s*2|<<\s*1)$|=\s*2\s*\*|\*=\s*2$|<<=\s*1$|^(\w+)\s*\+?=(?:\s*\1\s*\+)?\s*\1$")
HALVES = re.compile(r"=\s*\w+\s*(?:/\s*2|>>\s*1)$|/=\s*2$|>>=\s*1$")
ADDED_ACROSS = re.compile(
    r"(?P<to>[A-Za-z_]\w{0,40}(?:\[\w{1,40}\])?)\[(?P<place>\w{1,40})\]\s*=\s*"
    r"(?P<other>[A-Za-z_]\w{0,40}(?:\[\w{1,40}\])?)\[(?P=place)\s*-\s*\w{1,40}\]\s*\+\s*"
    r"(?P=other)\[(?P=place)\]\s*;"
)
COPIED = re.compile(r"\b([A-Za-z_]\w{0,40})\[([^\[\]]{1,40})\]\s*=\s*([A-Za-z_]\w{0,40})\s*;")


def steps(program: Program) -> Iterator[Edit]:
    """Find a stride that becomes neither twice nor half of what it was."""
    for number, found in program.matches(STEP):
        was = f"{found[1]}{found[2]}".replace(" ", "")
        if not DOUBLES.search(was) and not HALVES.search(was):
            meant = "/=" if re.search(r"[-/]|>>", was) else "*="
            because = f"the strides are powers of two: the step is {found[1]} {meant} 2"
            yield Edit(number, *found.span(2), f" {meant} 2", because)


def halves(program: Program) -> Iterator[Edit]:
    """Find a number that is off by a factor of two."""
    for number, found in program.matches(HALF):
        for meant in (" / 2", "", " / 4"):
            if meant.replace(" ", "") != found[1].replace(" ", ""):
                yield Edit(number, *found.span(1), meant, "this is off by a factor of two")


def downwards(program: Program) -> Iterator[Edit]:
    """Find strides that go down where they should go up."""
    for number, found in program.matches(DOWN):
        kind, name, most = found.groups()
        because = "the strides go from large to small, and elements are added that are no neighbours"
        yield Edit(number, *found.span(), f"for ({kind} {name} = 1; {name} < {most}; {name} *= 2)", because)


def upwards(program: Program) -> Iterator[Edit]:
    """Find strides that go up where they should go down."""
    for number, found in program.matches(UP):
        kind, name, most = found.groups()
        meant = f"for ({kind} {name} = {most} / 2; {name} > 0; {name} /= 2)"
        yield Edit(number, *found.span(), meant, "the strides go from small to large here")


def not_copied(program: Program) -> Iterator[Edit]:
    """Find a step from one buffer to another in which threads that add nothing do not copy."""
    for number, found in program.matches(ADDED_ACROSS):
        to, place, other = found["to"], found["place"], found["other"]
        copy = f"{to}[{place}] = {other}[{place}];"
        code, text = program.code(number), program.lines[number - 1]
        because = f"threads that add nothing have to copy their element to {to}: it is the one that is read next"
        if to == other:
            continue
        if re.match(r"\s*if\b", code) and not re.search(r"\belse\b", f"{code}{program.code(number + 1)}"):
            meant = f"{text}\n{' ' * program.indent(number)}else {copy}"
            yield Edit(number, 0, len(text), meant, because, f"put `else {copy}` behind line {number}")
        elif program.code(number + 1).strip() in ("}", "} else {"):
            line = number + 1
            end = next((at for at in range(line + 1, line + 4) if program.code(at).strip() == "}"), line)
            last = line if program.code(line).strip() == "}" else end
            rest = "\n".join([f"{' ' * program.indent(line)}}} else {{ {copy} }}"])
            is_empty = all(not program.code(at).strip() for at in range(line + 1, last))
            if is_empty:
                lines = f"of lines {line} to {last}" if last > line else f"of line {line}"
                cure = f"write `}} else {{ {copy} }}` in the place {lines}"
                yield Edit(line, 0, len(program.lines[line - 1]), rest, because, cure, more=last - line)


def copied_too_early(program: Program) -> Iterator[Edit]:
    """Find a step that copies to the other buffer what was loaded before the loop, not what the step before made."""
    for number, found in program.matches(COPIED):
        to, place, name = found.groups()
        for _, codes in program.loops_around(number):
            body = "\n".join(codes.values())
            added = re.search(rf"\b{to}\[{re.escape(place)}\]\s*=[^;]*\b(\w{{1,40}})\[{re.escape(place)}\]", body)
            if added and added[1] != to and not re.search(rf"(?<![\w.\]]){name}\s*=(?!=)", body):
                because = (
                    f"{name} is what was there before the first step: each step goes on with what is in {added[1]}"
                )
                yield Edit(number, *found.span(3), f"{added[1]}[{place}]", because)


def places_of_a_level(program: Program) -> Iterator[Edit]:
    """Find a thread's place in a tree that lacks its `- 1`, or has one too many."""
    for number, found in program.matches(PLACE):
        was = found[1].strip()
        name = found[0].partition("=")[0].split()[-1]
        if was.endswith("- 1") and program.mistake.id.startswith("wrong"):
            yield Edit(number, *found.span(1), was[:-3].strip(), f"`{name}` is one place too far left")
        if not re.search(r"[-+]\s*1$", was):
            is_sure = re.search(r"\+\s*1\s*\)", was) is not None
            yield Edit(number, *found.span(1), f"{was} - 1", f"`{name}` is one place too far right", is_sure=is_sure)
