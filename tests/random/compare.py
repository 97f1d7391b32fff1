#!/usr/bin/env python3
"""Runs random kernels (generate.py) on the virtual GPU or a real one, and compares results.

    compare.py --seeds 1:2001 --gpu --output gpu.txt                     on this machine's GPU, seeds 1 to 2000
    compare.py --seeds 1:2001 --library libcudart_vgpu.a --vgpu-run VGPU_RUN --output vgpu.txt
    compare.py --diff gpu.txt vgpu.txt                                   names the seeds whose results differ
    compare.py --replay recorded.txt --library … --vgpu-run …            expects the recorded results

Both kinds of run compile the same files to the same PTX. Where several schedules are named, all have to agree with the
first. Exit 0: all as expected, 1: not.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from generate import program

HERE = Path(__file__).resolve().parent
COMPILE_SECONDS, RUN_SECONDS = 300, 300
# How cicc compiles a file: PTX without optimisation is full of local memory, calls, and branches that are elsewhere
# removed. (With its -O1 it unswitches loops that hold warp operations, which is wrong: lanes then wait in two copies.)
BUILDS = {"O3": [], "O0": ["-Xcicc", "-O0"], "G": ["-G"]}
MIXED = ["O3", "O0", "O3", "G"]

Results = dict[int, str]
HASH = "[0-9a-f]{16}"


def compute_capability() -> str:
    command = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()[0].replace(".", "")


def build_of(options: argparse.Namespace, first: int) -> str:
    return MIXED[first // options.per_file % len(MIXED)] if options.build == "mixed" else options.build


def compile_file(options: argparse.Namespace, seeds: range, folder: Path) -> Path | None:
    source, binary = folder / f"{seeds.start}.cu", folder / str(seeds.start)
    source.write_text(program(seeds))
    command = [
        options.nvcc,
        "-std=c++17",
        "-fmad=false",
        "-w",
        "-I",
        str(HERE),
        *BUILDS[build_of(options, seeds.start)],
    ]
    if options.gpu:
        # With its optimiser on, ptxas 13.0 gives about one kernel in two hundred another result than with it off.
        command += ["-gencode", f"arch=compute_80,code=sm_{options.capability}", "-Xptxas", "-O0", str(source)]
    else:
        command += ["-gencode", "arch=compute_80,code=compute_80", "--no-compress", "-cudart", "none"]
        command += [str(source), str(options.library)]
    try:
        done = subprocess.run([*command, "-o", str(binary)], capture_output=True, text=True, timeout=COMPILE_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"seeds {seeds.start} to {seeds.stop - 1}: nvcc takes more than {COMPILE_SECONDS} s", file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f"seeds {seeds.start} to {seeds.stop - 1}: nvcc fails:\n{done.stdout}{done.stderr}", file=sys.stderr)
        return None
    return binary


def run_file(prefix: list[str], binary: Path, seeds: range) -> Results:
    """A hash for each seed, or what went wrong; a seed that fails does not keep the others from running."""
    results: Results = {}
    environment = {name: value for name, value in os.environ.items() if name != "SCANLAB_VGPU_FD"}
    next_seed = seeds.start
    while next_seed < seeds.stop:
        command, why = [*prefix, str(binary), str(next_seed)], ""
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, env=environment)
            output, code = done.stdout, done.returncode
            if code != 0:
                why = f"exit code {code}: {' '.join(done.stderr.split())[:300]}"
        except subprocess.TimeoutExpired as late:
            output, code, why = ((late.stdout or b"").decode(), 1, f"more than {RUN_SECONDS} s")
        for line in output.splitlines():
            seed, _, result = line.partition(" ")
            results[int(seed)] = result
            next_seed = int(seed) + 1
        if code == 0:
            break
        failed = max(next_seed - 1, seeds.start)
        if " " not in results.get(failed, ""):  # the program had no time to say what
            failed = next_seed
        results[failed] = f"{results.get(failed, '')} {why}".strip()
        next_seed = failed + 1
    return {seed: results.get(seed, "no result") for seed in seeds}


def prefixes(options: argparse.Namespace) -> dict[str, list[str]]:
    if options.gpu:
        return {"the GPU's own": []}
    return {
        schedule: [str(options.vgpu_run), "--schedule", schedule, "--seed", "7", "--"]
        for schedule in options.schedules.split(",")
    }


def differences(expected: Results, got: Results, where: str) -> list[str]:
    common = sorted(expected.keys() & got.keys())
    return [
        f"seed {seed} ({where}): {got[seed]}, expected {expected[seed]}"
        for seed in common
        if expected[seed] != got[seed]
    ]


def measure(options: argparse.Namespace, seeds: range) -> tuple[Results, list[str]]:
    """The first schedule's results of one file, and what the others disagree about."""
    with tempfile.TemporaryDirectory() as folder:
        binary = compile_file(options, seeds, Path(folder))
        if binary is None:
            return dict.fromkeys(seeds, "not compiled"), []
        first: Results = {}
        problems = []
        for schedule, prefix in prefixes(options).items():
            results = run_file(prefix, binary, seeds)
            first = first or results
            where = f"{build_of(options, seeds.start)}, {schedule}"
            problems += differences(first, results, where)
        return first, problems


def measure_all(options: argparse.Namespace, seeds: range) -> tuple[Results, list[str]]:
    files = [range(s, min(s + options.per_file, seeds.stop)) for s in range(seeds.start, seeds.stop, options.per_file)]
    results: Results = {}
    problems: list[str] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for more, disagreements in pool.map(lambda file: measure(options, file), files):
            results |= more
            problems += disagreements
    return results, problems


def read_results(path: Path) -> Results:
    """A line has a seed and its result; or hashes only, the seed's and those of the seeds that follow."""
    results: Results = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            seed, _, result = line.partition(" ")
            of_several = result.split() if re.fullmatch(rf"{HASH}( {HASH})+", result) else [result]
            results |= dict(enumerate(of_several, int(seed)))
    return results


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--seeds", metavar="A:B", help="from A to B - 1")
    task.add_argument("--replay", type=Path, help="a file of recorded results")
    task.add_argument("--diff", type=Path, nargs=2, metavar=("EXPECTED", "GOT"))
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--library", type=lambda text: Path(text).absolute())
    parser.add_argument("--vgpu-run", type=lambda text: Path(text).absolute())
    parser.add_argument("--schedules", default="in_order", help="separated by commas")
    parser.add_argument("--build", choices=[*BUILDS, "mixed"], default="mixed")
    parser.add_argument("--per-file", type=int, default=25)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if options.diff:
        expected, got = (read_results(path) for path in options.diff)
        problems = differences(expected, got, options.diff[1].name)
        print(*problems, f"{len(problems)} of {len(expected.keys() & got.keys())} seeds differ", sep="\n")
        return 1 if problems or expected.keys() != got.keys() else 0
    options.capability = compute_capability() if options.gpu else ""
    recorded = read_results(options.replay) if options.replay else {}
    ends = [min(recorded), max(recorded) + 1] if recorded else [int(end) for end in options.seeds.split(":")]
    seeds = range(*ends)
    results, problems = measure_all(options, seeds)
    problems += differences(recorded, results, "first schedule")
    if options.output:
        options.output.write_text("".join(f"{seed} {result}\n" for seed, result in sorted(results.items())))
    failed = sum(" " in result for result in results.values())
    print(*problems, f"{len(results)} kernels, {failed} without a result, {len(problems)} disagreements", sep="\n")
    return 1 if problems or failed else 0


if __name__ == "__main__":
    sys.exit(main())
