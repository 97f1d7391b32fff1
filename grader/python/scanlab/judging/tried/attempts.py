"""Edits that are tried: compiled together, several at a time, and judged as long as that is worth the wait."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from operator import itemgetter

from scanlab.judging.result import CheckResult
from scanlab.judging.tried.runs import Base, is_right
from scanlab.judging.tried.slips.program import Slip

GROUP = 8
"""Edits that are compiled together, at most, to begin with: that takes a fifth of the time for each …"""
LARGE_GROUP = 24
"""… and later on: a tenth of it."""
SECONDS = 1.5
"""No more are judged after that long, nor compiled if they would be ready later …"""
ROUNDS = 2.0
"""… or after so many times what the fastest took to compile: lab 11 needs two seconds."""

Edit = tuple[Base, Slip]


@dataclass(frozen=True)
class Attempt:
    """An edit that has been tried."""

    base: Base
    slip: Slip
    first: CheckResult
    """Where the check fails first, not explained …"""
    found: CheckResult
    """… and explained, if the edit is sure."""
    does_more_work: bool = False
    """All is right, but for the counts."""

    @property
    def breaks_another(self) -> bool:
        """Return whether the edit lets a function fail that is right without it."""
        return self.base.call.breaks_another(self.slip.program, is_of_device=self.slip.is_of_device)


def attempts(edits: Sequence[Edit]) -> list[Attempt]:
    """Return what is found with each edit, in their order, as far as that is known in time and they compile."""
    begun, is_found, is_checked = time.monotonic(), threading.Event(), threading.Lock()
    took: list[float] = []

    def is_over(more: float) -> bool:
        return is_found.is_set() or time.monotonic() - begun + more > max(SECONDS, ROUNDS * min(took, default=0))

    def tried(group: Sequence[tuple[int, Edit]]) -> list[tuple[int, Attempt]]:
        found: list[tuple[int, Attempt]] = []
        if is_over(min(took, default=0)):
            return found
        started = time.monotonic()
        texts = [slip.program for _, (_, slip) in group]
        base, slip = group[0][1]
        codes = base.call.codes(texts) if _is_joined(base, slip) else [""]
        took.append(time.monotonic() - started)
        for (place, (base, slip)), code in zip(group, codes, strict=True):
            if found and is_over(0):
                break
            call = base.call if code else None if _is_joined(base, slip) else base.call.by_program(slip.program)
            first = call.with_code(code, is_brief=True) if call else None
            result = first
            if call and first and not is_right(first) and slip.is_sure and not base.is_rare:
                result = call.with_code(code)
            if not call or not first or not result:
                continue
            does_more = False
            if is_right(result):
                with is_checked:  # one after the other: few are
                    is_fix, is_cheap = base.is_fixed_by(slip.program, call, code, is_of_device=bool(code))
                does_more = not is_cheap
                if not is_fix or (does_more and not (slip.is_sure or slip.is_common)):
                    continue
                if base.is_all and not does_more:
                    is_found.set()
            found.append((place, Attempt(base, slip, first, result, does_more)))
        return found

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        every = [one for group in pool.map(tried, _groups(edits)) for one in group]
    return [attempt for _, attempt in sorted(every, key=itemgetter(0))]


def _is_joined(base: Base, slip: Slip) -> bool:
    return slip.is_of_device and base.call.can_be_joined(slip.program)


def _groups(edits: Sequence[Edit]) -> list[list[tuple[int, Edit]]]:
    """Return the edits in groups that are compiled together, each with its place.

    A few small groups, and the first that has to be built alone, which takes longer, if it is among the likeliest;
    then the others of these in turn with large groups.
    """
    placed = list(enumerate(edits))
    joined = [one for one in placed if _is_joined(*one[1])]
    alone = [[one] for one in placed if not _is_joined(*one[1])]
    cores = os.cpu_count() or 1
    small = max(1, min(GROUP, -(-len(joined) // cores)))
    begin = small * cores
    first = [joined[at : at + small] for at in range(0, min(begin, len(joined)), small)]
    if alone and alone[0][0][0] < begin:
        first.insert(1, alone.pop(0))
    rest = [joined[at : at + LARGE_GROUP] for at in range(begin, len(joined), LARGE_GROUP)]
    return [*first, *(group for turn in zip_longest(alone, rest) for group in turn if group)]
