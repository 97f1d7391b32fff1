"""Run the checks of one submission side by side, several judges at a time, and put their results together.

A check that needs another one, and the counts of a check's calls, go to the same judge. So the parts know nothing of
each other, and what they find is what one judge finds.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from scanlab.judging.plan import SHARED, Plan, PlannedCheck, PlannedCorrectness, PlannedCount
from scanlab.judging.result import Cause, CheckResult, Finding, LabResult

OF_A_CALL = 3000
"""Elements that a call takes as much time as, beside its own."""
OF_A_MAP = 1.25
"""An affine map takes as much time as so many floats."""
ONE_BY_ONE = ("in_order", "reversed", "lockstep")
"""Schedules under which blocks run one after the other, which takes about a quarter of the time."""
MAY_BE_SWAPPED = frozenset(
    f"wrong.{what}"
    for what in (
        "other",
        "block_sums",
        "warp_sums",
        "sections",
        "last_element",
        "first_element",
        "last_section",
    )
)
"""What a scan that swaps its operands may look like: partial sums of affine maps are unlike any expected ones."""
SUM = re.compile(r"\bx\d+\b")
"""What an output is the sum of, where that is known: then it tells more than that floats are right."""
SWAPPED = (
    "floats come out right and affine maps do not: the operands of an addition are swapped. Write earlier + later, "
    "with what is from further left on the left"
)

Judge = Callable[[Plan], LabResult]
Said = Callable[[LabResult], None]


def _nothing(_: LabResult) -> None:
    """Do nothing with a result."""


def parts_of(plan: Plan) -> list[Plan]:
    """Return plans that together have the checks of `plan`; first the one with its first check, then the longest."""
    groups: list[list[PlannedCheck]] = []
    for check in plan.checks:
        before = {check.needs, check.among if isinstance(check, PlannedCount) else None}
        is_alone = not isinstance(check, PlannedCorrectness) and before == {None}
        if is_alone and groups:  # a check that makes calls of its own, or none
            before.add(plan.checks[0].name)
        joined = [group for group in groups if before.intersection(one.name for one in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(one for group in joined for one in group), check])
    place = {check.name: k for k, check in enumerate(plan.checks)}
    for group in groups:
        group.sort(key=lambda one: place[one.name])
    groups.sort(key=lambda group: (place[group[0].name] > 0, -_work(group)))
    return [plan.model_copy(update={"checks": group}) for group in groups]


def _work(checks: Iterable[PlannedCheck]) -> float:
    """Return about how much work checks are, in elements."""
    work = 0.0
    for check in checks:
        if isinstance(check, PlannedCorrectness):
            most = check.repeated_up_to if check.repeated_up_to is not None else max(check.sizes)
            calls = sum((check.repeats if n <= most else 1) * (n + OF_A_CALL) for n in check.sizes)
            side_by_side = sum(order not in ONE_BY_ONE for order in check.schedules)
            of_an_element = OF_A_MAP if check.element == "affine" else 1
            work += (side_by_side + len(check.schedules) / 4) * calls * of_an_element
    return work


def judge_in_parts(
    plan: Plan,
    run_judge: Judge,
    most: int,
    first: Said = _nothing,
    besides: Said = _nothing,
    early: LabResult | None = None,
) -> LabResult:
    """Judge a plan by at most so many judges at a time.

    `first` is called once, as soon as it is known which check fails first, or that none does. `besides` is called as
    soon as a judge is free and no check is left, side by side with the others, with what is known by then. `early` is
    what has been found of the first part, if it has been judged.
    """
    parts = parts_of(plan) if most > 1 else [plan]
    results = {0: early} if early else {}
    is_known = False
    with ThreadPoolExecutor(most) as pool:
        running = {pool.submit(run_judge, part): k for k, part in enumerate(parts) if k not in results}
        more: Future[None] | None = None
        try:
            for done in as_completed(running):
                results[running[done]] = done.result()
                so_far = _together(plan, [results[k] for k in sorted(results)])
                more = more or pool.submit(besides, so_far)
                if not is_known and (len(results) == len(parts) or _is_first_failure_known(plan, so_far)):
                    is_known = True
                    first(so_far)
            if more:
                more.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return so_far


def _is_first_failure_known(plan: Plan, so_far: LabResult) -> bool:
    known = {check.name: check for check in so_far.checks}
    for planned in plan.checks:
        if planned.name not in known:
            return False
        if known[planned.name].failure:
            return True
    return False


def _together(plan: Plan, results: Sequence[LabResult]) -> LabResult:
    """Return what several judges have found, as if it were one."""
    order = {check.name: k for k, check in enumerate(plan.checks)}
    found = sorted((check for result in results for check in result.checks), key=lambda check: order[check.name])
    found = with_shared_work(plan, explained_by_floats(plan, found))
    return LabResult.of_checks(plan.lab, plan.title, results[0].device, plan.seed, found)


def with_shared_work(plan: Plan, found: list[CheckResult]) -> list[CheckResult]:
    """Return the checks where how threads share the work of one scan is not the failure of that scan, which is right.

    It is one of the check that counts it, and those that need this one are skipped, as if it had failed by itself.
    """
    lazy = f"cost.{SHARED}"
    scans = {one.name for one in plan.checks if isinstance(one, PlannedCorrectness)}
    other = next((one for one in found if one.name in scans and one.cause and one.cause.id == lazy), None)
    counting = next((one for one in plan.checks if isinstance(one, PlannedCount) and one.counter == SHARED), None)
    if other is None or counting is None:
        return found

    def as_right(check: CheckResult) -> CheckResult:
        findings = tuple(one for one in check.findings if one.id != lazy)
        right = {"verdict": "pass", "points": check.max_points, "cause": None, "findings": findings}
        return check.model_copy(update={**right, "findings_total": check.findings_total - 1})

    checks = {
        one.name: as_right(one) if one.name in scans and one.cause and one.cause.id == lazy else one for one in found
    }
    if checks.get(counting.name) and checks[counting.name].verdict == "pass":
        failed = {"verdict": "fail", "points": 0, "cause": other.cause}
        failed |= {"findings": tuple(one for one in other.findings if one.id == lazy), "findings_total": 1}
        checks[counting.name] = checks[counting.name].model_copy(update=failed)
    for planned in plan.checks:
        check, needed = checks.get(planned.name), checks.get(planned.needs or "")
        if check and needed and needed.verdict != "pass" and check.verdict == "pass":
            why = f'not run: it needs "{needed.title}", which did not pass'
            cause = Cause(headline=why, rationale="", expected="", actual="", where=None, details=(), next="")
            skipped = {"verdict": "skipped", "points": 0, "cause": cause, "counts": None, "limits": None}
            checks[planned.name] = check.model_copy(update={**skipped, "findings": (), "findings_total": 0})
    return [checks[one.name] for one in found]


def explained_by_floats(plan: Plan, found: list[CheckResult]) -> list[CheckResult]:
    """Return the checks, with swapped operands as the cause where the same check has found floats right."""
    planned = {check.name: check for check in plan.checks if isinstance(check, PlannedCorrectness)}
    right = {
        (one.entry, one.operation, tuple(one.sizes))
        for check in found
        if check.verdict == "pass" and (one := planned.get(check.name)) and one.element == "float"
    }

    def explained(check: CheckResult) -> CheckResult:
        one, cause = planned.get(check.name), check.cause
        if (
            one is None
            or cause is None
            or cause.id not in MAY_BE_SWAPPED
            or one.element != "affine"
            or one.operation not in ("inclusive", "exclusive")
            or (one.entry, one.operation, tuple(one.sizes)) not in right
            or SUM.search(cause.actual)
        ):
            return check
        details = (cause.rationale, *cause.details)
        said = cause.model_copy(update={"id": "wrong.operand_order", "rationale": SWAPPED, "details": details})
        others = tuple(finding for finding in check.findings if finding.id != cause.id)
        headline = next(finding.headline for finding in check.findings if finding.id == cause.id)
        finding = Finding.in_source(said.id, "mistake", headline, details, SWAPPED)
        finding = finding.model_copy(
            update={"kernel": cause.where.kernel, "block": cause.where.block} if cause.where else {}
        )
        return check.model_copy(update={"cause": said, "findings": (finding, *others)})

    return [explained(check) for check in found]
