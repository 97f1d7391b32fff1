"""What a student may see of a class's results: which checks, of a result what those say, and no secret seed.

Pages and gradebooks ask here, so that what one of them hides the other does not show.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from scanlab.classroom.records import Class
from scanlab.course.model import NO_COURSE, Course
from scanlab.course.tables import Visibility
from scanlab.judging.result import CheckResult, LabResult


@dataclass(frozen=True)
class Sight:
    """What students may see of one class's results."""

    course: Course = NO_COURSE
    is_due: bool = False
    """Checks that are shown after the due date are shown."""
    secret_seed: int | None = None
    """The class's seed where students may not know it: whoever does can fit a program to the data."""

    @classmethod
    def of(cls, taken_in: Class, is_due: bool = False) -> "Sight":
        """Return what the students of a class may see.

        The seed is secret unless the course, or without one the kit, names it. Results by a course with a secret seed
        name seeds that were made from it for one file alone, which may be shown.

        Raises UsageError when this version cannot read the class's course.
        """
        course = Course.of(taken_in.course)
        is_public = not course.secret_seed and taken_in.seed == course.seed
        return cls(course, is_due, None if is_public else taken_in.seed)

    def of_check(self, lab: str, check: str) -> Visibility:
        """Return who sees a check."""
        return self.course.visibility(lab, check)

    def shows(self, lab: str, check: str) -> bool:
        """Return whether a student may see a check."""
        seen = self.of_check(lab, check)
        return seen == "visible" or (seen == "after_due_date" and self.is_due)

    def without_seed(self, text: str) -> str:
        """Return a text without the secret seed."""
        seed = self.secret_seed
        if seed is None:
            return text
        return re.sub(rf"\bseed {seed}\b", "a secret seed", re.sub(rf" --seed[ =]{seed}\b", "", text))

    def discreet(self, lab: str, result: LabResult) -> LabResult:
        """Return a judge's result with all its checks, none of which names one that is not shown, or a secret seed."""
        titles = [check.title for check in result.checks if not self.shows(lab, check.name)]
        checks = tuple(_without_titles(check, titles) for check in result.checks)
        seed = None if result.seed == self.secret_seed else result.seed
        return result.model_copy(update={"checks": checks, "seed": seed}).with_texts(self.without_seed)

    def result(self, lab: str, result: LabResult) -> LabResult:
        """Return a judge's result as a student may see it: without the checks that are not shown, and their findings.

        The points stay what they are: they are the student's.
        """
        discreet = self.discreet(lab, result)
        checks = tuple(check for check in discreet.checks if self.shows(lab, check.name))
        shown = {check.name for check in checks}
        findings = tuple(
            one.model_copy(update={"checks": names})
            for one in discreet.findings
            if (names := tuple(name for name in one.checks if name in shown))
        )
        # The findings that the judge counts and leaves out may belong to any check.
        total = discreet.findings_total if len(checks) == len(discreet.checks) else len(findings)
        return discreet.model_copy(update={"checks": checks, "findings": findings, "findings_total": total})


def _without_titles(check: CheckResult, titles: Collection[str]) -> CheckResult:
    """Return a check that does not say which check it waits for, where that is one of those with `titles`."""
    cause = check.cause
    if check.verdict != "skipped" or not cause or not any(title in cause.headline for title in titles):
        return check
    unsaid = {"headline": "not run: it needs a check that did not pass", "details": ()}
    return check.model_copy(update={"cause": cause.model_copy(update=unsaid)})
