"""What a right program does not need, found by trying without it: a barrier, or a step of a loop."""

import re
from collections.abc import Iterable

from scanlab.errors import KitError, WorkError
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.plan import Plan, PlannedCorrectness
from scanlab.judging.result import CheckResult, Finding, LabResult, Part
from scanlab.judging.tried.graded import MANY, Graded

LAST_STEP = re.compile(r"\bfor *\([^;]{0,200};[^;<]{0,200}(?P<last><=)[^;<]{0,200};[^;]{0,100}(?:\*=|/=|<<=|>>=)")
"""A loop over strides that also takes the step at which its variable has reached the limit."""
MOST_LOOPS = 4
BARRIER = re.compile(r"\b__syncthreads *\(")
MOST_BARRIERS = 8
NEEDLESS = "barrier.needless"


def are_results_right(plan: Plan, found: Iterable[CheckResult]) -> bool:
    """Return whether of these checks none of results has failed."""
    of_results = {check.name for check in plan.checks if isinstance(check, PlannedCorrectness)}
    return all(check.verdict == "pass" for check in found if check.name in of_results)


def barriers(file: LearnersFile) -> tuple[int, ...]:
    """Return the learner's lines of a program that have a barrier, at most MOST_BARRIERS."""
    return tuple(number for number in sorted(file.own) if BARRIER.search(file.codes[number - 1]))[:MOST_BARRIERS]


def needless_barrier(graded: Graded) -> Finding | None:
    """Return advice to leave out a barrier, where it can go for all functions of the lab.

    Only the first such one: of two in a row each is needless, and both are not.
    """
    plan, lines = graded.plan, barriers(graded.file)
    firsts: dict[str, PlannedCorrectness] = {}
    for check in plan.checks:
        if isinstance(check, PlannedCorrectness):
            firsts.setdefault(check.entry, check)
    found: list[Finding] = []
    for check in firsts.values() if plan.device == "vgpu" else ():
        if not lines:
            break
        sizes = [max((n for n in check.sizes if n <= MANY), default=check.sizes[0])]
        small = check.model_copy(update={"sizes": sizes, "repeats": 1, "extra": [], "work": None, "needs": None})
        (tried,) = graded.run_judge(plan.model_copy(update={"checks": [small], "barriers": lines})).checks
        again = {one.parts[0].line: one for one in tried.findings if one.id == NEEDLESS}
        found = found or list(again.values())
        lines = tuple(line for line in lines if line in again)
    return next((one for one in found if one.parts[0].line in lines), None)


def last_steps(file: LearnersFile) -> list[tuple[int, str]]:
    """Return loops over strides in the learner's lines that end with `<=`: the line, and the program with `<`."""
    found = []
    for number in sorted(file.own):
        if loop := LAST_STEP.search(file.codes[number - 1]):
            line, (begin, end) = file.lines[number - 1], loop.span("last")
            changed = [*file.lines[: number - 1], f"{line[:begin]}<{line[end:]}", *file.lines[number:]]
            found.append((number, "\n".join(changed)))
    return found[:MOST_LOOPS]


def with_needless_steps(result: LabResult, graded: Graded) -> LabResult:
    """Return a result that advises, where all checks of results pass, to leave out steps which change nothing."""
    plan = graded.plan
    checks = [check for check in plan.checks if isinstance(check, PlannedCorrectness)]
    if plan.device != "vgpu" or not checks or not are_results_right(plan, result.checks):
        return result
    elements = {"provenance" if check.element == "affine" else check.element for check in checks}
    needless = []
    for line, program in last_steps(graded.file):
        if (runners := graded.built(program, elements)) is None:
            continue
        try:
            tried = graded.run_judge(plan.model_copy(update={"checks": checks, "runners": runners}))
        except (WorkError, KitError):
            continue
        if tried.verdict == "pass":
            needless.append(line)
    for line in needless:
        first = next(check for check in result.checks if check.name == checks[0].name)
        result = result.with_finding(first, _finding(plan.source, line))
    return result


def _finding(source: str, line: int) -> Finding:
    return Finding.in_source(
        "cost.needless",
        "advice",
        "STEP (advice): the last step of a loop changes nothing",
        (f"the loop of {source}:{line}", "tried: with < in the place of <= all is right, for each size and schedule"),
        "at a stride as large as what is scanned no element has another so far away: leave the step out",
        (Part(does="loop", who="", file=source, line=line, block=None, thread=None),),
    )
