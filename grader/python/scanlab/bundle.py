"""What distinguishes a student's copy of the kit from a whole one. Standard library only: the launcher asks as well."""

import json
from collections.abc import Sequence
from pathlib import Path

from scanlab.paths import ROOT

MARK = "bundle.json"
"""The file at the top of a student's copy (`grader/scanlab pack`), which says what it was made for."""
SKELETONS = ROOT / "grader/skeletons"
"""In a student's copy: each lab's skeleton, from which `reset` brings it back."""
NEEDS_MORE = {
    "verify": "the solutions",
    "test": "the kit's tests",
    "pack": "the solutions",
    "course": "the solutions",
    "export": "a class's results",
    "report": "a class's results",
}
"""The commands of those who teach, and what each needs."""


def is_student_bundle(root: Path = ROOT) -> bool:
    """Return whether this copy of the kit is a student's."""
    return (root / MARK).is_file()


def title(root: Path = ROOT) -> str:
    """Return the course's title; empty where nothing says it."""
    try:
        value = json.loads((root / MARK).read_text(encoding="utf-8"))["title"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return value if isinstance(value, str) else ""


def refusal(arguments: Sequence[str], root: Path = ROOT) -> str:
    """Return why a student's copy cannot run a command, in one line; empty where it can."""
    if not arguments or not is_student_bundle(root) or "--help" in arguments:
        return ""
    command = arguments[0]
    lacks = NEEDS_MORE.get(command)
    if command == "grade" and any(Path(word).name == "solutions" and not Path(word).exists() for word in arguments[1:]):
        lacks = "the solutions"
    if command == "bench" and arguments[1:2] == ["vgpu"]:
        lacks = "the kit's own benchmarks"
    if not lacks:
        return ""
    what = " ".join(arguments[: 2 if command in ("grade", "bench") else 1])
    return f"this is a student's copy of the kit, without {lacks}: it cannot `{what}`; check your work with: check LAB"
