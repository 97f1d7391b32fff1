#!/usr/bin/env python3
"""Runs the litmus tests, and compares the outcomes with what the oracle (ptx_model.py) allows.

    run.py --oracle                                  does the oracle agree with the verdicts of shapes.py?
    run.py --library L --vgpu-run V --schedules weak,random --seeds 100     nothing forbidden is shown
    run.py --library L --vgpu-run V --explore        shown is exactly what needs no load buffering
    run.py --gpu                                     the same program on a GPU: nothing forbidden is shown
    … --loops 100 --seed 7                           instead, programs at random that repeat reads until they fit
    … --table                                        a line for each test; --only TEXT: tests with TEXT in their names

Every schedule but `weak` is sequentially consistent, and is held to that. Exit 0: as expected, 1: not.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path

from generate import program
from language import Test
from loops import random_loops
from ptx_model import Answer, ask, interleavings
from shapes import ALLOWED, FORBIDDEN, LOAD_BUFFERING, all_tests

COMPILE_SECONDS, RUN_SECONDS = 300, 300
EXPLORED = re.compile(r"outcome \d+ of .*: ([\d ]+?) \(\d+ executions?\)")
SEEDED = ("random", "weak")  # the schedules that depend on the seed
Shown = dict[str, set[str]]  # the outcomes of each test

answer = cache(ask)


def build(options: argparse.Namespace, tests: list[Test], folder: Path) -> Path:
    source, binary = folder / "litmus.cu", folder / "litmus"
    source.write_text(program(tests))
    command = [options.nvcc, "-std=c++17", "-lineinfo", str(source), "-o", str(binary)]
    if options.gpu:
        query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
        # The PTX that the virtual GPU executes, for this GPU.
        command += ["-gencode", f"arch=compute_80,code=sm_{done.stdout.split()[0].replace('.', '')}"]
    else:
        command += ["-gencode", "arch=compute_80,code=compute_80", "--no-compress", "-cudart", "none"]
        command += [str(options.library)]
    subprocess.run(command, timeout=COMPILE_SECONDS, check=True)
    return binary


def output(command: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "SCANLAB_VGPU_FD"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def outcomes(text: str) -> Shown:
    """What the program prints, as generate.py describes it."""
    shown: Shown = defaultdict(set)
    name = ""
    for line in text.splitlines():
        kind, _, rest = line.partition(": ")
        if kind == "test":
            name = rest
        elif kind == "outcome":
            shown[name].add(rest.partition(" #")[0])
    return shown


def explored(options: argparse.Namespace, binary: Path, test: Test) -> set[str]:
    """All outcomes, by exploration. The one place that knows how vgpu-run is asked for it, and what it prints.

    A line "outcome 1 of KERNEL: 0 1 … (5 executions)" for each distinct content of the kernel's last array, in words.
    """
    lines = output([str(options.vgpu_run), "--prove=outcomes", "--", str(binary), test.name]).splitlines()
    names = test.registers() + test.locations()
    found = set()
    for line in lines:
        if listed := EXPLORED.fullmatch(line):
            words = dict(zip(names, listed[1].split(), strict=False))
            found.add(" ".join(f"{name}={words[name]}" for name in test.observed()))
    return found


def has(some: set[str], test: Test) -> bool:
    """Whether what the test asks for is among these outcomes."""
    return any(set(test.exists.split()) <= set(outcome.split()) for outcome in some)


def verdict(test: Test) -> str:
    if has(answer(test).without_load_buffering, test):
        return ALLOWED
    return LOAD_BUFFERING if has(answer(test).allowed, test) else FORBIDDEN


def oracle_problems(test: Test) -> list[str]:
    """The oracle against the reasoned verdict, and against all interleavings, which every model has to allow."""
    problems = []
    if verdict(test) != test.verdict:
        problems.append(f"{test.name}: {test.exists} is {test.verdict}; the oracle says {verdict(test)}")
    if answer(test).has_race and any(one.spelling == "plain" for one in test.instructions()):
        problems.append(f"{test.name}: plain accesses race")
    lacking = interleavings(test) - answer(test).without_load_buffering
    return problems + [f"{test.name}: the oracle forbids an interleaving's {outcome}" for outcome in sorted(lacking)]


def forbidden(shown: set[str], permitted: set[str], test: Test, where: str) -> list[str]:
    return [f"{test.name}: {where} shows {outcome}, which is forbidden" for outcome in sorted(shown - permitted)]


def run_schedules(options: argparse.Namespace, binary: Path, tests: list[Test]) -> tuple[Shown, list[str]]:
    shown: Shown = defaultdict(set)
    problems = []
    for schedule in options.schedules.split(","):
        found: Shown = defaultdict(set)
        for seed in range(options.seeds if schedule in SEEDED else 1):
            prefix = [str(options.vgpu_run), "--schedule", schedule, "--seed", str(seed), "--"]
            for name, some in outcomes(output([*prefix, str(binary), "all"])).items():
                found[name] |= some
        for test in tests:
            permitted = answer(test).allowed if schedule == "weak" else interleavings(test)
            problems += forbidden(found[test.name], permitted, test, f"schedule {schedule}")
            shown[test.name] |= found[test.name]
    return shown, problems


def run_exploration(options: argparse.Namespace, binary: Path, tests: list[Test]) -> tuple[Shown, list[str]]:
    shown = {test.name: explored(options, binary, test) for test in tests}
    problems = []
    for test in tests:
        expected, found = answer(test).without_load_buffering, shown[test.name]
        problems += forbidden(found, expected, test, "exploration")
        if not answer(test).has_race:  # a machine may have an order where the model has none
            problems += [f"{test.name}: exploration does not show {outcome}" for outcome in sorted(expected - found)]
    return shown, problems


def run_gpu(options: argparse.Namespace, binary: Path, tests: list[Test]) -> tuple[Shown, list[str]]:
    shown = outcomes(output([str(binary), "all", str(options.launches), str(options.instances)]))
    return shown, [one for test in tests for one in forbidden(shown[test.name], answer(test).allowed, test, "the GPU")]


def print_table(tests: list[Test], shown: Shown, is_run: bool) -> None:
    """Without a run, shown is what a machine without load buffering has to show."""
    head = f"{'asked for':24} {'verdict':32} {'allowed':>7} {'shown' if is_run else 'to show':>7}"
    print(f"{'test':58} {head}  not shown: by load buffering (LB), others")
    for test in tests:
        found: Answer = answer(test)
        seen = shown.get(test.name, set()) if is_run else found.without_load_buffering
        others = found.without_load_buffering - seen
        missing = [f"LB {one}" for one in sorted(found.allowed - found.without_load_buffering - seen)]
        missing += [*sorted(others)[:3], *(["…"] if len(others) > 3 else [])]
        race = " (race)" if found.has_race else ""
        numbers = f"{len(found.allowed):7} {len(seen):7}"
        print(f"{test.name:58} {test.exists:24} {verdict(test) + race:32} {numbers}  {', '.join(missing)}".rstrip())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--library", type=lambda path: Path(path).absolute())
    parser.add_argument("--vgpu-run", type=lambda path: Path(path).absolute())
    parser.add_argument("--schedules", default="random", help="separated by commas")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--launches", type=int, default=200, help="of each test, on a GPU")
    parser.add_argument("--instances", type=int, default=512, help="of a test at once, on a GPU")
    parser.add_argument("--only", default="", help="tests with this in their names")
    parser.add_argument("--oracle", action="store_true")
    parser.add_argument("--explore", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--loops", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    every = random_loops(options.loops, options.seed) if options.loops else all_tests()
    tests = [test for test in every if options.only in test.name]
    problems = [problem for test in tests for problem in oracle_problems(test)] if options.oracle else []
    shown: Shown = {}
    is_run = options.gpu or options.library is not None
    if is_run:
        with tempfile.TemporaryDirectory() as folder:
            binary = build(options, tests, Path(folder))
            run = run_gpu if options.gpu else run_exploration if options.explore else run_schedules
            shown, more = run(options, binary, tests)
        problems += more + [f"{test.name} shows nothing" for test in tests if not shown.get(test.name)]
    if options.table:
        print_table(tests, shown, is_run)
    for problem in problems:
        print(problem)
    print(f"{len(tests)} tests, {len(problems)} problems")
    return 1 if problems or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
