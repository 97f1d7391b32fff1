"""`grader/scanlab run FILE`: what it says beside the program's own output."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scanlab.paths import build_folder

REPOSITORY = Path(__file__).resolve().parents[2]
BUILT = build_folder() / "grader/vgpu/server/vgpu-run"
TIME_IS_OVER = 124
COUNTS = """
#include <cstdio>
__global__ void count(volatile int *x, long most) {
  for (long k = 0; k < most; ++k) *x = *x * 3 + 1;
}
int main() {
  int *x;
  cudaMalloc(&x, sizeof(int));
  cudaMemset(x, 0, sizeof(int));
  std::puts("begins"), std::fflush(stdout);
  count<<<1, 32>>>(x, MOST);
  cudaDeviceSynchronize();
  cudaFree(x);
}
"""
LONG, SHORT = COUNTS.replace("MOST", "1l << 40"), COUNTS.replace("MOST", "10")
WITH_WARNING = SHORT.replace("int main() {", "int main() {\n  int never_used;")

pytestmark = pytest.mark.skipif(not BUILT.exists(), reason=f"{BUILT} is not built")


def start(folder: Path, text: str, *words: str) -> "subprocess.Popen[str]":
    file = folder / "program.cu"
    file.write_text(text)
    code = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", str(file), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python"), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_time_limit_is_named_when_it_ends_a_program(tmp_path: Path) -> None:
    process = start(tmp_path, LONG, "--check", "--seconds", "2")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == TIME_IS_OVER
    assert "was ended after 2 seconds, the time limit; --seconds N allows more" in errors
    assert "STOPPED: kernel count was running" in errors
    assert "program.cu:4" in errors
    assert "FAULT" not in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_is_stopped_from_outside_has_no_fault(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, LONG, "--check")
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert "STOPPED: kernel count was running" in errors
    assert "FAULT" not in errors


def test_a_program_that_ends_is_not_stopped(tmp_path: Path) -> None:
    process = start(tmp_path, SHORT, "--check", "--seconds", "60")
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output, errors) == (0, "begins\n", "")


def test_warnings_about_its_lines_are_shown(tmp_path: Path) -> None:
    for _ in range(2):  # compiled, and from the cache
        process = start(tmp_path, WITH_WARNING)
        output, errors = process.communicate(timeout=120)
        assert (process.returncode, output) == (0, "begins\n")
        assert errors == 'warning: program.cu:7: variable "never_used" was declared but never referenced\n'
