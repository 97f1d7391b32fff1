#!/usr/bin/env python3
"""Compile a file of small programs, right and wrong ones, and compare what is found with what each of them says.

    pairs.py --nvcc NVCC --library libcudart_vgpu.a --vgpu-run VGPU_RUN [--only NAME…] PROGRAM.cu

pairs.cuh has the grammar. Every case runs under each schedule: a verdict that depends on it is wrong. The right ones
run together, since nothing may be found in any of them.

Exit 0: all verdicts are right, 1: not.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

COMPILE_SECONDS, RUN_SECONDS = 240, 60
SCHEDULES = ("lockstep", "in_order", "reversed", "random")
FOUND_MISTAKES = 4
# The first line of a finding's text, by its id; what is not here begins with "FAULT".
HEADLINES = {
    "race.read_only": r"RACE \(read-only\): ",
    "race.shared": r"RACE \(.*\): shared ",
    "race.global": r"RACE \((?!read-only).*\): (?!shared )(?!.* and (the host|a host function|another)$)",
    "race.host": r"RACE \(.*\): .* and (the host|a host function|another)\n",
    "copy.kind": r"COPY",
    "fence.missing": r"FENCE",
    "uninitialised.global": r"UNINITIALISED: (?!shared )",
    "uninitialised.shared": r"UNINITIALISED: shared ",
    "launch.failed": r"LAUNCH",
}
BEGINS = re.compile(r"(RACE|FENCE|UNINITIALISED|FAULT|BARRIER|LAUNCH|LEAK|COPY|vgpu-run:)")


@dataclass
class Case:
    """A small program, and what is to be found in it."""

    name: str
    verdict: str
    id: str
    words: str
    lines: list[int] = field(default_factory=list)


def read_cases(source: Path) -> list[Case]:
    """Return the cases that a file's comment lines announce."""
    cases: list[Case] = []
    announced: tuple[str, str, str] | None = None
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if match := re.match(r"// (wrong|advice|right)(?:: (\S+)(?: \| (.*))?)?$", line):
            announced = (match[1], match[2] or "", match[3] or "")
        elif announced and (match := re.match(r"[A-Z_]+\((\w+)", line)):
            cases.append(Case(match[1], *announced))
            announced = None
        if line.endswith("// here"):
            cases[-1].lines.append(number)
    return cases


def findings_in(text: str) -> list[str]:
    """Split what vgpu-run prints into findings; the programs' own output begins with `out: `."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith("out: "):
            continue
        if BEGINS.match(line) or not found:
            found.append(line)
        else:
            found[-1] += "\n" + line
    return found


def judge(case: Case, code: int, text: str, source: Path) -> str:
    """Return what is wrong with the findings about a case; empty: nothing."""
    found = findings_in(text)
    if case.verdict == "right":
        return "" if not found and code == 0 else "something is found in it"
    wanted_code = FOUND_MISTAKES if case.verdict == "wrong" else 0
    if not found:
        return "nothing is found in it"
    first = found[0]
    if not re.match(HEADLINES.get(case.id, "FAULT"), first):
        return f"the first finding is not {case.id}"
    if ("(advice)" in first.splitlines()[0]) != (case.verdict == "advice"):
        return "advice and mistake are mixed up"
    alike = "\n".join(one for one in found if re.match(HEADLINES.get(case.id, "FAULT"), one))
    named = {int(line) for line in re.findall(rf"{re.escape(source.name)}:(\d+)", alike)}
    if missing := [line for line in case.lines if line not in named]:
        return f"lines {missing} are not named"
    if " ... " in case.words:
        pattern = ".*".join(re.escape(words) for words in case.words.split(" ... "))
        if not re.search(pattern, text, re.DOTALL):
            return f"the order is not {case.words}"
    elif case.words not in " ".join(first.split()):
        return f'its text is without "{case.words}"'
    return "" if code == wanted_code else f"exit code {code}, expected {wanted_code}"


def main() -> int:
    """Run all cases of a file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--vgpu-run", type=Path, required=True)
    parser.add_argument("--only", nargs="+", help="these cases, with all that is printed")
    options = parser.parse_args()
    cases = read_cases(options.source)
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / options.source.stem
        command = [
            options.nvcc,
            "-std=c++17",
            "-lineinfo",
            "-Xcompiler=-g1,-gdwarf-4",
            "-Wno-deprecated-declarations",
            "-diag-suppress",
            "20044",
        ]
        command += ["-gencode", "arch=compute_80,code=compute_80", "--no-compress", options.source.absolute()]
        command += [options.library.absolute(), "-cudart", "none", "-o", binary]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
        if done.returncode != 0:
            print(f"nvcc fails:\n{done.stdout}{done.stderr}")
            return 1

        def run(names: list[str], schedule: str) -> tuple[int, str]:
            command = [options.vgpu_run.absolute(), "--check", "--schedule", schedule, "--", binary, *names]
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=RUN_SECONDS
            )
            return done.returncode, done.stdout

        for schedule in SCHEDULES:
            right = [case.name for case in cases if case.verdict == "right"]
            are_silent = not options.only and run(right, schedule) == (0, "")
            for case in cases:
                if (options.only and case.name not in options.only) or (case.verdict == "right" and are_silent):
                    continue
                code, text = run([case.name], schedule)
                problem = judge(case, code, text, options.source)
                if options.only:
                    print(f"--- {case.name}, {schedule}: exit code {code}\n{text}")
                if problem:
                    problems += 1
                    print(f"{case.name} ({case.verdict}), schedule {schedule}: {problem}\n{text}")
            if not options.only and not are_silent and not problems:
                problems += 1
                print(f"the right cases together, schedule {schedule}: {run(right, schedule)[1]}")
    wrong = sum(case.verdict != "right" for case in cases)
    print(f"{options.source.name}: {wrong} wrong cases, {len(cases) - wrong} right ones; {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
