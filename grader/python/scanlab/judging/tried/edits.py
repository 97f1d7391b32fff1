"""Try what a learner may have meant (`slips`): the failing call again, with one line changed."""

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scanlab.errors import KitError, WorkError
from scanlab.judging.compile import build_runner, make_device_code
from scanlab.judging.compiler.messages import own_lines
from scanlab.judging.finding_names import rank_of
from scanlab.judging.plan import Plan, PlannedCorrectness
from scanlab.judging.report import ALL_IS_RIGHT, is_of_device
from scanlab.judging.result import CheckResult, Finding, LabResult, Where
from scanlab.judging.tried.slips import slips
from scanlab.judging.tried.slips.program import Mistake, Slip
from scanlab.judging.tried.statements import CASE, MANY, with_said
from scanlab.scratch import scratch

MOST = 24
"""Edits that are tried of one program."""
SECONDS = 1.2
"""Nothing more is begun after that long: two programs side by side take nearly a second, their kernels a third …"""
ROUNDS = 1.5
"""… or after so many times what the fastest has taken."""

ELSE_IS_LEFT = "(tried: this is gone then, something else is left)"
REFUSED = ("cuda.error", "launch.failed")
"""Findings of a call that the device refuses."""
SIZE = re.compile(r"\bn = (?P<n>[0-9]{1,10}),")
"""Where a check's headline has the size of the call that failed."""
INSTRUCTIONS = 4_000_000
"""That a warp executes in a launch of what is tried: what does not end is given up soon, and after …"""
TRY_SECONDS = 4.0
"""… so much processor time."""

Judge = Callable[[Plan], LabResult]


def with_slip(
    result: LabResult,
    plan: Plan,
    text: str,
    run_judge: Judge,
    *,
    judged: LabResult,
    given: frozenset[str] = frozenset(),
    is_plain: bool,
    is_sandboxed: bool,
) -> LabResult:
    """Return a result in which the first check that failed says which slip is the cause, if an edit makes it pass.

    `plan` is what was graded, `text` the learner's file; `run_judge` runs the judge on a plan; `judged` is what it has
    found, before anything was tried; `given` are the lines of the lab's file outside of its regions. `is_plain`: of
    slips that are hardly ever meant as they stand, which come before the cures of races; else of the others, where none
    of those makes all right.
    """
    check = next(iter(result.failed_checks), None)
    planned = next((one for one in plan.checks if check and one.name == check.name), None)
    if check is None or not isinstance(planned, PlannedCorrectness) or not check.cause or plan.device != "vgpu":
        return result
    again = CASE.search(check.cause.next)
    case = _case(planned, again or SIZE.search(check.cause.headline))
    if case is None or any(one.cure.endswith(ALL_IS_RIGHT) for one in check.findings[:1]):
        return result
    begun, is_found = time.monotonic(), threading.Event()
    took: list[float] = []
    own = own_lines(text.split("\n"))

    def outcome(slip: Slip) -> CheckResult | None:
        started = time.monotonic()
        if is_found.is_set() or started - begun > max(SECONDS, ROUNDS * min(took, default=0)):
            return None
        tried = _tried(slip, case, plan, run_judge, is_sandboxed=is_sandboxed)
        took.append(time.monotonic() - started)
        return tried

    better: Slip | None = None
    furthest: tuple[int, Slip] | None = None
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        seen = next((one for one in judged.checks if one.name == check.name), check)
        edits = list(slips(text, _mistake(seen, plan.source), MOST, given=given, is_plain=is_plain))
        if edits and not again:  # the call fails after others only: do those that are made here let it fail?
            edits.insert(0, Slip(0, "", "", text, is_of_device=False))
        for slip, tried in zip(edits, pool.map(outcome, edits), strict=True):
            if tried and tried.verdict == "pass" and all(one.weight != "mistake" for one in tried.findings):
                is_found.set()
                if not slip.change:
                    return result
                return _because(result, check, slip, f"{slip.change} {ALL_IS_RIGHT}", plan.source)
            if tried and slip.is_sure and slip.line in own and _is_better(tried, check):
                better = better or slip
            n = _next_failure(tried, check, case.sizes) if tried and slip.is_common else None
            if n and (not furthest or n > furthest[0]):
                furthest = n, slip
    if better:
        return _because(result, check, better, f"{better.change} {ELSE_IS_LEFT}", plan.source)
    if furthest and again and check.cause.id.startswith("wrong") and not any(one.cure for one in check.findings[:1]):
        n, slip = furthest
        cure = f"{slip.change} (tried: n = {again['n']} is right then, something else is left at n = {n})"
        return _because(result, check, slip, cure, plan.source)
    return result


def _next_failure(tried: CheckResult, check: CheckResult, sizes: Sequence[int]) -> int | None:
    """Return at how many elements a check fails with an edit that puts this failure right, where another is left.

    None where it does not: at least two larger sizes have to be right, so that this is no accident.
    """
    if not tried.cause or not check.cause or tried.verdict != "fail":
        return None
    if not tried.cause.id.startswith("wrong"):  # it is reported before wrong outputs of fewer elements
        return None
    old, new = CASE.search(check.cause.next), CASE.search(tried.cause.next)
    larger = [size for size in sizes if old and size > int(old["n"])]
    return int(new["n"]) if new and larger[1:] and int(new["n"]) > larger[1] else None


def _is_better(tried: CheckResult, check: CheckResult) -> bool:
    """Return whether what a check has found is gone, or is there at more elements only.

    A try that was given up, for it took too long, has shown nothing.
    """
    if not tried.cause or not check.cause or tried.verdict != "fail":
        return False
    if tried.cause.id == "cuda.error" and check.cause.id not in REFUSED:  # that hides what comes after the call
        return False
    old, new = CASE.search(check.cause.next), CASE.search(tried.cause.next)
    is_gone = check.cause.id not in {tried.cause.id, *(one.id for one in tried.findings)}
    ranks = rank_of(check.cause.id), rank_of(tried.cause.id)
    is_later = bool(old and new) and int(new["n"]) > int(old["n"])
    places, others = _places(check.findings[:1]), _places(tried.findings)  # none of a wrong output
    is_elsewhere = bool(places and others) and tried.cause.id == check.cause.id and places[0] not in others
    return is_later or is_elsewhere or (is_gone and (ranks[1] > ranks[0] or check.cause.id == "endless"))


def _places(findings: Sequence[Finding]) -> list[frozenset[tuple[str, int]]]:
    """Return for each finding of the device the array and the line of each part."""
    found = (frozenset((one.variable.partition("[")[0], part.line) for part in one.parts) for one in findings)
    return [places for places in found if places]


def _mistake(check: CheckResult, source: str) -> Mistake:
    """Return what is known of the mistake for which a check has failed."""
    cause, finding = check.cause, next(iter(check.findings), None)
    parts = finding.parts if finding else ()
    lines = {part.line for part in parts if Path(part.file).name == Path(source).name}
    if cause and cause.where and Path(cause.where.file).name == Path(source).name:
        lines.add(cause.where.line)
    known = finding.id if finding else cause.id if cause else ""
    return Mistake(known, finding.variable if finding else "", frozenset(lines - {0}))


def _case(planned: PlannedCorrectness, found: re.Match[str] | None) -> PlannedCorrectness | None:
    """Return the part of a check that is asked of an edit: its small sizes, and that of the call that failed."""
    if found is None:
        return None
    sizes = sorted({int(found["n"]), *(size for size in planned.sizes if size <= MANY)})
    update: dict[str, Any] = {"sizes": sizes, "repeated_up_to": None, "extra": [], "needs": None}
    return planned.model_copy(update=update)


def _tried(
    slip: Slip, case: PlannedCorrectness, plan: Plan, run_judge: Judge, *, is_sandboxed: bool
) -> CheckResult | None:
    """Return what a check finds with an edit; None where that does not compile."""
    element = "provenance" if case.element == "affine" else case.element
    least = {"warp_instructions": INSTRUCTIONS, "seconds": TRY_SECONDS}
    limits = plan.limits.model_copy(update={key: min(getattr(plan.limits, key), most) for key, most in least.items()})
    update: dict[str, Any] = {"checks": [case], "limits": limits}
    with scratch() as folder:
        path, code = folder / "scan.cu", folder / "scan.ptx"
        path.write_text(slip.program, encoding="utf-8")
        try:
            if slip.is_of_device and not is_sandboxed:
                make_device_code(path, element, code)
                update |= {"device_code": str(code)}
            else:
                update |= {"runners": {element: str(build_runner(path, element, "vgpu", is_sandboxed=is_sandboxed))}}
            (tried,) = run_judge(plan.model_copy(update=update)).checks
        except (WorkError, KitError):
            return None
    return tried


def _because(result: LabResult, check: CheckResult, slip: Slip, cure: str, source: str) -> LabResult:
    """Return the result in which a check has failed for a slip, with what cures it."""
    said = f"{source}:{slip.line}: {slip.because}"
    result = with_said(result, check, check.findings[0], advice=said, cure=cure) if check.findings else result

    def changed(one: CheckResult) -> CheckResult:
        if one.name != check.name or one.cause is None:
            return one
        where = one.cause.where or Where(file="", line=0, kernel="", block=None, thread=None)
        is_seen = bool(one.findings) and is_of_device(one.findings[0])  # its advice, a guess at a cure, goes
        update = {
            "rationale": slip.because if is_seen else f"{one.cause.rationale}\n{slip.because}".strip(),
            "where": where.model_copy(update={"file": source, "line": slip.line}),
        }
        return one.model_copy(update={"cause": one.cause.model_copy(update=update)})

    return result.model_copy(update={"checks": tuple(map(changed, result.checks))})
