"""Try what a learner may have meant (`slips.py`): the failing call again, with one line changed."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scanlab.errors import KitError, WorkError
from scanlab.judging.compile import build_runner
from scanlab.judging.plan import Plan, PlannedCorrectness
from scanlab.judging.result import CheckResult, LabResult, Where
from scanlab.judging.tried.slips import slips
from scanlab.judging.tried.slips.program import Mistake, Slip
from scanlab.judging.tried.statements import CASE, MANY, with_said
from scanlab.scratch import scratch

MOST = 6
"""Edits that are tried of one program."""
SECONDS = 1.2
"""Nothing more is begun after that long: two programs side by side take nearly a second."""

INSTRUCTIONS = 4_000_000
"""That a warp executes in a launch of what is tried: what does not end is given up soon."""

Judge = Callable[[Plan], LabResult]


def with_slip(result: LabResult, plan: Plan, text: str, run_judge: Judge, *, is_sandboxed: bool) -> LabResult:
    """Return a result in which the first check that failed says which slip is the cause, if an edit makes it pass.

    `plan` is what was graded, `text` the learner's file; `run_judge` runs the judge on a plan.
    """
    check = next(iter(result.failed_checks), None)
    planned = next((one for one in plan.checks if check and one.name == check.name), None)
    if check is None or not isinstance(planned, PlannedCorrectness) or not check.cause or plan.device != "vgpu":
        return result
    case = _case(planned, check.cause.next)
    if case is None:
        return result
    at_once = os.cpu_count() or 1
    begun = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        tried = slips(text, _mistake(check, plan.source), MOST)
        for some in (tried[begin : begin + at_once] for begin in range(0, len(tried), at_once)):
            passed = pool.map(lambda slip: _passes(slip, case, plan, run_judge, is_sandboxed=is_sandboxed), some)
            if found := next((slip for slip, passes in zip(some, passed, strict=True) if passes), None):
                return _because(result, check, found, plan.source)
            if time.monotonic() - begun > SECONDS:
                break
    return result


def _mistake(check: CheckResult, source: str) -> Mistake:
    """Return what is known of the mistake for which a check has failed."""
    cause, finding = check.cause, next(iter(check.findings), None)
    parts = finding.parts if finding else ()
    lines = {part.line for part in parts if Path(part.file).name == Path(source).name}
    if cause and cause.where and Path(cause.where.file).name == Path(source).name:
        lines.add(cause.where.line)
    known = finding.id if finding else cause.id if cause else ""
    return Mistake(known, finding.variable if finding else "", frozenset(lines - {0}))


def _case(planned: PlannedCorrectness, again: str) -> PlannedCorrectness | None:
    """Return the part of a check that is asked of an edit: its small sizes, and that which `again` makes again."""
    found = CASE.search(again)
    if found is None:
        return None
    sizes = sorted({int(found["n"]), *(size for size in planned.sizes if size <= MANY)})
    update: dict[str, Any] = {"sizes": sizes, "repeated_up_to": None, "extra": [], "needs": None}
    return planned.model_copy(update=update)


def _passes(slip: Slip, case: PlannedCorrectness, plan: Plan, run_judge: Judge, *, is_sandboxed: bool) -> bool:
    """Return whether a check passes with an edit, and finds no mistake."""
    element = "provenance" if case.element == "affine" else case.element
    limits = plan.limits.model_copy(update={"warp_instructions": min(plan.limits.warp_instructions, INSTRUCTIONS)})
    alone = {"checks": [case], "limits": limits}
    with scratch() as folder:
        path = folder / "scan.cu"
        path.write_text(slip.program, encoding="utf-8")
        try:
            runner = build_runner(path, element, "vgpu", is_sandboxed=is_sandboxed)
            (tried,) = run_judge(plan.model_copy(update={**alone, "runners": {element: str(runner)}})).checks
        except (WorkError, KitError):
            return False
    return tried.verdict == "pass" and all(finding.weight != "mistake" for finding in tried.findings)


def _because(result: LabResult, check: CheckResult, slip: Slip, source: str) -> LabResult:
    """Return the result in which a check has failed for a slip."""
    said = f"line {slip.line}: {slip.because}"
    result = with_said(result, check, check.findings[0], advice=said, cure=slip.cure) if check.findings else result

    def changed(one: CheckResult) -> CheckResult:
        if one.name != check.name or one.cause is None:
            return one
        where = one.cause.where or Where(file="", line=0, kernel="", block=None, thread=None)
        where = where.model_copy(update={"file": source, "line": slip.line})
        return one.model_copy(update={"cause": one.cause.model_copy(update={"rationale": said, "where": where})})

    return result.model_copy(update={"checks": tuple(map(changed, result.checks))})
