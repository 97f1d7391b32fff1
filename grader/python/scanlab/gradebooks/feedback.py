"""What a learner is shown of a result, as plain text."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from scanlab.classroom.records import LabGrade, Record
from scanlab.course.tables import Visibility
from scanlab.foreign_text import replaced
from scanlab.gradebooks.model import Options
from scanlab.gradebooks.selection import others
from scanlab.gradebooks.text import number, one_line
from scanlab.judging import report
from scanlab.judging.result import CheckResult

SHOWN_CAUSES = 3
"""At most this many are shown in full where all checks are in one text."""
UNREAD = ("file", "archive")
"""What a result's finding is called when the file could not be read."""


@dataclass(frozen=True)
class Line:
    """One check as a platform shows it; a lab without a result is one line."""

    lab: str
    name: str
    title: str
    points: float
    max_points: float
    verdict: str
    passed: bool
    shown: Visibility
    text: str
    """Why it did not pass; empty for a pass."""


def lines(record: Record, options: Options) -> Iterator[Line]:
    """Yield the checks of a submission that were run, in the labs' order."""
    for lab in record.labs:
        checks = options.sight.discreet(lab.lab, lab.result).checks if lab.result else ()
        ran = [check for check in checks if check.max_points > 0 or check.verdict != "skipped"]
        if not ran:
            yield Line(
                lab.lab, "hand_in", "a file that can be graded", lab.points, lab.max_points, lab.verdict,
                lab.verdict == "pass", "visible", one_line(lab.headline),
            )  # fmt: skip
            continue
        for check in ran:
            yield Line(
                lab.lab, check.name, one_line(check.title), check.points, check.max_points, check.verdict,
                check.verdict == "pass", options.sight.of_check(lab.lab, check.name), explain(lab.lab, check),
            )  # fmt: skip


NOT_SHOWN = "checks that are not shown"


def student_lines(record: Record, options: Options) -> Iterator[Line]:
    """Yield the checks that all may see, and for the others of a lab one line: neither names nor how many.

    For platforms that show all that they are given, and whose score is the sum of the lines.
    """
    for _, group in groupby(lines(record, options), lambda line: line.lab):
        of_lab = list(group)
        yield from (line for line in of_lab if line.shown == "visible")
        if others := [line for line in of_lab if line.shown != "visible"]:
            points, most = (sum(getattr(line, name) for line in others) for name in ("points", "max_points"))
            passed = points >= most
            verdict = "pass" if passed else "fail"
            yield Line(others[0].lab, "not_shown", NOT_SHOWN, points, most, verdict, passed, "visible", "")


def explain(lab: str, check: CheckResult) -> str:
    """Return why a check did not pass, with the next step; empty for a pass."""
    if check.verdict == "pass":
        return ""
    if not check.failure:
        why = check.cause.headline if check.cause else ""
        return one_line(why or "not run: a check that it needs did not pass")
    return replaced("\n".join(text for text, _ in report.cause_lines(lab, check)))


def causes(record: Record, options: Options) -> list[str]:
    """Return why the first few of the checks that all may see did not pass, and how many more there are."""
    failed = [line for line in lines(record, options) if line.shown == "visible" and line.text]
    failed = [line for line in failed if line.verdict != "skipped"]
    texts = []
    for line in failed[:SHOWN_CAUSES]:
        texts += ["", f"{line.lab[:2]} {line.title}: {line.verdict}", *(f"  {text}" for text in line.text.splitlines())]
    if len(failed) > SHOWN_CAUSES:
        texts += ["", f"and {len(failed) - SHOWN_CAUSES} more checks; fix this first"]
    return texts


def overview(record: Record, options: Options) -> list[str]:
    """Return the lines about a whole submission: each lab's points, what was taken off, what could not be taken."""
    texts = []
    for lab in record.labs:
        which = f" ({lab.which_attempt} counts)" if lab.which_attempt else ""
        title = f"{lab.lab}, {options.sight.course.lab(lab.lab).rubric.title}"
        points = "" if lab.verdict == "pending" else f", {number(lab.points)} of {number(lab.max_points)} points{which}"
        texts.append(f"{title}: {lab.verdict}{points}")
        texts += [f"  {number(-taken.points)}: {one_line(taken.reason)}" for taken in lab.deductions]
        if lab.headline and lab.result is None:
            texts.append(f"  {one_line(lab.headline)}")
        if lab.not_run_points:
            texts.append(f"  not run here: checks worth {number(lab.not_run_points)} more points")
    texts += [f"taken: {one_line(line)}" for line in record.taken_as]
    if together := others(record):
        texts.append(f"handed in together with {one_line(', '.join(together))}")
    known = {lab.headline for lab in record.labs}
    rest = [
        problem
        for problem in record.problems
        if problem.reason not in known and f"{problem.name}: {problem.reason}" not in known
    ]
    texts += [f"not taken: {one_line(problem.name)}: {one_line(problem.reason)}" for problem in rest]
    return [options.sight.without_seed(line) for line in texts]


def is_unreadable(lab: LabGrade) -> bool:
    """Return whether there was nothing to grade: no file, or one that cannot be read as a text."""
    if lab.result is None:
        return True
    return bool(lab.checks) and all(check.cause and check.cause.id in UNREAD for check in lab.checks)
