"""Made-up results, as the judge writes them: what is not said of one is as plain as it can be."""

from collections.abc import Sequence
from typing import Any

from scanlab.judging.result import Cause, CheckResult, LabResult, Part, SeenFinding, Times

WORST_FIRST = ("error", "fail", "timeout", "inconclusive")


def cause(headline: str = "it failed", **known: Any) -> Cause:
    """Return why a check did not pass."""
    plain = {"rationale": "", "expected": "", "actual": "", "where": None, "details": (), "next": ""}
    return Cause(headline=headline, **(plain | known))


def part(does: str, line: int, thread: int | None = None, file: str = "scan.cu") -> Part:
    """Return who takes part in a finding: one thread."""
    return Part(does=does, who="", file=file, line=line, block=None, thread=None if thread is None else (thread, 0, 0))


def finding(its_id: str, parts: Sequence[Part] = (), **known: Any) -> SeenFinding:
    """Return a mistake that the check `inclusive` found."""
    plain = {
        "weight": "mistake",
        "headline": f"HEADLINE of {its_id}",
        "kernel": "kernel",
        "variable": "s",
        "element": None,
        "kind": "",
        "block": None,
        "facts": (),
        "details": (),
        "advice": "",
        "count": 1,
        "text": "",
        "checks": ("inclusive",),
    }
    return SeenFinding(id=its_id, parts=tuple(parts), **(plain | known))


def check(name: str = "inclusive", verdict: str = "pass", max_points: float = 10, **known: Any) -> CheckResult:
    """Return what became of one check."""
    plain = {
        "title": f"title of {name}",
        "points": max_points if verdict == "pass" else 0,
        "cause": None if verdict == "pass" else cause(),
        "counts": None,
        "findings_total": len(known.get("findings", ())),
    }
    return CheckResult(name=name, verdict=verdict, max_points=max_points, **(plain | known))


def times(ratio: float | None = None, low: float | None = None, high: float | None = None) -> Times:
    """Return what a timing check has measured."""
    known = {"reference_alone_seconds": 0.001, "copy_seconds": 0.001, "bytes": 8192, "rounds": 11, "repeated_rounds": 0}
    return Times(ratio=ratio, ratio_low=low, ratio_high=high, **known)


def result(*checks: CheckResult, **known: Any) -> LabResult:
    """Return a lab's result, whose verdict and points are those of its checks."""
    verdicts = {one.verdict for one in checks}
    plain = {
        "lab": "02_kogge_stone",
        "title": "Kogge-Stone",
        "device": "a stand-in",
        "seed": 7,
        "verdict": next((one for one in WORST_FIRST if one in verdicts), "pass"),
        "points": sum(one.points for one in checks),
        "max_points": sum(one.max_points for one in checks),
        "not_run_points": sum(one.not_run_points for one in checks),
        "findings_total": len(known.get("findings", ())),
    }
    return LabResult(checks=checks, **(plain | known))
