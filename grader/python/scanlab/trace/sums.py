"""Inputs that can be distinguished, and which of them a value sums up.

Both elements form a group, in which a random product of few inputs is no other product but by a great coincidence. So
`x2 + x3` is found by its value, wherever it stands: no program has to be believed.
"""

import random
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

Value = tuple[int, ...]
"""An element's words of 32 bits."""
Run = tuple[int, int]
"""Neighbouring inputs: the numbers of the first and the last."""
Sum = tuple[Run, ...]
"""What a value sums up, in its order, as few runs as possible: () is the identity, ((3, 5), (5, 5)) x3…x5 + x5."""

WORD = 0xFFFF_FFFF
SEED = 20220815
SHOWN_RUNS = 2
"""A sum of more runs than these is cut off in text."""
KEPT_RUNS = 32
"""Of a longer sum only its beginning is known: a loop that adds again and again makes them arbitrarily long."""
SEARCHED = 2_000_000
"""At most this many candidates are tried in one trace for values that are no run of neighbours."""


class Elements(ABC):
    """Elements that can be added up and taken away again."""

    name: str
    bytes: int
    in_order: bool
    """False where the order of the operands cannot be seen."""
    identity: Value

    @abstractmethod
    def inputs(self, n: int) -> list[Value]:
        """Return n elements, the same each time."""

    @abstractmethod
    def add(self, earlier: Value, later: Value) -> Value:
        """Return earlier + later."""

    @abstractmethod
    def take_away(self, earlier: Value, total: Value) -> Value:
        """Return what has to be added to `earlier` to make `total`."""


class AffineMaps(Elements):
    """x -> a * x + b over 32-bit integers, with odd a: exact, not commutative."""

    name, bytes, in_order, identity = "affine", 8, True, (1, 0)

    def inputs(self, n: int) -> list[Value]:
        """Return n random maps."""
        source = random.Random(SEED)
        return [(source.getrandbits(32) | 1, source.getrandbits(32)) for _ in range(n)]

    def add(self, earlier: Value, later: Value) -> Value:
        """Return the map that applies `earlier` first."""
        return earlier[0] * later[0] & WORD, later[0] * earlier[1] + later[1] & WORD

    def take_away(self, earlier: Value, total: Value) -> Value:
        """Return inverse(earlier) + total; a map with an even a has none, and no input has one."""
        if earlier[0] % 2 == 0:
            return 0, 0
        inverse = pow(earlier[0], -1, 1 << 32)
        return self.add((inverse, -inverse * earlier[1] & WORD), total)


class Floats(Elements):
    """Whole numbers in floats, whose sums are exact; in which order they were added cannot be seen."""

    name, bytes, in_order, identity = "float", 4, False, (0,)
    EXACT = 1 << 24

    def inputs(self, n: int) -> list[Value]:
        """Return n random whole numbers whose sum is exact."""
        source = random.Random(SEED)
        most = self.EXACT // max(n, 1)
        return [self._words(source.randrange(most // 2, most)) for _ in range(n)]

    def add(self, earlier: Value, later: Value) -> Value:
        """Return the sum."""
        return self._words(self._number(earlier) + self._number(later))

    def take_away(self, earlier: Value, total: Value) -> Value:
        """Return the difference."""
        return self._words(self._number(total) - self._number(earlier))

    @staticmethod
    def _number(value: Value) -> float:
        return float(struct.unpack("<f", struct.pack("<I", value[0]))[0])

    @staticmethod
    def _words(number: float) -> Value:
        try:
            packed = struct.pack("<f", number + 0.0)
        except OverflowError:  # a garbage value
            packed = struct.pack("<f", float("inf"))
        return struct.unpack("<I", packed)


ELEMENTS: dict[str, Elements] = {"affine": AffineMaps(), "float": Floats()}


def joined(parts: Iterable[Sum], in_order: bool = True) -> Sum:
    """Return the sum of sums, with neighbours joined."""
    runs = [run for part in parts for run in part]
    if not in_order:
        return _from_multiset(sorted(i for first, last in runs for i in range(first, last + 1)))[:KEPT_RUNS]
    found: list[Run] = []
    for first, last in runs:
        if found and found[-1][1] + 1 == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found[:KEPT_RUNS])


def _from_multiset(numbers: Sequence[int]) -> Sum:
    """Return the runs that sorted numbers make: x5 twice is x3…x5 and x5, not x3…x4, x5 and x5."""
    left = list(numbers)
    found: list[Run] = []
    while left:
        first = last = left.pop(0)
        while last + 1 in left:
            last += 1
            left.remove(last)
        found.append((first, last))
    return tuple(found)


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


class Decoder:
    """Says what values sum up."""

    MOST_RUNS = 3
    TABLE = 256
    """Up to this many inputs, all runs stand in a table."""

    def __init__(self, elements: Elements, inputs: Sequence[Value]) -> None:
        self.elements = elements
        self.inputs = list(inputs)
        self._known: dict[Value, Sum | None] = {elements.identity: ()}
        self._prefixes = [elements.identity]
        for element in inputs:
            self._prefixes.append(elements.add(self._prefixes[-1], element))
        self._ends = {prefix: at for at, prefix in reversed(list(enumerate(self._prefixes)))}
        self._runs: dict[Value, Run] = {}
        if len(self.inputs) <= self.TABLE:
            for first in range(len(self.inputs)):
                total = elements.identity
                for last in range(first, len(self.inputs)):
                    total = elements.add(total, self.inputs[last])
                    self._runs.setdefault(total, (first, last))
        self._left = SEARCHED

    def learn(self, value: Value, total: Sum) -> None:
        """Remember what a value is known to sum up, since its parts are known."""
        if len(value) == len(self.elements.identity):
            self._known.setdefault(value, total)

    def known(self, value: Value) -> Sum | None:
        """Return what the value is known to sum up, or a run of neighbours, without a search."""
        if value in self._known:
            return self._known[value]
        run = self._run(value)
        return None if run is None else (run,)

    def decode(self, value: Value) -> Sum | None:
        """Return what the value sums up; None when it is no sum of few runs of inputs."""
        if len(value) != len(self.elements.identity):
            return None
        if value not in self._known:
            counts = range(1, self.MOST_RUNS + 1)
            found = next((found for count in counts if (found := self._sum_of(value, count)) is not None), None)
            self._known[value] = None if found is None else joined([found], self.elements.in_order)
        return self._known[value]

    def _sum_of(self, value: Value, count: int) -> Sum | None:
        if count == 1:
            run = self._run(value)
            return None if run is None else (run,)
        cost = len(self._runs) ** (count - 1)
        if not self._runs or cost > self._left:
            return None
        if count == 2:
            self._left -= cost
        for total, run in self._runs.items():
            rest = self._sum_of(self.elements.take_away(total, value), count - 1)
            if rest is not None:
                return (run, *rest)
        return None

    def _run(self, value: Value) -> Run | None:
        if self._runs or not self.inputs:
            return self._runs.get(value)
        for first, prefix in enumerate(self._prefixes):
            end = self._ends.get(self.elements.add(prefix, value))
            if end is not None and end > first:
                return first, end - 1
        return None
