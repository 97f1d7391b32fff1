"""Find a step of a loop that changes nothing: the loop's `<=` becomes `<`, and all has to be as right as before."""

import re
from collections.abc import Callable

from scanlab.errors import KitError, WorkError
from scanlab.judging.compile import build_runner
from scanlab.judging.compiler.messages import own_lines
from scanlab.judging.cures import without_comments
from scanlab.judging.plan import Plan, PlannedCorrectness
from scanlab.judging.result import Finding, LabResult, Part
from scanlab.scratch import scratch

LAST_STEP = re.compile(r"\bfor *\([^;]{0,200};[^;<]{0,200}(?P<last><=)[^;<]{0,200};[^;]{0,100}(?:\*=|/=|<<=|>>=)")
"""A loop over strides that also takes the step at which its variable has reached the limit."""
MOST_LOOPS = 4


def last_steps(text: str) -> list[tuple[int, str]]:
    """Return loops over strides in the marked regions that end with `<=`: the line, and the program with `<`."""
    lines, codes = text.split("\n"), without_comments(text).split("\n")
    own = own_lines(lines)
    found = []
    for number, (line, code) in enumerate(zip(lines, codes, strict=True), 1):
        loop = LAST_STEP.search(code) if number in own else None
        if loop:
            begin, end = loop.span("last")
            changed = [*lines[: number - 1], f"{line[:begin]}<{line[end:]}", *lines[number:]]
            found.append((number, "\n".join(changed)))
    return found[:MOST_LOOPS]


def with_needless_steps(
    result: LabResult, plan: Plan, text: str, run_judge: Callable[[Plan], LabResult], *, is_sandboxed: bool
) -> LabResult:
    """Return a result that advises, where all checks of results pass, to leave out steps which change nothing.

    `plan` is what was graded, `text` the learner's file; `run_judge` runs the judge on a plan.
    """
    checks = [check for check in plan.checks if isinstance(check, PlannedCorrectness)]
    passed = {check.name for check in result.checks if check.verdict == "pass"}
    if plan.device != "vgpu" or not checks or any(check.name not in passed for check in checks):
        return result
    elements = {"provenance" if check.element == "affine" else check.element for check in checks}
    needless = []
    for line, program in last_steps(text):
        with scratch() as folder:
            path = folder / "scan.cu"
            path.write_text(program, encoding="utf-8")
            try:
                runners = {
                    element: str(build_runner(path, element, "vgpu", is_sandboxed=is_sandboxed)) for element in elements
                }
                tried = run_judge(plan.model_copy(update={"checks": checks, "runners": runners, "barriers": ()}))
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
