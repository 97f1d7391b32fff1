"""The plan: what the judge is told to check, with every formula evaluated."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanlab import formulas, sandbox
from scanlab.labs import Check, CorrectnessCheck, CountCheck, Device, Lab, Rubric, Schedule, TimingCheck
from scanlab.paths import build_folder

VERSION = 1
DEFAULT_SEED = 7
DEFAULT_PROFILE = "small"


@dataclass(frozen=True)
class Options:
    """What the command line changes.

    `n` (elements) and `schedule` narrow the correctness checks to one case; a count or a time keeps its own n, where
    its limits mean something.
    """

    device: Device = "vgpu"
    n: int | None = None
    seed: int = DEFAULT_SEED
    schedule: Schedule | None = None
    is_sandboxed: bool = False
    """Compile and run in the sandbox: what other people have written, as opposed to one's own work on one's own
    machine."""


def make_plan(
    lab: Lab,
    source: str,
    again: str,
    runners: Mapping[str, Path],
    options: Options,
    reference: Mapping[str, Path] | None = None,
) -> dict[str, Any]:
    """Return plan.json's object for a lab.

    `source` is the file's name as a person knows it, `again` the command that checks it again, `runners` maps each
    element's name to its program, and `reference` those that are timed to the reference solution's.
    """
    rubric = lab.rubric
    return {
        "version": VERSION,
        "lab": lab.name,
        "title": rubric.title,
        "device": options.device,
        "profile": DEFAULT_PROFILE,
        "seed": options.seed,
        "section": rubric.section,
        "block_size": rubric.block_size or 0,
        "source": source,
        "again": again,
        "limits": rubric.limits.model_dump(),
        "runners": {element: str(path) for element, path in runners.items()},
        "reference": {element: str(path) for element, path in (reference or {}).items()},
        "launcher": sandbox.runner_command(options.device) if options.is_sandboxed else [],
        "honest_runner": str(build_folder() / "grader/runner/honest-runner") if options.device == "gpu" else "",
        "checks": [_check(rubric, check, options) for check in rubric.check],
    }


def elements(lab: Lab) -> list[str]:
    """Return the elements that the lab's checks need, in the order of first use."""
    return list(dict.fromkeys(check.element for check in lab.rubric.check))


def timed_elements(lab: Lab, device: Device) -> list[str]:
    """Return the elements for which the lab times the reference solution on this device."""
    timed = [check.element for check in lab.rubric.check if isinstance(check, TimingCheck)]
    return list(dict.fromkeys(timed)) if device == "gpu" else []


def _check(rubric: Rubric, check: Check, options: Options) -> dict[str, Any]:
    planned: dict[str, Any] = check.model_dump()
    if isinstance(check, CorrectnessCheck):
        gpu_sizes = planned.pop("gpu_sizes")
        if options.device == "gpu":
            planned["sizes"] = planned["sizes"] + gpu_sizes
        if options.n is not None:
            planned["sizes"] = [options.n]
        if options.schedule is not None:
            planned["schedules"] = [options.schedule]
        return planned
    if isinstance(check, CountCheck):
        _evaluate(rubric, check, planned)
    return planned


def _evaluate(rubric: Rubric, check: CountCheck, planned: dict[str, Any]) -> None:
    """Put numbers in the place of a count's formulas."""
    sections = math.ceil(check.n / rubric.section) if rubric.section else 1
    for field in ("at_most", "at_least"):
        if planned[field] is not None:
            planned[field] = formulas.evaluate(planned[field], {"n": check.n, "sections": sections})
