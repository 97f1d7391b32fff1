"""Stores of a learner's that are not in the compiled program: nvcc leaves out what nothing reads.

A buffer that is never swapped, or the wrong one of two that is read, costs all that was written to the other: the
device never sees these lines, so that no check can name them. The line table of the PTX does, by what it lacks.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from scanlab.judging.code_places import CodePlaces
from scanlab.judging.compiled.line_table import FILE, LOC, texts
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.result import CheckResult, LabResult

SHOWN = 2
SHARED = re.compile(r"\b__shared__\b")
ARRAY = re.compile(r"(?<!\w)([A-Za-z_]\w{0,60})\s{0,4}\[")
POINTER = re.compile(r"[*&]\s*(?:(?:const|__restrict__)\s+)*(\w+)\s*(?:[=;,)]|$)")
STORE = re.compile(r"(?<![\w.])(\w{1,60})\s{0,4}\[[^=;]{0,200}\]\s{0,4}[-+*]?=(?!=)")


def left_out(programs: Iterable[bytes], file: LearnersFile, source: Path) -> list[int]:
    """Return the learner's lines that store to an array and of which no instruction is left in any of the programs.

    Those in the marked regions. Functions of which nothing is left at all are left alone: nothing calls them.
    """
    present: set[int] = set()
    for program in programs:
        for ptx in texts(program):
            numbers = {number for number, name in FILE.findall(ptx) if Path(os.fsdecode(name)).name == source.name}
            for place in LOC.finditer(ptx):
                present |= {int(place[2])} if place[1] in numbers else set()
                present |= {int(place[6])} if place[5] in numbers else set()
    if not present:
        return []
    lines, own = file.codes, file.in_regions
    arrays = {name for line in lines for name in POINTER.findall(line)}
    arrays |= {name for line in lines if SHARED.search(line) for name in ARRAY.findall(line)}
    functions = [one for one in CodePlaces(file, "").functions if one.is_device]
    found = []
    for one in functions:
        inside = range(one.first, one.last + 1)
        if not present.intersection(inside):
            continue
        for number in inside:
            store = STORE.search(lines[number - 1])
            if number in own and number not in present and store and store[1] in arrays:
                found.append(number)
    return found


def _program(runner: Path) -> bytes:
    """Return a program; nothing where another process has dropped it."""
    try:
        return runner.read_bytes()
    except OSError:
        return b""


def with_left_out(result: LabResult, runners: Iterable[Path], file: LearnersFile, source: Path, name: str) -> LabResult:
    """Return a result whose wrong outputs name the lines that nvcc has left out.

    `name` is how messages call the file.
    """
    if not any(check.cause and check.cause.id.startswith("wrong.") for check in result.checks):
        return result
    numbers = left_out(map(_program, runners), file, source)
    why = "its condition is never true, or nothing reads what it writes"
    facts = [
        f"nvcc has left out {name}:{number}, `{file.lines[number - 1].split('//')[0].strip()}`: {why}"
        for number in numbers[:SHOWN]
    ]

    def changed(check: CheckResult) -> CheckResult:
        if not facts or not check.cause or not check.cause.id.startswith("wrong."):
            return check
        rationale = "\n".join([check.cause.rationale, *facts])
        return check.model_copy(update={"cause": check.cause.model_copy(update={"rationale": rationale})})

    return result.model_copy(update={"checks": tuple(changed(check) for check in result.checks)})
