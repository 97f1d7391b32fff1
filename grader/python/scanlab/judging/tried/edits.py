"""Try what a learner may have meant (`slips`): the failing call again, with one line changed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from pathlib import Path
from types import MappingProxyType

from scanlab.judging.finding_names import rank_of
from scanlab.judging.learners_file import lines_text
from scanlab.judging.plan import PlannedCorrectness
from scanlab.judging.report import ALL_IS_RIGHT, is_of_device
from scanlab.judging.result import CheckResult, Finding, LabResult, Where
from scanlab.judging.tried.attempts import Attempt, attempts
from scanlab.judging.tried.graded import Graded
from scanlab.judging.tried.regions import wrong_parts
from scanlab.judging.tried.runs import Base, Call, is_right
from scanlab.judging.tried.slips import slips
from scanlab.judging.tried.slips.program import Mistake, Slip
from scanlab.judging.tried.statements import CASE, CURABLE, WRONG_LINES, with_said, with_statements

MOST = 120
"""Edits that are tried of one program."""
MOST_OF_ALL = 24
"""Of the whole program, where parts of it are wrong: it is then seldom right with one of them."""
OF_THE_HOST = ("host_pointer", "crash")
"""How ids begin of what host code does: no code of the device is the cause."""
NO_LINES: frozenset[int] = frozenset()
ELSE_IS_LEFT = "(tried: this is gone then, something else is left)"
MORE_WORK = "(tried: the results are right then, and more work is done than a count allows)"
MOST_RIGHT = 3
"""Edits that make a part right, with which the whole program is tried."""
MORE_SIZES = 2
"""That are right with an edit, so that it is worth a word …"""
MANY_MORE_SIZES = 5
"""… if it is of a kind that is seldom meant."""
LONGEST_EDIT = 400
"""Lines of an edit, from the first that it changes to the last, that are compared one by one."""
MOST_FURTHER = 3
"""Of these so many are looked at: does something else fail then?"""
REFUSED = ("cuda.error", "launch.failed")
"""Findings of a call that the device refuses."""
CALLED_FROM = "called from "
CALL_PLACE = re.compile(r"(?<![^\s,])([^\s,]{1,400}):([0-9]{1,7})\b")
SIZE = re.compile(r"\bn = (?P<n>[0-9]{1,10}),")
"""Where a check's headline has the size of the call that failed."""


def with_slip(result: LabResult, graded: Graded, *, judged: LabResult, is_plain: bool, solution: str = "") -> LabResult:
    """Return a result in which the first check that failed says which slip is the cause, if an edit makes it pass.

    `judged` is what the judge has found, before anything was tried. `is_plain`: of slips that are hardly ever meant as
    they stand, which come before the cures of races; else of the others, where none of those makes all right.
    `solution`: the reference solution's file, by which regions that are wrong are found.
    """
    failure, plan = graded.first_failure(result), graded.plan
    if failure is None:
        return result
    check, planned = failure.check, failure.planned
    again = CASE.search(failure.cause.next)
    found = again or SIZE.search(failure.cause.headline)
    if found is None or any(one.cure.endswith(ALL_IS_RIGHT) for one in check.findings[:1]):
        return result
    right = {one.name for one in result.checks if one.verdict == "pass"}
    passed = [one for one in plan.checks if isinstance(one, PlannedCorrectness) and one.name in right]
    call = Call.of_size(planned, int(found["n"]), graded, passed)
    seen = next((one for one in judged.checks if one.name == check.name), check)
    if not again:  # the call fails after others only: do those that are made here let it fail?
        now = call.with_code("")
        if now is None or is_right(now):
            return result
        seen = now
    known = next((one.id for one in seen.findings), "")
    whole = Base(graded.file.text, call, seen)
    bases, lines = _bases(whole, solution) if solution and not known.startswith(OF_THE_HOST) else ([whole], NO_LINES)
    bases.sort(key=lambda base: not _shows(base, known))
    listed = []
    for base in bases:
        most = MOST_OF_ALL if base.is_all and len(bases) > 1 else MOST
        listed.append([(base, slip) for slip in _likeliest(base, plan.source, most, is_plain=is_plain)])
    wrong = NO_LINES.union(*(base.lines or () for base in bases))
    if known in CURABLE and not any(one.cure for one in check.findings[:1]):
        for base in (base for base in bases if not base.is_all and _shows(base, known)):
            if cure := _statement(base, planned, known, wrong):
                result = _with_wrong_lines(result, check, lines, plan.source)
                return with_said(result, check, check.findings[0], cure=cure)
    tried = attempts([one for turn in zip_longest(*listed) for one in turn if one][:MOST])
    tried.sort(key=lambda one: one.does_more_work)
    all_right = next((one for one in tried if one.base.is_all and is_right(one.found)), None)
    if all_right:
        said = MORE_WORK if all_right.does_more_work else ALL_IS_RIGHT
        return _because(result, check, all_right.slip, f"{all_right.slip.change} {said}", plan.source)
    result = _with_wrong_lines(result, check, lines, plan.source)
    return _with_best(result, check.name, tried, whole, known, wrong, plan.source)


def _likeliest(base: Base, source: str, most: int, *, is_plain: bool) -> Sequence[Slip]:
    """Return at most so many edits of a program: those that are sure first, for there may be no time for all."""
    file = base.call.graded.file.with_text(base.text)
    found = slips(file, _mistake(base, source), most, is_plain=is_plain)
    return sorted(found, key=lambda slip: not slip.is_sure)


def _bases(whole: Base, solution: str) -> tuple[list[Base], frozenset[int]]:
    """Return the programs of which edits are tried, and the lines in which the mistakes are, if that is known.

    Where they are in one part, that is the program itself. It is one of several as well: parts that are right together
    may be wrong with the solution's.
    """
    bases, lines = wrong_parts(whole.text, solution, whole.call)
    if len(bases) == 1 and lines:
        return [replace(whole, lines=lines)], lines
    return [whole, *bases], lines


def _shows(base: Base, known: str) -> bool:
    """Return whether a program shows what was found first in the learner's."""
    return base.is_all or known in {one.id for one in base.failed.findings}


def _with_best(
    result: LabResult,
    name: str,
    tried: Sequence[Attempt],
    whole: Base,
    known: str,
    wrong: frozenset[int],
    source: str,
) -> LabResult:
    """Return the result in which a check says what helps best of edits after which not all is right.

    `whole`: the learner's program; `known`: what was found first in it; `wrong`: the lines of all parts that are wrong.
    """
    check = next(one for one in result.checks if one.name == name)
    own = [one for one in tried if _shows(one.base, known)]
    rights = [(one, _with_edit(whole, one)) for one in islice((one for one in own if is_right(one.found)), MOST_RIGHT)]
    right = next((one for one, then in rights if then and then.is_right), None)
    if right:
        return _because(result, check, right.slip, f"{right.slip.change} {ALL_IS_RIGHT}", source)
    part = next((one for one, then in rights if one.slip.is_of_device or (then and then.is_another)), None)
    if part:
        return _because(result, check, part.slip, f"{part.slip.change} {_part_is_right(part.base, wrong)}", source)

    sure = [one for one in own if one.slip.is_sure]
    better = _best(sure)
    if better:
        return _because(result, check, better.slip, f"{better.slip.change} {ELSE_IS_LEFT}", source)
    is_barrier = known.startswith("barrier.")  # threads that get past it in another way have done something else
    if not is_barrier and not any(one.cure for one in check.findings[:1]) and (further := _furthest(own)):
        one, most = further
        left = "something else is left" if one.first.verdict == "fail" else "what has more elements takes too long"
        cure = f"{one.slip.change} (tried: all sizes up to n = {most} are right then, {left})"
        return _because(result, check, one.slip, cure, source)
    beside = next((one for one in tried if is_right(one.found) and not one.base.is_all), None)
    then = _with_edit(whole, beside) if beside else None
    if beside and then and then.is_another and check.cause:
        slip = beside.slip
        said = f"something else is wrong in {source}:{slip.line}: {slip.because}; {slip.change}"
        return _with_detail(result, check, f"{said} (tried: that part is right then)")
    return result


@dataclass(frozen=True)
class _Then:
    """What the learner's program does with an edit of one part of it.

    A part may be right, and fail with the solution's others because it divides the work in another way: then the edit
    changes nothing here.
    """

    is_right: bool
    """In all, with no more work than its counts allow."""
    is_another: bool
    """It fails in another way, or with more elements only."""


def _with_edit(whole: Base, one: Attempt) -> _Then | None:
    """Return what the whole program does with the edit of a part; None if that is not known."""
    made = whole.call.made_by(one.slip.of(whole.text), is_of_device=one.slip.is_of_device)
    before = whole.call.with_code(whole.code, is_brief=True)
    after = made[0].with_code(made[1], is_brief=True) if made else None
    if not made or not before or not after:
        return None
    if is_right(after):
        call, code = made
        fixed = whole.is_fixed_by(one.slip.of(whole.text), call, code, is_of_device=one.slip.is_of_device)
        return _Then(is_right=all(fixed), is_another=True)
    ids = [check.cause.id if check.cause else "" for check in (before, after)]
    return _Then(is_right=False, is_another=ids[0] != ids[1] or _size(after) > _size(before))


def _part_is_right(base: Base, wrong: frozenset[int]) -> str:
    others = wrong.difference(base.lines or ())
    return f"(tried: this part is right then, something is wrong in {lines_text(others) if others else 'another line'})"


def _statement(base: Base, planned: PlannedCorrectness, known: str, wrong: frozenset[int]) -> str:
    """Return the statement that makes a part right in which a race or a fence was found first; nothing if none does."""
    found = CASE.search(base.failed.cause.next) if base.failed.cause else None
    graded = base.call.graded
    part = replace(graded, plan=base.call.plan, file=graded.file.with_text(base.text))
    tried = found and with_statements(part, planned, found, base.lines)
    first = next(iter(tried.findings), None) if tried else None
    if not first or first.id != known or not first.cure.endswith(ALL_IS_RIGHT):
        return ""
    return first.cure.removesuffix(ALL_IS_RIGHT) + _part_is_right(base, wrong)


def _with_detail(result: LabResult, check: CheckResult, said: str, where: Where | None = None) -> LabResult:
    """Return the result in which a failed check has one more fact, in front, and another place if that is given."""
    if not check.cause:
        return result
    update = {"details": (said, *check.cause.details), "where": where or check.cause.where}
    changed = check.model_copy(update={"cause": check.cause.model_copy(update=update)})
    return result.model_copy(
        update={"checks": tuple(changed if one.name == check.name else one for one in result.checks)}
    )


def _with_wrong_lines(result: LabResult, check: CheckResult, lines: frozenset[int], source: str) -> LabResult:
    """Return the result in which a failed check says in which of the learner's lines the mistake is, if that is known.

    Its place is there as well, where it was in no line of theirs.
    """
    if not lines or not check.cause:
        return result
    said = f"{WRONG_LINES} {lines_text(lines)} (tried: with the reference solution's code there all is right)"
    where = check.cause.where
    if where and where.line not in lines and not any(is_of_device(one) for one in check.findings[:1]):
        where = where.model_copy(update={"file": source, "line": min(lines)})
    return _with_detail(result, check, said, where)


def _furthest(tried: Sequence[Attempt]) -> tuple[Attempt, int] | None:
    """Return the edit after which most sizes of its check are right, and the largest of these.

    So many more sizes have to be right that this is no accident.
    """
    found: list[tuple[Attempt, int]] = []
    befores: dict[int, int] = {}
    for one in (one for one in tried if one.first.verdict in ("fail", "timeout") and not one.base.is_rare):
        if id(one.base) not in befores:
            before = one.base.call.with_code(one.base.code, is_brief=True)
            befores[id(one.base)] = _size(before) if before else 0
        old, new = befores[id(one.base)], _size(one.first)
        more = [size for size in one.base.call.case.sizes if old < size < new] if old else []
        if len(more) >= (MORE_SIZES if one.slip.is_common else MANY_MORE_SIZES):
            found.append((one, more[-1]))
    found.sort(key=lambda one: -one[1])
    best = (one for one in found[:MOST_FURTHER] if not one[0].breaks_another)
    return next(best, None)


def _size(check: CheckResult) -> int:
    """Return at how many elements a check has failed."""
    found = CASE.search(check.cause.next) if check.cause else None
    return int(found["n"]) if found else 0


def _best(tried: Sequence[Attempt]) -> Attempt | None:
    """Return the first edit that helps, of few; one that lets a function fail that was right is no way on."""
    helps = (one for one in tried if _is_better(one.found, one.base.failed, _former(one.base.text, one.slip.program)))
    return next((one for one in islice(helps, MOST_FURTHER) if not one.breaks_another), None)


def _former(before: str, after: str) -> dict[int, int]:
    """Return the numbers that the lines of a program had before an edit which has moved some."""
    old, new = before.split("\n"), after.split("\n")
    if len(old) == len(new):
        return {}
    least = min(len(old), len(new))
    head = next((at for at in range(least) if old[at] != new[at]), least)
    tail = next((at for at in range(least - head) if old[-1 - at] != new[-1 - at]), least - head)
    ends = len(old) - tail, len(new) - tail
    former = {number - len(old) + len(new): number for number in range(ends[0] + 1, len(old) + 1)}
    if max(ends) - head <= LONGEST_EDIT:
        blocks = SequenceMatcher(None, old[head : ends[0]], new[head : ends[1]], autojunk=False).get_opcodes()
        for _, begin, end, new_begin, new_end in blocks:
            pairs = zip(range(begin, end), range(new_begin, new_end), strict=False)
            former |= {head + new_line + 1: head + old_line + 1 for old_line, new_line in pairs}
    return former


def _is_better(tried: CheckResult, check: CheckResult, former: Mapping[int, int] = MappingProxyType({})) -> bool:
    """Return whether what a check has found is gone, or is there at more elements only.

    A try that was given up, for it took too long, has shown nothing. `former` has lines of the program that was tried
    as the other counts them.
    """
    if not tried.cause or not check.cause or tried.verdict != "fail":
        return False
    if tried.cause.id == "cuda.error" and check.cause.id not in REFUSED:  # that hides what comes after the call
        return False
    old, new = CASE.search(check.cause.next), CASE.search(tried.cause.next)
    is_gone = check.cause.id not in {tried.cause.id, *(one.id for one in tried.findings)}
    ranks = rank_of(check.cause.id), rank_of(tried.cause.id)
    is_later = bool(old and new) and int(new["n"]) > int(old["n"])
    places, others = _places(check.findings[:1]), _places(tried.findings, former)  # none of a wrong output
    is_elsewhere = bool(places and others) and tried.cause.id == check.cause.id and places[0] not in others
    return is_later or is_elsewhere or (is_gone and (ranks[1] > ranks[0] or check.cause.id == "endless"))


def _places(
    findings: Sequence[Finding], former: Mapping[int, int] = MappingProxyType({})
) -> list[frozenset[tuple[str, int]]]:
    """Return for each finding of the device each part's array and line, by its `former` number if it has one."""
    found = (
        frozenset((one.variable.partition("[")[0], former.get(part.line, part.line)) for part in one.parts)
        for one in findings
    )
    return [places for places in found if places]


def _mistake(base: Base, source: str) -> Mistake:
    """Return what is known of the mistake for which a check has failed."""
    cause, finding = base.failed.cause, next(iter(base.failed.findings), None)
    parts = finding.parts if finding else ()
    names = (Path(source).name, base.call.name)
    seen = {part.line for part in parts if Path(part.file).name in names}
    calls = " ".join(text.partition(CALLED_FROM)[2] for text in (finding.facts if finding else ()))
    seen |= {int(line) for file, line in CALL_PLACE.findall(calls) if Path(file).name in names}
    if cause and cause.where and Path(cause.where.file).name in names:
        seen.add(cause.where.line)
    known = finding.id if finding else cause.id if cause else ""
    return Mistake(known, finding.variable if finding else "", frozenset(seen - {0}), base.lines)


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
