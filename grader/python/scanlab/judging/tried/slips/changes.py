"""Small changes of an expression, whatever it is about: what is tried last, where no slip that is known was one.

Those that programs are mutated by (DeMillo et al., Hints on Test Data Selection, 1978), the other way round: a mistake
is seldom more than one of them away from what was meant.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

from scanlab.judging.tried.slips.program import INSIDE_KERNEL, OUTPUT, Edit, Program, Rule

DECLARED = re.compile(
    r"(?:^|[(;{,])\s*(?:const\s+|constexpr\s+|unsigned\s+)*(?:int|unsigned|size_t|auto)\s+(\w{1,40})\s*="
)
OF_THREADS = ("threadIdx.x", "blockIdx.x", "blockDim.x")
SIZE = re.compile(r"\b(?:section_size|block_size|warp_size|run_length|warps|tile_size|n)\b")
INTEGER = re.compile(r"\b(?:int|unsigned|size_t)\s+(\w{1,40})\s*=\s*([^;?]{1,80})(?=;)")
SET = re.compile(r"^\s*(\w{1,40})\s*=(?!=)\s*([^;?]{1,80})(?=;)")
COMPARED = re.compile(r"(?<![<>\-])(?:<=|>=?)(?![<>])(?= ?[\w(])")
PLACES = re.compile(r"^\s*(?:__shared__\s+)?(?:Element|int|unsigned|float)\s+(\w{1,40})\s*\[([^\[\];]{1,40})\]\s*;")
SUMMAND = re.compile(
    r"(?<![\w.\]>)*/%-])([A-Za-z_][\w.]{0,40}) \+ (?=[A-Za-z_(])|(?<=[\w)\]]) [-+] [\w.]{1,40}(?! ?[*/%\[(.\w])"
)
TIMES = re.compile(r"(?<=[\w)]) \* (?=[A-Za-z_(])")
FACTOR = re.compile(r"(?<=[\w)]) (?:\*|/) [24]\b|(?<![\w.])[24] \* ")
GROWS = re.compile(r"\+=(?!=)")
NAME = re.compile(r"(?<![\w.>])(?:[A-Za-z_]\w{0,40}(?:\.x)?)(?![\w(.<:]|->)")
ZERO_OR_ONE = re.compile(r"(?<![=!<>*/%&|^])=\s*([01])(?=\s*[;,)])")
ACCESS = re.compile(r"([A-Za-z_]\w{0,40})((?:\[[^\[\]]{1,60}\]){1,3})")
OPPOSITES = (
    ("&&", "||"), ("||", "&&"), ("==", "!="), ("!=", "=="), (" / ", " % "), (" % ", " / "), (" ^ 1", ""),
    ("true", "false"), ("false", "true"),
)  # fmt: skip
STATEMENT = re.compile(
    r"^\s*(?:[\w.\[\]\->]{1,60}\s*(?:[-+*/|&]|<<|>>)?=(?!=)[^;{}]{1,120}|(?:\+\+|--)\w{1,40}|\w{1,40}(?:\+\+|--));\s*$"
)
"""A statement that sets something, and declares nothing."""


def _lines(program: Program) -> Iterator[tuple[int, str]]:
    """Yield the lines of the device that may be edited: those that take part, what sets what they use, the others."""
    seen: set[int] = set()
    outputs = ((number, code) for number, code in program.each() if OUTPUT.search(code))
    for lines in (program.involved(), outputs, program.sources(), program.each()):
        for number, code in lines:
            if number not in seen and program.is_of_device(number) and not INSIDE_KERNEL.search(code):
                seen.add(number)
                yield number, code


def _factors(program: Program) -> Iterator[Edit]:
    """Find a number that may be off by a factor of two."""
    for number, code in _lines(program):
        for found in FACTOR.finditer(code):
            yield Edit(number, *found.span(), "", "this is off by a factor of two")
        if INTEGER.search(code) or "[" in code:
            for found in TIMES.finditer(code):
                yield Edit(number, *found.span(), " * 2 * ", "this is off by a factor of two")


def _summands(program: Program) -> Iterator[Edit]:
    """Find a part of a sum that may be one too many."""
    for number, code in _lines(program):
        for found in SUMMAND.finditer(code):
            yield Edit(number, *found.span(), "", f"`{found[0].strip()}` is one too many here")


def _integers(program: Program) -> Iterator[Edit]:
    """Find a variable that may be one too large or too small."""
    for number, code in _lines(program):
        for found in ZERO_OR_ONE.finditer(code):
            meant = "10"[int(found[1])]
            yield Edit(number, *found.span(1), meant, f"{meant} is meant, not {found[1]}")
        sets = (*INTEGER.finditer(code), *(one for one in SET.finditer(code) if _is_integer(program, number, one[1])))
        for found in (one for one in sets if not one[2].strip().isdigit()):
            for meant in (" - 1", " + 1"):
                because = f"{found[1]} is off by one"
                yield Edit(number, found.end(), found.end(), meant, because)


def _is_integer(program: Program, number: int, name: str) -> bool:
    """Return whether a variable of a line's function is declared as an integer there."""
    return name in DECLARED.findall(program.around(number))


def _bounds(program: Program) -> Iterator[Edit]:
    """Find a comparison that may be true once too often, or once too seldom."""
    for number, code in _lines(program):
        for found in COMPARED.finditer(code):
            meant = found[0].removesuffix("=") if found[0].endswith("=") else f"{found[0]}="
            yield Edit(number, *found.span(), meant, f"`{meant}` is meant, not `{found[0]}`")


def _places_of_arrays(program: Program) -> Iterator[Edit]:
    """Find an array with one place too few."""
    for number, found in program.matches(PLACES):
        because = f"{found[1]} has one place too few"
        yield Edit(number, found.end(2), found.end(2), " + 1", because)


def _names(program: Program) -> Iterator[Edit]:
    """Find a variable, or a size, where another may be meant: first that which is used nearest, in each line."""
    for turn in zip_longest(*_places(program)):
        yield from (edit for edit, _ in filter(None, turn))


def _indices(program: Program) -> Iterator[Edit]:
    """Find an index where another one may be meant with which the same array is accessed elsewhere."""
    for turn in zip_longest(*_places(program)):
        yield from (edit for edit, is_alike in filter(None, turn) if is_alike)


def _places(program: Program) -> list[list[tuple[Edit, bool]]]:
    """Return for each place of a name the edits with another one, and whether that is an index of the same array."""
    return [place for number, code in _lines(program) for place in _other_names(program, number, code)]


def _other_names(program: Program, number: int, code: str) -> Iterator[list[tuple[Edit, bool]]]:
    """Yield what `_places` returns, for one line."""
    function = program.function(number)
    codes = [program.code(line) for line in function]
    declared = {name: function[at] for at, one in enumerate(codes) for name in DECLARED.findall(one)}
    nearest: dict[str, int] = {}
    indices: dict[tuple[str, int], set[str]] = {}
    for at, one in enumerate(codes):
        for name in NAME.findall(one):
            nearest[name] = min(abs(function[at] - number), nearest.get(name, len(codes)))
        for array, place, _, index in _brackets(one):
            indices.setdefault((array, place), set()).update(NAME.findall(index))
    for found in NAME.finditer(code):
        name = found[0]
        is_size = SIZE.fullmatch(name) is not None
        if not (is_size or name in declared or name in OF_THREADS) or declared.get(name) == number:
            continue
        inside = ((a, k) for a, k, begin, index in _brackets(code) if begin <= found.start() < begin + len(index))
        alike = indices.get(next(inside, ("", 0)), set()) - {name}
        known = [
            other
            for other in sorted(nearest, key=lambda other: (other not in alike, nearest[other]))
            if (SIZE.fullmatch(other) if is_size else declared.get(other, number) < number or other in OF_THREADS)
        ]
        yield [
            (Edit(number, *found.span(), meant, f"{name} is used here, and {meant} is meant"), meant in alike)
            for meant in known
            if meant != name
        ]


def _brackets(code: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield for each index of an array its name, which of its indices it is, where it begins, and the index."""
    for found in ACCESS.finditer(code):
        for place, index in enumerate(re.finditer(r"\[([^\[\]]*)\]", found[2])):
            yield found[1], place, found.start(2) + index.start(1), index[1]


def _assignments(program: Program) -> Iterator[Edit]:
    """Find a statement that adds where it should set, or does what should not be done."""
    for number, code in _lines(program):
        if found := GROWS.search(code):
            yield Edit(number, *found.span(), "=", "this is set here, not added to")
        if STATEMENT.match(code):
            yield Edit(number, 0, len(program.lines[number - 1]), "", "without this statement all is right")


def _logic(program: Program) -> Iterator[Edit]:
    """Find a condition whose parts are joined the wrong way, or that asks for the opposite."""
    for number, code in _lines(program):
        for was, meant in OPPOSITES:
            for found in re.finditer(re.escape(was), code):
                because = f"`{meant.strip()}` is meant, not `{was.strip()}`" if meant else "the other one is meant"
                yield Edit(number, *found.span(), meant, because)


RULES = tuple(
    Rule(find, "wrong|race|bounds|uninitialised|endless|deadlock")
    for find in (_indices, _factors, _summands, _integers, _bounds, _places_of_arrays, _names, _assignments, _logic)
)
