"""The kit's own Python environment, `.venv`, with pinned packages."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scanlab import files
from scanlab.bootstrap.console import SetupError, run_step, say
from scanlab.paths import ROOT, VENV

REQUIREMENTS = ROOT / "grader/python/requirements.txt"
NVCC_REQUIREMENTS = ROOT / "grader/python/requirements-nvcc.txt"
READY = VENV / ".scanlab-ready"
"""Written last: a `.venv` without it was interrupted, and is made anew."""


def write_json(path: Path, value: object) -> None:
    """Write `value` to `path` so that a reader sees the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, json.dumps(value, indent=1) + "\n")


def read_json(path: Path) -> dict[str, object]:
    """Return the object in `path`, or an empty one where there is none."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def venv_python() -> Path:
    """Return the path of the environment's interpreter."""
    return VENV / "bin/python"


def inside() -> bool:
    """Return whether this process runs the environment's own interpreter."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def _wanted() -> dict[str, object]:
    return {"requirements": digest(REQUIREMENTS), "root": str(ROOT)}


def ready() -> bool:
    """Return whether the environment holds what requirements.txt pins, for the Python that it was made with."""
    state = read_json(READY)
    return {key: state.get(key) for key in _wanted()} == _wanted() and _version(state) == _current_version()


def _version(state: dict[str, object]) -> object:
    return state.get("python")


def _current_version() -> str:
    """Return the version that `.venv` was made for, as its own folder says (its Python may have been upgraded)."""
    if inside():
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    folders = sorted(VENV.glob("lib/python3.*/site-packages"))
    return folders[0].parent.name.removeprefix("python") if folders and os.access(venv_python(), os.X_OK) else ""


def pip_install(requirements: Sequence[Path], what: str) -> None:
    """Install hash-pinned requirements files. The machine's own pip settings (PIP_*, pip.conf) apply."""
    command = [str(venv_python()), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--require-hashes", "--only-binary", ":all:"]
    run_step([*command, *(f"--requirement={path}" for path in requirements)], f"installing {what}", live=True)


def prepare() -> None:
    """Make `.venv` and install the pinned packages, unless that is done.

    Raises SetupError with what to do when the interpreter cannot make an environment or pip cannot install.
    """
    if ready():
        return
    count = sum(1 for line in REQUIREMENTS.read_text().splitlines() if "==" in line)
    same_python = READY.exists() and _version(read_json(READY)) == _current_version()
    if not same_python or read_json(READY).get("root") != str(ROOT):
        say(f"making .venv (Python {sys.version_info.major}.{sys.version_info.minor}): your own Python stays as it is")
        try:
            if VENV.exists():
                shutil.rmtree(VENV)
            base = getattr(sys, "_base_executable", sys.executable)
            run_step([base, "-m", "venv", str(VENV)], "making .venv", timeout=300)
        except OSError as error:
            raise SetupError(f"cannot write {VENV}: {error.strerror}") from error
    READY.unlink(missing_ok=True)
    say(f"installing {count} pinned Python packages into .venv: the command line's, Meson and Ninja, pytest …")
    pip_install([REQUIREMENTS], "the pinned Python packages")
    version = subprocess.run(
        [str(venv_python()), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()
    write_json(READY, {**_wanted(), "python": version})
