"""The result of one lab: what the judge writes of its checks, and what they come to (`grader/autograder/README.md`).

The fields stand in the order of the JSON. Numbers that are whole stay whole, so that a result is written as it was
read. A field has a default where the first results of this version have no such key.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scanlab.contract import CheckVerdict
from scanlab.judging.finding_names import rank_of

Number = int | float
Index = tuple[int, int, int]
"""A block's or a thread's x, y and z."""
LabVerdict = Literal["pass", "fail", "timeout", "inconclusive", "error"]
Weight = Literal["mistake", "advice"]


def _is_none(value: object) -> bool:
    return value is None


def _is_empty(value: object) -> bool:
    return not value


LeftOut = Field(default=None, exclude_if=_is_none)
"""Of a field whose key is left out where it is None."""


class Model(BaseModel):
    """Data that is never changed: a key that it does not know, or a value of another type, is an error."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
    )

    def with_texts(self, changed: Callable[[str], str]) -> Self:
        """Return it with each of its texts as `changed` makes it."""
        return self.model_copy(update={name: _with_texts(value, changed) for name, value in self})


def _with_texts(value: object, changed: Callable[[str], str]) -> object:
    if isinstance(value, Model):
        return value.with_texts(changed)
    if isinstance(value, tuple):
        return tuple(_with_texts(item, changed) for item in value)
    return changed(value) if isinstance(value, str) else value


def index_text(index: Index) -> str:
    """Return a block's or thread's index: 5 where y and z are 0, else (5, 1, 0)."""
    return str(index[0]) if not any(index[1:]) else f"({', '.join(map(str, index))})"


def first_problem(error: ValidationError) -> str:
    """Return what is wrong first, and where, in one line."""
    problem = error.errors()[0]
    place = ".".join(str(part) for part in problem["loc"] if part not in ("int", "float"))
    return f"{place}: {problem['msg']}" if place else problem["msg"]


class Where(Model):
    """A place in a submission; what is not known is empty, 0 or None."""

    file: str
    line: int
    kernel: str
    block: Index | None
    thread: Index | None


class OutputRow(Model):
    """One output beside what it was made of; what is not known, or would say nothing, is empty."""

    i: int
    x: str
    y: str
    expected: str
    sum: str
    """Of which inputs y is the sum: `x0 + x1`."""
    expected_sum: str
    is_wrong: bool


class Cause(Model):
    """Why a check did not pass."""

    id: str = ""
    """What it is called as a finding: race.shared."""
    headline: str
    """What was tried."""
    rationale: str
    """What it means."""
    expected: str
    actual: str
    where: Where | None
    details: tuple[str, ...]
    """A fact a line."""
    next: str
    """A command that shows it again."""
    outputs: tuple[OutputRow, ...] = Field(default=(), exclude_if=_is_empty)
    """Around the first wrong one, ascending; left out where no output is wrong."""


class Part(Model):
    """Who takes part in a finding: an access, a barrier, a call."""

    does: str
    """write, read, atomic …"""
    who: str
    """Where it is not one thread: `blocks 0 to 7: threads 0 to 31`."""
    file: str
    line: int
    block: Index | None
    thread: Index | None


class Finding(Model):
    """A mistake, or advice."""

    id: str
    weight: Weight
    headline: str
    kernel: str
    variable: str
    element: int | None
    kind: str
    block: Index | None
    parts: tuple[Part, ...]
    facts: tuple[str, ...]
    """The parts and the details as people read them, a line each."""
    details: tuple[str, ...]
    advice: str
    cure: str = Field(default="", exclude_if=_is_empty)
    """A change that was tried, after which the mistake is gone; left out where none is known."""
    count: int
    text: str
    """All of it as people read it."""

    def with_count(self, count: int) -> Self:
        """Return it as it is reported after so many occurrences."""
        text = self.text.removesuffix(_more_like_this(self.count)) + _more_like_this(count)
        return self.model_copy(update={"count": count, "text": text})

    @property
    def alike(self) -> object:
        """Return what is equal of findings that read the same, if counted together."""
        steps = [(part.does, part.file, part.line) for part in self.parts]
        if any(part.who for part in self.parts):  # of groups of threads, which stand side by side, each once
            steps = sorted(set(steps))
        return self.id, self.kernel, self.variable, self.kind, tuple(steps)

    @classmethod
    def in_source(
        cls,
        its_id: str,
        weight: Weight,
        headline: str,
        facts: tuple[str, ...],
        advice: str = "",
        parts: tuple[Part, ...] = (),
    ) -> Self:
        """Return what is known of a file without running it on a device."""
        return cls(
            id=its_id,
            weight=weight,
            headline=headline,
            kernel="",
            variable="",
            element=None,
            kind="",
            block=None,
            parts=parts,
            facts=facts,
            details=facts,
            advice=advice,
            count=1,
            text="\n  ".join([headline, *facts, *([advice] if advice else [])]),
        )


def _more_like_this(count: int) -> str:
    return f"\n  and {count - 1} more like this" if count > 1 else ""


class SeenFinding(Finding):
    """A finding with the names of the checks that found it."""

    checks: tuple[str, ...]


class CountLimits(Model):
    """What a count was compared with, at n elements."""

    n: int
    at_least: Number | None
    at_most: Number | None


class Times(Model):
    """What a timing check has measured; the first five only where there were rounds enough."""

    ratio: Number | None = LeftOut
    """Of the submission's time to the reference solution's."""
    ratio_low: Number | None = LeftOut
    ratio_high: Number | None = LeftOut
    submission_seconds: Number | None = LeftOut
    reference_seconds: Number | None = LeftOut
    reference_alone_seconds: Number
    copy_seconds: Number
    bytes: Number
    rounds: Number
    repeated_rounds: Number


class CheckResult(Model):
    """What one check of the rubric found."""

    name: str
    title: str
    verdict: CheckVerdict
    points: Number
    max_points: Number
    not_run_points: Number = 0
    """What it is worth where it can be run; its `max_points` is 0 then."""
    cause: Cause | None
    counts: dict[str, Number] | None
    limits: CountLimits | None = None
    times: Times | None = None
    seconds: Number | None = LeftOut
    """None where it was left out: how long it took is no part of a grade."""
    output_hash: str | None = None
    proof: tuple[str, ...] = ()
    breach: str = ""
    """What a proof would have to assume and this check has seen broken; empty: nothing."""
    """What the calls of a correctness check that passed prove, a sentence each."""
    printed: tuple[str, ...] = ()
    """By the program, in the first call of a correctness check that printed something: the first lines."""
    findings: tuple[Finding, ...] = ()
    findings_total: int = 0
    """With those that were left out."""

    @property
    def is_not_run(self) -> bool:
        """Return whether the check could not be run here, and so costs nothing."""
        return self.verdict == "skipped" and self.max_points == 0

    @property
    def failure(self) -> Cause | None:
        """Return why it did not pass; None where it passed, or was not run."""
        return None if self.verdict in ("pass", "skipped") else self.cause

    @property
    def ratio(self) -> Number | None:
        """Return the measured time as a ratio to the reference solution's."""
        return self.times.ratio if self.times else None


class Judged(Model):
    """What the judge writes: the checks of a plan, and on which device it has run them."""

    schema_: Literal["scanlab-checks"] = Field(default="scanlab-checks", alias="schema")
    version: Literal[1] = 1
    device: str
    checks: tuple[CheckResult, ...]


class LabResult(Model):
    """What one submission got for one lab."""

    schema_: Literal["scanlab-result"] = Field(default="scanlab-result", alias="schema")
    version: Literal[1] = 1
    lab: str
    title: str
    device: str
    seed: int | None = Field(exclude_if=_is_none)
    """None where it is kept secret."""
    verdict: LabVerdict
    points: Number
    max_points: Number
    not_run_points: Number = 0
    checks: tuple[CheckResult, ...]
    findings: tuple[SeenFinding, ...] = ()
    """Each once, the most basic first."""
    findings_total: int = 0
    warnings: tuple[str, ...] = Field(default=(), exclude_if=_is_empty)
    """The compiler's, about the learner's own lines, `FILE:13: variable "t" was declared …`; left out with none."""

    @classmethod
    def of_checks(cls, lab: str, title: str, device: str, seed: int | None, checks: Sequence[CheckResult]) -> Self:
        """Return what the checks of a lab, in the rubric's order, come to."""
        seen = _seen(checks)
        return cls(
            lab=lab,
            title=title,
            device=device,
            seed=seed,
            verdict=_verdict(checks),
            points=_sum(check.points for check in checks),
            max_points=_sum(check.max_points for check in checks),
            not_run_points=_sum(check.not_run_points for check in checks),
            checks=tuple(checks),
            findings=seen,
            findings_total=len(seen) + sum(check.findings_total - len(check.findings) for check in checks),
        )

    @property
    def failed_checks(self) -> list[CheckResult]:
        """Return the checks that say why they did not pass."""
        return [check for check in self.checks if check.failure]

    @property
    def kit_faults(self) -> list[Cause]:
        """Return what the kit says of its own faults."""
        return [check.cause for check in self.checks if check.verdict == "error" and check.cause]

    def with_proof(self, proof: "LabResult") -> Self:
        """Return it with what has been proved of one check, whose only result `proof` has, or with its refutation."""
        (proved,) = proof.checks
        (check,) = (check for check in self.checks if check.name == proved.name)
        if proved.verdict == "pass":
            sentences = check.proof if check.breach else (*check.proof, *proved.proof)
            update: dict[str, Any] = {"proof": sentences}
            return self._with_check(check.model_copy(update=update))
        fields = ("verdict", "points", "cause", "findings", "findings_total")
        refuted = check.model_copy(update={name: getattr(proved, name) for name in fields} | {"proof": ()})
        seen = [SeenFinding(**dict(finding), checks=(check.name,)) for finding in proved.findings]
        update = {
            "verdict": proved.verdict,
            "points": self.points - check.points + refuted.points,
            "findings": (*seen, *self.findings),
            "findings_total": self.findings_total + proved.findings_total,
        }
        return self._with_check(refuted).model_copy(update=update)

    def with_finding(self, changed: CheckResult, finding: Finding, *, is_first: bool = False) -> Self:
        """Return it with another finding of a check, before or after all others; the check is `changed` besides."""

        def added(others: tuple[Any, ...], one: Finding) -> tuple[Any, ...]:
            return (one, *others) if is_first else (*others, one)

        seen = SeenFinding(**dict(finding), checks=(changed.name,))
        update: dict[str, Any] = {
            "findings": added(changed.findings, finding),
            "findings_total": changed.findings_total + 1,
        }
        return self._with_check(changed.model_copy(update=update)).model_copy(
            update={"findings": added(self.findings, seen), "findings_total": self.findings_total + 1}
        )

    def _with_check(self, changed: CheckResult) -> Self:
        checks = tuple(changed if check.name == changed.name else check for check in self.checks)
        return self.model_copy(update={"checks": checks})

    def without_times(self) -> Self:
        """Return it without how long its checks took."""
        checks = tuple(check.model_copy(update={"seconds": None}) for check in self.checks)
        return self.model_copy(update={"checks": checks})

    def by_name(self) -> str:
        """Return its JSON on one line, the keys in the order of their names."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, sort_keys=True)


def _sum(numbers: Iterable[Number]) -> Number:
    total = sum(numbers)
    return int(total) if total == int(total) else total


def _verdict(checks: Sequence[CheckResult]) -> LabVerdict:
    """Return the worst verdict of checks.

    A check for no points decides where it cost others theirs, and where none has any.
    """
    with_points = [check for check in checks if check.max_points > 0]
    all_decide = not with_points or any(check.verdict == "skipped" for check in with_points)
    deciding = {check.verdict for check in (checks if all_decide else with_points)}
    deciding |= {check.verdict for check in checks if check.verdict == "error"}
    worst: tuple[LabVerdict, ...] = ("error", "fail", "timeout", "inconclusive")
    return next((verdict for verdict in worst if verdict in deciding), "pass")


def _seen(checks: Sequence[CheckResult]) -> tuple[SeenFinding, ...]:
    """Return the findings of checks, each once, the most basic first: a mistake before advice, then by rank.

    What a check has put before its most basic finding, a bad address that may follow from it, stays there: a race, or
    memory that was never written.
    """
    seen: dict[object, SeenFinding] = {}
    for check in checks:
        for finding in check.findings:
            known = seen.get(finding.alike)
            if known is None:
                seen[finding.alike] = SeenFinding(**dict(finding), checks=(check.name,))
                continue
            names = known.checks if known.checks[-1] == check.name else (*known.checks, check.name)
            seen[finding.alike] = known.with_count(known.count + finding.count).model_copy(update={"checks": names})
    first = min(seen, key=lambda one: (seen[one].weight == "advice", rank_of(seen[one].id)), default=None)
    leading = next((check.findings[0] for check in checks if first in [one.alike for one in check.findings]), None)
    cause = leading.alike if leading and leading.id.startswith(("race.shared", "uninitialised.")) else None
    return tuple(sorted(seen.values(), key=lambda one: (one.alike != cause, one.weight == "advice", rank_of(one.id))))


class Grade(Model):
    """What a person got for several labs: `grade FOLDER --json`."""

    schema_: Literal["scanlab-grade"] = Field(default="scanlab-grade", alias="schema")
    version: Literal[1] = 1
    device: str
    seed: int
    verdict: LabVerdict
    """The worst of the labs'."""
    points: Number
    max_points: Number
    not_run_points: Number
    labs: tuple[LabResult, ...]
