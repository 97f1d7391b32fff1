"""Packages that only one command needs: installed into `.venv` when that command is first used."""

import importlib
import importlib.util
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from scanlab.bootstrap import environment
from scanlab.bootstrap.console import SetupError, say
from scanlab.errors import KitError
from scanlab.paths import shown


def provide(modules: Sequence[str], requirements: Path, what: str, wanted_by: str) -> None:
    """See to it that `modules` can be imported; where one is missing, install the pinned `requirements` into `.venv`.

    `what` names the packages and `wanted_by` the command or option, for messages.

    Raises KitError when a module is missing and this Python is not the kit's own, or pip fails.
    """
    if all(importlib.util.find_spec(module) for module in modules):
        return
    if os.environ.get("SCANLAB_NO_SETUP") or not environment.inside():
        by_hand = f"{shlex.quote(sys.executable)} -m pip install -r {shown(requirements)}"
        raise KitError(f"{wanted_by} needs {what}, which this Python lacks; type: {by_hand}")
    say(f"{wanted_by} needs {what}: installing into .venv …")
    try:
        environment.pip_install(requirements, what)
    except SetupError as error:
        raise KitError(str(error)) from error
    importlib.invalidate_caches()
