"""An error of a compiler with all that its cause may be found from."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from scanlab.judging.compiler.messages import Message, Place, Source, column_of
from scanlab.judging.compiler.source import code_of

ARGUMENTS = re.compile(r"\([^\n]{0,300}$")


@dataclass(frozen=True)
class At:
    """A cause that is not on the line where the error is."""

    sentence: str
    line: int
    column: int | None = None


@dataclass(frozen=True)
class Asked:
    """An error, and what else a row may look at."""

    error: Message
    source: Source
    place: Place | None
    is_affine_only: bool
    """The file compiles for float elements."""
    given: frozenset[str]
    """The names that scanlab.cuh declares."""
    others: tuple[Message, ...] = ()
    """The errors behind it."""

    @property
    def number(self) -> int:
        """Return the number of the learner's line, or 0."""
        return self.place.line if self.place else 0

    @property
    def line(self) -> str:
        """Return the learner's line, or an empty text."""
        return self.source.line(self.place.line) if self.place else ""

    @property
    def code(self) -> str:
        """Return the learner's line without comments, its texts as blanks."""
        return code_of(self.line)

    @property
    def at(self) -> str:
        """Return the learner's line from where the error points on; empty where that is not certain."""
        column = self.column
        return "" if column is None else self.line[column:]

    @property
    def before(self) -> str:
        """Return the learner's line up to where the error points; empty where that is not certain."""
        column = self.column
        return "" if column is None else self.line[:column]

    @property
    def column(self) -> int | None:
        """Return where in the learner's line the error points, from 0 on; None where that is not certain."""
        return column_of(self.error, self.line) if self.place == self.error.place else None

    def has_fact(self, *words: str) -> bool:
        """Return whether one of the message's further lines, or of its notes, has these words."""
        return any(all(word in fact for word in words) for fact in self.error.facts)

    def fact(self, before: str) -> str:
        """Return what follows `before` in the message's further lines; empty where nothing does."""
        return next((fact.partition(before)[2] for fact in self.error.facts if before in fact), "")


Sentence = str | Callable[[Asked, re.Match[str]], str | At | None]
"""May have {0} in it, the pattern's first group; None where the message may have another cause."""


def a(type_name: str) -> str:
    """Return `a` or `an` with the name."""
    return f"{'an' if type_name[:1] in 'aeiouE' else 'a'} `{type_name}`"
