"""Clangd sees no error in labs, solutions and examples, and those that are there in a file with mistakes."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY
from scanlab.bootstrap import editor
from scanlab.paths import toolchain_file

CLANGD = shutil.which("clangd")
OTHERS = ("labs/scanlab.cuh", "labs/tile_stream.cuh", "handouts/findings/race_shared.cu", "grader/bench/timer.cu")
"""The database names no such file: clangd takes over the nearest one's arguments."""
DEBUGGED = """
#include <cooperative_groups.h>

#include <cuda/atomic>
#include "scanlab.cuh"

__global__ void kernel(Element* d_y) {
  cooperative_groups::this_thread_block().sync();
  printf("%d\\n", threadIdx.x);
  d_y[0] = oops;
  int t = "text";
}
void inclusive_scan(const Element*, Element* d_y, int) { kernel<<<1, 32>>>(d_y); }
"""

pytestmark = [
    pytest.mark.skipif(CLANGD is None, reason="clangd is not installed"),
    pytest.mark.skipif(not toolchain_file().exists(), reason="no nvcc is set up"),
]


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what clangd reads, with the database that the set-up writes."""
    root = tmp_path_factory.mktemp("kit")
    shutil.copy(REPOSITORY / ".clangd", root)
    for name in ("labs", "solutions", "handouts/findings", "grader/editor", "grader/bench"):
        shutil.copytree(REPOSITORY / name, root / name)
    entries = json.loads(editor.database(json.loads(toolchain_file().read_text())))
    (root / ".scanlab").mkdir()
    moved = [{**entry, "directory": str(root)} for entry in entries]
    (root / ".scanlab/compile_commands.json").write_text(json.dumps(moved))
    return root


def errors(kit: Path, file: str) -> list[str]:
    """Return clangd's errors, without what its tries of refactorings (tweaks) say."""
    done = subprocess.run(
        [str(CLANGD), f"--check={file}"], cwd=kit, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Building AST" in done.stderr
    return [line for line in done.stderr.splitlines() if re.match(r"E\[", line) and "tweak:" not in line]


@pytest.mark.parametrize(
    "file",
    [
        *(str(path.relative_to(REPOSITORY)) for path in sorted(REPOSITORY.glob("labs/*/scan.cu"))),
        *(str(path.relative_to(REPOSITORY)) for path in sorted(REPOSITORY.glob("solutions/*/scan.cu"))),
        *OTHERS,
    ],
)
def test_it_sees_no_error_in_the_kits_own_files(kit: Path, file: str) -> None:
    assert errors(kit, file) == []


@pytest.mark.parametrize("file", ["labs/02_kogge_stone/scan.cu", "labs/02_kogge_stone/scan_2.cu", "mine.cu"])
def test_it_sees_the_mistakes_of_a_file(kit: Path, file: str) -> None:
    before = (kit / file).read_bytes() if (kit / file).exists() else None
    (kit / file).write_text(DEBUGGED)
    try:
        found = errors(kit, file)
    finally:
        (kit / file).unlink()
        if before is not None:
            (kit / file).write_bytes(before)
    assert [re.search(r"Line (\d+)", text)[1] for text in found] == ["10", "11"]  # type: ignore[index]
    assert "oops" in found[0]
