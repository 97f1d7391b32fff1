"""What values sum up, and of which others a thread has made them: the elements' names say so."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

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
    lines: Mapping[Value, int]
    """Of sums, as far as it is known where they were made."""
    halves: frozenset[int] = frozenset()
    """The words that elements consist of, where there are several."""
    is_certain = True
    """Whether a value is no sum but the one that is named."""

    @abstractmethod
    def is_element(self, value: Value) -> bool:
        """Return whether a value is an element, if a damaged one, and no other number."""

    @abstractmethod
    def is_identity(self, value: Value) -> bool:
        """Return whether adding it changes nothing."""

    @abstractmethod
    def half(self, word: int) -> Sum | None:
        """Return what the sum is of which this word is a half; None when it is of none, or of several."""

    @abstractmethod
    def total(self, value: Value) -> Sum | None:
        """Return what the value sums up; None when it is no sum of inputs."""

    @abstractmethod
    def parts(self, value: Value, fresh: Sequence[Value], older: Sequence[Value]) -> Sequence[Value]:
        """Return of what the value was made, in its order; nothing when that is not known.

        `fresh` are values that a thread has read and not used yet, `older` others that it has met; both begin with the
        latest. Where there is a choice, what is fresh was used.
        """


class Names(Sums):
    """Elements with names: the graph of additions says of each what it is the sum of."""

    bytes = 8

    def __init__(self, elements: Elements) -> None:
        self._names, self._sums = elements.names, elements.sums
        self._inputs = len(self._names) - len(self._sums) - 1
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self.halves = frozenset(half for name in self._names for half in name)
        self._by_half: dict[int, Value | None] = {}
        for name in self._names:
            for half in name:
                self._by_half[half] = None if half in self._by_half else name
        lines = [elements.places[sum_.place].line for sum_ in self._sums]
        self.lines = dict(zip(self._names[self._inputs + 1 :], lines, strict=True))
        self._plain = list(range(self._inputs + 1))  # by number that of x for what is identity() + x
        self._totals: list[Sum | None] = [(), *(((i, i),) for i in range(self._inputs))]
        for number, (earlier, later, *_) in enumerate(self._sums, self._inputs + 1):
            parts = [part for part in (earlier, later) if part is None or self._plain[part]]  # without identities
            totals = [total for part in parts if part is not None and (total := self._totals[part]) is not None]
            self._totals.append(joined(totals) if len(totals) == len(parts) else None)
            first = parts[0] if parts else 0
            self._plain.append(number if first is None or len(parts) > 1 else self._plain[first])

    def is_element(self, value: Value) -> bool:
        """Return whether it is a name, or has halves of several."""
        return self.halves.issuperset(value)

    def half(self, word: int) -> Sum | None:
        """Return what the name stands for that has this half."""
        name = self._by_half.get(word)
        return None if name is None else self.total(name)

    def total(self, value: Value) -> Sum | None:
        """Return what the name stands for."""
        return self._totals[self._numbers[value]] if value in self._numbers else None

    def is_identity(self, value: Value) -> bool:
        """Return whether it is the identity's name, or of a sum of identities."""
        return self.total(value) == ()

    def parts(self, value: Value, fresh: Sequence[Value], older: Sequence[Value]) -> Sequence[Value]:
        """Return the values that were added up."""
        if value in fresh or value not in self._numbers:
            return [value] if value in fresh or value in older else []
        found = self._operands(value, fresh, ()) or self._operands(value, fresh, older)
        same = self._by_plain(older).get(self._plain_of(value))
        return found if same is None or any(part in fresh for part in found) else [same]

    def _plain_of(self, value: Value) -> int | None:
        return self._plain[self._numbers[value]] if value in self._numbers else None

    def _by_plain(self, values: Sequence[Value]) -> dict[int | None, Value]:
        return {self._plain_of(value): value for value in reversed(values)}

    def _operands(self, value: Value, fresh: Sequence[Value], older: Sequence[Value]) -> list[Value]:
        """Return what the thread has met of the sum's parts, or of theirs: all of it, but for constants."""
        found: list[Value] = []
        met = self._by_plain([*fresh, *older])
        identities = [part for part in fresh if self.is_identity(part)]
        left = self._parts_of(self._numbers[value])
        for _ in range(MOST_ADDITIONS):
            if not left:
                return found
            number = left.pop()
            plain = None if number is None else self._plain[number]
            name = self._names[number or 0]
            if plain == 0:
                found += [identities.pop(identities.index(name) if name in identities else 0)] if identities else []
            elif plain in met and (plain == number or not identities or name in (*fresh, *older)):
                found.append(met[plain])
            elif parts := self._parts_of(number or 0):
                left += parts
            else:
                break
        return []

    def _parts_of(self, number: int) -> list[int | None]:
        """Return a sum's parts, the later one first."""
        at = number - self._inputs - 1
        return [self._sums[at].later, self._sums[at].earlier] if at >= 0 else []
