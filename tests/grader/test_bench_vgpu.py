"""`bench vgpu` over stand-ins for the two programs; what they measure is made up, so the figures are known."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Scanlab, write_program
from scanlab.bench import engine

# The launches take 40,000 ns, 41,000 ns, … from each start on, and the kernel has 1,000 threads.
VGPU_BENCH = """
    import json, os, pathlib, sys
    words = sys.argv[1:]
    with open(pathlib.Path(__file__).with_name("calls"), "a") as calls:
        print(*words[2:-1], file=calls)
    asked = os.environ.get("SCANLAB_TEST_BENCH", "")
    if asked == "USAGE":
        print('vgpu-bench: no kernel\\'s name contains "nix"', file=sys.stderr)
        sys.exit(2)
    if asked == "WRONG":
        print("vgpu-bench: vector_add, observers none: word 3 is 0", file=sys.stderr)
        sys.exit(1)
    if asked == "CRASHES":
        os.abort()
    repeat = int(words[words.index("--repeat") + 1])
    def times(first):
        return {"cpu_ns": [first + 1000 * k for k in range(repeat)], "wall_ns": [2 * first] * repeat}
    def case(name, title, observers):
        return {"name": name, "title": title, "threads": 1000, "block_threads": 1024, "warp_instructions": 8200,
                "active_lanes": 31.96, "observers": observers}
    cases = [case("kogge_stone_1024", "Kogge-Stone, 1,024", {"none": times(40000), "counters": times(80000)}),
             case("unheard_of", "a kernel without a prototype", {"none": times(10000)})]
    if asked == "PARALLEL":
        cases[0]["parallel"] = {"threads": 2, "one": times(500000), "several": times(250000)}
    run = {"schema": "scanlab-vgpu-bench", "version": 1, "cases": [] if asked == "EMPTY" else cases}
    path = pathlib.Path(words[words.index("--json") + 1])
    path.write_text("{" if asked == "BROKEN" else json.dumps(run))
"""

# Every launch takes 20 ns a work-item.
POCL_BENCH = """
    import json, os, pathlib, sys
    words = sys.argv[1:]
    asked = os.environ.get("SCANLAB_TEST_POCL", "")
    if asked == "NONE":
        print("pocl-bench: PoCL is not installed (a hint)", file=sys.stderr)
        sys.exit(77)
    if asked == "FAULTS":
        print("pocl-bench: OpenCL error -5", file=sys.stderr)
        sys.exit(3)
    assert pathlib.Path(words[-1]).is_file()
    repeat = int(words[words.index("--repeat") + 1])
    times = {"cpu_ns": [20000] * repeat, "wall_ns": [21000] * repeat}
    run = {"schema": "scanlab-pocl-bench", "version": 1, "pocl": "OpenCL 3.0 PoCL 3.1  Linux, LLVM",
           "processor": "a CPU", "cases": [{"name": "kogge_stone_1024", "threads": 1000, "times": times}]}
    pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps(run))
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A build folder that holds stand-ins for vgpu-bench and pocl-bench only; the calls are kept in `calls`."""
    folder = tmp_path / "build/grader/vgpu/bench"
    write_program(folder / "vgpu-bench", VGPU_BENCH)
    write_program(folder / "pocl-bench", POCL_BENCH)
    (folder / "kernels.ptx").write_text("// any\n")
    return folder


def build_of(programs: Path) -> str:
    return str(programs.parents[2])


def row(output: str, title: str) -> list[str]:
    """Return the numbers in the line that begins with `title`, and its set of observers."""
    line = next(line for line in output.splitlines() if line.startswith(title))
    return line.removeprefix(title).split()


def test_the_table_holds_the_rounds_together(scanlab: Scanlab, programs: Path) -> None:
    done = scanlab("bench", "vgpu", "--repeat", "7", SCANLAB_BUILD=build_of(programs))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    # Seven launches in rounds of 3, 2 and 2: 40, 41, 42, 40, 41, 40, 41. 8.2 warp-instructions a thread are 205 million
    # a second at 40 ns, and 200 million at 41 ns.
    figures = ["32.0", "none", "40.0", "41.0", "22.0", "205", "200", "259", "20.0", "2.05"]
    assert row(done.stdout, "Kogge-Stone, 1,024") == figures
    assert row(done.stdout, "a kernel without a prototype") == ["32.0", "none", "10.0", "11.0", "820", "745"]
    assert "counters     80.0    81.0       24.7" in done.stdout
    assert "n = 1,048,576 floats, 7 launches each" in done.stdout
    assert "(OpenCL 3.0 PoCL 3.1)" in done.stdout
    assert (programs / "calls").read_text().splitlines() == [f"--n 1048576 --repeat {k}" for k in (3, 2, 2)]


def test_the_json_holds_minima_medians_and_ratios(scanlab: Scanlab, programs: Path, tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    done = scanlab("bench", "vgpu", "--repeat", "2", "--json", file, SCANLAB_BUILD=build_of(programs))
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text())
    assert (result["schema"], result["version"], result["subject"]) == ("scanlab-bench", 1, "vgpu")
    assert (result["n"], result["repeat"], result["why_no_pocl"]) == (1 << 20, 2, None)
    kogge_stone, other = result["cases"]
    assert kogge_stone["pocl"]["ns_median"] == 20
    counters = kogge_stone["observers"]["counters"]
    assert (counters["ns_min"], counters["wall_ns_median"], counters["launches"]) == (80, 160, 2)
    assert (counters["to_pocl_min"], counters["to_pocl_median"]) == (4, 4)
    assert (counters["prototype_ns"], counters["prototype_million"]) == (24.7, None)
    assert other["pocl"] is None
    assert other["observers"]["none"]["to_pocl_median"] is None


def test_several_threads_have_a_table_of_their_own(scanlab: Scanlab, programs: Path, tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    words = ["bench", "vgpu", "--repeat", "2", "--json", file]
    done = scanlab(*words, SCANLAB_BUILD=build_of(programs), SCANLAB_TEST_BENCH="PARALLEL")
    assert done.returncode == 0, done.stderr
    _, table = done.stdout.split("ms on the clock", 1)
    assert table.splitlines()[0].split("  ")[-1] == "ratio"
    assert row(table, "Kogge-Stone, 1,024") == ["1.00", "0.50", "2.00"]
    assert "unheard" not in table
    kogge_stone, other = json.loads(file.read_text())["cases"]
    assert kogge_stone["parallel"] == {"threads": 2, "one_ms": 1, "several_ms": 0.5, "ratio": 2}
    assert other["parallel"] is None


def test_options_reach_the_programs(scanlab: Scanlab, programs: Path) -> None:
    words = ["--repeat", "1", "--n", "64", "--filter", "kogge", "--filter", "add", "--observers", "none"]
    done = scanlab("bench", "vgpu", *words, SCANLAB_BUILD=build_of(programs))
    assert done.returncode == 0, done.stderr
    assert (programs / "calls").read_text() == "--n 64 --repeat 1 --filter kogge --filter add --observers none\n"


@pytest.mark.parametrize(
    ("pocl", "note"),
    [
        ("NONE", "PoCL was not measured: PoCL is not installed (a hint)\n"),
        ("FAULTS", "PoCL was not measured: pocl-bench ended with exit code 3: OpenCL error -5\n"),
        ("missing", "PoCL was not measured: OpenCL was not there when the build was configured"),
    ],
)
def test_without_pocl_one_line_says_so(scanlab: Scanlab, programs: Path, pocl: str, note: str) -> None:
    if pocl == "missing":
        (programs / "pocl-bench").unlink()
    done = scanlab("bench", "vgpu", "--repeat", "3", SCANLAB_BUILD=build_of(programs), SCANLAB_TEST_POCL=pocl)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("PoCL was not measured") == 1
    assert note in done.stdout
    assert row(done.stdout, "Kogge-Stone, 1,024")[-1] == "259"


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ("USAGE", 2, 'scanlab: no kernel\'s name contains "nix"\n'),
        ("WRONG", 3, "scanlab: vgpu-bench ended with exit code 1: vector_add, observers none: word 3 is 0\n"),
        ("CRASHES", 3, "scanlab: vgpu-bench was killed by signal 6: it said nothing\n"),
        ("BROKEN", 3, "vgpu-bench wrote no such JSON as it should"),
        ("EMPTY", 3, "vgpu-bench wrote no such JSON as it should: cases"),
    ],
)
def test_a_program_that_fails_is_one_clear_message(
    scanlab: Scanlab, programs: Path, asked: str, code: int, message: str
) -> None:
    done = scanlab("bench", "vgpu", SCANLAB_BUILD=build_of(programs), SCANLAB_TEST_BENCH=asked)
    assert done.returncode == code
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize("missing", ["vgpu-bench", "kernels.ptx"])
def test_what_is_not_built_is_named(scanlab: Scanlab, programs: Path, missing: str) -> None:
    (programs / missing).unlink()
    done = scanlab("bench", "vgpu", SCANLAB_BUILD=build_of(programs))
    assert done.returncode == 3
    assert f"{missing} is not built" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bench", "vgpu", "--repeat", "0"], "'--repeat'"),
        (["bench", "vgpu", "--repeat", "often"], "'--repeat'"),
        (["bench", "vgpu", "--n", "16777217"], "'--n'"),
        (["bench", "vgpu", "--json", "no/such/folder.json"], "cannot write no/such/folder.json"),
        (["bench", "gpu"], "gpu"),
        (["bench", "vgpu", "all"], "all"),
    ],
)
def test_bad_arguments(scanlab: Scanlab, programs: Path, tmp_path: Path, words: list[str], message: str) -> None:
    done = scanlab(*words, cwd=tmp_path, SCANLAB_BUILD=build_of(programs))
    assert done.returncode == 2
    assert message in done.stderr
    assert not (programs / "calls").exists()  # and no time was spent on it


@given(st.integers(1, 1000), st.integers(1, 10))
def test_rounds_share_the_launches_evenly(repeat: int, rounds: int) -> None:
    parts = engine.shares(repeat, rounds)
    assert sum(parts) == repeat
    assert 1 <= len(parts) <= rounds
    assert max(parts) - min(parts) <= 1
    assert min(parts) >= 1
