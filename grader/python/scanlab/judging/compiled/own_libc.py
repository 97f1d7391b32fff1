"""Functions of the C library that a submission defines itself: the grader's own code in its process calls them, too."""

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from scanlab.contract import Device
from scanlab.errors import KitError, WorkError
from scanlab.judging import sandbox
from scanlab.judging.compile import compile_object
from scanlab.judging.compiler.recipe import ELEMENT_FLAGS, Source
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.result import CheckResult, LabResult, Where
from scanlab.judging.toolchain import toolchain
from scanlab.paths import ROOT
from scanlab.process import run_group
from scanlab.scratch import scratch

FOLLOWS = ("crash.exit", "crash.host", "runner.changed", "endless")
"""What comes of it."""
GUESS = "look "
"""How the advice begins that is for all other files."""
SECONDS = 60.0
SHOWN = 3


def with_own_libc(
    result: LabResult,
    file: LearnersFile,
    path: Path,
    name: str,
    elements: Iterable[str],
    device: Device,
    *,
    is_sandboxed: bool,
) -> LabResult:
    """Return a result whose crashes name the functions of the C library that the file defines, if it does.

    `name` is how messages call the file.
    """
    if not any(check.failure and check.failure.id in FOLLOWS for check in result.checks):
        return result
    try:
        made = compile_object(Source(path, ELEMENT_FLAGS[next(iter(elements))]), device, is_sandboxed=is_sandboxed)
        own = _defined(made, is_sandboxed=is_sandboxed) & _of_libc()
    except (WorkError, KitError, OSError):
        return result
    lines = {one: line for one in own if (line := _line(one, file))}
    if not lines:
        return result
    names = [f"`{one}`" for one in sorted(lines, key=lambda one: lines[one])]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    said = (
        f"the C library has {', '.join(names[:SHOWN])}{more} too, and the grader's code in this process calls what the "
        "file defines: rename it"
    )
    where = Where(file=name, line=min(lines.values()), kernel="", block=None, thread=None)

    def changed(check: CheckResult) -> CheckResult:
        if not check.failure or check.failure.id not in FOLLOWS:
            return check
        others = (one for one in check.failure.details if not one.startswith(GUESS))
        update = {"details": (said, *others), "where": where}
        return check.model_copy(update={"cause": check.failure.model_copy(update=update)})

    return result.model_copy(update={"checks": tuple(map(changed, result.checks))})


def _defined(made: Path, *, is_sandboxed: bool) -> set[str]:
    """Return what an object, which another may have made, defines for all others."""
    command = ["nm", "-P", "-g", "--defined-only", str(made)]
    if not is_sandboxed:
        return _names(run_group(command, SECONDS).output)
    with scratch() as folder:
        return _names(sandbox.run_compiler(command, ROOT, toolchain(), [made], folder, "vgpu", SECONDS).output)


@functools.cache
def _of_libc() -> frozenset[str]:
    found = run_group(["g++", "-print-file-name=libc.so.6"], SECONDS).output.strip()
    return frozenset(_names(run_group(["nm", "-P", "-D", "--defined-only", found], SECONDS).output))


def _names(listed: str) -> set[str]:
    """Return the symbols that nm has listed, without their versions."""
    return {line.partition(" ")[0].partition("@")[0] for line in listed.splitlines()}


def _line(name: str, file: LearnersFile) -> int:
    """Return the first line of the learner's that has a name; 0 for none."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return next((at for at in sorted(file.own) if word.search(file.codes[at - 1])), 0)
