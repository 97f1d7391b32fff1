"""Run the checks of one submission side by side, several judges at a time, and put their results together.

A check that needs another one, and the counts of a check's calls, go to the same judge. So the parts know nothing of
each other, and what they find is what one judge finds.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from scanlab.judging.plan import Plan, PlannedCheck, PlannedCorrectness, PlannedCount
from scanlab.judging.result import CheckResult, Finding, LabResult

OF_A_CALL = 3000
"""Elements that a call takes as much time as, beside its own."""
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
SWAPPED = (
    "floats come out right and affine maps do not: the operands of an addition are swapped. Write earlier + later, "
    "with what is from further left on the left"
)

Judge = Callable[[Plan], LabResult]
Said = Callable[[LabResult], None]


def _nothing(_: LabResult) -> None:
    """Do nothing with a result."""


def parts_of(plan: Plan, most: int) -> list[Plan]:
    """Return at most so many plans that together have the checks of `plan`, each about the same work."""
    groups: list[list[PlannedCheck]] = []
    for check in plan.checks:
        before = {check.needs, check.among if isinstance(check, PlannedCount) else None}
        joined = [group for group in groups if before.intersection(one.name for one in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(one for group in joined for one in group), check])
    loads: list[tuple[float, list[PlannedCheck]]] = [(0, []) for _ in range(min(most, len(groups)))]
    for group in sorted(groups, key=_work, reverse=True):
        least = min(range(len(loads)), key=lambda k: loads[k][0])
        loads[least] = (loads[least][0] + _work(group), [*loads[least][1], *group])
    order = {check.name: k for k, check in enumerate(plan.checks)}
    parts = sorted(
        (sorted((one for one in load), key=lambda one: order[one.name]) for _, load in loads if load),
        key=lambda load: order[load[0].name],
    )
    return [plan.model_copy(update={"checks": checks}) for checks in parts]


def _work(checks: Iterable[PlannedCheck]) -> float:
    """Return about how much work checks are, in elements."""
    work = 0.0
    for check in checks:
        if isinstance(check, PlannedCorrectness):
            calls = len(check.schedules) * check.repeats
            work += calls * sum(n + OF_A_CALL for n in check.sizes) + sum(call.n + OF_A_CALL for call in check.extra)
    return work


def judge_in_parts(
    plan: Plan, run_judge: Judge, most: int, first: Said = _nothing, besides: Said = _nothing
) -> LabResult:
    """Judge a plan by at most so many judges at a time.

    `first` is called once, as soon as it is known which check fails first, or that none does. `besides` is called as
    soon as a judge is free, side by side with the others, with what is known by then.
    """
    parts = parts_of(plan, most)
    results: dict[int, LabResult] = {}
    is_known = False
    with ThreadPoolExecutor(len(parts)) as pool:
        running = {pool.submit(run_judge, part): k for k, part in enumerate(parts)}
        more: Future[None] | None = None
        for done in as_completed(running):
            results[running[done]] = done.result()
            so_far = _together(plan, [results[k] for k in sorted(results)])
            more = more or pool.submit(besides, so_far)
            if not is_known and (len(results) == len(parts) or _is_first_failure_known(plan, so_far)):
                is_known = True
                first(so_far)
        if more:
            more.result()
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
    return LabResult.of_checks(plan.lab, plan.title, results[0].device, plan.seed, explained_by_floats(plan, found))


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
