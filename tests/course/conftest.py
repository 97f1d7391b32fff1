"""Makes the kit importable; where real kernels are checked, the build folder is SCANLAB_BUILD's."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "grader/python"))

from scanlab.course.read import Read, read_course  # noqa: E402

Write = Callable[[str], Read]


@pytest.fixture
def course(tmp_path: Path) -> Write:
    """Read the course that a text says."""

    def read(text: str) -> Read:
        path = tmp_path / "course.toml"
        path.write_text(text, encoding="utf-8")
        return read_course(path)

    return read
