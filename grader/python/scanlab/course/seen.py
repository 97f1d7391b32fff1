"""What a student may see of a result: without the checks that are hidden, and without what only those have found."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from scanlab.course.model import Who
from scanlab.course.view import View, is_shown

Result = Mapping[str, Any]


def seen_by_student(view: View, lab: str, result: Result, student: Who, now: datetime) -> dict[str, Any]:
    """Return a judge's result as the student may see it at the moment `now`, which has an offset.

    The points stay what they are: they are the student's. A check that was skipped because of one that is not shown
    does not name it.
    """
    shown = {check["name"] for check in result["checks"] if is_shown(view, lab, check["name"], student, now)}
    titles = [check["title"] for check in result["checks"] if check["name"] not in shown]
    checks = [_without_titles(check, titles) for check in result["checks"] if check["name"] in shown]
    found = result.get("findings", [])
    kept = [
        {**one, "checks": [name for name in one["checks"] if name in shown]} for one in found if _is_seen(one, shown)
    ]
    seen = {**result, "checks": checks}
    if "findings" in result:
        seen["findings"] = kept
        # Of the findings that the judge counts and leaves out, nobody knows whose they are.
        seen["findings_total"] = len(kept) if titles else result.get("findings_total", len(kept))
    return seen


def _is_seen(finding: Result, shown: set[str]) -> bool:
    return any(name in shown for name in finding.get("checks", ()))


def _without_titles(check: Result, titles: list[str]) -> dict[str, Any]:
    cause = check.get("cause")
    if check["verdict"] != "skipped" or not cause or not any(title in cause["headline"] for title in titles):
        return dict(check)
    return {**check, "cause": {**cause, "headline": "not run: it needs a check that did not pass", "details": []}}
