"""Run a submission's entry under the tracer, and make a trace of what it says."""

import json
import random
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scanlab.errors import KitError
from scanlab.judging import sandbox
from scanlab.judging.compile import build_runner
from scanlab.judging.compiler.cache import prune
from scanlab.judging.judge import longest, with_shown_paths
from scanlab.judging.result import first_problem
from scanlab.judging.toolchain import product
from scanlab.labs.folders import Lab
from scanlab.labs.rubric import Traced
from scanlab.paths import ROOT, shown
from scanlab.process import run_group
from scanlab.scratch import scratch
from scanlab.trace import floats
from scanlab.trace.accesses import Accesses, Value
from scanlab.trace.floats import Floats
from scanlab.trace.model import Launch, Trace
from scanlab.trace.sums import Names, Sums
from scanlab.trace.talks import blocks_around, talks_of
from scanlab.trace.view import launch_of

PLAN_VERSION = 1
MOST_ACCESSES = 100_000
"""Of one launch; a section of a thousand elements has some ten thousand."""
WARP_INSTRUCTIONS = 2_000_000
SECONDS = 10.0


@dataclass(frozen=True)
class Options:
    """What the command line asks for; `launch` 0: all of them."""

    entry: str = "inclusive_scan"
    n: int = 16
    block: int = 0
    launch: int = 0
    schedule: str = "lockstep"
    seed: int = 7
    trail: str = ""
    """One execution under the schedule `weak`, as a proof has found it."""
    with_neighbours: bool = False
    """A few other blocks are followed too, where they talk to this one."""
    is_sandboxed: bool = False
    """The file is another user's: it is compiled and run in the sandbox."""


def shown_call(lab: Lab | None, entry: str, n: int | None = None) -> Options:
    """Return the options for the call that shows most of a lab; with `n`, and for a file of no lab, for a plain one."""
    traced = lab.rubric.trace if lab and n is None else Traced()
    return Options(entry, traced.n if n is None else n, traced.block, schedule=traced.schedule)


def element_of(lab: Lab | None) -> str:
    """Return the element that shows most: affine maps, where the lab's entries are made for them."""
    return "affine" if lab is None or any(check.element == "affine" for check in lab.rubric.check) else "float"


def record(lab: Lab | None, path: Path, options: Options) -> Trace:
    """Return the trace of one call.

    Raises CompileError when the file does not compile, and KitError when the kit, not the work, is at fault.
    """
    element = element_of(lab)
    build = "provenance" if element == "affine" else element
    runner = build_runner(path, build, "vgpu", is_sandboxed=options.is_sandboxed)
    prune()
    inputs = floats.inputs(options.n) if element == "float" else _maps(options.n)
    plan = {
        "version": PLAN_VERSION,
        "runner": str(runner),
        "element": element,
        "launcher": sandbox.runner_command("vgpu") if options.is_sandboxed else [],
        "profile": "small",
        "entry": options.entry,
        "x": [word for element in inputs for word in element],
        "schedule": options.schedule,
        "seed": options.seed,
        "trail": options.trail,
        "block": options.block,
        "most_accesses": MOST_ACCESSES,
        "seconds": SECONDS,
        "warp_instructions": WARP_INSTRUCTIONS,
    }
    as_shown = with_shown_paths(path)
    accesses = _run(plan).with_files(as_shown)
    trace = make_trace(accesses, path, lab, options)
    if options.with_neighbours:
        count = max((prod(launch.grid) for launch in accesses.launches), default=1)
        blocks = blocks_around(options.block, count) if count > 1 else ()
        others = {
            block: _run(plan | {"block": block}).with_files(as_shown) for block in blocks if block != options.block
        }
        runs = {block: others.get(block, accesses) for block in blocks}
        sums = {block: _sums(run, options) for block, run in runs.items()}
        for launch in trace.launches:
            launch.talks = talks_of(runs, launch.number - 1, sums, shown(path))
    return trace


def _sums(accesses: Accesses, options: Options) -> Sums:
    return Floats(options.n) if accesses.elements is None else Names(accesses.elements)


def _maps(n: int) -> list[Value]:
    """Return the maps that the names of the inputs stand for: `keep` asks which have an odd second number."""
    source = random.Random(floats.SEED)
    return [(source.getrandbits(32), source.getrandbits(32)) for _ in range(n)]


def make_trace(accesses: Accesses, path: Path, lab: Lab | None, options: Options) -> Trace:
    """Make a trace of what the tracer has recorded."""
    sums = _sums(accesses, options)
    launches: list[Launch] = []
    for number, raw in enumerate(accesses.launches, 1):
        if options.launch in (0, number):
            failed = accesses.failure is not None
            launches.append(launch_of(raw, number, sums, accesses.races, failed, shown(path)))
    return Trace(
        lab=lab.name if lab else "",
        source=shown(path),
        entry=options.entry,
        element="float" if accesses.elements is None else "affine",
        n=options.n,
        block=options.block,
        schedule=options.schedule,
        launches=launches,
        races=accesses.races,
        failure=accesses.failure,
        printed=accesses.printed,
        notes=_notes(accesses, options),
    )


def _notes(accesses: Accesses, options: Options) -> list[str]:
    found = []
    count = len(accesses.launches)
    if not count:
        found.append("no kernel was launched")
    elif options.launch > count:
        found.append(f"there is no launch {options.launch}: {count} in all")
    if accesses.elements is None:
        found.append("floats: in which order they were added cannot be seen")
    elif place := accesses.elements.looked_at:
        found.append(
            f"{place.file}:{place.line} looks at what an element is: here it is a name without a meaning, and what is "
            "made of it other than by + is no sum"
        )
    return found


def _run(plan: dict[str, Any]) -> Accesses:
    with scratch() as folder:
        plan_file, result_file = folder / "plan.json", folder / "accesses.json"
        plan_file.write_text(json.dumps(plan))
        command = [str(product("grader/tracer/tracer")), "--plan", str(plan_file), "--result", str(result_file)]
        try:
            finished = run_group(command, longest(plan["seconds"], [0]), ROOT)
        except OSError as error:
            raise KitError(f"cannot start the tracer: {error.strerror}") from error
        if finished.code is None:
            raise KitError("the tracer did not end")
        if finished.code != 0:
            raise KitError(f"the tracer ended with code {finished.code}: {finished.output.strip()}")
        try:
            return Accesses.model_validate_json(result_file.read_bytes())
        except OSError as error:
            raise KitError("the tracer wrote nothing that can be read") from error
        except ValidationError as error:
            raise KitError(f"the tracer wrote what this version cannot read: {first_problem(error)}") from error
