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
SHOWN_ADVICE = 2
"""So much advice is shown to whom has passed."""
HEADLINE = re.compile(r"(?P<word>[A-Z]{3,}(?: [A-Z]{3,})*)(?: \((?P<kind>[^)]*)\))?:? +(?P<rest>.*)", re.DOTALL)
"""A headline that names its own kind: `RACE (write-after-read): shared s_xy[5], kernel k`."""


def points(value: float) -> str:
    """Return points without a useless fraction: 20, 7.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def result_lines(result: Result, *, checks: bool) -> list[Line]:
    """Return a lab's report: its checks if `checks`, what went wrong, and its verdict.

    Whoever has passed is given some advice at the end, if there is any.
    """
    lines: list[Line] = []
    if checks:
        lines += _check_lines(result["checks"])
    causes = [check for check in result["checks"] if check.get("cause") and check["verdict"] not in ("pass", "skipped")]
    different = _different(causes)
    shown = different[:SHOWN_CAUSES]
    for check in shown:
        lines += cause_lines(result["lab"], check)
    others = _others(result, causes)
    for finding in others[: SHOWN_CAUSES - len(shown)]:
        lines += finding_lines(result["lab"], finding)
    if more := _more_text(result, causes, different, others, len(shown)):
        lines.append((f"  and {more}; mend this first", ""))
    verdict = result["verdict"]
    total = f"{points(result['points'])} of {points(result['max_points'])} points{_not_run_text(result['checks'])}"
    lines.append(
        (f"{verdict.upper()} {result['lab']}: {result['title']}, {total} ({_device(result)})", STYLES.get(verdict, ""))
    )
    return lines + (_advice_lines(result) if verdict == "pass" else [])


def _others(result: Result, causes: Iterable[Result]) -> list[Result]:
    """Return the mistakes that the device's checks have found and that are no check's cause."""
    told = [check["findings"][0] for check in causes if check.get("findings")]
    return [
        finding
        for finding in result.get("findings", [])
        if finding["weight"] == "mistake"
        and _is_of_device(finding)
        and not any(_identity(finding) == _identity(other) for other in told)
    ]


def _more_text(result: Result, causes: list[Result], different: list[Result], others: list[Result], shown: int) -> str:
    """Return `3 more of 9 checks, 2 more findings` for what failed and is not shown; empty when all is."""
    parts = []
    if len(causes) > shown:
        run = sum(not _is_not_run(check) for check in result["checks"])
        parts.append(f"{len(causes) - shown} more of {run} checks")
    left = len(different) - shown + max(0, len(others) - (SHOWN_CAUSES - shown))
    if others and left > 0:
        parts.append(f"{left} more finding{'' if left == 1 else 's'}")
    return ", ".join(parts)


def _advice_lines(result: Result) -> list[Line]:
    advice = [finding for finding in result.get("findings", []) if finding["weight"] == "advice"]
    lines = [line for finding in advice[:SHOWN_ADVICE] for line in finding_lines(result["lab"], finding)]
    if len(advice) > SHOWN_ADVICE:
        lines.append((f"  and {len(advice) - SHOWN_ADVICE} more of these (--json FILE has all)", ""))
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
    seen: dict[Any, Result] = {}
    for check in checks:
        cause = check["cause"]
        findings = check.get("findings")
        if findings and _is_of_device(findings[0]):
            seen.setdefault(_identity(findings[0]), check)
        else:
            seen.setdefault((cause.get("rationale") or cause["headline"], where_text(cause.get("where"))), check)
    return list(seen.values())


def _is_of_device(finding: Result) -> bool:
    """True for what the device has seen a kernel do, or was not able to: it names its own kind (RACE, FAULT …)."""
    return HEADLINE.fullmatch(finding["headline"]) is not None


def _identity(finding: Result) -> tuple[Any, ...]:
    """Return what two findings share that tell a learner the same."""
    steps = [(part["does"], part["file"], part["line"]) for part in finding["parts"]]
    if any(part["who"] for part in finding["parts"]):
        steps = sorted(set(steps))  # groups of threads stand side by side
    return finding["id"], finding["kernel"], finding["variable"], finding["kind"], tuple(steps)


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
    findings = check.get("findings")
    headline = cause["headline"] or check["title"]
    if findings and _is_of_device(findings[0]):
        lines = finding_lines(lab, findings[0], STYLES.get(check["verdict"], ""))
        known = set(findings[0]["facts"])
        facts = [*(fact for fact in cause.get("details") or [] if fact not in known), f"seen in: {headline}"]
    else:
        lines = [(_headline(lab, headline, check["verdict"].upper()), STYLES.get(check["verdict"], ""))]
        expected = f"expected {cause['expected']}" if cause.get("expected") else ""
        got = ", ".join(filter(None, [cause.get("actual"), expected]))
        facts = [got, where_text(cause.get("where")), *(cause.get("details") or []), cause.get("rationale") or ""]
    lines += [(f"  {line}", "") for fact in filter(None, facts) for line in fact.splitlines()]
    step = cause.get("next") or ""
    if step:
        label = "again" if step.startswith("grader/scanlab") else "next"
        lines.append((f"  {label}: {step}", "cyan"))
    return lines


def finding_lines(lab: str, finding: Result, style: str = "") -> list[Line]:
    """Return a finding: its headline with the lab's name, who does what where, and what to do about it."""
    facts = [*finding["facts"], finding["advice"]]
    lines = [(_headline(lab, finding["headline"], finding["weight"].upper()), style)]
    return lines + [(f"  {line}", "") for fact in filter(None, facts) for line in fact.splitlines()]


def _headline(lab: str, headline: str, word: str) -> str:
    """Return `RACE 02_kogge_stone: shared s_xy[5], kernel k (write-after-read)`; `word` where it names no kind."""
    named = HEADLINE.fullmatch(headline)
    if not named:
        return f"{word} {lab}: {headline}"
    kind = f" ({named['kind']})" if named["kind"] else ""
    return f"{named['word']} {lab}: {named['rest']}{kind}"


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
