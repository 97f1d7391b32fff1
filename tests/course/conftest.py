"""Makes the kit importable; where real kernels are checked, the build folder is SCANLAB_BUILD's."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "grader/python"), str(REPOSITORY / "tests")]

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


def uncommented_example(seed_file: str) -> str:
    """Return the text that `course new` writes with everything in it that is TOML behind a `#`."""
    from scanlab.course.example import example

    lines = []
    for line in example(seed_file).splitlines():
        said = line.removeprefix("# ")
        is_toml = said.startswith("[") or ("= " in said and said.split("=")[0].strip().replace("_", "").isalpha())
        lines.append(said if line.startswith("# ") and is_toml else line)
    return "\n".join(lines) + "\n"
