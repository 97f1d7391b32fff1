"""Name the lines that the device does not know: of refused launches, and of a fence that a count misses."""

import re
from collections.abc import Callable
from typing import Any

from scanlab.judging.cures import without_comments
from scanlab.judging.result import CheckResult, Finding, LabResult

SHOWN_LAUNCHES = 3


def with_places(result: LabResult, text: str, name: str) -> LabResult:
    """Return a result whose reports name these lines of the learner's file: `text`, which is shown as `name`."""
    code = without_comments(text)

    def placed(finding: Finding) -> Any:
        lines = launches_of(finding.kernel, code) if finding.id == "launch.failed" else []
        if not lines:
            return finding
        places = ", ".join(f"{name}:{line}" for line in lines[:SHOWN_LAUNCHES])
        return finding.model_copy(update={"facts": (f"launched in {places}", *finding.facts)})

    findings = tuple(map(placed, result.findings))
    fence = next((one for one in findings if one.id == "fence.missing" and one.weight == "advice"), None)
    checks = tuple(_with(check, placed, fence) for check in result.checks)
    return result.model_copy(update={"checks": checks, "findings": findings})


def launches_of(kernel: str, code: str) -> list[int]:
    """Return the lines of a program that launch a kernel with <<<>>>."""
    launch = re.compile(rf"\b{re.escape(kernel)}\s*(?:<(?!<)[^;(){{}}]*?>\s*)?<<<")
    return [code.count("\n", 0, found.start()) + 1 for found in launch.finditer(code)] if kernel else []


def _with(check: CheckResult, placed: Callable[[Finding], Any], fence: Finding | None) -> CheckResult:
    """Return a check with the lines of its findings, and of the fence that its count misses."""
    update: dict[str, Any] = {"findings": tuple(map(placed, check.findings))}
    if fence and check.cause and check.cause.id == "cost.fences":
        details = (*check.cause.details, *fence.facts, fence.advice)
        update["cause"] = check.cause.model_copy(update={"details": details})
    return check.model_copy(update=update)
