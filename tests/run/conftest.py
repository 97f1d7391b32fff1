"""Makes the kit importable, and runs its `run`; the build folder is SCANLAB_BUILD's."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "grader/python"))
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `run` in a folder of its own."""

    def start(*words: str | Path) -> subprocess.CompletedProcess[str]:
        code = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
        return subprocess.run(
            [sys.executable, "-c", code, "run", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python"), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return start
