"""Floats have no names: inputs that can be distinguished, and which of them a value sums up.

They are random whole numbers, so the sum of one or two runs of neighbours is no other such sum but by a great
coincidence.
"""

import random
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from scanlab.trace.accesses import Value
from scanlab.trace.sums import KEPT_RUNS, Run, Sum, Sums

EXACT = 1 << 24
"""Whole numbers up to here are floats."""
SEED = 20220815
REMEMBERED = 24
"""At most this many of the latest values that a thread has met are tried as parts of one."""
TABLE = 64
"""Up to this many inputs, all runs stand in a table, and sums of two are looked for."""


def inputs(n: int) -> list[Value]:
    """Return n whole numbers whose sum is exact, the same each time."""
    source = random.Random(SEED)
    most = EXACT // max(n, 1)
    return [struct.unpack("<I", struct.pack("<f", source.randrange(most // 2, most))) for _ in range(n)]


class Floats(Sums):
    """Sums of these inputs; in which order they were added cannot be seen."""

    bytes = 4
    lines: Mapping[Value, int] = MappingProxyType({})

    def __init__(self, n: int) -> None:
        self.is_certain = n <= TABLE  # of many inputs, some runs have the same sum
        self._known: dict[Value, Sum | None] = {(0,): ()}
        self._prefixes = [0.0]
        for element in inputs(n):
            self._prefixes.append(self._prefixes[-1] + _number(element))
        self._ends = {prefix: at for at, prefix in enumerate(self._prefixes)}
        self._table: dict[float, Run] = {}
        for first, before in enumerate(self._prefixes if n <= TABLE else ()):
            for last, prefix in enumerate(self._prefixes[first + 1 :], first):
                self._table.setdefault(prefix - before, (first, last))

    def is_element(self, value: Value) -> bool:
        """Return whether its sum is known, or that of neighbours."""
        return self._known.get(value) is not None or (len(value) == 1 and self._run(_number(value)) is not None)

    def is_identity(self, value: Value) -> bool:
        """Return whether it is 0."""
        return value == (0,)

    def half(self, word: int) -> None:
        """Return None: a float has no halves."""

    def total(self, value: Value) -> Sum | None:
        """Return the runs with this sum."""
        if len(value) == 1 and value not in self._known:
            number = _number(value)
            run = self._run(number)
            pairs = ((one, self._table.get(number - total)) for total, one in self._table.items())
            found = (run,) if run else next((pair for pair in pairs if pair[1]), None)
            self._known[value] = _joined(run for run in found if run) if found else None
        return self._known.get(value)

    def parts(self, value: Value, fresh: Sequence[Value], older: Sequence[Value]) -> Sequence[Value]:
        """Return all that is fresh, or else one or two values, with this sum."""
        number = _number(value)
        read = {_number(one): one for one in [*fresh, *older][:REMEMBERED]}
        pair = next(([read[one], read[number - one]] for one in read if number - one in read), [])
        if 0 < len(fresh) <= REMEMBERED and sum(map(_number, fresh)) == number:
            parts = fresh
        elif value in fresh or (number in read and not (pair and pair[0] in fresh)):
            parts = [read.get(number, value)]  # NaN is found nowhere
        else:
            parts = pair
        totals = [self.total(part) for part in parts]
        if parts and None not in totals and self._known.get(value) is None:
            self._known[value] = _joined(run for total in totals for run in total or ())
        return parts

    def _run(self, number: float) -> Run | None:
        if self._table:
            return self._table.get(number)
        ends = ((first, self._ends.get(prefix + number, 0) - 1) for first, prefix in enumerate(self._prefixes))
        return next((run for run in ends if run[0] <= run[1]), None)


def _joined(runs: Iterable[Run]) -> Sum:
    """Return the sum of runs in the inputs' order: x5 twice is x3…x5 + x5, not x3…x4 + x5 + x5."""
    changes: Counter[int] = Counter()
    for first, last in runs:
        changes[first] += 1
        changes[last + 1] -= 1
    begun: list[int] = []
    found: list[Run] = []
    for at, change in sorted(changes.items()):
        begun += [at] * change
        found += [(begun.pop(), at - 1) for _ in range(-change)]
    return tuple(sorted(found, key=lambda run: (run[0], -run[1]))[:KEPT_RUNS])


def _number(value: Value) -> float:
    return float(struct.unpack("<f", struct.pack("<I", value[0]))[0])
