"""What was found in a file, in the form that the pages need: merged, numbered, with the lines of the file it names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

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

NAMES: Mapping[str, str] = {
    "bounds.shared": "outside a shared array",
    "bounds.global": "outside an array in global memory",
    "bounds.local": "outside a local array",
    "bounds.param": "outside the kernel's arguments",
    "misaligned": "an address that is not aligned",
    "use_after_free": "memory used after it was freed",
    "uninitialised.pointer": "a pointer that was never set",
    "uninitialised.shared": "shared memory read before it is written",
    "uninitialised.global": "global memory read before it is written",
    "host_pointer": "host and device pointers mixed up",
    "launch.failed": "a launch that the device refuses",
    "barrier.divergent": "not all threads reach the same barrier",
    "warp.divergent": "not all lanes reach the same call",
    "warp.mask": "a lane that the mask does not name",
    "race.shared": "race on shared memory",
    "race.global": "race on global memory",
    "fence.missing": "a missing fence",
    "deadlock.blocks": "blocks wait for one that never starts",
    "deadlock.threads": "threads wait for ever",
    "endless": "it does not end",
    "trap": "a trap",
    "assertion": "an assertion failed",
    "crash.host": "the program crashes",
    "crash.exit": "the program ends itself",
    "output.flood": "it prints without end",
    "cuda.error": "a CUDA call fails",
    "entry.missing": "the function to call is not there",
    "input.changed": "the input is changed",
    "runner.changed": "the runner is changed",
    "compile": "it does not compile",
    "header.forbidden": "a header that the lab forbids",
    "file": "the file cannot be used",
    "wrong.inclusive_exclusive": "inclusive and exclusive mixed up",
    "wrong.block_sums": "the sums of the sections before are missing",
    "wrong.warp_sums": "the sums of the warps before are missing",
    "wrong.sections": "sections are not scanned on their own",
    "wrong.last_section": "wrong in the last section",
    "wrong.last_element": "wrong in the last element",
    "wrong.first_element": "wrong in the first element",
    "wrong.first_missing": "the first element is missing",
    "wrong.identity": "the identity is wrong",
    "wrong.operand_order": "the operands are the wrong way round",
    "wrong.steps_missing": "steps are missing",
    "wrong.nothing_added": "nothing is added",
    "wrong.direction": "scanned from the wrong end",
    "wrong.unwritten": "results never written",
    "wrong.uninitialised": "results from unwritten memory",
    "wrong.stale_scratch": "scratch memory of an earlier call is used",
    "wrong.order": "the result depends on the schedule",
    "wrong.size": "right for some sizes only",
    "wrong.places": "elements in wrong places",
    "wrong.keep": "wrong elements are kept",
    "wrong.not_stable": "the order of elements changes",
    "wrong.others": "the other elements are wrong",
    "wrong.count": "the number of elements is wrong",
    "wrong.other": "a wrong output",
    "cost.additions": "too many or too few additions",
    "cost.barriers": "too many or too few barriers",
    "cost.barrier": "a costly barrier",
    "cost.bank_conflict_replays": "bank conflicts",
    "cost.bank_conflicts": "bank conflicts",
    "cost.global_sectors": "too many sectors of global memory",
    "cost.global_bytes": "too many bytes moved",
    "cost.uncoalesced": "scattered accesses to global memory",
    "cost.divergence": "idle lanes",
    "cost.warp_efficiency": "idle lanes",
    "cost.launches": "too many launches",
    "cost.host_copies": "data copied to the host",
    "cost.time": "too slow",
    "unsupported": "something that the kit cannot do",
    "kit": "the kit's own fault",
    "leak": "memory that is never freed",
}


def name_of(finding_id: str) -> str:
    """Return an id in words; one that is not known here as it is."""
    return NAMES.get(finding_id, finding_id.replace("_", " ").replace(".", ": "))


@dataclass(frozen=True)
class Mark:
    """One line of the student's own file, and what somebody does there."""

    line: int
    role: Role
    label: str
    """`write by thread 5`"""


@dataclass
class Told:
    """A mistake or a piece of advice, with others like it merged."""

    id: str
    weight: str
    headline: str
    facts: list[str]
    advice: str
    marks: tuple[Mark, ...]
    checks: list[str]
    """The names of the checks that came upon it."""
    seen: int
    """How often, over all checks."""
    again: str = ""
    """The command that shows it again."""
    tried: str = ""
    """With what it was seen: inclusive scan of floats, n = 1, schedule in_order."""
    number: int = 0
    """On the page, from 1; 0: it has none."""
    others: int = 0
    """So many that differ in little were merged into it."""
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = name_of(self.id)


def told(result: Mapping[str, Any], source: str) -> tuple[list[Told], list[Told]]:
    """Return the mistakes and the advice of a judge's result, the most basic first.

    `source` is what the result calls the student's file.
    """
    merged: dict[tuple[Any, ...], Told] = {}
    causes = _causes(result)
    for raw in result.get("findings", []):
        checks = list(raw.get("checks", []))
        marks = marks_of(raw, source)
        steps = tuple(sorted({(mark.role, mark.line) for mark in marks}))
        key = (raw["id"], raw["weight"], raw["kind"], raw["kernel"], steps, "" if steps else raw["headline"])
        if key in merged:
            one = merged[key]
            one.others += 1
            one.seen += raw["count"]
            one.checks += [name for name in checks if name not in one.checks]
            continue
        cause = next((causes[name] for name in checks if name in causes and causes[name]["id"] == raw["id"]), None)
        merged[key] = Told(
            id=raw["id"],
            weight=raw["weight"],
            headline=one_line(raw["headline"]),
            facts=paragraph([str(fact) for fact in raw["facts"]]),
            advice=one_line(raw["advice"], ADVICE),
            marks=marks,
            checks=checks,
            seen=raw["count"],
            again=cause["next"] if cause else "",
            tried=one_line(cause["headline"]) if cause and cause["headline"] != raw["headline"] else "",
        )
    all_of = list(merged.values())
    return [one for one in all_of if one.weight == "mistake"], [one for one in all_of if one.weight != "mistake"]


def _causes(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {
        check["name"]: check["cause"]
        for check in result["checks"]
        if check.get("cause") and check["verdict"] not in ("pass", "skipped")
    }


def marks_of(raw: Mapping[str, Any], source: str) -> tuple[Mark, ...]:
    """Return the lines of the student's own file, called `source`, that a finding of the judge names."""
    found = [
        Mark(part["line"], role_of(part["does"]), f"{part['does']}{_who(part)}".strip())
        for part in raw["parts"]
        if part["file"] == source and part["line"] > 0
    ]
    if raw["id"] == "compile":
        found += _compilers(raw["facts"], source)
    return tuple(dict.fromkeys(found))


def role_of(does: str) -> Role:
    """Return whether what is done reads, writes, or neither."""
    first = does.split()[0].lower() if does.split() else ""
    return "write" if first in WRITES else "read" if first in READS else "other"


def _who(part: Mapping[str, Any]) -> str:
    if part.get("who"):
        return f" by {part['who']}"
    places = [f"{name} {_index(part[name])}" for name in ("thread", "block") if part.get(name) is not None]
    return f" by {', '.join(places)}" if places else ""


def _index(index: Sequence[int]) -> str:
    return str(index[0]) if not any(index[1:]) else f"({', '.join(map(str, index))})"


def _compilers(facts: Iterable[str], source: str) -> list[Mark]:
    found = []
    for fact in facts:
        at = COMPILER.match(fact.strip())
        if at and at["file"] == source:
            found.append(Mark(int(at["a"] or at["b"]), "other", one_line(at["what"], 200)))
    return found


def seen_text(one: Told) -> str:
    """Return `seen 364 times`, or nothing when once."""
    return f"seen {count(one.seen, 'time')}" if one.seen > 1 else ""
