"""Random numbers that are the same under every version of Python: splitmix64."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
MASK = (1 << 64) - 1


class Random:
    def __init__(self, seed: int):
        self.state = seed & MASK

    def next(self) -> int:
        """64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        return (self.next() >> 11) % limit

    def between(self, low: int, high: int) -> int:
        """Both ends included."""
        return low + self.below(high - low + 1)

    def one_in(self, n: int) -> bool:
        return self.below(n) == 0

    def choice(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]
