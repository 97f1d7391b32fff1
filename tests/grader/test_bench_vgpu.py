"""`bench vgpu` over a stand-in for the program; what it measures is made up, so the figures are known."""

import json
from pathlib import Path

import pytest

from conftest import Scanlab, write_program

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


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A build folder that holds a stand-in for vgpu-bench only; the calls are kept in `calls`."""
    folder = tmp_path / "build/grader/vgpu/bench"
    write_program(folder / "vgpu-bench", VGPU_BENCH)
    (folder / "kernels.ptx").write_text("// any\n")
    return folder


def build_of(programs: Path) -> str:
    return str(programs.parents[2])


def row(output: str, title: str) -> list[str]:
    """Return the numbers in the line that begins with `title`, and its set of observers."""
    line = next(line for line in output.splitlines() if line.startswith(title))
    return line.removeprefix(title).split()


def test_the_table_holds_minima_and_medians(scanlab: Scanlab, programs: Path) -> None:
    done = scanlab("bench", "vgpu", "--repeat", "7", SCANLAB_BUILD=build_of(programs))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    # Seven launches: 40, 41 … 46. 8.2 warp-instructions a thread are 205 million a second at 40 ns, 191 at 43 ns.
    figures = ["32.0", "none", "40.0", "43.0", "22.0", "205", "191", "259"]
    assert row(done.stdout, "Kogge-Stone, 1,024") == figures
    assert row(done.stdout, "a kernel without a prototype") == ["32.0", "none", "10.0", "13.0", "820", "631"]
    assert "counters     80.0    83.0       24.7" in done.stdout
    assert "n = 1,048,576 floats, 7 launches each" in done.stdout
    assert (programs / "calls").read_text() == "--n 1048576 --repeat 7\n"


def test_the_json_holds_minima_and_medians(scanlab: Scanlab, programs: Path, tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    done = scanlab("bench", "vgpu", "--repeat", "2", "--json", file, SCANLAB_BUILD=build_of(programs))
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text())
    assert (result["schema"], result["version"], result["subject"]) == ("scanlab-bench", 1, "vgpu")
    assert (result["n"], result["repeat"]) == (1 << 20, 2)
    kogge_stone = result["cases"][0]
    counters = kogge_stone["observers"]["counters"]
    assert (counters["ns_min"], counters["wall_ns_median"], counters["launches"]) == (80, 160, 2)
    assert (counters["prototype_ns"], counters["prototype_million"]) == (24.7, None)


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
