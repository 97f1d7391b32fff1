"""The examples of handouts/reading_findings.md print what stands beside them, and nothing else."""

import re
import subprocess
from pathlib import Path

import pytest

from scanlab.judging.compile import build_program
from scanlab.judging.compiler.recipe import HOST_LINES
from scanlab.judging.toolchain import product

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "handouts/reading_findings.md"
PROGRAMS = sorted((REPOSITORY / "handouts/findings").glob("*.cu"))
ADVICE_ONLY = {"copy_kind", "fence_of_the_reader"}


def printed(path: Path) -> tuple[int, str]:
    """Return the exit code and the text of `grader/scanlab run FILE --check`, given at the repository's root."""
    program = build_program([path], "vgpu", HOST_LINES)
    runner = product("grader/vgpu/server/vgpu-run")
    done = subprocess.run(
        [runner, "--check", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_prints_what_the_page_shows(path: Path) -> None:
    """Its exit code distinguishes a mistake from advice."""
    code, text = printed(path)
    assert text == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert code == (0 if path.stem in ADVICE_ONLY else 4)


def test_every_example_is_on_the_page() -> None:
    """And the page shows no other file."""
    shown = set(re.findall(r"\{literalinclude\} findings/(\w+)\.txt", PAGE.read_text(encoding="utf-8")))
    assert shown == {path.stem for path in PROGRAMS}
