"""Prove that the labs keep what they promise to those who take them.

A lab's skeleton and its solution are the same file outside the marked regions; the skeleton compiles and gets `fail`
with a cause; the solution gets full points; and a solution differs little from the one that it builds on, so that the
difference is the lesson. For whoever writes labs: a learner's own file is no skeleton.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scanlab.errors import KitError
from scanlab.judging.judge import Submission, grade
from scanlab.judging.plan import Options
from scanlab.judging.result import LabResult
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab, base_of
from scanlab.paths import SOLUTIONS, shown

MOST_CHANGED_LINES = 60
"""Lines that a solution may have which the one that it builds on has not, where its rubric has no `new_lines`."""
SHOWN_LINES = 6
"""At most this many lines of a difference are shown."""


@dataclass
class Verified:
    """What was found out about one lab."""

    lab: str
    facts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """A line or more each; none: the lab keeps its promises."""


def verify(
    labs: Sequence[Lab],
    ladder: Sequence[Lab],
    options: Options,
    done: Callable[[LabResult], None] = lambda _: None,
) -> list[Verified]:
    """Verify `labs`; those that they build on are looked up in `ladder`, all labs in their order.

    `done` is called for each graded file.

    Raises KitError where a rubric, a skeleton or a solution cannot be read, or the kit cannot grade.
    """
    bases = [base_of(lab, ladder) for lab in labs]
    all_verified = [Verified(lab.name) for lab in labs]
    files = [(lab.source, SOLUTIONS / lab.name / "scan.cu") for lab in labs]
    texts = [(_read(given), _read(solution)) for given, solution in files]
    for verified, (given, solution) in zip(all_verified, texts, strict=True):
        _compare_outside(verified, given, solution)
    for verified, lab, base, (_, solution) in zip(all_verified, labs, bases, texts, strict=True):
        if base is not None:
            most = lab.rubric.new_lines or MOST_CHANGED_LINES
            _count_changes(verified, _read(SOLUTIONS / base.name / "scan.cu"), solution, base, most)
    submissions = [Submission(lab, path) for lab, paths in zip(labs, files, strict=True) for path in paths]
    results = grade(submissions, options, done)
    for verified, given, solution in zip(all_verified, results[::2], results[1::2], strict=True):
        _judge_skeleton(verified, given)
        _judge_solution(verified, solution)
    return all_verified


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise KitError(f"{shown(path)}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise KitError(f"{shown(path)}: not UTF-8") from error


def _compare_outside(verified: Verified, given: str, solution: str) -> None:
    regions = [len(skeleton.regions(text)) for text in (given, solution)]
    if regions[0] == 0:
        verified.faults.append("the skeleton has no region for the learner's code")
    if regions[0] != regions[1]:
        verified.faults.append(f"the skeleton has {regions[0]} marked regions, the solution {regions[1]}")
    if "TODO" not in given:
        verified.faults.append("the skeleton has no TODO: is it a solution?")
    if "TODO" in solution:
        verified.faults.append("the solution has a TODO left")
    if skeleton.outside(given) == skeleton.outside(solution):
        return
    differences = [
        line
        for line in difflib.unified_diff(
            skeleton.outside(given).splitlines(), skeleton.outside(solution).splitlines(), n=0, lineterm=""
        )
        if not line.startswith(("---", "+++", "@@"))
    ]
    more = len(differences) - SHOWN_LINES
    lines = [f"    {line}" for line in differences[:SHOWN_LINES]] + ([f"    … {more} more"] if more > 0 else [])
    verified.faults.append("\n".join(["skeleton (-) and solution (+) differ outside the regions:", *lines]))


def _count_changes(verified: Verified, before: str, after: str, base: Lab, most: int) -> None:
    """Count the lines of `after` that `before` has not, its opening comment aside."""
    lines = [
        [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]
        for text in (before, after)
    ]
    changed = sum(line.startswith("+ ") for line in difflib.ndiff(*lines))
    are = "line is" if changed == 1 else "lines are"
    verified.facts.append(f"{changed} {are} new since {base.number}")
    if changed > most:
        verified.faults.append(
            f"{changed} lines of the solution are not in lab {base.number}'s; at most {most}, "
            "so that the difference is the lesson"
        )


def _judge_skeleton(verified: Verified, result: LabResult) -> None:
    causes = [check.cause for check in result.checks if check.cause]
    if any(check.name == "build" for check in result.checks):
        verified.faults.append(f"the skeleton does not compile: {causes[0].headline}")
    elif result.verdict != "fail":
        verified.faults.append(f"the skeleton gets {result.verdict}, and should get fail")
    elif not causes:
        verified.faults.append("the skeleton fails without a cause that a learner is shown")
    else:
        verified.facts.append("the skeleton fails")


def _judge_solution(verified: Verified, result: LabResult) -> None:
    reached = f"{result.points:g} of {result.max_points:g} points"
    if result.verdict == "pass" and result.points == result.max_points:
        verified.facts.append(f"the solution gets {reached}")
        return
    failed = [check.name for check in result.checks if check.verdict != "pass"]
    verified.faults.append(f"the solution gets {result.verdict}, {reached}: {', '.join(failed)}")
