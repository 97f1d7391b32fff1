"""What a result shows of the places in a learner's code that a cause is about and a device cannot see."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path

from scanlab.judging.code_places import SHOWN, CodePlaces
from scanlab.judging.learners_file import LearnersFile, lines_text, runs_of
from scanlab.judging.report import HEADLINE
from scanlab.judging.result import Cause, CheckResult, Finding, LabResult, SeenFinding, Where
from scanlab.judging.tried.statements import WRONG_LINES

USED_BEFORE = re.compile(r'variable "(?P<name>\w+)" is used before its value is set')
USED_ON_HOST = re.compile(r"host code used byte \d+ of (\w+)")
ABOUT_LOOPS = (
    "wrong.steps_missing",
    "wrong.strides",
    "wrong.places",
    "wrong.first_twice",
    "wrong.direction",
)
OF_AN_INDEX = ("bounds.", "wrong.other", "wrong.order", "wrong.overwritten", "wrong.nothing_added")
"""How ids begin of which an index may be the cause, and of which nothing better is known."""
OF_OWN_ARRAYS = ("bounds.local", "wrong.", "uninitialised.")
"""How ids begin of which an array may be the cause that each thread has for itself."""
PRINTED = "the program printed:"
SINCE_FAULT = "the program printed, since calls after a fault fail:"
AFTER_FAULT = re.compile(
    r": (?:an illegal memory access was encountered|misaligned address|unspecified launch failure)"
)
"""What is in a line in which a call says what a kernel before it has done."""
PRINTED_CALL = re.compile(
    r"\s{1,8}[^\s:]{1,200}:(?P<line>\d{1,7}): (?P<call>cuda\w{1,40}\([^:]{0,160}\)): [^()]{1,120} "
    r"\((?P<error>cudaError\w{1,40})\)"
)
"""What SCANLAB_CUDA_CHECK prints."""
WHY = re.compile(r"\s+scanlab: (?:\w+: )?(?P<why>.+)")
WRAP_THE_CALLS = "wrap the calls of the entry"
PRINTED_ERROR = re.compile(r"cuda(?:Peek|Get)[A-Za-z]*LastError\(\): ")
NEVER_ASKED = "never asked for the error"
FIRST_WRONG = "is the addition where it first went wrong"
LAUNCH_MEANT = re.compile(r"which array was meant|third launch parameter")
ONE_THREAD_MEANT = "several threads of a block write to the same place"
MORE_SUMS = "more sums of sections than"
NOT_THE_BLOCK = "not from blockIdx.x"
ALL_LANES = "must reach that call"
CALLED_FROM = " is called from "
NUMBERED = re.compile(r"cudaMalloc #(\d{1,3})\b")
COUNTS_BYTES = "cudaMalloc counts bytes"
ABOUT_LAUNCHES = ("launch.failed", "cost.threads")


def with_places(result: LabResult, file: LearnersFile, name: str) -> LabResult:
    """Return the result with places that help to find the causes of what failed.

    `name` is how messages call the file.
    """
    code = CodePlaces(file, name)
    result = result.model_copy(update={"findings": tuple(_with_facts(one, code) for one in result.findings)})
    if result.verdict == "pass":
        return result
    fence = next((one for one in result.findings if one.id == "fence.missing" and one.weight == "advice"), None)
    unset = [found for found in map(_unset, result.warnings) if found]
    checks = tuple(_with_fence(_with_places(check, code, unset), fence) for check in result.checks)
    renamed = {
        (check.name, old.cause.id): check.cause.id
        for old, check in zip(result.checks, checks, strict=True)
        if old.cause and check.cause and old.cause.id != check.cause.id
    }
    findings = tuple(_renamed(finding, renamed) for finding in result.findings)
    checks = tuple(_with_its_id(check) for check in checks)
    return result.model_copy(update={"checks": checks, "findings": findings})


def _with_facts(finding: SeenFinding, code: CodePlaces) -> SeenFinding:
    """Return advice with the lines that it is about: where threads may have returned, what is not freed."""
    facts = []
    if finding.id == "barrier.exited" and (lines := code.returns()):
        facts = [f"some threads may return in {code.text(lines)}"]
    if finding.id == "leak":
        facts = [f"{name} of {code.text([line])} is never freed" for name, line in code.never_freed()] or [
            f"{code.text([line])} may return before cudaFree({name}) in {code.text([free])}"
            for line, name, free in code.leaves_before_free()
        ]
    return finding.model_copy(update={"facts": (*finding.facts, *facts[:SHOWN])})


def _with_fence(check: CheckResult, fence: Finding | None) -> CheckResult:
    """Return a check whose count of fences fails with the place of the one that is missing."""
    if not fence or not check.cause or check.cause.id != "cost.fences":
        return check
    details = (*check.cause.details, *fence.facts, fence.advice)
    return check.model_copy(update={"cause": check.cause.model_copy(update={"details": details})})


def _unset(warning: str) -> tuple[int, str] | None:
    """Return the line and the name of a variable that is used before it has a value."""
    found = USED_BEFORE.search(warning)
    place = re.search(r":(\d+): ", warning)
    return (int(place[1]), found["name"]) if found and place else None


def _with_its_id(check: CheckResult) -> CheckResult:
    """Return a check whose first finding, if it is a wrong output, is called as its cause is now."""
    if not check.cause or not check.findings or not check.findings[0].id.startswith("wrong."):
        return check
    first = check.findings[0].model_copy(update={"id": check.cause.id})
    return check.model_copy(update={"findings": (first, *check.findings[1:])})


def _renamed(finding: SeenFinding, renamed: dict[tuple[str, str], str]) -> SeenFinding:
    other = next((new for (check, old), new in renamed.items() if check in finding.checks and old == finding.id), None)
    return finding.model_copy(update={"id": other}) if other else finding


def _with_places(check: CheckResult, code: CodePlaces, unset: Sequence[tuple[int, str]]) -> CheckResult:
    cause = check.cause
    if cause is None or check.verdict in ("pass", "skipped"):
        return check
    changed = _cause_in_source(cause, code, unset) or cause
    if any(one.headline.startswith("FAULT") for one in check.findings[:1]):
        changed = _with_what_follows(changed)
    check = _refused(_without_what_is_printed(check.model_copy(update={"cause": changed})), code)
    changed = _with_given_code(check.cause or changed, code)
    first = check.findings[0] if check.findings else None
    if first and first.cure:  # the place is known
        return check.model_copy(update={"cause": changed})
    more = [text for text in _facts(changed, code, first) if text]
    if first and HEADLINE.fullmatch(first.headline):  # the report has the finding's advice before these
        changed = changed.model_copy(update={"details": (*changed.details, *more)})
    else:
        changed = changed.model_copy(update={"rationale": "\n".join([changed.rationale, *more])})
    return check.model_copy(update={"cause": changed})


def _with_given_code(cause: Cause, code: CodePlaces) -> Cause:
    """Return it with a word on the line where a sum first went wrong, where that is no line of the learner's."""
    where = cause.where
    if where is None or Path(where.file).name != Path(code.name).name or where.line in code.own:
        return cause
    is_known = any(text.startswith(WRONG_LINES) for text in cause.details)
    is_long = len(runs_of(code.own)) > SHOWN
    yours = "yours" if is_long else f"yours, {lines_text(code.own)}"
    whose = "given code" if is_known else f"given code: what it adds comes from {yours}"
    given = f"{FIRST_WRONG} ({whose})"
    details = tuple(text.replace(FIRST_WRONG, given) for text in cause.details)
    return cause.model_copy(update={"details": details})


def _without_what_is_printed(check: CheckResult) -> CheckResult:
    """Return it without the reproach that no call has asked for an error which the program has printed itself."""
    cause = check.cause
    if cause is None or not any(PRINTED_ERROR.search(text) for text in cause.details):
        return check

    def kept(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if NEVER_ASKED not in text)

    findings = tuple(
        one.model_copy(update={"facts": kept(one.facts), "details": kept(one.details)}) for one in check.findings
    )
    cause = cause.model_copy(update={"details": kept(cause.details)})
    return check.model_copy(update={"cause": cause, "findings": findings})


def _refused(check: CheckResult, code: CodePlaces) -> CheckResult:
    """Return it with the call that the program has printed an error of, which is where it happened."""
    cause = check.cause
    if cause is None or cause.id != "cuda.error" or PRINTED not in cause.details:
        return check
    printed = list(cause.details[cause.details.index(PRINTED) + 1 :])
    at, call = next(((at, one) for at, line in enumerate(printed) if (one := PRINTED_CALL.fullmatch(line))), (0, None))
    if call is None or PRINTED_ERROR.match(f"{call['call']}: ") or call["error"] not in cause.actual:
        return check
    why = WHY.fullmatch(printed[at - 1]) if at else None
    said = f"{call['call']} was refused"
    said = f"{said}: {why['why']}" if why else f"{said}; {cause.rationale}"
    details = tuple(text for text in cause.details if not text.startswith(WRAP_THE_CALLS))
    where = Where(file=code.name, line=int(call["line"]), kernel="", block=None, thread=None)
    cause = cause.model_copy(update={"rationale": said, "details": details, "where": where})
    update = {"advice": said, "facts": (), "details": ()}
    findings = tuple(one.model_copy(update=update) if one.id == cause.id else one for one in check.findings)
    return check.model_copy(update={"cause": cause, "findings": findings})


def _with_what_follows(cause: Cause) -> Cause:
    """Return it with what the program has printed as what it is, where that only repeats a fault."""
    details = list(cause.details)
    if PRINTED not in details:
        return cause
    begin = details.index(PRINTED)
    printed = list(takewhile(lambda line: line.startswith("  "), details[begin + 1 :]))
    if all(AFTER_FAULT.search(line) for line in printed):
        details[begin : begin + 1 + len(printed)] = [SINCE_FAULT, printed[0]] if printed else []
    return cause.model_copy(update={"details": tuple(details)})


def _cause_in_source(cause: Cause, code: CodePlaces, unset: Sequence[tuple[int, str]]) -> Cause | None:
    """Return a wrong output's cause where the text shows it; None where it does not."""
    if not cause.id.startswith("wrong."):
        return None
    at = cause.where or Where(file="", line=0, kernel="", block=None, thread=None)

    def because(line: int, rationale: str) -> Cause:
        where = at.model_copy(update={"file": code.name, "line": line})
        return cause.model_copy(update={"id": "wrong.uninitialised", "rationale": rationale, "where": where})

    if unset:
        line, name = unset[0]
        return because(line, f'variable "{name}" is used before it has a value: give it one where it is declared')
    if cause.id == "wrong.uninitialised" and (arrays := code.local_arrays()):
        line, name = arrays[0]
        return because(
            line,
            f"{name} is not __shared__: each thread has an array of its own, and reads elements there that no thread "
            "has written",
        )
    return None


def _lines_of(cause: Cause, finding: Finding | None, code: CodePlaces) -> Iterator[int]:
    """Yield the lines of a file in which a mistake was seen, and of the addition that first went wrong."""
    name = Path(code.name).name
    for part in finding.parts if finding else ():
        if Path(part.file).name == name and 0 < part.line <= len(code.lines):
            yield part.line
    if cause.where and Path(cause.where.file).name == name and 0 < cause.where.line <= len(code.lines):
        yield cause.where.line
    for text in cause.details:
        if FIRST_WRONG in text and (place := re.search(r":(\d{1,7}) is the addition", text)):
            yield min(int(place[1]), len(code.lines))


def _facts(cause: Cause, code: CodePlaces, finding: Finding | None) -> Iterator[str]:
    """Return sentences that name places, a line each."""
    kernel, variable = (finding.kernel, finding.variable) if finding else ("", "")
    if cause.id in ABOUT_LOOPS and (loops := code.loops()):
        which = "loops that begin" if len(loops) > 1 else "loop that begins"
        yield f"look at the {which} in {code.text(loops)}"
    if cause.id in ("wrong.unwritten", "wrong.last_section") or "d_y is written" in cause.rationale:
        yield f"d_y is written in {code.text(code.writes('d_y'))}" if code.writes("d_y") else ""
        yield f"some threads may return in {code.text(code.returns())}" if code.returns() else ""
    if cause.id == "input.changed":
        writes, launches = code.writes("d_x"), code.launches()
        yield f"d_x is written in {code.text(writes)}" if writes else f"launched in {code.text(launches)}"
    if cause.id.startswith("uninitialised.") and variable and (writes := code.writes(variable)):
        yield f"{variable} is written in {code.text(writes)}"
    if cause.id == "crash.host" and (calls := code.recursions()):
        yield f"a function that calls itself without end crashes like this: {code.text(calls)}"
    if cause.id.startswith(OF_OWN_ARRAYS) and cause.id != "wrong.uninitialised":  # its cause has it
        for line, name in code.local_arrays():
            yield f"{name} in {code.text([line])} is an array of each thread's own: is __shared__ missing?"
    is_about_launch = (
        cause.id in ABOUT_LAUNCHES
        or (cause.id.startswith("cost.") and "launch one" in cause.rationale)
        or MORE_SUMS in cause.rationale
        or (finding is not None and LAUNCH_MEANT.search(finding.advice) is not None)
        or (
            finding is not None and ONE_THREAD_MEANT in finding.advice and len({one.line for one in finding.parts}) == 1
        )
    )
    if is_about_launch and (launches := code.launches(kernel)):
        yield f"launched in {code.text(launches)}"
        yield from code.sets(launches)
    if finding and COUNTS_BYTES in finding.advice and (lines := code.allocations()):
        yield f"allocated in {code.text(lines)}"
        yield from code.sets_of_sizes(lines)
    if cause.id.startswith(OF_AN_INDEX):
        yield from islice(code.sets_of_indices(_lines_of(cause, finding, code)), SHOWN)
    if finding and NOT_THE_BLOCK in finding.advice and (lines := code.block_numbers(kernel)):
        yield f"blockIdx.x is used in {code.text(lines)}"
    if finding and ALL_LANES in finding.advice:
        calls = [
            int(one) for text in finding.facts for one in re.findall(r"(?<=:)\d{1,7}", text.partition(CALLED_FROM)[2])
        ]
        yield from islice(code.branches(one for one in calls if one in code.own), SHOWN)
    if cause.id.startswith("uninitialised.") and (number := NUMBERED.match(variable)):
        yield from code.memory(int(number[1]))
    seen = [part.line for part in finding.parts] if finding and cause.id == "barrier.divergent" else []
    for line in seen:
        if leaves := code.leaves([line]):
            yield f"some threads may leave before the barrier of line {line}, in {code.text(leaves)}"
            break
    if cause.id.startswith("deadlock.") and finding:
        yield from code.waits([part.line for part in finding.parts if 0 < part.line <= len(code.lines)])
    if cause.id.startswith("bounds.") or cause.id in ("host_pointer", "uninitialised.pointer"):
        for name, line in code.without_memory():
            yield f"{name} of {code.text([line])} never gets memory of the device"
    for line, name in code.never_launched() if cause.id.startswith(("wrong.", "uninitialised.global")) else ():
        yield f"the kernel {name} of {code.text([line])} is never launched"
    if cause.id.startswith("wrong.") and cause.where:
        seen.append(cause.where.line)
    if calls := code.calls_around(seen):
        yield f"called in {code.text(calls)}"
    for text in (*cause.details, cause.rationale, cause.actual):
        if (used := USED_ON_HOST.search(text)) and (uses := code.host_uses(used[1])):
            yield f"host code uses {used[1]} in {code.text(uses)}"
