"""Run a submission under NVIDIA's compute-sanitizer on a real GPU: check --device gpu --sanitize."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab.errors import KitError
from scanlab.judging.compile import compile_object, link
from scanlab.judging.compiler.recipe import ELEMENT_FLAGS, Source
from scanlab.judging.result import Finding, LabResult
from scanlab.judging.sanitizer_report import findings
from scanlab.judging.toolchain import product, toolchain
from scanlab.labs.folders import Lab
from scanlab.process import run_group
from scanlab.scratch import scratch

TOOLS = {
    "memcheck": (),
    "racecheck": ("--racecheck-report", "analysis"),
    "synccheck": (),
    "initcheck": (),
}
"""compute-sanitizer's tools, the most basic first, with their options."""
PRINTED = 100
"""At most this many reports of a tool are read."""
TIMEOUT = 120.0
LARGEST_N = 1 << 14
SIZES = 3
"""Each entry is called with this many of its checks' sizes, the largest up to LARGEST_N: the tools are slow."""
NO_DEVICE = ("no CUDA-capable device", "Unable to find", "No attachable process")


class ToolFinding(Finding):
    """A finding with the name of the tool that found it."""

    tool: str


class SanitizedResult(LabResult):
    """A result with what compute-sanitizer has found."""

    sanitizer: tuple[ToolFinding, ...]


@dataclass(frozen=True)
class Call:
    """An entry and its number of elements."""

    entry: str
    n: int


def calls(lab: Lab, n: int | None) -> list[Call]:
    """Return what is called: each entry of the lab with `n` elements, or with some sizes of its checks."""
    made = []
    for entry in lab.rubric.entries:
        checks = [check for check in lab.rubric.check if check.kind == "correctness" and check.entry == entry]
        sizes = sorted({size for check in checks for size in check.sizes if 0 < size <= LARGEST_N})
        made += [Call(entry, size) for size in ([n] if n is not None else sizes[-SIZES:])]
    return made


def find_tool() -> Path:
    """Return compute-sanitizer. Raises KitError, one line, where it is not installed."""
    found = shutil.which("compute-sanitizer") or shutil.which(str(toolchain().nvcc.parent / "compute-sanitizer"))
    if not found:
        raise KitError(
            "--sanitize needs compute-sanitizer, which comes with the CUDA Toolkit; it is not installed here"
        )
    return Path(found)


def sanitize(path: Path, lab: Lab, n: int | None, seed: int) -> list[ToolFinding]:
    """Call the entries of the file at `path` under each tool and return what they find, each finding once.

    Raises CompileError, or KitError when a tool cannot be run.
    """
    tool = find_tool()
    made = compile_object(Source(path, ELEMENT_FLAGS["float"]), "gpu")
    program = link([made], "gpu", [product("grader/runner/libcaller_float.a")])
    words = [str(seed), *(word for call in calls(lab, n) for word in (call.entry, str(call.n)))]
    found: list[ToolFinding] = []
    for name, options in TOOLS.items():
        for finding in findings(_report(tool, name, options, [str(program), *words])):
            if not any(_is_same(finding, known) for known in found):
                found.append(ToolFinding(**dict(finding), tool=name))
    return found


def _report(tool: Path, name: str, options: Sequence[str], program: Sequence[str]) -> str:
    with scratch() as folder:
        log = folder / "log"
        command = [str(tool), "--tool", name, *options, "--print-limit", str(PRINTED), "--log-file", str(log)]
        done = run_group([*command, *program], TIMEOUT)
        text = log.read_text(errors="replace") if log.exists() else ""
    if not text or any(words in text + done.output for words in NO_DEVICE):
        last = (done.output.strip() or text.strip() or "it printed nothing").splitlines()[-1]
        raise KitError(f"compute-sanitizer --tool {name} does not run here: {last}")
    return text


def _is_same(finding: Finding, known: Finding) -> bool:
    """Return whether two tools report the same place: a fault that memcheck has named shows up in the others too."""

    def places(each: Finding) -> list[tuple[str, int]]:
        return [(part.file, part.line) for part in each.parts]

    return finding.id == known.id and finding.kind == known.kind and places(finding) == places(known)
