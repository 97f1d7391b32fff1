"""A program in which slips are looked for: its lines, what is known of its mistake, and what an edit makes of it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from scanlab.judging.learners_file import LearnersFile, without_comments

LONGEST = 200
"""Longer lines are not looked at."""
LOOP = 16
"""So many lines of a loop are looked at."""
NAME = r"(?<![\w.>])[A-Za-z_]\w{0,60}+"
GROUP = r"\((?:[^()]|\([^()]{0,60}\)){0,80}\)"
"""Parentheses, with others inside."""
OPERAND = rf"(?<![\w.>)\]])(?:\w{{1,60}}+(?:(?:\.|->)\w{{1,60}}+){{0,4}}+(?:\[[^\[\]]{{0,60}}+\]|{GROUP})?+|{GROUP})"
TYPE = (
    r"(?:(?:const|constexpr|static|unsigned|signed|long|short)\s+){0,3}(?:std::)?[A-Za-z_]\w{0,40}"
    r"(?:\s*[*&]{1,2}\s*|\s+)"
)

INSIDE_KERNEL = re.compile(r"__(?:global|device)__[^;{}]{1,400}\{")
INTERNAL = re.compile(r"\bnamespace\s*\{|\bstatic\s+(?:inline\s+)?__(?:global|device)__")
"""Names of such functions have a hash of the file in them."""
NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w{0,60}")
SETS = re.compile(
    r"(?<![\w.>])([A-Za-z_]\w{0,60})(?:\[[^\[\]]{0,60}\])?\s*(?:[-+*/|&^%]|<<|>>)?=(?!=)|(?:\+\+|--)\s*([A-Za-z_]\w{0,60})"
)
DEPTH = 3
"""So far back is what sets something followed."""
OUTPUT = re.compile(r"\bd_y\s*\[[^;]{1,80}\]\s*=(?!=)")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern in which <NAME>, <GROUP>, <OPERAND> and <TYPE> stand for those of C++."""
    parts = {"NAME": NAME, "GROUP": GROUP, "OPERAND": OPERAND, "TYPE": TYPE}
    return re.compile(re.sub(r"<(NAME|GROUP|OPERAND|TYPE)>", lambda found: parts[found[1]], pattern))


@dataclass(frozen=True)
class Mistake:
    """What is known of what went wrong."""

    id: str
    """As in the table of findings: race.shared."""
    variable: str = ""
    lines: frozenset[int] = frozenset()
    """Of the learner's file, that take part in it."""
    within: frozenset[int] | None = None
    """Lines of theirs in which it is; None: that is not known."""


@dataclass(frozen=True)
class Slip:
    """A program with an edit, and what it says."""

    line: int
    because: str
    change: str
    """What to do."""
    program: str
    """The whole text with the edit."""
    is_of_device: bool
    """Nothing but the code of device functions is another."""
    is_sure: bool = False
    """C++ reads the line in another way than it looks, or nothing else can be meant: worth a word where another
    mistake is left.
    """
    is_common: bool = False
    """As of a rule."""
    written: str = ""
    """What the edit writes …"""
    last: int = 0
    """… in the place of the lines from `line` to this one."""

    def of(self, text: str) -> str:
        """Return another program with the edit, which has the same lines as far as they are the edit's."""
        lines = text.split("\n")
        return "\n".join([*lines[: self.line - 1], self.written, *lines[self.last :]])


@dataclass(frozen=True)
class Edit:
    """New text for `[begin, end)` of a line, which counts from 1, and all of some lines after it."""

    line: int
    begin: int
    end: int
    meant: str
    because: str
    cure: str = ""
    """What to do; empty: to write the line as it is then."""
    more: int = 0
    """Lines after it that the new text stands for as well."""
    is_sure: bool = False
    """As of a rule."""


class Program:
    """The lines of a learner's file, as they are (`lines`) and without comments and texts (`codes`)."""

    def __init__(self, file: LearnersFile, mistake: Mistake) -> None:
        """Take a program apart."""
        self.mistake = mistake
        self.lines = file.lines
        self.codes = file.codes
        self.whole = "\n".join(self.codes)
        inside = file.in_regions & file.own
        within = inside if mistake.within is None else inside & mistake.within
        self.numbers = [*sorted(within), *sorted(file.own - inside)]
        """Of the lines that may be edited: those of the learner's regions first."""
        self._functions: dict[int, str] = {}  # the code of each that has been asked for, by its first line
        self._ends = [end for end, code in enumerate(self.codes, 1) if code.startswith("}")]

    def code(self, number: int) -> str:
        """Return the code of a line; nothing where there is none, or too much."""
        code = self.codes[number - 1] if 0 < number <= len(self.codes) else ""
        return "" if len(code) > LONGEST or code.lstrip().startswith("#") else code

    def each(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the code of each line that may be edited."""
        for number in self.numbers:
            yield number, self.code(number)

    def involved(self, above: int = 0) -> Iterator[tuple[int, str]]:
        """Yield the lines that take part in the mistake, and so many above each, as far as they may be edited.

        Where none is known, those that write an output.
        """
        lines = self.mistake.lines or {number for number, code in self.each() if OUTPUT.search(code)}
        near = {line - up for line in lines for up in range(above + 1)}
        for number in sorted(near.intersection(self.numbers)):
            yield number, self.code(number)

    def sources(self) -> Iterator[tuple[int, str]]:
        """Yield other lines that a mistake may come from, as far as they may be edited, the nearest first.

        Those that set what the involved lines use, and so on; then what is left of the lines in which the mistake is.
        """
        frontier = {number for number, _ in self.involved()}
        known = set(frontier)
        for _ in range(DEPTH):
            names = set(NAMES.findall("\n".join(self.code(number) for number in frontier)))
            found = [number for number in self.numbers if number not in known and names & set(self.sets(number))]
            nearest = sorted(found, key=lambda number: min(abs(number - one) for one in frontier))
            yield from ((number, self.code(number)) for number in nearest)
            frontier = set(found)
            known |= frontier
        for number in self.numbers if self.mistake.within else ():
            if number not in known and self.is_of_device(number):
                yield number, self.code(number)

    def sets(self, number: int) -> list[str]:
        """Return the names of what a line sets."""
        return [one or other for one, other in SETS.findall(self.code(number))]

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield where a pattern is found, and in which line."""
        for number, code in self.each():
            for found in pattern.finditer(code):
                yield number, found

    def around(self, number: int) -> str:
        """Return the code of the function in which a line stands, as far as lines that begin with a brace end it."""
        lines = self.function(number)
        if lines.start not in self._functions:
            self._functions[lines.start] = "\n".join(self.codes[lines.start - 1 : lines.stop - 1])
        return self._functions[lines.start]

    def indent(self, number: int) -> int:
        """Return how far a line is indented."""
        code = self.code(number)
        return len(code) - len(code.lstrip())

    def enclosing(self, number: int) -> Iterator[int]:
        """Yield the lines that begin the blocks in which a line of a function stands, as indents show, and itself."""
        indent = self.indent(number) + 1
        for line in range(number, self.function(number)[0] - 1, -1):
            if self.code(line).strip() and self.indent(line) < indent:
                indent = self.indent(line)
                yield line

    def loops_around(self, number: int) -> Iterator[tuple[int, Mapping[int, str]]]:
        """Yield the first line of each loop in which a line stands, and the code of that and of the lines after it."""
        for first in self.enclosing(number):
            if re.search(r"\b(?:for|while)\s*\(", self.code(first)):
                yield first, {line: self.code(line) for line in range(first, min(first + LOOP, len(self.lines)))}

    def function(self, number: int) -> range:
        """Return the lines of the function in which a line stands, as far as lines that begin with a brace end it."""
        first = max((end for end in self._ends if end < number), default=0) + 1
        return range(first, min((end for end in self._ends if end >= number), default=len(self.codes)) + 1)

    def is_of_device(self, number: int) -> bool:
        """Return whether a line stands in a kernel, or in another function of the device."""
        before = "\n".join(self.codes[self.function(number)[0] - 1 : number])
        return INSIDE_KERNEL.search(before) is not None

    def rewritten(self, lines: Mapping[int, str], because: str, cure: str = "") -> Edit:
        """Return an edit that writes some lines in another way; one that is empty then is left out."""
        first, last = min(lines), max(lines)
        texts = {number: lines.get(number, self.lines[number - 1]) for number in range(first, last + 1)}
        kept = [text for number, text in texts.items() if text or number not in lines]
        written = [
            f"write line {number} as `{without_comments(text).strip()}`" if text else f"leave out line {number}"
            for number, text in sorted(lines.items())
        ]
        cure = cure or " and ".join([", ".join(written[:-1]), written[-1]] if written[1:] else written)
        return Edit(first, 0, len(self.lines[first - 1]), "\n".join(kept), because, cure, more=last - first)

    def slip(self, edit: Edit) -> Slip:
        """Return an edit as it is tried and reported."""
        line = self.lines[edit.line - 1]
        changed = line[: edit.begin] + edit.meant + line[edit.end :]
        last = edit.line + edit.more
        program = "\n".join([*self.lines[: edit.line - 1], changed, *self.lines[last:]])
        code = without_comments(changed).strip() if '"' not in changed else changed.strip()
        cure = edit.cure or (f"write line {edit.line} as `{code}`" if code else f"leave out line {edit.line}")
        is_of_device = self.is_of_device(edit.line) and not INTERNAL.search(self.whole)
        return Slip(edit.line, edit.because, cure, program, is_of_device, written=changed, last=last)


@dataclass(frozen=True)
class Rule:
    """What finds a slip, and for which mistakes."""

    find: Callable[[Program], Iterable[Edit]]
    about: str = ""
    """A pattern of how their ids begin."""
    is_sure: bool = False
    """Nothing else can be meant, so that it is worth a word where another mistake is left."""
    is_common: bool = False
    """What everyone gets wrong now and then: worth a word where more elements are right then, and not all."""

    def edits(self, program: Program) -> Iterable[Edit]:
        """Return the edits to be tried."""
        return self.find(program) if re.match(self.about, program.mistake.id) else ()


def rewrite(pattern: str, meant: str, because: str, about: str = "", group: int = 0, *, is_sure: bool = False) -> Rule:
    """Return a rule that writes `meant` for each match of a pattern, or for one group of it.

    `meant` and `because` may have the pattern's groups.
    """

    def find(program: Program) -> Iterator[Edit]:
        for number, found in program.matches(compiled(pattern)):
            yield Edit(number, *found.span(group), found.expand(meant), found.expand(because))

    return Rule(find, about, is_sure)


def arguments(listed: str) -> list[tuple[int, str]]:
    """Return the arguments of a call, each with where it begins in the list."""
    found, depth, begin = [], 0, 0
    for at, character in enumerate(f"{listed},"):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            argument = listed[begin:at]
            found.append((begin + len(argument) - len(argument.lstrip()), argument.strip()))
            begin = at + 1
    return found
