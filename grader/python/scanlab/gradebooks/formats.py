"""The formats: a module of `systems` each, named as the format and with its `FORMAT`; imported only when it is used."""

from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from scanlab.gradebooks import systems

if TYPE_CHECKING:
    from scanlab.gradebooks.model import Format

NAMES = tuple(module.name for module in iter_modules(systems.__path__))

FormatName = StrEnum("FormatName", {name: name for name in NAMES})


def format_called(name: str) -> "Format":
    """Return the format with this name. Raises ModuleNotFoundError for a name that is not in NAMES."""
    found: Format = import_module(f"{systems.__name__}.{name}").FORMAT
    return found
