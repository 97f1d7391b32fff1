"""Find the cure of a race or of a missing fence: statements that may be missing are tried, one place after another.

The learner's file is compiled once more with a mark before each of their statements, `pmevent LINE` in PTX, which does
nothing. The judge makes the failing call again, each time with a barrier or a fence in the place of a mark
(`grader/autograder/check/cures.cpp`). So what is tried is what a learner would write, and no compiler has moved code
across the place before.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

from scanlab.errors import KitError, WorkError
from scanlab.judging.learners_file import LearnersFile, runs_of
from scanlab.judging.plan import Mark, PlannedCorrectness
from scanlab.judging.result import Cause, CheckResult, Finding, LabResult
from scanlab.judging.tried.graded import MANY, Graded

CURABLE = ("race.shared", "race.global", "fence.missing")
CASE = re.compile(r" --n (?P<n>[0-9]{1,10}) --seed [0-9]{1,20} --schedule (?P<schedule>\w{1,20})$")
"""How the command ends that makes a failing call again."""
LATER_CALL = re.compile(r"schedule (?:in_order|reversed|lockstep), call [0-9]{1,4}$")
LEFT_BEHIND = (
    "the first call is free of this, and all calls do the same: what an earlier one has left in memory that is kept, "
    "such as a flag that is set, is there now. Clear it in each call, before the launch"
)
MOVED = "barrier.divergent"
"""What a barrier is that was moved: the judge has given it the learner's own lines."""
WRONG_LINES = "what is wrong is in"
"""How the fact begins in which of the learner's lines a mistake is."""
DEFINITION = """\
template <int line>
__host__ __device__ __forceinline__ void scanlab_mark() {
#ifdef __CUDA_ARCH__
  asm volatile("pmevent %0;" ::"n"(line) : "memory");
#endif
}
"""
ONE_ATOMIC = re.compile(r"^make line (?P<line>[0-9]{1,6}) one atomicAdd(?= )")
ADDS = re.compile(r"(?:^|[;){}] ?)(?P<to>\*? ?[\w.\->]{1,60}+(?:\[[^\[\]=;]{1,60}\])?) ?\+= ?(?P<what>[^;=]{1,120});$")
LABEL = re.compile(r"(?:else|case|default)\b")
CONSTANT = re.compile(r"(?<!if )\b(?:constexpr|consteval)\b")
"""A function in which no mark can stand."""
OPENS_CODE = re.compile(r"(?:\)(?:const\b|noexcept\b|mutable\b|\s)*+(?:->[^{};]*)?|\b(?:else|do|try)\s*)$")
"""What stands before the brace of a function or of a statement."""
BRANCH = re.compile(r"\b(?:if|else|switch)\b")
DO = re.compile(r"\bdo\s*$")


@dataclass(frozen=True)
class _Place:
    """Where a line begins: in the code of a function, and outside of any parentheses."""

    in_code: bool
    in_statement: bool
    """A statement has begun that does not end before this line."""
    branches: int
    """In so many branches, which not all threads may take."""


def _places(code: str) -> list[_Place]:
    """Return where each line of a program begins, by its braces."""
    places: list[_Place] = []
    opened: list[str] = []  # what stands before the braces that are open: OPENS_CODE, or a type's name
    depth, head = 0, ""
    for line in code.split("\n"):
        is_directive = line.lstrip().startswith("#")
        is_constant = any(CONSTANT.search(one) for one in opened)
        is_in_code = bool(opened) and OPENS_CODE.search(opened[-1]) is not None and not is_constant and not is_directive
        branches = sum(BRANCH.search(one) is not None for one in opened)
        places.append(_Place(is_in_code, depth > 0 or bool(head.strip()), branches))
        for character in "" if is_directive else line:
            closed = ""
            if character == "{" and depth == 0:
                is_bare = not head.strip() and is_in_code
                opened.append(opened[-1] if is_bare else head)
            elif character == "}" and depth == 0 and opened:
                closed = opened.pop()
            depth = max(0, depth + (character in "([") - (character in ")]"))
            if character in "{};" and depth == 0:
                head = "while" if DO.search(closed) else ""  # a statement that ends with its condition
            else:
                head += character
        head += " "
    return places


def marked(file: LearnersFile) -> tuple[str, list[Mark]]:
    """Return a program with marks before the statements in the learner's lines, and the marks.

    The first line behind them counts as well: what is missing at a region's end is put before it.
    """
    lines, places = list(file.lines), _places("\n".join(file.codes))
    offset = DEFINITION.count("\n")
    marks = []
    is_own_before = False
    for number, (line, code, place) in enumerate(zip(file.lines, file.codes, places, strict=True), 1):
        is_own = number in file.own
        if not code.strip():
            continue
        if (is_own or is_own_before) and place.in_code and not place.in_statement and not LABEL.match(code.lstrip()):
            begin = len(code) - len(code.lstrip())
            lines[number - 1] = f"{line[:begin]}scanlab_mark<{number}>(); {line[begin:]}"
            said = line[: len(code.rstrip())].strip()
            marks.append(Mark(line=number, at=number + offset, code=said, branches=place.branches))
        is_own_before = is_own
    return DEFINITION + "\n".join(lines), marks


def with_atomic_in_words(result: LabResult, file: LearnersFile) -> LabResult:
    """Return a result in which the cure of a line that adds says how its one atomic is written."""
    check = next(iter(result.failed_checks), None)
    mistake = next(iter(check.findings), None) if check else None
    found = ONE_ATOMIC.search(mistake.cure) if mistake else None
    line = file.codes[int(found["line"]) - 1] if found and int(found["line"]) <= len(file.codes) else ""
    adds = ADDS.search(line.strip())
    if not check or not mistake or not found or not adds:
        return result
    to = adds["to"].strip()
    pointer = to[1:].strip() if to.startswith("*") else f"&{to}"
    cure = f"{found[0]}, `atomicAdd({pointer}, {adds['what'].strip()});`{mistake.cure[found.end() :]}"
    return with_said(result, check, mistake, cure=cure)


def with_what_a_call_left(result: LabResult) -> LabResult:
    """Return a result in which a race that no first call has shows what an earlier call left as its cause.

    It is on memory of the program's own: outputs may meet other data in each call. An order of accesses that is tried
    as its cure would only hide that. Under the drawn schedule calls differ anyway.
    """
    check = next(iter(result.failed_checks), None)
    mistake = next(iter(check.findings), None) if check else None
    if not check or not check.cause or not mistake or mistake.id != "race.global":
        return result
    later = LATER_CALL.search(check.cause.headline) if "cudaMalloc" in mistake.variable else None
    return with_said(result, check, mistake, advice=LEFT_BEHIND, cure="") if later else result


def with_cure(result: LabResult, graded: Graded) -> LabResult:
    """Return a result in which the first mistake of the first failed check says what cures it, if that is known."""
    failure = graded.first_failure(result)
    found = CASE.search(failure.cause.next) if failure else None
    if not failure or not found or not failure.check.findings:
        return result
    check, mistake = failure.check, failure.check.findings[0]
    if mistake.cure or mistake.advice == LEFT_BEHIND or mistake.id not in CURABLE:
        return result
    tried = with_statements(graded, failure.planned, found)
    if tried is None:
        return result
    first = tried.findings[0] if tried.findings and tried.findings[0].cure else None
    if first is None or tried.cause is None:
        return with_said(result, check, mistake, advice=_of_one_statement(mistake))
    if first.id == mistake.id:
        return with_said(result, check, mistake, cure=first.cure)
    if first.id != MOVED:  # of the marked program, whose lines are others
        return result
    cause = tried.cause.model_copy(update={"headline": failure.cause.headline, "next": failure.cause.next})
    return _because_of(result, check, first, cause)


def with_statements(
    graded: Graded, planned: PlannedCorrectness, found: re.Match[str], within: frozenset[int] | None = None
) -> CheckResult | None:
    """Return what a check finds of a program at the call of a match of CASE, where its first mistake has what cures it.

    `within`: statements are tried in these lines, and the one behind them, only. None where a mark stands where no
    statement can, or where there is more than the judge can try: a grade needs no cure.
    """
    program, marks = marked(graded.file)
    if within is not None:
        behind = {next((mark.line for mark in marks if mark.line >= run.stop), 0) for run in runs_of(within)}
        marks = [mark for mark in marks if mark.line in within | behind]
    if not marks:  # the judge would take the marked program, whose lines are others, for the submission itself
        return None
    element = "provenance" if planned.element == "affine" else planned.element
    n = int(found["n"])
    many = max((size for size in planned.sizes if size <= MANY), default=n)
    schedules = sorted(planned.schedules, key=lambda one: one != found["schedule"])  # the one that fails first
    case: dict[str, Any] = {"sizes": sorted({n, many}), "schedules": schedules, "repeated_up_to": None}
    case |= {"extra": [], "work": None, "needs": None}
    if runners := graded.built(program, [element]):
        alone = {"checks": [planned.model_copy(update=case)], "runners": runners, "marks": tuple(marks)}
        try:
            (tried,) = graded.run_judge(graded.plan.model_copy(update=alone)).checks
        except (WorkError, KitError):
            pass
        else:
            return tried
    if not graded.file.given:
        return None
    regions = replace(graded, file=replace(graded.file, given=frozenset()))  # outside of them anything may stand
    return with_statements(regions, planned, found, within)


def _because_of(result: LabResult, check: CheckResult, found: Finding, cause: Cause) -> LabResult:
    """Return the result with a mistake before those of one check, which follow from it.

    The advice that threads have returned too early goes: they have not, they went past the barrier.
    """

    def without(kept: Any) -> Any:
        others = tuple(one for one in kept.findings if one.id != "barrier.exited")
        total = kept.findings_total - len(kept.findings) + len(others)
        return kept.model_copy(update={"findings": others, "findings_total": total})

    changed = without(check).model_copy(update={"cause": cause})
    return without(result).with_finding(changed, found, is_first=True)


def _of_one_statement(mistake: Finding) -> str:
    """Return what else can be done about a race on shared memory within one line, where no statement cures it."""
    lines = {(part.file, part.line) for part in mistake.parts}
    does = {part.does.strip() for part in mistake.parts}
    if mistake.id != "race.shared" or len(lines) != 1 or does != {"read", "write"}:
        return mistake.advice
    ((_, line),) = lines
    return (
        f"no barrier separates them, and none can: line {line} reads and writes in one statement; if these threads are "
        "to meet at one element there, keep what is read in a variable, put __syncthreads(); behind that, where all "
        "threads reach it, and write behind the barrier; if they are not, an index is wrong"
    )


def with_said(result: LabResult, check: CheckResult, mistake: Finding, **said: str) -> LabResult:
    """Return the result with the cure, or the advice, of one check's first mistake, wherever that is reported."""

    def cured(finding: Finding) -> Any:
        is_it = (finding.id, finding.headline, finding.parts) == (mistake.id, mistake.headline, mistake.parts)
        return finding.model_copy(update=said) if is_it else finding

    first = check.model_copy(update={"findings": tuple(map(cured, check.findings))})
    checks = tuple(first if one.name == check.name else one for one in result.checks)
    return result.model_copy(update={"checks": checks, "findings": tuple(map(cured, result.findings))})
