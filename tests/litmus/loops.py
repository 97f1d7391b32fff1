"""Programs at random, some of whose threads read until what they have read fits: seqlocks, snapshots, waits.

Each location has one writer, and no loop goes on with what it writes last: so each ends when the writers have.
"""

import random

from language import Test, parse
from shapes import ALLOWED

# Volatile and atomic accesses side by side nvcc merges, and puts in another order.
STORES = ("ptx.rlx.gpu", "ptx.rlx.gpu", "ptx.rel.gpu")
LOADS = ("ptx.rlx.gpu", "ptx.rlx.gpu", "ptx.acq.gpu")
WRITERS = ([["x", "y"]], [["x"], ["y"]], [["x"]])
FENCES = ("threadfence", "fence acq_rel.gpu", "threadfence", "")


def _between(chance: random.Random, instructions: list[str]) -> list[str]:
    """The same with fences here and there."""
    with_fences = [part for one in instructions for part in (chance.choice(FENCES), one)]
    return [one for one in with_fences if one]


def _writer(chance: random.Random, locations: list[str], last: dict[str, int]) -> str:
    stores = []
    for location in chance.choices(locations, k=2):
        last[location] = last.get(location, 0) + 1
        stores.append(f"st {location} {last[location]} {chance.choice(STORES)}")
    return "; ".join(_between(chance, stores))


def _reader(chance: random.Random, last: dict[str, int], first: int) -> str:
    """A loop of two or three reads, whose registers are numbered from `first`."""
    reads = [(f"r{first + k}", chance.choice(list(last))) for k in range(chance.choice((2, 2, 3)))]
    conditions = [f"{register}=={chance.randrange(last[location])}" for register, location in reads if last[location]]
    conditions += [f"{a}!={b}" for a, at in reads for b, bt in reads if a < b and at == bt]
    loads = [f"ld {register} {location} {chance.choice(LOADS)}" for register, location in reads]
    loop = _between(chance, loads)
    if chance.random() < 0.3:
        loop.append(chance.choice(FENCES[:2]))
    return "; ".join(
        [*loop, "again " + " ".join(chance.sample(conditions, min(len(conditions), chance.choice((1, 2)))))]
    )


def random_loops(count: int, seed: int) -> list[Test]:
    """So many programs; the same for the same seed."""
    tests = []
    for number in range(count):
        chance = random.Random(seed * 1_000_003 + number)
        last: dict[str, int] = {}
        writers = [_writer(chance, names, last) for names in chance.choice(WRITERS)]
        readers = [_reader(chance, last, 0)]
        if len(writers) == 1 and chance.random() < 0.2:
            readers.append(_reader(chance, last, 4))
        threads = parse(" | ".join([*writers, *readers]))
        tests.append(Test(f"loop {seed}/{number}", threads, tuple(range(len(threads))), "", ALLOWED))
    return tests
