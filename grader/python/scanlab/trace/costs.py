"""What the instructions of warps cost: which lanes took part, replays of shared memory, sectors of global memory.

The tracer lists the lanes of an instruction one after the other. Grades count for floats, so elements of another size
are counted as if they had the size of one, at the same positions.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from scanlab.trace.accesses import Access
from scanlab.trace.model import Does

WARP = 32
BANKS, BANK_BYTES, SECTOR_BYTES = 32, 4, 32
FLOAT = 4

Touched = tuple[int, int]
"""The first byte that a lane touches, and how many."""


@dataclass
class Instruction:
    """One of a warp: where each of its lanes reads or writes. `order` numbers the instructions of a launch."""

    order: int
    step: tuple[int, int]
    does: Does
    warp: int
    array: int
    place: int
    touched: dict[int, Touched]

    @property
    def lanes(self) -> int:
        """Return the lanes as a mask, lane 0 being the lowest bit."""
        return sum(1 << lane for lane in self.touched)


def instructions(accesses: Sequence[Access]) -> tuple[list[Instruction], list[int]]:
    """Return the instructions of a launch, and of each access the number of its own."""
    found: list[Instruction] = []
    numbers: list[int] = []
    latest: tuple[object, ...] = ()
    for access in accesses:
        warp, lane = divmod(access.thread, WARP)
        key = (access.does, access.step, warp, access.array, access.place, access.bytes)
        if key != latest or lane <= max(found[-1].touched):
            does = cast(Does, access.does)
            found.append(Instruction(len(found), access.step, does, warp, access.array, access.place, {}))
            latest = key
        found[-1].touched[lane] = (access.offset, access.bytes)
        numbers.append(len(found) - 1)
    return found, numbers


def as_floats(touched: dict[int, Touched], unit: int) -> dict[int, Touched]:
    """Return what the lanes would touch if an element of `unit` bytes had the size of a float."""
    return {lane: (offset * FLOAT // unit, max(size * FLOAT // unit, 1)) for lane, (offset, size) in touched.items()}


def replays(touched: dict[int, Touched]) -> int:
    """Return the extra passes over shared memory: in each, a bank gives one of its words of 4 bytes.

    Lanes of 8 or 16 bytes take turns in halves or quarters of the warp, conflict or not (as in
    `grader/vgpu/checks/cost/access_cost.cpp`, which counts for the grade).
    """
    words = max(1, max(size for _, size in touched.values()) // BANK_BYTES)
    by_turn: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for lane, (offset, _) in touched.items():
        for word in range(offset // BANK_BYTES, offset // BANK_BYTES + words):
            by_turn[lane * words // WARP][word % BANKS].add(word)
    return sum(max(map(len, banks.values())) - 1 for banks in by_turn.values())


def sectors(touched: Iterable[Touched]) -> tuple[int, int]:
    """Return the sectors of 32 bytes that are touched, and the fewest in which as many different bytes fit."""
    used = {byte for offset, size in touched for byte in range(offset, offset + size)}
    return len({byte // SECTOR_BYTES for byte in used}), -(-len(used) // SECTOR_BYTES)
