"""Results as text for people: verdict, place, got and expected, cause, one next step."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile

from scanlab.judging.result import Cause, CheckResult, Finding, Grade, LabResult, LabVerdict, Where, index_text

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
"""At most this many causes are shown in full; the others are counted."""
ALL_IS_RIGHT = "(tried: the results are right then)"
"""How a cure ends after which nothing else is wrong: what else has been found follows from the same mistake."""
SHOWN_ADVICE = 2
"""At most this much advice is shown for a file that has passed."""
SHOWN_WARNINGS = 5
"""At most this many of the compiler's warnings are shown."""
HEADLINE = re.compile(r"(?P<word>[A-Z]{3,}(?: [A-Z]{3,})*)(?: \((?P<kind>[^)]*)\))?:? +(?P<rest>.*)", re.DOTALL)
"""A headline that names its own kind: `RACE (write-after-read): shared s_xy[5], kernel k`."""


def points(value: float) -> str:
    """Return points without a useless fraction: 20, 7.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def result_lines(result: LabResult, *, checks: bool) -> list[Line]:
    """Return a lab's report: its checks if `checks`, what went wrong, and its verdict.

    Whoever has passed is given some advice at the end, if there is any.
    """
    lines: list[Line] = []
    if checks:
        lines += _check_lines(result.checks)
    failed = result.failed_checks
    different = different_failures(failed)
    cures_all = bool(different) and any(one.cure.endswith(ALL_IS_RIGHT) for one in different[0].findings[:1])
    most = 1 if cures_all else SHOWN_CAUSES
    shown = different[:most]
    for check in shown:
        lines += cause_lines(result.lab, check, outputs=check is shown[0])
    others = other_mistakes(result, failed)
    for finding in others[: most - len(shown)]:
        lines += finding_lines(result.lab, finding)
    if more := _more_text(result, failed, different, others, len(shown), most):
        lines.append((f"  and {more}; fix this first", ""))
    total = f"{points(result.points)} of {points(result.max_points)} points{_not_run_text(result.checks)}"
    where = f"{result.device}, seed {result.seed}"
    verdict = f"{result.verdict.upper()} {result.lab}: {result.title}, {total} ({where})"
    lines.append((verdict, STYLES.get(result.verdict, "")))
    lines += _proof_lines(result.checks)
    lines += _warning_lines(result.warnings)
    return lines + (_printed_lines(result.checks) + _advice_lines(result) if result.verdict == "pass" else [])


def first_failure(result: LabResult) -> list[Line]:
    """Return what is to be fixed first, and how much has failed beside; nothing of a lab that has passed.

    The command that checks again is left out: who reads this has a shorter way.
    """
    failed = result.failed_checks
    different = different_failures(failed)
    if not different:
        return []
    more = _more_text(result, failed, different, other_mistakes(result, failed), 1)
    first = different[0]
    cause = first.cause and first.cause.model_copy(update={"next": ""})
    return cause_lines(result.lab, first.model_copy(update={"cause": cause})) + (
        [(f"  and {more}; fix this first", "")] if more else []
    )


def other_mistakes(result: LabResult, failed: Iterable[CheckResult]) -> list[Finding]:
    """Return the mistakes that the device's checks have found and that are no check's cause."""
    reported = {_identity(check.findings[0]) for check in failed if check.findings}
    return [
        finding
        for finding in result.findings
        if finding.weight == "mistake" and is_of_device(finding) and _identity(finding) not in reported
    ]


def _more_text(
    result: LabResult,
    failed: Sequence[CheckResult],
    different: Sequence[CheckResult],
    others: Sequence[Finding],
    shown: int,
    most: int = SHOWN_CAUSES,
) -> str:
    """Return `3 more of 9 checks, 2 more findings` for what failed and is not shown; empty when all is."""
    parts = []
    if len(failed) > shown:
        run = sum(not check.is_not_run for check in result.checks)
        parts.append(f"{len(failed) - shown} more of {run} checks")
    left = len(different) - shown + max(0, len(others) - (most - shown))
    if others and left > 0:
        parts.append(f"{left} more finding{'' if left == 1 else 's'}")
    return ", ".join(parts)


def _advice_lines(result: LabResult) -> list[Line]:
    advice = [finding for finding in result.findings if finding.weight == "advice"]
    lines = [line for finding in advice[:SHOWN_ADVICE] for line in finding_lines(result.lab, finding)]
    if len(advice) > SHOWN_ADVICE:
        lines.append((f"  and {len(advice) - SHOWN_ADVICE} more of these (--json FILE has all)", ""))
    return lines


def obstacle(check: CheckResult) -> str:
    """Return why a check was not run: `no GPU`."""
    return check.cause.headline.removeprefix("not run: ") if check.cause else ""


def _not_run_text(checks: Iterable[CheckResult]) -> str:
    """Return `, 15 more not run: no GPU` for the points that could not be won here; empty when all could."""
    by_obstacle: defaultdict[str, float] = defaultdict(float)
    for check in checks:
        if check.is_not_run:
            by_obstacle[obstacle(check)] += check.not_run_points
    return "".join(f", {points(value)} more not run: {why}" for why, value in by_obstacle.items() if value)


def different_failures(failed: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the first check of each cause: one mistake usually fails several checks for the same reason."""
    seen: dict[object, CheckResult] = {}
    for check in failed:
        if check.findings and is_of_device(check.findings[0]):
            seen.setdefault(_identity(check.findings[0]), check)
        elif check.cause:
            seen.setdefault((check.cause.rationale or check.cause.headline, where_text(check.cause.where)), check)
    return list(seen.values())


def is_of_device(finding: Finding) -> bool:
    """True for what the device has seen a kernel do, or was not able to: it names its own kind (RACE, FAULT …)."""
    return HEADLINE.fullmatch(finding.headline) is not None


def _identity(finding: Finding) -> tuple[object, ...]:
    """Return what two findings share that say the same to a learner."""
    steps = [(part.does, part.file, part.line) for part in finding.parts]
    if any(part.who for part in finding.parts):
        steps = sorted(set(steps))  # groups of threads stand side by side
    return finding.id, finding.kernel, finding.variable, finding.kind, tuple(steps)


def _check_lines(checks: Iterable[CheckResult]) -> list[Line]:
    lines = []
    for check in checks:
        if check.is_not_run:
            lines.append((f"  {'not run':<12} {'':>7}  {check.title} ({obstacle(check)})", STYLES["skipped"]))
            continue
        got = f"{points(check.points)}/{points(check.max_points)}" if check.max_points else "-"
        measured = f" (ratio {check.ratio:.2f})" if check.ratio is not None else ""
        measured += "" if check.max_points else " (for no points)"
        style = STYLES.get(check.verdict, "") if check.verdict != "pass" else ""
        lines.append((f"  {check.verdict:<12} {got:>7}  {check.title}{measured}", style))
    return lines


def _warning_lines(warnings: Sequence[str]) -> list[Line]:
    """Return the compiler's warnings, a line each; those beyond SHOWN_WARNINGS are counted."""
    lines = [(f"  warning {warning}", "yellow") for warning in warnings[:SHOWN_WARNINGS]]
    if len(warnings) > SHOWN_WARNINGS:
        lines.append((f"  and {len(warnings) - SHOWN_WARNINGS} more warnings (--json FILE has all)", ""))
    return lines


def _proof_lines(checks: Iterable[CheckResult]) -> list[Line]:
    """Return what the checks prove, each sentence once, with the checks whose calls prove it."""
    proved: defaultdict[str, list[str]] = defaultdict(list)
    for check in checks:
        for sentence in check.proof:
            proved[sentence].append(check.name)
    return [(f"  {', '.join(names)}: {proof}", "") for proof, names in proved.items()]


def _printed_lines(checks: Iterable[CheckResult]) -> list[Line]:
    """Return what the program printed in the first check that heard something; a failure has what its own call did."""
    for check in checks:
        if check.printed:
            lines = ("the program printed:", *(f"  {line}" for line in check.printed))
            return [(f"  {line}", "") for line in lines]
    return []


def cause_lines(lab: str, check: CheckResult, *, outputs: bool = True) -> list[Line]:
    """Return why one check did not pass: a headline, indented facts, and the next step.

    `outputs`: with some of its inputs and outputs side by side.
    """
    if check.cause is None:
        return []
    cause = check.cause if outputs else check.cause.model_copy(update={"outputs": ()})
    headline = cause.headline or check.title
    if not check.findings or not is_of_device(check.findings[0]):
        return failure_lines(lab, check.verdict, headline, cause, check.findings[0].cure if check.findings else "")
    first = check.findings[0]
    facts = [*(fact for fact in cause.details if fact not in first.facts), f"seen in: {headline}"]
    return finding_lines(lab, first, STYLES.get(check.verdict, "")) + _fact_lines(facts) + _step_lines(cause)


def failure_lines(lab: str, verdict: str, headline: str, cause: Cause, cure: str = "") -> list[Line]:
    """Return how something ended that did not end well, by its cause alone, and a cure that was tried."""
    expected = f"expected {cause.expected}" if cause.expected else ""
    got = ", ".join(filter(None, [cause.actual, expected]))
    first = (_headline(lab, headline, verdict.upper()), STYLES.get(verdict, ""))
    fix = f"fix: {cure}" if cure else ""
    facts = [got, where_text(cause.where), *output_table(cause), cause.rationale, fix, *cause.details]
    if cause.id in ("compile", "header.forbidden"):  # the learner's line and the cause, then the compiler's own text
        printed = list(takewhile(lambda line: " | " in line, cause.details)) if cause.rationale else []
        facts = [where_text(cause.where), *printed, cause.rationale, *cause.details[len(printed) :]]
    return [first, *_fact_lines(facts), *_step_lines(cause)]


def output_table(cause: Cause) -> list[str]:
    """Return the input, the output and what was expected side by side, a line each; none where no output is wrong."""
    columns = {
        "x": [row.x for row in cause.outputs],
        "y": [row.y for row in cause.outputs],
        "expected": [row.expected for row in cause.outputs],
        "y sums up": [row.sum for row in cause.outputs],
        "expected sum": [row.expected_sum for row in cause.outputs],
    }
    shown = {"i": [str(row.i) for row in cause.outputs]} | {
        name: texts for name, texts in columns.items() if any(texts)
    }
    widths = [max(map(len, (name, *texts))) for name, texts in shown.items()]
    rows = [tuple(shown), *zip(*shown.values(), strict=True)] if cause.outputs else []
    marks = ["", *("<-" if row.is_wrong else "" for row in cause.outputs)]
    return [
        "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=True)), mark]).rstrip()
        for row, mark in zip(rows, marks, strict=False)
    ]


def finding_lines(lab: str, finding: Finding, style: str = "") -> list[Line]:
    """Return a finding: its headline with the lab's name, who does what where, and what to do about it."""
    first = (_headline(lab, finding.headline, finding.weight.upper()), style)
    cure = f"fix: {finding.cure}" if finding.cure else ""
    return [first, *_fact_lines([*finding.facts, finding.advice, cure])]


def _fact_lines(facts: Iterable[str]) -> list[Line]:
    return [(f"  {line}", "") for fact in facts for line in fact.splitlines()]


def _step_lines(cause: Cause) -> list[Line]:
    label = "again" if cause.next.startswith("grader/scanlab") else "next"
    return [(f"  {label}: {cause.next}", "cyan")] if cause.next else []


def _headline(lab: str, headline: str, word: str) -> str:
    """Return `RACE 02_kogge_stone: shared s_xy[5], kernel k (write-after-read)`; `word` where it names no kind."""
    named = HEADLINE.fullmatch(headline)
    if not named:
        return f"{word} {lab}: {headline}"
    kind = f" ({named['kind']})" if named["kind"] else ""
    return f"{named['word']} {lab}: {named['rest']}{kind}"


def where_text(where: Where | None) -> str:
    """Return a place: file and line, kernel, block, thread, as far as they are known."""
    if not where:
        return ""
    parts = []
    if where.file:
        parts.append(f"{where.file}:{where.line}" if where.line else where.file)
    if where.kernel:
        parts.append(f"kernel {where.kernel}")
    named = (("block", where.block), ("thread", where.thread))
    parts += [f"{name} {index_text(index)}" for name, index in named if index is not None]
    return ", ".join(parts)


def table_rows(results: Iterable[LabResult]) -> list[tuple[str, str, str, str, str]]:
    """Return a row per lab for the table that ends a grade: name, verdict, points, those not run here, seconds."""
    return [
        (
            result.lab,
            result.verdict,
            *points_columns(result),
            f"{sum(check.seconds or 0 for check in result.checks):.1f}",
        )
        for result in results
    ]


def points_columns(result: LabResult | Grade) -> tuple[str, str]:
    """Return the points of a lab or a whole grade, 20/100, and those of checks that were not run here, 15."""
    got = f"{points(result.points)}/{points(result.max_points)}"
    return got, points(result.not_run_points) if result.not_run_points else ""


def summary(results: Sequence[LabResult], device: str, seed: int) -> Grade:
    """Return a grade: the totals, and each lab's own result."""
    verdicts = {result.verdict for result in results}
    worst: tuple[LabVerdict, ...] = ("fail", "timeout", "inconclusive")
    return Grade(
        device=device,
        seed=seed,
        verdict=next((verdict for verdict in worst if verdict in verdicts), "pass"),
        points=sum(result.points for result in results),
        max_points=sum(result.max_points for result in results),
        not_run_points=sum(result.not_run_points for result in results),
        labs=tuple(results),
    )
