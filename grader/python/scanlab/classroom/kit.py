"""Which kit grades: what a class's results depend on beside the students' files."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from scanlab import __version__
from scanlab.labs import Device, find_lab
from scanlab.paths import LABS
from scanlab.toolchain import product

SHOWN = 16


def kit_for(labs: Iterable[str], device: Device) -> dict[str, str]:
    """Return the kit's version, and hashes of its judge, of what every lab includes, and of the labs' rubrics.

    Raises KitError when the kit is not built.
    """
    judge = product("grader/autograder/judge-gpu" if device == "gpu" else "grader/autograder/judge")
    parts = {"scanlab": __version__, "judge": _hash(judge), "scanlab.cuh": _hash(LABS / "scanlab.cuh")}
    parts |= {name: _hash(find_lab(name).folder / "lab.toml") for name in labs}
    return parts


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:SHOWN]
