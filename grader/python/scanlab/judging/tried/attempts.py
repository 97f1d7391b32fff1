"""Edits that are tried: compiled together, several at a time, and judged as long as that is worth the wait."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter

from scanlab.judging.result import CheckResult
from scanlab.judging.tried.runs import Base, Call, is_right
from scanlab.judging.tried.slips.program import Slip

GROUP = 8
"""Edits that are compiled together, at most: that takes a fifth of the time for each."""
SECONDS = 1.0
"""No more of them are compiled after that long …"""
LAST_SECONDS = 1.5
"""… and none are judged after that long …"""
ROUNDS = 2.0
"""… or after so many times what the fastest took to compile: lab 11 needs two seconds."""

Edit = tuple[Base, Slip]


@dataclass(frozen=True)
class Attempt:
    """An edit that has been tried."""

    base: Base
    slip: Slip
    call: Call
    """By the program with the edit …"""
    code: str
    """… or by that before it with this PTX."""
    found: CheckResult

    def is_right_with_fewer(self, n: int) -> bool:
        """Return whether all is right with fewer than n elements."""
        found = self.call.with_fewer(n).with_code(self.code)
        return found is not None and is_right(found)


def attempts(edits: Sequence[Edit]) -> list[Attempt]:
    """Return what is found with each edit, in their order, as far as that is known in time and they compile."""
    begun, is_found, is_checked = time.monotonic(), threading.Event(), threading.Lock()
    took: list[float] = []

    def is_over(seconds: float) -> bool:
        return is_found.is_set() or time.monotonic() - begun > max(seconds, ROUNDS * min(took, default=0))

    def tried(group: Sequence[tuple[int, Edit]]) -> list[tuple[int, Attempt]]:
        found: list[tuple[int, Attempt]] = []
        if is_over(SECONDS):
            return found
        started = time.monotonic()
        texts = [slip.program for _, (_, slip) in group]
        base, slip = group[0][1]
        codes = base.call.codes(texts) if _is_joined(base, slip) else [""]
        took.append(time.monotonic() - started)
        for (place, (base, slip)), code in zip(group, codes, strict=True):
            if found and is_over(LAST_SECONDS):
                break
            call = base.call if code else None if _is_joined(base, slip) else base.call.by_program(slip.program)
            result = call.with_code(code) if call else None
            if not call or not result:
                continue
            if is_right(result):
                if base.is_rare:
                    with is_checked:  # another order of the threads may have hidden the mistake
                        if not base.call.fails_again(base.code) or call.fails_again(code):
                            continue
                if base.is_all:
                    is_found.set()
            found.append((place, Attempt(base, slip, call, code, result)))
        return found

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        every = [one for group in pool.map(tried, _groups(edits)) for one in group]
    return [attempt for _, attempt in sorted(every, key=itemgetter(0))]


def _is_joined(base: Base, slip: Slip) -> bool:
    return slip.is_of_device and base.call.can_be_joined(slip.program)


def _groups(edits: Sequence[Edit]) -> list[list[tuple[int, Edit]]]:
    """Return the edits in groups that are compiled together, in the order of their first ones, each with its place."""
    joined = sum(_is_joined(*edit) for edit in edits)
    most = min(GROUP, -(-joined // (os.cpu_count() or 1)))
    groups: list[list[tuple[int, Edit]]] = []
    open_group: list[tuple[int, Edit]] = []
    for place, edit in enumerate(edits):
        if not _is_joined(*edit):
            groups.append([(place, edit)])
            continue
        if not open_group or len(open_group) == most:
            open_group = []
            groups.append(open_group)
        open_group.append((place, edit))
    return groups
