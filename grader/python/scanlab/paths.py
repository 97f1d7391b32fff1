"""Where the kit's parts lie. Standard library only: the launcher uses it before anything is installed."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The repository."""
LABS = ROOT / "labs"
SOLUTIONS = ROOT / "solutions"
VENV = ROOT / ".venv"
STATE = ROOT / ".scanlab"
"""Compiled programs, the set-up's log and lock, and what a learner has passed (`learn/progress.py`)."""


def build_folder() -> Path:
    """Return the Meson build folder: `$SCANLAB_BUILD`, else `build/`."""
    chosen = os.environ.get("SCANLAB_BUILD")
    return Path(chosen).absolute() if chosen else ROOT / "build"


def toolchain_file() -> Path:
    """Return the file in which the launcher records the nvcc that this build folder is for."""
    return build_folder() / ".scanlab-toolchain.json"


def shown(path: Path) -> str:
    """Return `path` as a learner would type it: relative to the working folder or the repository where it is inside."""
    absolute = path.absolute()
    for base in (Path.cwd(), ROOT):
        if absolute.is_relative_to(base):
            return str(absolute.relative_to(base))
    return str(absolute)
