"""Results as text for people: verdict, place, got and expected, cause, one next step."""

import re
from collections.abc import Iterable
from typing import Any

Result = dict[str, Any]
Line = tuple[str, str]
"""A line of text and its style for a terminal (rich's name of it, or an empty text)."""

STYLES = {
    "pass": "green",
    "fail": "bold red",
    "timeout": "bold red",
    "error": "bold magenta",
    "skipped": "dim",
    "inconclusive": "yellow",
}
SHOWN_CAUSES = 3
"""So many causes are shown in full; the others are counted."""


def points(value: float) -> str:
    """Return points without a useless fraction: 20, 7.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def result_lines(result: Result, *, checks: bool) -> list[Line]:
    """Return a lab's report: its checks if `checks`, what went wrong, and its verdict."""
    lines: list[Line] = []
    if checks:
        lines += _check_lines(result["checks"])
    causes = [check for check in result["checks"] if check.get("cause") and check["verdict"] not in ("pass", "skipped")]
    shown = _different(causes)[:SHOWN_CAUSES]
    for check in shown:
        lines += cause_lines(result["lab"], check)
    if len(causes) > len(shown):
        run = sum(not _is_not_run(check) for check in result["checks"])
        lines.append((f"  and {len(causes) - len(shown)} more of {run} checks; mend this first", ""))
    verdict = result["verdict"]
    total = f"{points(result['points'])} of {points(result['max_points'])} points{_not_run_text(result['checks'])}"
    lines.append(
        (f"{verdict.upper()} {result['lab']}: {result['title']}, {total} ({_device(result)})", STYLES.get(verdict, ""))
    )
    return lines


def _is_not_run(check: Result) -> bool:
    """True when a check could not be run here, and so costs nothing."""
    return check["verdict"] == "skipped" and check["max_points"] == 0


def _obstacle(check: Result) -> str:
    """Return why a check was not run: `no GPU`."""
    return check["cause"]["headline"].removeprefix("not run: ") if check.get("cause") else ""


def _not_run_text(checks: Iterable[Result]) -> str:
    """Return `, 15 more not run: no GPU` for the points that could not be won here; empty when all could."""
    by_obstacle: dict[str, float] = {}
    for check in filter(_is_not_run, checks):
        by_obstacle[_obstacle(check)] = by_obstacle.get(_obstacle(check), 0) + check.get("not_run_points", 0)
    return "".join(f", {points(value)} more not run: {why}" for why, value in by_obstacle.items() if value)


def _different(checks: Iterable[Result]) -> list[Result]:
    """Return the first check of each cause: one mistake usually fails several checks for the same reason."""
    seen: dict[tuple[str, str], Result] = {}
    for check in checks:
        cause = check["cause"]
        seen.setdefault((cause.get("rationale") or cause["headline"], where_text(cause.get("where"))), check)
    return list(seen.values())


def _device(result: Result) -> str:
    return f"{result['device']}, seed {result['seed']}"


def _check_lines(checks: Iterable[Result]) -> list[Line]:
    lines = []
    for check in checks:
        verdict, title = check["verdict"], check["title"]
        got = f"{points(check['points'])}/{points(check['max_points'])}"
        if _is_not_run(check):
            lines.append((f"  {'not run':<12} {'':>7}  {title} ({_obstacle(check)})", STYLES["skipped"]))
            continue
        ratio = (check.get("times") or {}).get("ratio")
        measured = f" (ratio {ratio:.2f})" if ratio is not None else ""
        lines.append(
            (f"  {verdict:<12} {got:>7}  {title}{measured}", STYLES.get(verdict, "") if verdict != "pass" else "")
        )
    return lines


def cause_lines(lab: str, check: Result) -> list[Line]:
    """Return why one check did not pass: a headline, indented facts, and the next step."""
    cause = check["cause"]
    headline = cause["headline"] or check["title"]
    named = re.match(r"([A-Z]{3,}):? +(.*)", headline, flags=re.DOTALL)
    word, rest = named.groups() if named else (check["verdict"].upper(), headline)
    lines = [(f"{word} {lab}: {rest}", STYLES.get(check["verdict"], ""))]
    got = ", ".join(
        filter(None, [cause.get("actual"), f"expected {cause['expected']}" if cause.get("expected") else ""])
    )
    facts = [got, where_text(cause.get("where")), *(cause.get("details") or []), cause.get("rationale") or ""]
    lines += [(f"  {line}", "") for fact in filter(None, facts) for line in fact.splitlines()]
    step = cause.get("next") or ""
    if step:
        label = "again" if step.startswith("grader/scanlab") else "next"
        lines.append((f"  {label}: {step}", "cyan"))
    return lines


def where_text(where: Result | None) -> str:
    """Return a place: file and line, kernel, block, thread, as far as they are known."""
    if not where:
        return ""
    parts = []
    if where.get("file"):
        parts.append(f"{where['file']}:{where['line']}" if where.get("line") else where["file"])
    if where.get("kernel"):
        parts.append(f"kernel {where['kernel']}")
    parts += [f"{name} {_index(where[name])}" for name in ("block", "thread") if where.get(name) is not None]
    return ", ".join(parts)


def _index(index: list[int]) -> str:
    """Return a block's or thread's index: 5 where y and z are 0, else (5, 1, 0)."""
    return str(index[0]) if not any(index[1:]) else f"({', '.join(map(str, index))})"


def table_rows(results: Iterable[Result]) -> list[tuple[str, str, str, str, str]]:
    """Return a row a lab for the table that ends a grade: name, verdict, points, those not run here, seconds."""
    return [
        (
            result["lab"],
            result["verdict"],
            *points_columns(result),
            f"{sum(check['seconds'] for check in result['checks']):.1f}",
        )
        for result in results
    ]


def points_columns(result: Result) -> tuple[str, str]:
    """Return the points of a lab or a whole grade, 20/100, and those of checks that were not run here, 15."""
    not_run = result.get("not_run_points", 0)
    return f"{points(result['points'])}/{points(result['max_points'])}", points(not_run) if not_run else ""


def summary(results: list[Result], device: str, seed: int) -> Result:
    """Return a grade's JSON: the totals, and each lab's own result."""
    verdicts = [result["verdict"] for result in results]
    worst = next((verdict for verdict in ("fail", "timeout", "inconclusive") if verdict in verdicts), "pass")
    return {
        "schema": "scanlab-grade",
        "version": 1,
        "device": device,
        "seed": seed,
        "verdict": worst,
        "points": sum(result["points"] for result in results),
        "max_points": sum(result["max_points"] for result in results),
        "not_run_points": sum(result.get("not_run_points", 0) for result in results),
        "labs": results,
    }
