"""Measure the virtual GPU's own speed, beside the prototype's and PoCL's.

`vgpu-bench` and `pocl-bench` take turns, each several times, so that a slow phase of the machine hits both. Times are
processor times of one thread; a program that runs at the same time disturbs them less than times on the clock.
"""

import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from pydantic import BaseModel, Field, PositiveFloat, PositiveInt, ValidationError

from scanlab.bootstrap.build import ninja_command
from scanlab.bootstrap.console import SetupError, run_step
from scanlab.errors import USAGE, KitError, UsageError
from scanlab.judging.toolchain import product
from scanlab.paths import ROOT, build_folder
from scanlab.process import run_group
from scanlab.scratch import scratch

FOLDER = "grader/vgpu/bench"
TARGET = "bench-vgpu"
TIMEOUT = 3600.0
ROUNDS = 3
"""How many times the two programs take turns."""
NOTHING_TO_RUN_ON = 77

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


# ---- what the two programs write -----------------------------------------------------------------------------------


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


class PoclCase(BaseModel):
    """A kernel on PoCL."""

    name: str
    threads: PositiveInt
    times: Times


class PoclRun(BaseModel):
    """What pocl-bench writes."""

    kind: Literal["scanlab-pocl-bench"] = Field(alias="schema")
    version: Literal[1]
    pocl: str
    processor: str
    cases: list[PoclCase]


# ---- running them --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What the command line chooses."""

    n: int = 1 << 20
    repeat: int = 7
    filters: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()

    def words(self, repeat: int) -> list[str]:
        """Return the options that both programs understand."""
        chosen = [word for text in self.filters for word in ("--filter", text)]
        return ["--n", str(self.n), "--repeat", str(repeat), *chosen]


class NoPoclError(Exception):
    """PoCL cannot be measured; the text says why."""


def bench_vgpu(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Build and run the programs; return the result, as the JSON holds it. `say` is called with what happens.

    Raises UsageError for a filter that fits nothing, and KitError when a kernel's result is wrong.
    """
    load = os.getloadavg()[0]
    say("building …")
    build()
    vgpu: list[VgpuRun] = []
    pocl: list[PoclRun] = []
    why_no_pocl = ""
    rounds = shares(options.repeat, ROUNDS)
    for number, repeat in enumerate(rounds, 1):
        if not why_no_pocl:
            say(f"round {number} of {len(rounds)}: PoCL …")
            try:
                pocl.append(run_pocl(options, repeat))
            except NoPoclError as error:
                pocl, why_no_pocl = [], str(error)
        say(f"round {number} of {len(rounds)}: the virtual GPU …")
        vgpu.append(run_vgpu(options, repeat))
    machine = {"processor": processor(), "cores": os.cpu_count(), "load_before": load, "load_after": os.getloadavg()[0]}
    return summary(options, machine, vgpu, pocl, why_no_pocl)


def shares(repeat: int, rounds: int) -> list[int]:
    """Return `repeat` cut into at most `rounds` nearly equal parts, none of them 0."""
    parts = min(repeat, rounds)
    return [repeat // parts + (part < repeat % parts) for part in range(parts)]


def build() -> None:
    """Bring the programs and the kernels up to date; a build folder that Meson did not make is taken as it is."""
    folder = build_folder()
    if not (folder / "build.ninja").exists():
        return
    try:
        run_step([ninja_command(), "-C", str(folder), TARGET], "building the benchmark")
    except SetupError as error:
        raise KitError(str(error)) from error


def run_vgpu(options: Options, repeat: int) -> VgpuRun:
    """Run vgpu-bench once."""
    program, kernels = product(f"{FOLDER}/vgpu-bench"), product(f"{FOLDER}/kernels.ptx")
    chosen = [word for name in options.observers for word in ("--observers", name)]
    code, output, text = _run([str(program), *options.words(repeat), *chosen, str(kernels)])
    if code == USAGE:
        raise UsageError(_first_line(output))
    if code != 0:
        raise KitError(f"vgpu-bench {_ended(code)}: {_first_line(output)}")
    try:
        return VgpuRun.model_validate_json(text)
    except ValidationError as error:
        raise KitError(f"vgpu-bench wrote no such JSON as it should: {_first_problem(error)}") from error


def run_pocl(options: Options, repeat: int) -> PoclRun:
    """Run pocl-bench once. Raises NoPoclError when that cannot be done, for whatever reason."""
    program = build_folder() / FOLDER / "pocl-bench"
    if not program.exists():
        raise NoPoclError(
            "OpenCL was not there when the build was configured; Debian's packages are pocl-opencl-icd and "
            "ocl-icd-opencl-dev, then: meson setup --reconfigure"
        )
    code, output, text = _run([str(program), *options.words(repeat), str(ROOT / FOLDER / "pocl_kernels.cl")])
    if code == NOTHING_TO_RUN_ON:
        raise NoPoclError(_first_line(output))
    if code == USAGE:
        raise UsageError(_first_line(output))
    if code != 0:
        raise NoPoclError(f"pocl-bench {_ended(code)}: {_first_line(output)}")
    try:
        return PoclRun.model_validate_json(text)
    except ValidationError as error:
        raise NoPoclError(f"pocl-bench wrote no such JSON as it should: {_first_problem(error)}") from error


def _run(command: list[str]) -> tuple[int | None, str, str]:
    """Run one of the programs; return its exit code, what it said, and its JSON (empty when there is none)."""
    with scratch() as folder:
        result = folder / "result.json"
        done = run_group([command[0], "--json", str(result), *command[1:]], TIMEOUT)
        return done.code, done.output, result.read_text() if result.exists() else ""


def _first_line(output: str) -> str:
    """Return the first line of what a program said, without the program's name."""
    lines = output.strip().splitlines() or ["it said nothing"]
    return re.sub(r"^(?:\S*/)?(?:vgpu|pocl)-bench: ", "", lines[0])


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


def summary(
    options: Options, machine: dict[str, Any], vgpu: Sequence[VgpuRun], pocl: Sequence[PoclRun], why_no_pocl: str
) -> dict[str, Any]:
    """Return the JSON: of each kernel, the figures of all rounds together."""
    beside = {
        case.name: _figures([one.times for run in pocl for one in run.cases if one.name == case.name], case.threads)
        for case in (pocl[0].cases if pocl else [])
    }
    cases = []
    for case in vgpu[0].cases:
        same = [one for run in vgpu for one in run.cases if one.name == case.name]
        observers = {
            name: _compared(case, name, _figures([one.observers[name] for one in same], case.threads), beside)
            for name in case.observers
        }
        cases.append(
            {
                **case.model_dump(exclude={"observers", "parallel"}),
                "observers": observers,
                "pocl": beside.get(case.name),
                "parallel": _side_by_side([one.parallel for one in same if one.parallel]),
            }
        )
    # PoCL's version ends with how it was built, behind two spaces.
    found = {"version": pocl[0].pocl.split("  ")[0], "processor": pocl[0].processor} if pocl else None
    return {
        "schema": "scanlab-bench",
        "version": 1,
        "subject": "vgpu",
        "n": options.n,
        "repeat": options.repeat,
        "machine": machine,
        "pocl": found,
        "why_no_pocl": why_no_pocl or None,
        "cases": cases,
    }


def _figures(rounds: Iterable[Times], threads: int) -> dict[str, Any]:
    """Return minima and medians in ns per simulated thread: processor time, and on the clock."""
    every = list(rounds)
    cpu = [ns for times in every for ns in times.cpu_ns]
    wall = [ns for times in every for ns in times.wall_ns]
    return {
        "ns_min": min(cpu) / threads,
        "ns_median": median(cpu) / threads,
        "wall_ns_min": min(wall) / threads,
        "wall_ns_median": median(wall) / threads,
        "launches": len(cpu),
    }


def _compared(case: VgpuCase, observers: str, own: dict[str, Any], pocl: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return `own` figures with warp-instructions a second, the prototype's, and the ratios to PoCL's."""
    a_thread = case.warp_instructions / case.threads
    other = pocl.get(case.name)
    return {
        **own,
        "million_max": a_thread / own["ns_min"] * 1e3,
        "million_median": a_thread / own["ns_median"] * 1e3,
        "prototype_ns": PROTOTYPE_NS.get(case.name, {}).get(observers),
        "prototype_million": PROTOTYPE_MILLION.get(case.name, {}).get(observers),
        "to_pocl_min": own["ns_min"] / other["ns_min"] if other else None,
        "to_pocl_median": own["ns_median"] / other["ns_median"] if other else None,
    }


def _side_by_side(rounds: Sequence[Parallel]) -> dict[str, Any] | None:
    """Return the fastest launches behind others, on one thread and on several, in ms on the clock; and their ratio."""
    if not rounds:
        return None
    one = min(ns for each in rounds for ns in each.one.wall_ns)
    several = min(ns for each in rounds for ns in each.several.wall_ns)
    return {
        "threads": rounds[0].threads,
        "one_ms": one * 1e-6,
        "several_ms": several * 1e-6,
        "ratio": one / several,
    }


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
    "PoCL ns",
    "ratio",
)


def table_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each kernel and set of observers, a text for each of COLUMNS."""
    rows = []
    for case in result["cases"]:
        pocl = case["pocl"]
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
                    _shown(pocl and pocl["ns_median"], 1),
                    _shown(own["to_pocl_median"], 2),
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
    pocl = result["pocl"]
    return [
        f"n = {result['n']:,} floats, {result['repeat']} launches each; ns of processor time a simulated thread; "
        "M/s: million warp-instructions a second",
        "ratio: the virtual GPU's median over that of PoCL, which runs compiled OpenCL without any check"
        f" ({pocl['version']})"
        if pocl
        else f"PoCL was not measured: {result['why_no_pocl']}",
        f"{machine['processor']}, one of {machine['cores']} cores; "
        f"load average {machine['load_before']:.1f} before, {machine['load_after']:.1f} after",
    ]
