#!/usr/bin/env python3
"""Compiles CUDA programs, runs each, and compares what it prints with NAME.expected.

Where there is a NAME.stderr, each of its lines has to occur in what the virtual GPU and the program say on stderr.

    run_program.py --nvcc NVCC --library libcudart_vgpu.a --vgpu-run VGPU_RUN [--schedules S,T] [--check] PROGRAM.cu…
    run_program.py --nvcc NVCC --gpu PROGRAM.cu…       with NVIDIA's runtime, on a real GPU

A compiler spends most of its time on headers, so programs that are named together, and need the same flags, are
compiled together: each in a namespace, behind the headers of all (joined.py).

The same output is expected under every schedule. With --check the program runs once more, under the first schedule,
and must have no mistakes, unless it says so. The program's comment lines may say how it is built and how
it ends:

    // test: nvcc FLAGS       further flags for the compiler
    // test: with A.cu B.cu   further files of the program: all are compiled with relocatable device code (-rdc=true)
    // test: runs A B         one run for each argument, outputs one after the other
    // test: vgpu-run OPTIONS further options of vgpu-run
    // test: schedules S T    these schedules only: the program depends on the order of blocks
    // test: exit N           ends with that exit code
    // test: signal SIGSEGV   killed by that signal
    // test: alone            not started by vgpu-run
    // test: apart            never compiled together with other programs
    // test: races            has races on shared or global memory
    // test: unwritten A B    reads what no thread has written, in the runs with these arguments
    // test: vgpu             its output is the virtual GPU's own: skipped on a GPU

Exit 0: as expected, 1: not, 77: skipped.
"""

import argparse
import difflib
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from joined import join, without_namespace

sys.path.append(str(Path(__file__).resolve().parents[1] / "grader/python"))
from scanlab.bootstrap.cuda import inspect
from scanlab.on_demand import CUDA_HEADERS

HERE = Path(__file__).resolve().parent
COMPILE_SECONDS, RUN_SECONDS = 120, 60
SKIPPED, FOUND_MISTAKES = 77, 4


def absolute(path: str) -> Path:
    return Path(path).absolute()


def directives(source: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in source.read_text().splitlines():
        match = re.match(r"// test: (\S+)\s*(.*)", line)
        if match:
            found.setdefault(match[1], []).append(match[2])
        elif re.match(r"//.*\btest: ", line):
            raise SystemExit(f"{source}: a test: that does not begin its line would not be read: {line}")
    return found


@dataclass(frozen=True)
class Program:
    """A program's file, and what its comment lines say."""

    source: Path
    wanted: dict[str, list[str]]

    def compiled_with(self) -> tuple[str, ...]:
        """What programs have in common that are compiled together: their flags, or the file itself."""
        if "apart" in self.wanted or "with" in self.wanted:
            return (str(self.source),)
        return ("", *self.wanted.get("nvcc", []))


@dataclass(frozen=True)
class Binary:
    """A compiled file, which holds one program, or several and begins the one that its first argument names."""

    path: Path
    is_joined: bool

    def command(self, program: Program, argument: str | None) -> list[str]:
        name = [program.source.stem] if self.is_joined else []
        return [str(self.path), *name, *([argument] if argument else [])]


def has_headers(program: Program, nvcc: str) -> bool:
    """Whether nvcc has the headers that only some toolkits have; says so of a program that needs one in vain."""
    text = program.source.read_text()
    needed = [header for header in CUDA_HEADERS.headers if f"#include <{header}>" in text]
    folders = inspect(Path(nvcc)).includes if needed else ()
    lacking = [header for header in needed if not any((folder / header).is_file() for folder in folders)]
    if lacking:
        print(f"not run: {program.source.name} needs {' and '.join(lacking)}; type: {CUDA_HEADERS.by_hand()}")
    return not lacking


def compile_programs(options: argparse.Namespace, programs: list[Program], folder: Path) -> Binary | None:
    """Compiles programs that have `compiled_with` in common; says why when that fails."""
    first, is_joined = programs[0], len(programs) > 1
    source = first.source.absolute()
    if is_joined:
        source = folder / "joined.cu"
        source.write_text(join([program.source.absolute() for program in programs]))
    binary = folder / source.stem
    nvcc = [
        options.nvcc,
        "-std=c++17",
        "-lineinfo",
        "-Wno-deprecated-declarations",
        f"-I{HERE}",
        *first.wanted.get("nvcc", [""])[0].split(),
    ]
    nvcc += ["-arch=native"] if options.gpu else ["-gencode", "arch=compute_80,code=compute_80", "--no-compress"]
    others = first.wanted.get("with", [""])[0].split()
    sources = [str(path.absolute()) for path in (source, *(first.source.parent / name for name in others))]
    runtime = [] if options.gpu else [str(options.library), "-cudart", "none"]
    if others:
        # In steps: with -cudart none, nvcc leaves out the linking of device code.
        objects = [str(folder / f"{Path(source).stem}.o") for source in sources]
        device_linker = ["-dlink"] if options.gpu else ["-dlink", "-cudadevrt", "none"]
        commands = [[*nvcc, "-dc", source, "-o", made] for source, made in zip(sources, objects, strict=True)]
        commands.append([*nvcc, *device_linker, *objects, "-o", str(folder / "device_code.o")])
        commands.append([*nvcc, *objects, str(folder / "device_code.o"), *runtime, "-o", str(binary)])
    else:
        commands = [[*nvcc, *sources, *runtime, "-o", str(binary)]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS * len(programs))
        if done.returncode != 0:
            names = ", ".join(program.source.name for program in programs)
            print(f"{names}: nvcc fails:\n{done.stdout}{done.stderr}")
            return None
    return Binary(binary, is_joined)


def run(options: argparse.Namespace, program: Program, binary: Binary, schedule: str, check: bool = False) -> list[str]:
    """Runs the program once for each of its arguments; what differs from the expectations, as lines."""
    wanted = program.wanted
    environment = {name: value for name, value in os.environ.items() if name != "SCANLAB_VGPU_FD"}
    output, errors, problems = "", "", []
    served = not options.gpu and "alone" not in wanted
    prefix = [str(options.vgpu_run), "--schedule", schedule, *wanted.get("vgpu-run", [""])[0].split()]
    prefix += ["--check", "--"] if check else ["--"]
    for argument in " ".join(wanted.get("runs", [])).split() or [None]:
        command = (prefix if served else []) + binary.command(program, argument)
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, env=environment)
        output += done.stdout
        errors += done.stderr
        expected_code = int(wanted.get("exit", ["0"])[0])
        is_found = "races" in wanted or argument in wanted.get("unwritten", [""])[0].split() or "FAULT" in done.stderr
        if check and is_found:
            expected_code = FOUND_MISTAKES
        if "signal" in wanted:
            number = getattr(signal, wanted["signal"][0])
            expected_code = 128 + number if served else -number
        if done.returncode != expected_code:
            problems.append(f"exit code {done.returncode}, expected {expected_code}")

    if binary.is_joined:
        output, errors = (without_namespace(text, program.source) for text in (output, errors))
    expected = program.source.with_suffix(".expected").read_text()
    if output != expected:
        problems.append("output differs")
        problems += difflib.unified_diff(
            expected.splitlines(), output.splitlines(), "expected", "got", lineterm="", n=2
        )
    reports = program.source.with_suffix(".stderr")
    if reports.exists() and not options.gpu:
        texts = reports.read_text().splitlines()
        problems += [f"stderr does not contain: {text}" for text in texts if text not in errors]
    if check and ("RACE" in errors) != ("races" in wanted):
        problems.append("has no races" if "races" in wanted else "has races")
    if check and ("UNINITIALISED" in errors) != ("unwritten" in wanted):
        problems.append("reads what is written" if "unwritten" in wanted else "reads what no thread has written")
    if problems and errors:
        problems.append(f"stderr was:\n{errors}")
    return problems


def run_all(options: argparse.Namespace, program: Program, binary: Binary) -> bool:
    """Runs the program under every schedule, and with --check; whether all was as expected."""
    schedules = options.schedules.split(",")
    if "schedules" in program.wanted:
        schedules = program.wanted["schedules"][0].split()
    runs = [(schedule, False) for schedule in (["the GPU's own"] if options.gpu else schedules)]
    if options.check and "alone" not in program.wanted:
        runs.append((schedules[0], True))
    is_right = True
    for schedule, check in runs:
        problems = run(options, program, binary, schedule, check)
        if problems:
            is_right = False
            title = f"{program.source.name}: schedule {schedule}{', with --check' if check else ''}:"
            print(title, *problems, sep="\n")
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--library", type=absolute)
    parser.add_argument("--vgpu-run", type=absolute)
    parser.add_argument("--schedules", default="in_order", help="separated by commas")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    programs = [Program(source, directives(source)) for source in options.sources]
    if options.gpu:
        for program in [program for program in programs if "vgpu" in program.wanted]:
            print(f"{program.source.name}: skipped: its output is the virtual GPU's own")
            programs.remove(program)
        if not programs:
            return SKIPPED

    if not options.gpu:
        programs = [program for program in programs if has_headers(program, options.nvcc)]
        if not programs:
            return SKIPPED

    together: dict[tuple[str, ...], list[Program]] = {}
    for program in programs:
        together.setdefault(program.compiled_with(), []).append(program)
    is_right = True
    for group in together.values():
        with tempfile.TemporaryDirectory() as folder:
            binary = compile_programs(options, group, Path(folder))
            if binary is None:
                is_right = False
                continue
            for program in group:
                is_right &= run_all(options, program, binary)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
