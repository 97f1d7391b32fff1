"""What the page shows, as plain data: made of the loop's view, for a server that knows nothing of it.

Texts of a learner's file or program are data here: the page makes text of them, never HTML.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from scanlab.foreign_text import LONGEST_TEXT, cut
from scanlab.judging import report
from scanlab.judging.result import Cause, CheckResult, Finding, LabResult, OutputRow
from scanlab.labs.folders import Lab
from scanlab.labs.rubric import CountCheck
from scanlab.learn import screen
from scanlab.learn.screen import View
from scanlab.paths import shown
from scanlab.reports.findings import marks_of
from scanlab.trace.html import harmless

Data = dict[str, Any]
MOST_FAILURES = 20
LONGEST_SOURCE = 4 * LONGEST_TEXT
KINDS = {"fail": "count", "timeout": "too slow", "inconclusive": "undecided", "error": "error"}
"""How a check has ended that is about no result."""


@dataclass(frozen=True)
class Aside:
    """What is made beside the check: the stepper's data, by number, and the handout."""

    steps: int = 0
    """0: none that is of this file."""
    is_tracing: bool = False
    why_no_steps: str = ""
    handout: str = ""
    """The address of the site's page, below the page's own; empty where there is no site."""
    handout_text: str = ""


def snapshot(view: View, text: bytes | None, aside: Aside) -> Data:
    """Return all that the page shows. `text` is the learner's file as it was read last; None: it is not there."""
    lab, after = view.lab, view.next_lab
    data = {
        "labs": [_rung(view, one) for one in view.ladder],
        "lab": {
            "name": lab.name,
            "number": lab.number,
            "title": lab.rubric.title,
            "summary": lab.rubric.summary,
            "path": shown(view.path),
            "tries": view.progress.of(lab).text(),
        },
        "state": _state(view, text),
        "seconds": round(view.seconds, 1),
        "trouble": view.trouble,
        "source": None
        if text is None
        else cut(text.decode("utf-8-sig", "replace").replace("\r\n", "\n"), LONGEST_SOURCE),
        "result": _result(lab, view.path, view.result) if view.result else None,
        "hints": {
            "texts": [hint.text.strip() for hint in lab.rubric.hint[: view.hints]],
            "total": len(lab.rubric.hint),
        },
        "steps": {"number": aside.steps, "is_made": aside.is_tracing, "why": aside.why_no_steps},
        "handout": {"name": lab.handout, "page": aside.handout, "text": aside.handout_text},
        "next": {"number": after.number, "title": after.rubric.title, "summary": after.rubric.summary}
        if after
        else None,
        "difference": _difference(view),
    }
    found: Data = harmless(data, [])
    return found


def _rung(view: View, lab: Lab) -> Data:
    after = view.next_lab
    return {
        "number": lab.number,
        "title": lab.rubric.title,
        "tries": view.progress.of(lab).text(),
        "is_passed": view.progress.of(lab).passed is not None,
        "is_here": lab.name == view.lab.name,
        "is_next": after is not None and lab.name == after.name,
    }


def _state(view: View, text: bytes | None) -> str:
    if not view.is_whole:
        return "checking" if view.result is None else "closer"
    if text is None:
        return "gone"
    return "checked" if view.result else "trouble" if view.trouble else "begin"


def _result(lab: Lab, path: Path, result: LabResult) -> Data:
    failed = result.failed_checks
    failures = [_failure(check, path) for check in report.different_failures(failed)]
    failures += [_finding(finding, path) for finding in report.other_mistakes(result, failed)]
    run = [check for check in result.checks if not check.is_not_run]
    return {
        "verdict": result.verdict,
        "points": report.points(result.points),
        "max_points": report.points(result.max_points),
        "passed": sum(check.verdict == "pass" for check in run),
        "run": len(run),
        "device": result.device,
        "failures": failures[:MOST_FAILURES],
        "more": max(0, len(failures) - MOST_FAILURES),
        "advice": [_finding(one, path) for one in result.findings if one.weight == "advice"][: report.SHOWN_ADVICE],
        "proved": _proved(result.checks),
        "warnings": list(result.warnings),
        "printed": next((list(check.printed) for check in result.checks if check.printed), []),
        "checks": [_check(lab, check) for check in result.checks],
    }


def _proved(checks: Iterable[CheckResult]) -> list[Data]:
    found: dict[str, list[str]] = {}
    for check in checks:
        for sentence in check.proof:
            found.setdefault(sentence, []).append(check.title)
    return [{"sentence": sentence, "checks": titles} for sentence, titles in found.items()]


def _failure(check: CheckResult, path: Path) -> Data:
    """Return why a check did not pass: what was seen, what it means, and what to do."""
    cause = check.cause
    if cause is None:
        raise ValueError(f"{check.name} has no cause")
    tried = cause.headline or check.title
    seen = check.findings[0] if check.findings else None
    data = {"cure": seen.cure if seen else "", "marks": _marks(check.findings, cause, path), "words": []}
    if seen and report.is_of_device(seen):
        facts = [*seen.facts, *(fact for fact in cause.details if fact not in seen.facts)]
        data = _finding(seen, path) | {"facts": facts, "tried": tried}
    elif cause.id == "compile":
        excerpt = list(takewhile(lambda line: " | " in line, cause.details))
        headline = cause.rationale or next((mark["label"] for mark in data["marks"]), "nvcc refuses the file")
        words = cause.details[len(excerpt) :]
        data |= {
            "kind": "compile error",
            "headline": headline,
            "says": "",
            "facts": excerpt,
            "words": words,
            "tried": "",
        }
    else:
        got = ", ".join(filter(None, [cause.actual, f"expected {cause.expected}" if cause.expected else ""]))
        kind = "wrong result" if cause.outputs or cause.id.startswith("wrong.") else KINDS.get(check.verdict, "")
        data |= {
            "kind": kind,
            "headline": got or cause.rationale or tried,
            "says": cause.rationale if got else "",
            "facts": list(cause.details),
            "tried": tried if got or cause.rationale else "",
        }
    return data | {"check": check.title, "again": cause.next, "outputs": _outputs(cause.outputs)}


def _finding(finding: Finding, path: Path) -> Data:
    named = report.HEADLINE.fullmatch(finding.headline)
    kind = f" ({named['kind']})" if named and named["kind"] else ""
    return {
        "kind": named["word"].lower() if named else finding.weight,
        "headline": f"{named['rest']}{kind}" if named else finding.headline,
        "says": finding.advice,
        "facts": list(finding.facts),
        "words": [],
        "cure": finding.cure,
        "marks": _marks([finding], None, path),
        "tried": "",
        "check": "",
        "again": "",
        "outputs": None,
    }


def _marks(findings: Iterable[Finding], cause: Cause | None, path: Path) -> list[Data]:
    """Return the lines of the learner's own file, what happens there, and whether it is read or written."""
    source = shown(path)
    marks = dict.fromkeys(mark for finding in findings for mark in marks_of(finding, source))
    found = [{"line": mark.line, "role": mark.role, "label": mark.label} for mark in marks]
    where = cause.where if cause else None
    if not found and cause and where and where.file == source and where.line > 0:
        found.append({"line": where.line, "role": "other", "label": cause.actual or cause.rationale})
    return found


def _outputs(rows: Sequence[OutputRow]) -> Data | None:
    """Return inputs and outputs side by side; columns that would be empty are left out."""
    columns = {"i": "i", "x": "x", "y": "y", "expected": "expected", "sum": "y sums up", "expected_sum": "expected sum"}
    kept = [name for name in columns if any(str(getattr(row, name)) for row in rows)]
    if not rows:
        return None
    return {
        "head": [columns[name] for name in kept],
        "rows": [{"cells": [str(getattr(row, name)) for name in kept], "is_wrong": row.is_wrong} for row in rows],
    }


def _check(lab: Lab, check: CheckResult) -> Data:
    rubric = next((one for one in lab.rubric.check if one.name == check.name), None)
    counter = rubric.counter if isinstance(rubric, CountCheck) else None
    limits = check.limits
    return {
        "title": check.title,
        "verdict": "not run" if check.is_not_run else check.verdict,
        "points": "" if check.is_not_run or not check.max_points
        else f"{report.points(check.points)}/{report.points(check.max_points)}",
        "remark": report.obstacle(check) if check.is_not_run else f"ratio {check.ratio:.2f}" if check.ratio else "",
        "counter": counter.replace("_", " ") if counter else "",
        "count": (check.counts or {}).get(counter) if counter else None,
        "n": limits.n if limits else None,
        "at_least": limits.at_least if limits else None,
        "at_most": limits.at_most if limits else None,
    }  # fmt: skip


def _difference(view: View) -> list[list[str]] | None:
    if not view.has_passed or not view.lab.solution.exists():
        return None
    try:
        return [[text, style] for text, style in screen.difference(view.lab, view.path)]
    except OSError:
        return None
