#!/usr/bin/env python3
"""Compares the race check with the naive one on random kernels (tests/random), whole and with a barrier taken out.

    compare_random.py --nvcc NVCC --library libcudart_vgpu.a --race-compare RACE_COMPARE [--seeds 1:61] [--per-file 15]

The whole kernels have to be free of races, too. Exit 0: both agree about all, 1: not.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "random"))

from generate import program  # noqa: E402
from prng import Random  # noqa: E402

COMPILE_SECONDS, RUN_SECONDS = 300, 300
# One behind the other they are as good as one.
BARRIER = re.compile(r"(?:__syncthreads\(\);\s*)+|__syncwarp\([^;]*\);")
KERNEL = re.compile(r"^(?=__global__)", re.MULTILINE)


def without_a_barrier(source: str, seed: int) -> str:
    """The program with one barrier less in each kernel."""
    random = Random(seed)
    parts = KERNEL.split(source)
    for k, part in enumerate(parts[1:], 1):
        barriers = list(BARRIER.finditer(part))
        if barriers:
            gone = random.choice(barriers)
            parts[k] = part[: gone.start()] + part[gone.end() :]
    return "".join(parts)


def compare(options: argparse.Namespace, source: str, may_race: bool, schedules: list[str], name: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        file, binary = Path(folder) / f"{name}.cu", Path(folder) / name
        file.write_text(source)
        command = [options.nvcc, "-std=c++17", "-fmad=false", "-w", "-lineinfo", "-I", str(HERE.parent / "random")]
        command += ["-gencode", "arch=compute_80,code=compute_80", "--no-compress", "-cudart", "none"]
        command += [str(file), str(options.library), "-o", str(binary)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
        if done.returncode != 0:
            return [f"{name}: nvcc fails:", done.stderr]
        problems = []
        for schedule in schedules:
            run = [str(options.race_compare), "--schedule", schedule, "--seed", "3", str(binary)]
            done = subprocess.run(run, capture_output=True, text=True, timeout=RUN_SECONDS)
            lines = done.stdout.splitlines()
            print(f"{name}, {schedule}: {lines[-1] if lines else done.stderr}", flush=True)
            problems += [f"{name}, {schedule}: {line}" for line in lines if line.startswith("only the ")]
            if done.returncode not in (0, 1) or not lines or not lines[-1].endswith("differences"):
                problems.append(f"{name}, {schedule}: exit code {done.returncode} {done.stderr}")
            elif not may_race and ", 0 racy," not in lines[-1]:
                problems.append(f"{name}, {schedule}: {lines[-1]}, but these kernels have no races")
        return problems


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--race-compare", type=Path, required=True)
    parser.add_argument("--seeds", default="1:31", help="from A to B - 1")
    parser.add_argument("--per-file", type=int, default=15)
    options = parser.parse_args()
    first, end = (int(seed) for seed in options.seeds.split(":"))
    problems = []
    for start in range(first, end, options.per_file):
        source = program(range(start, min(start + options.per_file, end)))
        problems += compare(options, source, False, ["lockstep", "random"], f"seed_{start}")
        schedules = ["lockstep", "in_order", "reversed", "random"]
        problems += compare(options, without_a_barrier(source, start), True, schedules, f"seed_{start}_racy")
    print(*problems, f"{len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
