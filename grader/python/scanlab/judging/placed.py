"""What is wrong with submissions, each mistake once, with its places: SARIF logs and editors' lists are made of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Self

from scanlab.judging.compiler.messages import parse
from scanlab.judging.report import points
from scanlab.judging.result import Cause, CheckResult, Finding, LabResult, Part, index_text
from scanlab.paths import ROOT

Level = Literal["error", "warning", "note"]
WARNING = "compile.warning"
"""The rule of what nvcc warns of."""
CHECK = "check."
"""Begins the rule of a check that has failed without a finding."""
WARNED = re.compile(r"(?P<file>.+?):(?P<line>[0-9]{1,7}): (?P<text>.*)", re.DOTALL)
COUNTED = re.compile(r"(?P<file>.+?):(?P<line>[0-9]{1,7})  (?P<what>.*)", re.DOTALL)
"""A fact of a count: a line, and what it has cost."""


class Place(NamedTuple):
    """A line of a file, 0 where it is not known, and who does what there."""

    file: str
    line: int
    who: str = ""


@dataclass
class Placed:
    """One mistake, or one piece of advice."""

    rule: str
    level: Level
    lines: list[str]
    """The message: what is wrong, the facts, one next step."""
    places: list[Place]
    """The first is its own, the others those of who else takes part."""
    checks: list[str] = field(default_factory=list)
    again: str = ""
    title: str = ""
    """Of the rule, where the table of findings has none."""
    lab: str = ""
    why: str = ""
    """The one sentence that says most beside the message's first line."""
    cure: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """Return what two reports of the same mistake have in common."""
        return (self.lab, self.rule, self.lines[0], tuple(place[:2] for place in self.places))

    def at_least_in(self, file: Path) -> Self:
        """Return it, placed in a file where no place of it is known."""
        self.places = self.places or [Place(str(file), 0)]
        return self


def of_results(results: Iterable[LabResult], files: Mapping[str, Path]) -> list[Placed]:
    """Return what is wrong in labs' results; `files` has the file that was graded for each lab."""
    found: dict[tuple[object, ...], Placed] = {}
    for result in results:
        for one in _of_result(result):
            one.lab = result.lab
            known = found.setdefault(one.at_least_in(files[result.lab]).key, one)
            known.checks += [name for name in one.checks if name not in known.checks]
    return list(found.values())


def path_of(file: str) -> Path:
    """Return the path of a file that results name: from the working folder, or else from the repository."""
    path = Path(file)
    if path.is_absolute():
        return path
    return path.absolute() if path.exists() or not (ROOT / path).exists() else ROOT / path


def _of_result(result: LabResult) -> Iterable[Placed]:
    reported = set()
    for check in result.failed_checks:
        finding = next((one for one in check.findings if check.cause and one.id == check.cause.id), None)
        if finding:
            reported.add((finding.id, finding.headline))
        own = _of_check(check, finding)
        yield own
        if own.rule == "compile" and check.cause:
            yield from _other_errors(check.cause, own)
    for seen in result.findings:
        if (seen.id, seen.headline) not in reported:
            one = of_finding(seen)
            one.checks = list(seen.checks)
            yield one
    for warning in result.warnings:
        said = WARNED.fullmatch(warning)
        place = [Place(said["file"], int(said["line"]))] if said else []
        yield Placed(WARNING, "warning", [said["text"] if said else warning], place, title="nvcc warns")


def _other_errors(cause: Cause, own: Placed) -> Iterable[Placed]:
    """Yield what a compiler says of other lines than that of the cause."""
    known = {place[:2] for place in own.places}
    for message in parse("\n".join(cause.details)):
        place = Place(message.place.file, message.place.line)
        if message.severity == "error" and place.line and place[:2] not in known:
            known.add(place[:2])
            yield Placed("compile", "error", [message.text], [place], list(own.checks), own.again)


def _of_check(check: CheckResult, finding: Finding | None) -> Placed:
    cause = check.cause
    if cause is None:
        raise ValueError(f"{check.name} has no cause")
    if finding:
        one = of_finding(finding, cause)
    else:
        lines = [check.title, *_facts(cause)]
        why = "; ".join(filter(None, (_got(cause), cause.rationale.partition("\n")[0])))
        one = Placed(cause.id or CHECK + check.name, "error", lines, _places(cause), title=check.title, why=why)
    one.why = one.why or cause.rationale
    one.checks, one.again = [check.name], cause.next
    lost = f"{points(check.max_points - check.points)} of {points(check.max_points)} points are lost with it"
    one.lines.append(f"check {check.name}: {check.title}; {lost}")
    return one


def _places(cause: Cause) -> list[Place]:
    """Return the place of a cause, or those that it counts."""
    if cause.where and cause.where.file:
        return [Place(cause.where.file, cause.where.line)]
    counted = [COUNTED.fullmatch(fact) for fact in cause.details] if cause.id.startswith("cost.") else []
    return [Place(found["file"], int(found["line"]), found["what"]) for found in counted if found]


def _got(cause: Cause) -> str:
    return ", ".join(filter(None, [cause.actual, f"expected {cause.expected}" if cause.expected else ""]))


def _facts(cause: Cause) -> list[str]:
    return [line for line in (_got(cause), cause.rationale, *cause.details) if line]


def of_finding(finding: Finding, cause: Cause | None = None) -> Placed:
    """Return a finding; of a check that has failed for it with the check's cause."""
    places = [Place(part.file, part.line, _who(part)) for part in finding.parts if part.file]
    if not places and cause:
        places = _places(cause)
    more = [line for line in _facts(cause) if line not in finding.facts] if cause else []
    fix = f"fix: {finding.cure}" if finding.cure else ""
    lines = [finding.headline, *finding.facts, finding.advice, fix, *more]
    if cause and finding.id == "compile" and cause.rationale:  # the cause first, then the compiler's own text
        lines = [cause.rationale, finding.headline, *finding.facts]
    level: Level = "error" if finding.weight == "mistake" else "note"
    lines = list(filter(None, lines))
    return Placed(finding.id, level, lines, places, why=_why(finding, lines[0]), cure=finding.cure)


def _why(finding: Finding, said: str) -> str:
    """Return what its details say beside the message's first line; nothing of a text that names its own line."""
    sentences = (text for text in (*finding.details, finding.advice) if text and text != said)
    return next((text for text in sentences if not COUNTED.fullmatch(text)), "") if finding.parts else ""


def _who(part: Part) -> str:
    if part.who:
        return f"{part.does} by {part.who}"
    named = (("thread", part.thread), ("block", part.block))
    by = ", ".join(f"{name} {index_text(index)}" for name, index in named if index is not None)
    return f"{part.does} by {by}" if by else part.does
