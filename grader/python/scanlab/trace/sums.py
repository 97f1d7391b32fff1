"""What values sum up, and of which others a thread has made them: the elements' names say so."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from scanlab.trace.accesses import Elements, Value

Run = tuple[int, int]
"""Neighbouring inputs: the numbers of the first and the last."""
Sum = tuple[Run, ...]
"""What a value sums up, in its order, as few runs as possible: () is the identity, ((3, 5), (5, 5)) x3…x5 + x5."""

SHOWN_RUNS = 2
"""A sum of more runs than these is cut off in text."""
KEPT_RUNS = 32
"""Of a longer sum only its beginning is known: a loop that adds again and again makes them arbitrarily long."""
MOST_ADDITIONS = 64
"""A thread's sum of more additions than about these is not taken apart."""


def joined(parts: Iterable[Sum]) -> Sum:
    """Return the sum of sums, with neighbours joined."""
    found: list[Run] = []
    for first, last in (run for part in parts for run in part):
        if found and found[-1][1] + 1 == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found[:KEPT_RUNS])


def text(total: Sum) -> str:
    """Return `x3…x5 + x5`; the identity is `identity`."""
    names = [f"x{first}" if first == last else f"x{first}…x{last}" for first, last in total]
    return _cut(names, " + ") if names else "identity"


def short(total: Sum) -> str:
    """Return `3…5+5`; the identity is `id`."""
    names = [str(first) if first == last else f"{first}…{last}" for first, last in total]
    return _cut(names, "+") if names else "id"


def _cut(names: Sequence[str], plus: str) -> str:
    more = [] if len(names) <= SHOWN_RUNS else ["…"]
    return plus.join([*names[:SHOWN_RUNS], *more])


class Sums(ABC):
    """What is known of an element's values."""

    bytes: int

    @abstractmethod
    def is_element(self, value: Value) -> bool:
        """Return whether a value is certainly an element, and no other number."""

    @abstractmethod
    def is_identity(self, value: Value) -> bool:
        """Return whether adding it changes nothing."""

    @abstractmethod
    def total(self, value: Value) -> Sum | None:
        """Return what the value sums up; None when it is no sum of inputs."""

    @abstractmethod
    def parts(self, value: Value, fresh: Sequence[Value], older: Sequence[Value]) -> Sequence[Value] | None:
        """Return of what the value was made, in its order; None when that is not known.

        `fresh` are values that a thread has read and not used yet, `older` others that it has met; both begin with the
        latest. Where there is a choice, what is fresh was used.
        """


class Names(Sums):
    """Elements with names: the graph of additions says of each what it is the sum of."""

    bytes = 8

    def __init__(self, elements: Elements) -> None:
        self.names, self.sums = elements.names, elements.sums
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.inputs = len(self.names) - len(self.sums) - 1
        self.totals: list[Sum | None] = [(), *(((i, i),) for i in range(self.inputs))]
        for sum_ in self.sums:
            parts = [None if part is None else self.totals[part] for part in sum_[:2]]
            self.totals.append(None if None in parts else joined(part for part in parts if part is not None))

    def is_element(self, value: Value) -> bool:
        """Return whether it is a name."""
        return value in self.numbers

    def is_identity(self, value: Value) -> bool:
        """Return whether it is the name of the identity, or of a sum of identities."""
        return self.total(value) == ()

    def total(self, value: Value) -> Sum | None:
        """Return what the name stands for."""
        return self.totals[self.numbers[value]] if value in self.numbers else None

    def parts(self, value: Value, fresh: Sequence[Value], older: Sequence[Value]) -> Sequence[Value] | None:
        """Return the values that were added up."""
        if value in fresh:
            return [value]
        found = self._operands(value, fresh, older)
        if value in older and not (found and any(part in fresh for part in found)):
            return [value]
        return found or None

    def _operands(self, value: Value, fresh: Sequence[Value], older: Sequence[Value]) -> list[Value] | None:
        """Return what the thread has met of the sum's parts, or of theirs. Constants of identity are left out."""
        found: list[Value] = []
        left = self._parts_of(self.numbers.get(value))
        for _ in range(MOST_ADDITIONS):
            if not left:
                return found
            number = left.pop()
            part = None if number is None else self.names[number]
            if part is not None and (part in fresh or (number and part in older)):
                found.append(part)
            elif number != 0:
                parts = self._parts_of(number)
                if not parts:
                    return None
                left += parts
        return None

    def _parts_of(self, number: int | None) -> list[int | None]:
        """Return a sum's parts, the later one first."""
        at = -1 if number is None else number - self.inputs - 1
        return [self.sums[at].later, self.sums[at].earlier] if at >= 0 else []
