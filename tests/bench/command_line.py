"""Run vgpu-bench with right and wrong arguments: `command_line.py VGPU_BENCH KERNELS_PTX`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, PTX = sys.argv[1:]
failures: list[str] = []


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=50, stdin=subprocess.DEVNULL)


def expect(what: str, holds: bool, shown: object) -> None:
    if not holds:
        failures.append(f"{what}: {shown}")


def refused(code: int, message: str, *words: str) -> None:
    done = run(*words)
    expect(
        f"{words} must end with {code} and say {message!r}",
        done.returncode == code and message in done.stderr and not done.stdout,
        done,
    )


def test_wrong_arguments(folder: Path) -> None:
    empty = folder / "empty.ptx"
    empty.write_text("")
    nonsense = folder / "nonsense.ptx"
    nonsense.write_text("this is no PTX\n")
    refused(2, "no file with kernels given")
    refused(2, "more than one file", PTX, PTX)
    refused(2, 'takes a number from 1 to 1000, not "0"', "--repeat", "0", PTX)
    refused(2, 'not "1e3"', "--n", "1e3", PTX)
    refused(2, 'from 1 to 16777216, not "16777217"', "--n", "16777217", PTX)
    refused(2, 'contains "nothing_like_it"; there are kogge_stone_1024', "--filter", "nothing_like_it", PTX)
    refused(2, 'called "nobody"; there are none, counters, race, both, global, all', "--observers", "nobody", PTX)
    refused(2, "--frobnicate", "--frobnicate", PTX)
    refused(2, "cannot read", str(folder / "nowhere.ptx"))
    refused(2, "cannot read", str(folder))
    refused(2, "cannot read", str(empty))
    refused(3, "vgpu-bench: ", "--n", "64", str(nonsense))


def test_json() -> None:
    done = run("--n", "300", "--repeat", "3", "--filter", "kogge", "--filter", "add", "--json", "-", PTX)
    expect("JSON on stdout", done.returncode == 0, done)
    cases = {case["name"]: case for case in json.loads(done.stdout)["cases"]}
    expect("the filtered kernels", list(cases) == ["kogge_stone_1024", "kogge_stone_256", "vector_add"], list(cases))
    # One block of 1024 threads, or two of 256, holds 300 elements.
    expect("threads", [case["threads"] for case in cases.values()] == [1024, 512, 512], cases)
    for case in cases.values():
        expect("the sets", list(case["observers"]) == ["none", "counters", "race", "both", "global", "all"], case)
        for times in case["observers"].values():
            expect("a time a launch", [len(times[clock]) for clock in ("cpu_ns", "wall_ns")] == [3, 3], times)
            expect("times above 0", all(ns > 0 for ns in times["cpu_ns"] + times["wall_ns"]), times)
    only = run("--n", "300", "--repeat", "1", "--filter", "vector", "--observers", "counters", "--json", "-", PTX)
    expect("one set", list(json.loads(only.stdout)["cases"][0]["observers"]) == ["counters"], only)


def test_a_wrong_kernel_has_no_speed(folder: Path) -> None:
    """vector_add with a subtraction in place of its addition."""
    text = Path(PTX).read_text()
    start = text.index(".entry vector_add")
    wrong = folder / "wrong.ptx"
    wrong.write_text(text[:start] + text[start:].replace("add.f32", "sub.f32", 1))
    refused(1, "vector_add, observers none: word ", "--n", "64", "--filter", "vector_add", str(wrong))


with tempfile.TemporaryDirectory() as scratch:
    test_wrong_arguments(Path(scratch))
    test_json()
    test_a_wrong_kernel_has_no_speed(Path(scratch))
print("\n".join(failures) or "all as it should be")
sys.exit(1 if failures else 0)
