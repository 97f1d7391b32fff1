"""The formats by their names, each with the module that has its `FORMAT`: none is imported before it is used."""

from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scanlab.gradebooks.model import Format

MODULES = {
    "gradescope": "systems.gradescope",
    "classroom50": "systems.classroom50",
    "autolab": "systems.autolab",
    "prairielearn": "systems.prairielearn",
    "canvas": "systems.canvas",
    "moodle": "systems.moodle",
    "nbgrader": "systems.nbgrader",
    "csv": "table",
    "junit": "systems.junit",
}

FormatName = StrEnum("FormatName", {name: name for name in MODULES})


def format_called(name: str) -> "Format":
    """Return the format with this name. Raises KeyError for a name that is not in MODULES."""
    found: Format = import_module(f"scanlab.gradebooks.{MODULES[name]}").FORMAT
    return found
