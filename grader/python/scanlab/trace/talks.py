"""How blocks talk to each other: who writes and who reads the places of global memory that several blocks touch.

The tracer follows one block. Runs are deterministic, so the call is traced once for each of a few blocks, and the times
of their accesses are of one clock.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import cast

from scanlab.trace.accesses import Access, Accesses
from scanlab.trace.model import Does, Talk
from scanlab.trace.sums import Sums, short

MOST_BLOCKS = 4
"""So many neighbouring blocks are followed at most."""
MOST_TALKS = 60
"""Of a launch; later ones are not shown."""

Place = tuple[str, int]


def blocks_around(block: int, count: int) -> range:
    """Return the blocks that are followed where `block` is the traced one of `count`."""
    first = max(0, min(block - 1, count - MOST_BLOCKS))
    return range(first, min(count, first + MOST_BLOCKS))


def talks_of(runs: Mapping[int, Accesses], launch: int, sums: Mapping[int, Sums], source: str) -> list[Talk]:
    """Return what the blocks do in a launch, counted from 0, where they meet, with the lines of the file `source`.

    `runs` and `sums` are by block.
    """
    accesses: list[tuple[int, str, int, Access]] = []
    units: dict[str, int] = {}
    for block, run in runs.items():
        for raw in run.launches[launch : launch + 1]:
            for access in raw.accesses:
                array = raw.arrays[access.array]
                if array.space == "global":
                    name = array.short_name
                    units[name] = min(access.bytes, units.get(name, access.bytes))
                    accesses.append((block, name, raw.places[access.place].seen_from(source).line, access))
    blocks: defaultdict[Place, set[int]] = defaultdict(set)
    written: set[Place] = set()
    for block, name, _, access in accesses:
        place = name, access.offset // units[name]
        blocks[place].add(block)
        if access.does != "read":
            written.add(place)
    found: list[Talk] = []
    latest: dict[int, Talk] = {}
    for block, name, line, access in sorted(accesses, key=lambda one: (one[3].time, one[3].thread)):
        place = name, access.offset // units[name]
        if place not in written or len(blocks[place]) == 1:
            continue
        talk = Talk(
            block=block,
            thread=access.thread,
            line=line,
            does=cast(Does, access.does),
            array=name,
            element=place[1],
            text=_text(access, sums[block]),
            times=1,
        )
        before = latest.get(block)
        if before is not None and before.model_copy(update={"times": 1}) == talk:
            before.times += 1  # it waits
        elif len(found) < MOST_TALKS:
            latest[block] = talk
            found.append(talk)
    return found


def _text(access: Access, sums: Sums) -> str:
    """Return the value; empty where it is not known, as that of an atomic."""
    if access.words is None:
        return ""
    if access.bytes == sums.bytes and sums.is_element(access.words):
        total = sums.total(access.words)
        return "?" if total is None else short(total)
    halves = [sums.half(word) for word in access.words]
    if any(halves):  # half an element and its tag, in a word that is written and read as a whole
        parts = [
            f"half of {short(half)}" if half else str(word) for half, word in zip(halves, access.words, strict=True)
        ]
        return " and ".join(parts)
    return str(int.from_bytes(b"".join(word.to_bytes(4, "little") for word in access.words), "little"))
