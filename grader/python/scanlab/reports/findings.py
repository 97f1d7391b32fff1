"""What was found in a file, in the form that the pages need: merged, numbered, with the lines of the file it names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from scanlab.judging.finding_names import name_of
from scanlab.judging.report import output_table
from scanlab.judging.result import Cause, Finding, LabResult, Part, Weight, index_text
from scanlab.reports.text import count, paragraph
from scanlab.reports.text import field as one_line

Role = Literal["read", "write", "other"]
"""Who takes part: what is read, what is written, and all else (a barrier, a call, an error)."""

WRITES = frozenset({"write", "store", "atomic", "written", "free", "freed"})
READS = frozenset({"read", "load"})
COMPILER = re.compile(r"(?P<file>[^\s:()]+\.cuh?)(?:\((?P<a>\d+)\)|:(?P<b>\d+)(?::\d+)?): (?P<what>.*)")
"""A line of nvcc's or of the host compiler's: scan.cu(14): error: …, scan.cu:14:3: error: …"""
ADVICE = 2000
"""Characters of advice that are shown: a rubric explains its counts at length."""


@dataclass(frozen=True)
class Mark:
    """One line of the student's own file, and what a thread does there."""

    line: int
    role: Role
    label: str
    """`write by thread 5`"""


@dataclass
class MergedFinding:
    """A mistake or a piece of advice, with others like it merged."""

    id: str
    weight: Weight
    headline: str
    facts: list[str]
    advice: str
    marks: tuple[Mark, ...]
    checks: list[str]
    """The names of the checks that found it."""
    seen: int
    """How often, over all checks."""
    cure: str = ""
    """What was tried, and takes it away."""
    outputs: list[str] = field(default_factory=list)
    """Input, output and what was expected side by side, a line each; none where no output is wrong."""
    again: str = ""
    """The command that shows it again."""
    tried: str = ""
    """With what it was seen: inclusive scan of floats, n = 1, schedule in_order."""
    number: int = 0
    """On the page, from 1; 0: it has none."""
    others: int = 0
    """How many that differ little were merged into it."""
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = name_of(self.id)


def merged_findings(result: LabResult, source: str) -> tuple[list[MergedFinding], list[MergedFinding]]:
    """Return the mistakes and the advice of a judge's result, the most basic first.

    `source` is what the result calls the student's file.
    """
    merged: dict[object, MergedFinding] = {}
    causes: dict[str, Cause] = {check.name: check.failure for check in result.checks if check.failure}
    for raw in result.findings:
        cause = next((causes[name] for name in raw.checks if name in causes and causes[name].id == raw.id), None)
        marks = marks_of(raw, source) or _of_cause(cause, source)
        steps = tuple(sorted({(mark.role, mark.line) for mark in marks}))
        key = (raw.id, raw.weight, raw.kind, raw.kernel, steps, "" if steps else raw.headline)
        if key in merged:
            one = merged[key]
            one.others += 1
            one.seen += raw.count
            one.checks += [name for name in raw.checks if name not in one.checks]
            continue
        merged[key] = MergedFinding(
            id=raw.id,
            weight=raw.weight,
            headline=one_line(raw.headline),
            facts=paragraph(raw.facts),
            advice=one_line(raw.advice, ADVICE),
            marks=marks,
            checks=list(raw.checks),
            seen=raw.count,
            cure=one_line(raw.cure, ADVICE),
            outputs=output_table(cause) if cause else [],
            again=cause.next if cause else "",
            tried=one_line(cause.headline) if cause and cause.headline != raw.headline else "",
        )
    all_of = list(merged.values())
    return [one for one in all_of if one.weight == "mistake"], [one for one in all_of if one.weight != "mistake"]


def marks_of(raw: Finding, source: str) -> tuple[Mark, ...]:
    """Return the lines of the student's own file, called `source`, that a finding of the judge names."""
    found = [
        Mark(part.line, role_of(part.does), f"{part.does}{_who(part)}".strip())
        for part in raw.parts
        if part.file == source and part.line > 0
    ]
    if raw.id == "compile":
        found += _compilers(raw.facts, source)
    return tuple(dict.fromkeys(found))


def _of_cause(cause: Cause | None, source: str) -> tuple[Mark, ...]:
    where = cause.where if cause else None
    return (Mark(where.line, "other", "first wrong here"),) if where and where.file == source and where.line > 0 else ()


def role_of(does: str) -> Role:
    """Return whether what is done reads, writes, or neither."""
    first = does.split()[0].lower() if does.split() else ""
    return "write" if first in WRITES else "read" if first in READS else "other"


def _who(part: Part) -> str:
    if part.who:
        return f" by {part.who}"
    named = (("thread", part.thread), ("block", part.block))
    places = [f"{name} {index_text(index)}" for name, index in named if index is not None]
    return f" by {', '.join(places)}" if places else ""


def _compilers(facts: Iterable[str], source: str) -> list[Mark]:
    found = []
    for fact in facts:
        at = COMPILER.match(fact.strip())
        if at and at["file"] == source:
            found.append(Mark(int(at["a"] or at["b"]), "other", one_line(at["what"], 200)))
    return found


def seen_text(one: MergedFinding) -> str:
    """Return `seen 364 times`, or nothing when once."""
    return f"seen {count(one.seen, 'time')}" if one.seen > 1 else ""
