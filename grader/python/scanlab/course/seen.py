"""What a student may see of a class's results: which checks, of a result what those say, and no secret seed.

Pages and gradebooks ask here, so that what one of them hides the other does not show.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scanlab.classroom.records import Class
from scanlab.course.model import NO_COURSE, Course
from scanlab.course.tables import Visibility

Result = Mapping[str, Any]


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

    def without_seed(self, value: Any) -> Any:
        """Return a JSON value, such as a result or a text of it, without the secret seed."""
        return value if self.secret_seed is None else _hide(value, self.secret_seed)

    def discreet(self, lab: str, result: Result) -> dict[str, Any]:
        """Return a judge's result with all its checks, none of which names one that is not shown, or a secret seed."""
        titles = [check["title"] for check in result["checks"] if not self.shows(lab, check["name"])]
        checks = [_without_titles(check, titles) for check in result["checks"]]
        return self.without_seed({**result, "checks": checks})

    def result(self, lab: str, result: Result) -> dict[str, Any]:
        """Return a judge's result as a student may see it: without the checks that are not shown, and their findings.

        The points stay what they are: they are the student's.
        """
        told = self.discreet(lab, result)
        shown = {check["name"] for check in told["checks"] if self.shows(lab, check["name"])}
        seen = {**told, "checks": [check for check in told["checks"] if check["name"] in shown]}
        if "findings" in told:
            seen["findings"] = [
                {**one, "checks": names}
                for one in told["findings"]
                if (names := [name for name in one.get("checks", ()) if name in shown])
            ]
            # Of the findings that the judge counts and leaves out, nobody knows whose they are.
            total = told.get("findings_total", len(told["findings"]))
            seen["findings_total"] = total if len(shown) == len(told["checks"]) else len(seen["findings"])
        return seen


def _without_titles(check: Result, titles: list[str]) -> dict[str, Any]:
    """Return a check that does not say which check it waits for, where that is one of those with `titles`."""
    cause = check.get("cause")
    if check["verdict"] != "skipped" or not cause or not any(title in cause["headline"] for title in titles):
        return dict(check)
    return {**check, "cause": {**cause, "headline": "not run: it needs a check that did not pass", "details": []}}


def _hide(value: Any, seed: int) -> Any:
    if isinstance(value, dict):
        return {key: _hide(item, seed) for key, item in value.items() if (key, item) != ("seed", seed)}
    if isinstance(value, list):
        return [_hide(item, seed) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub(rf"\bseed {seed}\b", "a secret seed", re.sub(rf" --seed[ =]{seed}\b", "", value))
