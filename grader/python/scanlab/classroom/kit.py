"""Which kit grades: what a class's results depend on beside the students' files."""

import hashlib
from collections.abc import Iterable

from scanlab import __version__
from scanlab.contract import Device
from scanlab.judging.toolchain import product
from scanlab.labs.folders import find_lab
from scanlab.paths import LABS

SHOWN = 16


def kit_for(labs: Iterable[str], device: Device) -> dict[str, str]:
    """Return the kit's version, and hashes of its judge, of what every lab includes, and of the labs' rubrics.

    Raises KitError when the kit is not built.
    """
    judge = product("grader/autograder/judge-gpu" if device == "gpu" else "grader/autograder/judge")
    parts = {"scanlab": __version__, "judge": _hash(judge.read_bytes())}
    parts["scanlab.cuh"] = _hash(b"".join(path.read_bytes() for path in sorted(LABS.glob("*.cuh"))))
    return parts | {name: _hash(find_lab(name).rubric.model_dump_json().encode()) for name in labs}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:SHOWN]
