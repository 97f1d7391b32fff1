"""`grader/scanlab run 02`: labs without a main, with real kernels on the virtual GPU."""

import json
from pathlib import Path

import pytest

from conftest import Run
from scanlab.labs import skeleton
from scanlab.labs.folders import find_lab
from scanlab.paths import build_folder

REPOSITORY = Path(__file__).resolve().parents[2]
BUILT = build_folder() / "grader/vgpu/server/vgpu-run"
LABS = sorted(path.name for path in (REPOSITORY / "solutions").iterdir())
SOLUTION = REPOSITORY / "solutions/02_kogge_stone/scan.cu"
MAIN = '\nint main() { std::puts("my own"); }\n'

pytestmark = pytest.mark.skipif(not BUILT.exists(), reason=f"{BUILT} is not built")


def rows(text: str) -> dict[str, list[str]]:
    return {words[0]: words[1:] for words in map(str.split, text.splitlines()) if words}


@pytest.mark.parametrize("lab", LABS)
def test_each_solution_is_called_with_0_1_2(run: Run, lab: str) -> None:
    done = run(lab[:2], REPOSITORY / "solutions" / lab / "scan.cu", "--check")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    if "kept:" in found:
        assert found == {
            "kept:": ["7", "of", "16"],
            "x": [str(i if i % 2 == 0 else -i) for i in range(16)],
            "y": [str(i) for i in range(2, 16, 2)],
        }
    else:
        assert found == {"x": [str(i) for i in range(16)], "y": [str(i * (i + 1) // 2) for i in range(16)]}


def test_the_other_entries_and_sizes(run: Run) -> None:
    done = run(SOLUTION, "--entry", "exclusive_scan", "--n", "64")
    found = rows(done.stdout)
    assert found["x"] == [*map(str, range(32)), "…"]
    assert found["y"] == [*(str(i * (i - 1) // 2) for i in range(32)), "…"]
    found = rows(run("10", REPOSITORY / "solutions/10_compaction/scan.cu", "--entry", "split", "--n", "5").stdout)
    assert found == {"kept:": ["2", "of", "5"], "x": ["0", "-1", "2", "-3", "4"], "y": ["2", "4", "0", "-1", "-3"]}
    assert rows(run(SOLUTION, "--n", "0").stdout) == {"x": [], "y": []}


def test_what_run_can_do_works_for_a_lab(run: Run, tmp_path: Path) -> None:
    done = run("02", SOLUTION, "--n", "64", "--counters", "--schedule", "reversed")
    assert done.returncode == 0
    assert "  barriers                                        20\n" in done.stderr
    done = run(REPOSITORY / "solutions/08_warp_shuffle", "--prove")
    assert (done.returncode, "PROVED" in done.stderr + done.stdout) == (0, True)
    head, _, tail = SOLUTION.read_text(encoding="utf-8").rpartition("__syncthreads();")
    (tmp_path / "mine.cu").write_text(f"{head};{tail}")
    done = run("02", "mine.cu", "--check", "--sarif", "log.sarif")
    assert done.returncode == 4
    assert done.stderr.startswith("RACE (write-after-read): shared s_xy[")
    first, *_ = json.loads((tmp_path / "log.sarif").read_text())["runs"][0]["results"]
    assert first["ruleId"] == "race.shared"


def test_what_is_never_written_is_no_number(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(skeleton.pristine(find_lab("02"))[0])
    done = run("mine.cu", "--n", "3", "--check")
    assert done.stdout == "x 0 1 2\ny ? ? ?\n?: never written\n"
    assert done.returncode == 4
    assert done.stderr.startswith("UNINITIALISED: ")


def test_an_error_of_cuda_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(
        '#include "scanlab.cuh"\n__global__ void kernel() {}\n'
        "void inclusive_scan(const Element*, Element*, int) { kernel<<<1, 5000>>>(); }\n"
    )
    done = run("mine.cu")
    assert (done.returncode, done.stdout) == (1, "")
    assert "inclusive_scan: " in done.stderr
    assert "(cudaErrorInvalidValue)" in done.stderr


def test_a_program_with_a_main_of_its_own_runs_as_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "both.cu").write_text(SOLUTION.read_text(encoding="utf-8") + MAIN)
    assert run("both.cu").stdout == "my own\n"
    for words in (["02", "both.cu"], ["both.cu", "--n", "3"]):
        done = run(*words)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert "main" in line


def test_functions_may_lie_in_several_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text(
        '#include "scanlab.cuh"\nvoid go(const Element*, Element*, int);\n'
        "void inclusive_scan(const Element* d_x, Element* d_y, int n) { go(d_x, d_y, n); }\n"
    )
    (tmp_path / "two.cu").write_text(
        '#include "scanlab.cuh"\nvoid go(const Element* d_x, Element* d_y, int n) {\n'
        "  cudaMemcpy(d_y, d_x, n * sizeof *d_y, cudaMemcpyDeviceToDevice);\n}\n"
    )
    assert rows(run("one.cu", "two.cu", "--n", "3").stdout) == {"x": ["0", "1", "2"], "y": ["0", "1", "2"]}
