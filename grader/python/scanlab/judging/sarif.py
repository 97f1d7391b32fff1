"""Results as SARIF 2.1.0, which editors and code hosts show at the lines that it names.

The format is OASIS's "Static Analysis Results Interchange Format"; `--sarif FILE` of `check`, `grade` and `run`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scanlab import __version__
from scanlab.judging import placed
from scanlab.judging.finding_names import help_of, name_of, names
from scanlab.judging.placed import Level, Place, Placed
from scanlab.judging.result import Finding, LabResult
from scanlab.paths import ROOT

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def of_results(results: Iterable[LabResult], files: Mapping[str, Path]) -> dict[str, Any]:
    """Return a log of labs' results; `files` has the file that was graded for each lab."""
    return _log(placed.of_results(results, files))


def of_findings(findings: Sequence[Finding], file: Path) -> dict[str, Any]:
    """Return a log of what was found in a program of its own, whose source is `file`."""
    return _log([placed.of_finding(finding).at_least_in(file) for finding in findings])


def of_error(sentence: str, line: int, file: Path, text: str) -> dict[str, Any]:
    """Return a log of a program that does not compile: the cause, its line or 0, and what the compiler says."""
    return _log([Placed("compile", "error", [sentence or "it does not compile", text], [Place(str(file), line)])])


# ---- the log ------------------------------------------------------------------------------------------------------


def _log(reports: Sequence[Placed]) -> dict[str, Any]:
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


def _result(report: Placed, index: int) -> dict[str, Any]:
    own, *others = report.places
    result: dict[str, Any] = {
        "ruleId": report.rule,
        "ruleIndex": index,
        "level": report.level,
        "message": {"text": "\n".join(dict.fromkeys(report.lines))},
        "locations": [_location(own)],
    }
    if others:
        result["relatedLocations"] = [
            {"id": number, **_location(other)} for number, other in enumerate(dict.fromkeys(others), 1)
        ]
    properties = {"lab": report.lab, "checks": report.checks, "again": report.again}
    if any(properties.values()):
        result["properties"] = {name: value for name, value in properties.items() if value}
    return result


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri_of(place.file)}}
    if place.line > 0:
        physical["region"] = {"startLine": place.line}
    return {"physicalLocation": physical} | ({"message": {"text": place.who}} if place.who else {})


def uri_of(file: str) -> str:
    """Return a file's name, as results have it, as a URI: relative to the repository that it is in, if it is in one."""
    path = placed.path_of(file)
    for base in (ROOT, *path.parents):
        if path.is_relative_to(base) and (base == ROOT or (base / ".git").exists()):
            return quote(path.relative_to(base).as_posix())
    return path.as_uri()
