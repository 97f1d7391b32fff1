"""Results as SARIF 2.1.0, which editors and code hosts show at the lines that it names.

The format is OASIS's "Static Analysis Results Interchange Format"; `--sarif FILE` of `check`, `grade` and `run`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from scanlab import __version__
from scanlab.judging.finding_names import help_of, name_of, names
from scanlab.judging.report import points
from scanlab.judging.result import Cause, CheckResult, Finding, LabResult, Part, index_text
from scanlab.paths import ROOT

Level = Literal["error", "warning", "note"]
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
WARNING = "compile.warning"
"""The rule of what nvcc warns of."""
CHECK = "check."
"""Begins the rule of a check that has failed without a finding."""
WARNED = re.compile(r"(?P<file>.+?):(?P<line>[0-9]{1,7}): (?P<text>.*)", re.DOTALL)


@dataclass
class _Report:
    """One result of a log."""

    rule: str
    level: Level
    lines: list[str]
    """The message: what is wrong, the facts, one next step."""
    places: list[tuple[str, int, str]]
    """File, line and who does what there; the first is the result's own."""
    checks: list[str] = field(default_factory=list)
    again: str = ""
    title: str = ""
    """Of the rule, where the table of findings has none."""
    lab: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        return (self.lab, self.rule, self.lines[0], tuple(place[:2] for place in self.places))


def of_results(results: Iterable[LabResult], files: Mapping[str, Path]) -> dict[str, Any]:
    """Return a log of labs' results; `files` has the file that was graded for each lab."""
    reports: dict[tuple[object, ...], _Report] = {}
    for result in results:
        for report in _reports(result):
            report.lab = result.lab
            report.places = report.places or [(str(files[result.lab]), 0, "")]
            known = reports.setdefault(report.key, report)
            known.checks += [name for name in report.checks if name not in known.checks]
    return _log(list(reports.values()))


def of_findings(findings: Sequence[Finding], file: Path) -> dict[str, Any]:
    """Return a log of what was found in a program of its own, whose source is `file`."""
    reports = [_of_finding(finding, None) for finding in findings]
    for report in reports:
        report.places = report.places or [(str(file), 0, "")]
    return _log(reports)


def of_error(sentence: str, line: int, file: Path, text: str) -> dict[str, Any]:
    """Return a log of a program that does not compile: the cause, its line or 0, and what the compiler says."""
    return _log([_Report("compile", "error", [sentence or "it does not compile", text], [(str(file), line, "")])])


def _reports(result: LabResult) -> Iterable[_Report]:
    reported = set()
    for check in result.failed_checks:
        finding = next((one for one in check.findings if check.cause and one.id == check.cause.id), None)
        if finding:
            reported.add((finding.id, finding.headline))
        yield _of_check(check, finding)
    for seen in result.findings:
        if (seen.id, seen.headline) not in reported:
            report = _of_finding(seen, None)
            report.checks = list(seen.checks)
            yield report
    for warning in result.warnings:
        said = WARNED.fullmatch(warning)
        place = [(said["file"], int(said["line"]), "")] if said else []
        yield _Report(WARNING, "warning", [said["text"] if said else warning], place, title="nvcc warns")


def _of_check(check: CheckResult, finding: Finding | None) -> _Report:
    cause = check.cause
    if cause is None:
        raise ValueError(f"{check.name} has no cause")
    if finding:
        report = _of_finding(finding, cause)
    else:
        lines = [check.title, *_facts(cause)]
        place = [(cause.where.file, cause.where.line, "")] if cause.where and cause.where.file else []
        report = _Report(cause.id or CHECK + check.name, "error", lines, place, title=check.title)
    report.checks, report.again = [check.name], cause.next
    lost = f"{points(check.max_points - check.points)} of {points(check.max_points)} points are lost with it"
    report.lines.append(f"check {check.name}: {check.title}; {lost}")
    return report


def _facts(cause: Cause) -> list[str]:
    got = ", ".join(filter(None, [cause.actual, f"expected {cause.expected}" if cause.expected else ""]))
    return [line for line in (got, cause.rationale, *cause.details) if line]


def _of_finding(finding: Finding, cause: Cause | None) -> _Report:
    places = [(part.file, part.line, _who(part)) for part in finding.parts if part.file]
    if not places and cause and cause.where and cause.where.file:
        places = [(cause.where.file, cause.where.line, "")]
    more = [line for line in _facts(cause) if line not in finding.facts] if cause else []
    lines = [finding.headline, *finding.facts, finding.advice, *more]
    if cause and finding.id == "compile" and cause.rationale:  # the cause first, then the compiler's own text
        lines = [cause.rationale, finding.headline, *finding.facts]
    level: Level = "error" if finding.weight == "mistake" else "note"
    return _Report(finding.id, level, list(filter(None, lines)), places)


def _who(part: Part) -> str:
    if part.who:
        return f"{part.does} by {part.who}"
    named = (("thread", part.thread), ("block", part.block))
    by = ", ".join(f"{name} {index_text(index)}" for name, index in named if index is not None)
    return f"{part.does} by {by}" if by else part.does


# ---- the log ------------------------------------------------------------------------------------------------------


def _log(reports: Sequence[_Report]) -> dict[str, Any]:
    rules = list(dict.fromkeys(report.rule for report in reports))
    titles = {report.rule: report.title for report in reports}
    levels = {report.rule: report.level for report in reports}
    driver = {
        "name": "scanlab",
        "version": __version__,
        "rules": [_rule(rule, titles[rule], levels[rule]) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(report, rules.index(report.rule)) for report in reports],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: str, title: str, level: Level) -> dict[str, Any]:
    words = name_of(rule) if rule in names() or not title else title
    explained = help_of(rule) if rule in names() else f"{words}."
    return {
        "id": rule,
        "shortDescription": {"text": words},
        "help": {"text": explained, "markdown": explained},
        "defaultConfiguration": {"level": level},
    }


def _result(report: _Report, index: int) -> dict[str, Any]:
    own, *others = report.places
    result: dict[str, Any] = {
        "ruleId": report.rule,
        "ruleIndex": index,
        "level": report.level,
        "message": {"text": "\n".join(dict.fromkeys(report.lines))},
        "locations": [_location(*own)],
    }
    if others:
        result["relatedLocations"] = [
            {"id": number, **_location(*other)} for number, other in enumerate(dict.fromkeys(others), 1)
        ]
    properties = {"lab": report.lab, "checks": report.checks, "again": report.again}
    if any(properties.values()):
        result["properties"] = {name: value for name, value in properties.items() if value}
    return result


def _location(file: str, line: int, who: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri_of(file)}}
    if line > 0:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical} | ({"message": {"text": who}} if who else {})


def uri_of(file: str) -> str:
    """Return a file's name, as results have it, as a URI: relative to the repository that it is in, if it is in one."""
    path = Path(file)
    if not path.is_absolute():
        path = path.absolute() if path.exists() or not (ROOT / path).exists() else ROOT / path
    for base in (ROOT, *path.parents):
        if path.is_relative_to(base) and (base == ROOT or (base / ".git").exists()):
            return quote(path.relative_to(base).as_posix())
    return path.as_uri()
