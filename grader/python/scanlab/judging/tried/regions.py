"""Which of a learner's regions are wrong: the failing call again, with the reference solution's code in the others.

Regions of one function belong together, for their variables do. What is replaced keeps the numbers of all lines.
"""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from scanlab.judging.learners_file import LearnersFile, lines_in_regions, runs_of, without_comments
from scanlab.judging.result import CheckResult
from scanlab.judging.tried.runs import Base, Call, is_right
from scanlab.judging.tried.slips.program import Mistake, Program
from scanlab.labs.skeleton import regions


@dataclass(frozen=True)
class Part:
    """The regions of one function."""

    regions: tuple[int, ...]
    """Which of the file's, from 0 on."""
    lines: frozenset[int]
    is_of_device: bool


def parts_of(text: str) -> list[Part]:
    """Return the regions of a file, by function."""
    file = LearnersFile(text)
    program = Program(file, Mistake(""))
    found: dict[int, Part] = {}
    for place, region in enumerate(runs_of(file.in_regions)):
        first = program.function(region.start).start
        known = found.get(first, Part((), frozenset(), program.is_of_device(region.start)))
        found[first] = Part((*known.regions, place), known.lines.union(region), known.is_of_device)
    return list(found.values())


def mixed(text: str, solution: Sequence[str], replaced: Collection[int]) -> str:
    """Return a program in which some regions are those of a solution, each in one line and as many empty ones."""
    lines = text.split("\n")
    for place, region in enumerate(runs_of(lines_in_regions(lines))):
        if place in replaced:
            code = " ".join(without_comments(solution[place]).split())
            lines[region.start - 1 : region.stop - 1] = [code, *("" for _ in region[1:])]
    return "\n".join(lines)


def wrong_parts(text: str, solution: str, call: Call) -> tuple[list[Base], frozenset[int]]:
    """Return programs in which nothing but one part is the learner's, and it is wrong; and the lines of these parts.

    No lines where more than these may be wrong, or where these are all. Nothing at all where the parts cannot be told
    from each other: there is one only, or the solution's do not fit into the learner's file.
    """
    parts, theirs = parts_of(text), regions(solution)
    everything = {place for part in parts for place in part.regions}
    is_fit = len(everything) == len(theirs) and not any('"' in region or "#" in region for region in theirs)
    if len(parts) < 2 or not is_fit or not call.can_be_joined(text):
        return [], frozenset()
    device = [part for part in parts if part.is_of_device]
    host = {place for part in parts if not part.is_of_device for place in part.regions}

    def by_parts(call: Call, kept: Collection[int]) -> list[tuple[str, CheckResult | None]]:
        """Return code and outcome with no part of the device, and with each alone; `kept` are regions of the host."""
        others = [everything.difference(kept, part.regions) for part in device]
        texts = [mixed(text, theirs, replaced) for replaced in (everything.difference(kept), *others)]
        middle = (len(texts) + 1) // 2
        with ThreadPoolExecutor() as pool:
            halves = pool.map(lambda half: _outcomes(call, half), (texts[:middle], texts[middle:]))
            return [found for half in halves for found in half]

    (code, none), *alone = by_parts(call, host)
    bases = []
    if host and none and not is_right(none):
        replaced = call.by_program(mixed(text, theirs, host))
        if replaced is None:
            return [], frozenset()
        base = mixed(text, theirs, everything - host)
        lines = frozenset(line for part in parts if not part.is_of_device for line in part.lines)
        bases.append(Base(base, call, none, code, lines, is_all=False))
        call = replaced
        (code, none), *alone = by_parts(call, ())
    if none is None or not is_right(none):
        return [], frozenset()
    for part, (code, found) in zip(device, alone, strict=True):
        if found is None:
            return [], frozenset()
        if not is_right(found):
            base = mixed(text, theirs, everything.difference(part.regions))
            bases.append(Base(base, call, found, code, part.lines, is_all=False))
    lines = frozenset(line for base in bases for line in base.lines or ())
    wrong = {place for part in parts if part.lines <= lines for place in part.regions}
    if not bases or wrong == everything:
        return bases, frozenset()
    rest = mixed(text, theirs, wrong)
    if wrong & host:
        other = call.by_program(rest)
        found = other.with_code("") if other else None
    else:
        ((_, found),) = _outcomes(call, [rest])
    return bases, lines if found and is_right(found) else frozenset()


def _outcomes(call: Call, texts: Sequence[str]) -> list[tuple[str, CheckResult | None]]:
    """Return the PTX of programs, and what is found of each; None of one that does not compile."""
    return [(code, call.with_code(code) if code else None) for code in call.codes(texts)]
