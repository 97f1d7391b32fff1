"""A learner's file: its lines, which of them are theirs, and its code without comments."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from scanlab.labs.skeleton import CLOSE, OPEN

NO_CODE = re.compile(r"//[^\n]*+|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*+\"?|(?<![0-9])'(?:\\.|[^'\\\n])*+'?", re.DOTALL)


@dataclass(frozen=True)
class LearnersFile:
    """What stands in a file that is handed in for a lab; its lines count from 1 on."""

    text: str
    given: frozenset[str] = frozenset()
    """The lines of the lab's file outside of its marked regions, without indents; none where they are not known."""

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines as they are."""
        return self.text.split("\n")

    @cached_property
    def codes(self) -> list[str]:
        """Return the lines without comments."""
        return without_comments(self.text).split("\n")

    @cached_property
    def in_regions(self) -> frozenset[int]:
        """Return the numbers of the lines in the marked regions; of all lines where the file has none."""
        return lines_in_regions(self.lines)

    @cached_property
    def own(self) -> frozenset[int]:
        """Return the numbers of the learner's lines: those in the regions, and others that were not given.

        Without regions, which a learner may have removed, the latter alone, if it is known what was given.
        """
        others = {at for at, line in enumerate(self.lines, 1) if line.strip() and line.strip() not in self.given}
        if not self.given:
            return self.in_regions
        return frozenset(others) if len(self.in_regions) == len(self.lines) else self.in_regions | others

    def with_text(self, text: str) -> "LearnersFile":
        """Return another file for the same lab."""
        return replace(self, text=text)


def without_comments(text: str) -> str:
    """Return a program with spaces for its comments and digits for its texts; the lines stay what they are."""

    def blank(found: re.Match[str]) -> str:
        text = found.group()
        return re.sub(r"[^\n]", " " if text[0] == "/" else "0", text)

    return NO_CODE.sub(blank, text)


def lines_in_regions(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines in the marked regions; of all lines where a file has none."""
    numbers: set[int] = set()
    is_inside = has_region = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text == OPEN:
            is_inside = has_region = True
        elif text == CLOSE:
            is_inside = False
        elif is_inside:
            numbers.add(number)
    return frozenset(numbers) if has_region else frozenset(range(1, len(lines) + 1))


def runs_of(numbers: Iterable[int]) -> list[range]:
    """Return numbers as runs of neighbours, ascending."""
    runs: list[range] = []
    for number in sorted(numbers):
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


def lines_text(numbers: Iterable[int]) -> str:
    """Return "lines 3, 7 to 12"."""
    runs = runs_of(numbers)
    texts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"line{'s' if len(texts) > 1 or ' ' in texts[0] else ''} {', '.join(texts)}"
