"""Measure the virtual GPU's own speed, beside the prototype's.

Times are processor times of one thread; what runs at the same time disturbs them less than times on the clock.
"""

import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from pydantic import BaseModel, Field, PositiveFloat, PositiveInt, ValidationError

from scanlab.bootstrap.build import ninja_command
from scanlab.bootstrap.console import SetupError, run_step
from scanlab.errors import USAGE, KitError, UsageError
from scanlab.judging.toolchain import product
from scanlab.paths import build_folder
from scanlab.process import run_group
from scanlab.scratch import scratch

FOLDER = "grader/vgpu/bench"
TARGET = "bench-vgpu"
TIMEOUT = 3600.0

PROTOTYPE_NS = {
    "kogge_stone_1024": {"none": 22.0, "counters": 24.7, "race": 33.1, "both": 35.5},
    "kogge_stone_256": {"none": 19.3, "counters": 21.9, "race": 27.9, "both": 30.3},
    "brent_kung_1024": {"none": 40.7, "counters": 46.9, "race": 78.9, "both": 82.1},
    "brent_kung_256": {"none": 43.4, "counters": 50.9, "race": 78.7, "both": 86.3},
    "vector_add": {"none": 2.5, "counters": 2.7, "race": 2.5, "both": 2.7},
    "warp_shuffle_scan": {"none": 8.8, "counters": 8.9, "race": 8.8, "both": 8.9},
    "divergent": {"none": 118.0, "both": 127.0},
}
"""What a prototype took: ns per simulated thread, by kernel and observers."""
PROTOTYPE_MILLION = {
    "kogge_stone_1024": {"none": 259, "both": 160},
    "kogge_stone_256": {"none": 244, "both": 156},
    "brent_kung_1024": {"none": 189, "both": 94},
    "brent_kung_256": {"none": 160, "both": 80},
    "vector_add": {"none": 271, "both": 257},
    "warp_shuffle_scan": {"none": 207, "both": 203},
    "divergent": {"none": 91, "both": 85},
}
"""And its million warp-instructions a second."""


# ---- what the program writes ---------------------------------------------------------------------------------------


class Times(BaseModel):
    """The launches of one kernel."""

    cpu_ns: list[PositiveFloat] = Field(min_length=1)
    wall_ns: list[PositiveFloat] = Field(min_length=1)


class Parallel(BaseModel):
    """Launches of one kernel in turn on one thread of the host and on several."""

    threads: PositiveInt
    one: Times
    several: Times


class VgpuCase(BaseModel):
    """A kernel on the virtual GPU, timed under each set of observers."""

    name: str
    title: str
    threads: PositiveInt
    block_threads: PositiveInt
    warp_instructions: PositiveInt
    active_lanes: float
    observers: dict[str, Times] = Field(min_length=1)
    parallel: Parallel | None = None


class VgpuRun(BaseModel):
    """What vgpu-bench writes."""

    kind: Literal["scanlab-vgpu-bench"] = Field(alias="schema")
    version: Literal[1]
    cases: list[VgpuCase] = Field(min_length=1)


# ---- running it ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What the command line chooses."""

    n: int = 1 << 20
    repeat: int = 7
    filters: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """Return them as vgpu-bench takes them."""
        filters = [word for text in self.filters for word in ("--filter", text)]
        sets = [word for name in self.observers for word in ("--observers", name)]
        return ["--n", str(self.n), "--repeat", str(self.repeat), *filters, *sets]


def bench_vgpu(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Build and run the program; return the result, as the JSON holds it. `say` is called with what happens.

    Raises UsageError for a filter that fits nothing, and KitError when a kernel's result is wrong.
    """
    load = os.getloadavg()[0]
    say("building …")
    build()
    say("measuring …")
    run = run_vgpu(options)
    machine = {"processor": processor(), "cores": os.cpu_count(), "load_before": load, "load_after": os.getloadavg()[0]}
    return summary(options, machine, run)


def build() -> None:
    """Bring the program and the kernels up to date; a build folder that Meson did not make is taken as it is."""
    folder = build_folder()
    if not (folder / "build.ninja").exists():
        return
    try:
        run_step([ninja_command(), "-C", str(folder), TARGET], "building the benchmark")
    except SetupError as error:
        raise KitError(str(error)) from error


def run_vgpu(options: Options) -> VgpuRun:
    """Run vgpu-bench."""
    program, kernels = product(f"{FOLDER}/vgpu-bench"), product(f"{FOLDER}/kernels.ptx")
    with scratch() as folder:
        result = folder / "result.json"
        done = run_group([str(program), "--json", str(result), *options.words(), str(kernels)], TIMEOUT)
        text = result.read_text() if result.exists() else ""
    if done.code == USAGE:
        raise UsageError(_first_line(done.output))
    if done.code != 0:
        raise KitError(f"vgpu-bench {_ended(done.code)}: {_first_line(done.output)}")
    try:
        return VgpuRun.model_validate_json(text)
    except ValidationError as error:
        raise KitError(f"vgpu-bench wrote no such JSON as it should: {_first_problem(error)}") from error


def _first_line(output: str) -> str:
    """Return the first line of what the program said, without the program's name."""
    lines = output.strip().splitlines() or ["it said nothing"]
    return re.sub(r"^(?:\S*/)?vgpu-bench: ", "", lines[0])


def _ended(code: int | None) -> str:
    if code is None:
        return f"did not end within {TIMEOUT:.0f} s"
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"


def processor() -> str:
    """Return the processor's name as Linux reports it."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.machine()


# ---- the result ----------------------------------------------------------------------------------------------------


def summary(options: Options, machine: dict[str, Any], run: VgpuRun) -> dict[str, Any]:
    """Return the JSON: the figures of each kernel."""
    return {
        "schema": "scanlab-bench",
        "version": 1,
        "subject": "vgpu",
        "n": options.n,
        "repeat": options.repeat,
        "machine": machine,
        "cases": [
            {
                **case.model_dump(exclude={"observers", "parallel"}),
                "observers": {name: _compared(case, name) for name in case.observers},
                "parallel": _side_by_side(case.parallel),
            }
            for case in run.cases
        ],
    }


def _compared(case: VgpuCase, observers: str) -> dict[str, Any]:
    """Return minima and medians in ns per simulated thread, warp-instructions a second, and the prototype's."""
    times = case.observers[observers]
    ns_min, ns_median = min(times.cpu_ns) / case.threads, median(times.cpu_ns) / case.threads
    a_thread = case.warp_instructions / case.threads
    return {
        "ns_min": ns_min,
        "ns_median": ns_median,
        "wall_ns_min": min(times.wall_ns) / case.threads,
        "wall_ns_median": median(times.wall_ns) / case.threads,
        "launches": len(times.cpu_ns),
        "million_max": a_thread / ns_min * 1e3,
        "million_median": a_thread / ns_median * 1e3,
        "prototype_ns": PROTOTYPE_NS.get(case.name, {}).get(observers),
        "prototype_million": PROTOTYPE_MILLION.get(case.name, {}).get(observers),
    }


def _side_by_side(beside: Parallel | None) -> dict[str, Any] | None:
    """Return the fastest launches behind others, on one thread and on several, in ms on the clock; and their ratio."""
    if beside is None:
        return None
    one, several = min(beside.one.wall_ns), min(beside.several.wall_ns)
    return {"threads": beside.threads, "one_ms": one * 1e-6, "several_ms": several * 1e-6, "ratio": one / several}


COLUMNS = (
    "kernel",
    "lanes",
    "observers",
    "ns min",
    "median",
    "prototype",
    "M/s max",
    "median",
    "prototype",
)


def table_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each kernel and set of observers, a text for each of COLUMNS."""
    rows = []
    for case in result["cases"]:
        for at, (name, own) in enumerate(case["observers"].items()):
            first = (case["title"], f"{case['active_lanes']:.1f}") if at == 0 else ("", "")
            rows.append(
                (
                    *first,
                    name,
                    f"{own['ns_min']:.1f}",
                    f"{own['ns_median']:.1f}",
                    _shown(own["prototype_ns"], 1),
                    f"{own['million_max']:.0f}",
                    f"{own['million_median']:.0f}",
                    _shown(own["prototype_million"], 0),
                )
            )
    return rows


def parallel_columns(result: dict[str, Any]) -> tuple[str, ...]:
    """Return the head of the table of several threads; empty when only one was measured."""
    threads = next((case["parallel"]["threads"] for case in result["cases"] if case["parallel"]), None)
    return () if threads is None else ("ms on the clock", "1 thread", f"{threads} threads", "ratio")


def parallel_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each kernel that was measured on several threads."""
    return [
        (case["title"], f"{beside['one_ms']:.2f}", f"{beside['several_ms']:.2f}", f"{beside['ratio']:.2f}")
        for case in result["cases"]
        if (beside := case["parallel"])
    ]


def _shown(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def notes(result: dict[str, Any]) -> list[str]:
    """Return the lines below the table: what the figures are, and where they are from."""
    machine = result["machine"]
    return [
        f"n = {result['n']:,} floats, {result['repeat']} launches each; ns of processor time a simulated thread; "
        "M/s: million warp-instructions a second",
        f"{machine['processor']}, one of {machine['cores']} cores; "
        f"load average {machine['load_before']:.1f} before, {machine['load_after']:.1f} after",
    ]
