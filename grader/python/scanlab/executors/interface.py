"""What every executor offers to whoever grades a class."""

from collections.abc import Callable, Sequence
from typing import Protocol

from scanlab.classroom.records import Class, Verdict
from scanlab.classroom.store import Store, Unit

Done = Callable[[Unit, Verdict], None]
"""Called for each unit when its result is in the results folder, in the caller's thread."""


class Executor(Protocol):
    """Grades units with `classroom.grading.grade_unit`, in whatever processes, on whatever machines."""

    def run(self, store: Store, taken_in: Class, units: Sequence[Unit], done: Done) -> None:
        """Grade `units`, and return when each has a result in `store`; what cannot be graded has the result `error`.

        A unit that has a result already, other than `error`, is not graded again. Whatever ends this call early, an
        exception or a signal's Interrupted, leaves nothing running, and no result half written.

        Raises UsageError or KitError, one clear line, when it cannot go on; the results so far stay.
        """


def verdict_of(store: Store, unit: Unit) -> Verdict | None:
    """Return what a unit got, or None when it has no result that can be read."""
    result = store.read_graded(unit)
    return result.verdict if result else None
