"""Compile a file so that a failure is its own: `machine.py` has the rule."""

from collections.abc import Callable
from typing import TypeVar

from scanlab import machine
from scanlab.errors import KitError
from scanlab.judging.compiler import cache
from scanlab.judging.compiler.errors import CompileError, CompileTimeoutError

Made = TypeVar("Made")


def by_whom(make: Callable[[], Made], compile_control: Callable[[], object]) -> Made:
    """Return what `make` makes of a file with a compiler or linker; `compile_control` makes the same of the kit's own.

    Raises CompileError where the file is at fault, and KitError, one line, where the machine is.
    """
    try:
        try:
            return _tried(make, compile_control)
        except CompileTimeoutError:  # it would take as long again
            raise
        except CompileError as error:
            if error.doubtful is None:
                raise
        return _tried(make, compile_control)
    except InterruptedError:  # the kit is stopping
        raise
    except OSError as error:
        raise KitError(machine.sentence_of(error)) from error


def _tried(make: Callable[[], Made], compile_control: Callable[[], object]) -> Made:
    """Return what `make` makes; a failure that is in doubt is raised only where the control compiles after it."""
    folders = [cache.CACHE, machine.temporary()]
    try:
        return make()
    except CompileError as error:
        if error.doubtful is None:
            raise
        if lacking := machine.lacks_room(error.doubtful, folders):
            raise KitError(f"this machine cannot compile: {lacking}") from error
        try:
            compile_control()
        except CompileError as control:
            raise KitError(machine.fault(control.doubtful or str(control), folders)) from control
        raise
