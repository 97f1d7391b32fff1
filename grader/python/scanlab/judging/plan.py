"""The plan: what the judge has to check, with every formula evaluated."""

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scanlab.contract import Counter, Device
from scanlab.errors import UsageError
from scanlab.judging import sandbox
from scanlab.judging.result import Model, Number
from scanlab.labs import formulas
from scanlab.labs.folders import Lab
from scanlab.labs.rubric import (
    Check,
    CheckBase,
    CorrectnessCheck,
    CountCheck,
    Limits,
    Operation,
    Profile,
    Rubric,
    Schedule,
    TimingCheck,
    limits,
)
from scanlab.paths import build_folder

DEFAULT_SEED = 7
LEAST_AN_ELEMENT = 1e-7
"""Seconds of processor time. Measured with the solutions on 3 million elements: 5e-7 to 14e-7."""
COUNTED_ORDER: Schedule = "lockstep"
SIDE_BY_SIDE: Schedule = "random"
COUNTED_SIDE_BY_SIDE = ("busiest_block", "chained_waits", "shared_prefixes")
"""Counters of what blocks do beside each other. The others are counted where blocks run one after the other."""
SHARED: Counter = "busiest_warp"
"""What shows, in whatever scan, that one thread or warp does the work of all."""
SAME_WORK: dict[Schedule, tuple[Schedule, ...]] = {"lockstep": ("lockstep", "in_order"), "random": ("random",)}
MOST_ANNOUNCED = 2
"""Sizes that the rubric names and at which a count is taken. To count on names takes ten times as long as the call."""
LARGE = 1 << 18
"""Elements. Beyond it one call is counted, not several: they take long."""
PROVED_BLOCKS = 4
"""Blocks of the launches that `--prove` explores, at most."""
MOST_PROVED = 4
"""Checks of a lab whose calls are explored: two scans of two elements."""
PROOF_INSTRUCTIONS = 300_000_000
"""Warp instructions of all explored runs of a check, at most: about half a minute of one processor's work."""
PROOF_SECONDS = 45.0
"""Seconds of processor time after which an exploration ends, also in the midst of a run; of those that wait for others
by then, what these have left by the clock, and at least `LEAST_PROOF_SECONDS`. 25 are too few for lab 11, and 45 for
its maps on slow processors."""
LEAST_PROOF_SECONDS = 4.0
_WRITE = r"(?:i|\d{1,9}\.\d{1,9}\.\d{1,9})?"
_STEP = rf"\d{{1,9}}\.\d{{1,9}}(?:={_WRITE}(?:,{_WRITE})*)?(?:\*\d{{1,5}})?"
TRAIL = re.compile(rf"\d{{1,9}}:{_STEP}(?: {_STEP})*")
"""One execution of one launch, as `grader/vgpu/core/explore/trail.hpp` writes it."""
REPEATED_UP_TO = 1 << 14
"""Elements. What a second call shows of the first is seen of any size, and large ones take long."""
TAILS_FROM, RESTS = 1025, 32
"""Elements of the least size whose rest is tried: more than a block of most labs has. So many rests there are."""
OCTAVES_FROM, OCTAVES_TO = 11, 18
"""Powers of two: in each octave between them a lab has a size that only the seed knows."""
UNANNOUNCED = 8192
"""Elements that a correctness check's call of a size that only the seed knows has at most."""


@dataclass(frozen=True)
class Options:
    """What the command line changes.

    `n` (elements) and `schedule` narrow the correctness checks to one case. A count is taken at `n` too where its
    limits mean something there; otherwise, as a time always does, it keeps a size of its own.
    """

    device: Device = "vgpu"
    n: int | None = None
    seed: int = DEFAULT_SEED
    schedule: Schedule | None = None
    prove: bool = False
    """Explore all executions of some calls whose blocks talk to each other."""
    trail: str | None = None
    """CHECK:LAUNCH:STEPS, one of these executions, at `n`: nothing else is run."""
    remarks: bool = False
    """Try what takes a compiler each time: slips that a wrong program may have, and what a right one does not need."""
    side_by_side: bool = False
    """Judge the checks of a file side by side, on all processors: nothing else is graded here."""
    is_sandboxed: bool = False
    """Compile and run in the sandbox: the work of others, as opposed to your own work on your own machine."""

    def __post_init__(self) -> None:
        """Raise UsageError for what cannot be asked for together."""
        if (self.prove or self.trail) and self.device != "vgpu":
            raise UsageError("--prove and --trail are for the virtual GPU: a real one runs as it likes")
        if self.trail and (self.n is None or self.schedule or self.prove):
            raise UsageError("--trail shows one execution: with --n, and without --schedule and --prove")

    @property
    def is_narrow(self) -> bool:
        """Return whether the correctness checks make the calls that were asked for, and no others."""
        return self.n is not None or self.schedule is not None


class PlannedCall(Model):
    """A call of a correctness check beside those of its sizes and schedules."""

    n: int
    schedule: Schedule


class CountedCall(PlannedCall):
    """A call whose work is counted, and what the counter may say of it."""

    repeat: int
    at_least: Number | None
    at_most: Number | None


class Prove(Model):
    """How far executions are explored: blocks of a launch, and warp instructions of all runs."""

    blocks: int
    warp_instructions: int
    seconds: Number


class PlannedWork(Model):
    """What is counted in calls of a correctness check, and has to be kept where all is right."""

    counter: Counter
    explain: str
    calls: list[CountedCall]


class PlannedCorrectness(CheckBase):
    """A correctness check with the calls that it makes here."""

    kind: Literal["correctness"] = "correctness"
    operation: Operation
    sizes: list[int]
    schedules: list[Schedule]
    repeats: int
    repeated_up_to: int | None = None
    """Elements; with more, there is one call under each schedule, of the repeats in turn. None: all are repeated."""
    extra: list[PlannedCall]
    work: PlannedWork | None = None
    prove: Prove | None = None


class PlannedCount(CheckBase):
    """A count with the calls that it looks at."""

    kind: Literal["count"] = "count"
    counter: Counter
    among: str | None
    """The correctness check that makes them; None: this one does."""
    calls: list[CountedCall]


PlannedCheck = PlannedCorrectness | PlannedCount | TimingCheck


class Mark(Model):
    """A place of a submission: before this line, which is another one in the file that is compiled; and its code."""

    line: int
    at: int
    code: str
    branches: int = 0
    """In so many branches, which not all threads may take."""


class Plan(Model):
    """plan.json, as `grader/autograder/plan.hpp` describes it; the fields stand in the order of the JSON."""

    version: Literal[1] = 1
    lab: str
    title: str
    device: Device
    profile: Profile = "small"
    seed: int
    section: int
    block_size: int = 0
    source: str
    marks: tuple[Mark, ...] = ()
    """Where a statement can be put, and it is tried what that would change; none: it is the submission itself."""
    barriers: tuple[int, ...] = ()
    """The learner's lines with a barrier that is left out by way of trial, where all is right."""
    again: str
    limits: Limits
    trail: str = ""
    """Of the execution that is to be shown, and nothing else."""
    runners: dict[str, str]
    device_code: str = ""
    """PTX that is tried in the place of the runners' own, which has the same kernels; empty: it is the submission."""
    host_breach: str = ""
    """What of the program's host code no proof of its scans covers; empty: nothing that is seen."""
    host_state: str = ""
    """What its scans keep from call to call, which proofs assume to be as in the calls that were made."""
    is_brief: bool = False
    """A failure is neither made smaller nor explained: what is tried is right, or is not."""
    reference: dict[str, str]
    launcher: list[str]
    honest_runner: str = ""
    checks: list[PlannedCheck]

    def with_time_to_prove(self, seconds: float) -> "Plan":
        """Return the plan of an exploration with so much time for it, or the least that one gets."""
        most = max(seconds, LEAST_PROOF_SECONDS)

        def limited(check: PlannedCheck) -> PlannedCheck:
            if not isinstance(check, PlannedCorrectness) or check.prove is None:
                return check
            prove = check.prove.model_copy(update={"seconds": min(check.prove.seconds, most)})
            return check.model_copy(update={"prove": prove})

        return self.model_copy(update={"checks": [limited(check) for check in self.checks]})


@dataclass(frozen=True, order=True)
class Call:
    """One call of a correctness check."""

    n: int
    schedule: Schedule
    repeat: int = 0


@dataclass(frozen=True)
class Counts:
    """The calls that a count looks at, and the correctness check that makes them; None: they are made for it alone."""

    among: str | None
    calls: tuple[Call, ...]


def make_plan(
    lab: Lab,
    source: str,
    again: str,
    runners: Mapping[str, Path],
    options: Options,
    reference: Mapping[str, Path] | None = None,
) -> Plan:
    """Return the plan for a lab.

    `source` is the file's name as a person knows it, `again` the command that checks it again, `runners` maps each
    element's name to its program, and `reference` those that are timed to the reference solution's.
    """
    rubric = lab.rubric
    shown, trail = shown_execution(rubric, options.trail) if options.trail else (None, "")
    counts = {check.name: _counts(rubric, check, options) for check in rubric.check if isinstance(check, CountCheck)}
    return Plan(
        lab=lab.name,
        title=rubric.title,
        device=options.device,
        seed=options.seed,
        section=rubric.section,
        block_size=rubric.block_size or 0,
        source=source,
        again=again,
        limits=rubric.limits,
        trail=trail,
        runners={element: str(path) for element, path in runners.items()},
        reference={element: str(path) for element, path in (reference or {}).items()},
        launcher=sandbox.runner_command(options.device) if options.is_sandboxed else [],
        honest_runner=str(build_folder() / "grader/runner/honest-runner") if options.device == "gpu" else "",
        checks=[
            _planned(rubric, check, counts, options) for check in rubric.check if shown is None or check.name == shown
        ],
    )


def least_seconds(check: Check) -> float:
    """Return what a check takes of processor time on the virtual GPU, for any right program, at the very least."""
    if isinstance(check, CorrectnessCheck):
        return LEAST_AN_ELEMENT * sum(check.sizes) * len(check.schedules) * check.repeats
    return LEAST_AN_ELEMENT * check.range[0] if isinstance(check, CountCheck) else 0.0


def runners(lab: Lab, device: Device) -> list[str]:
    """Return what a submission is compiled for, for the elements of the lab's checks in the order of first use.

    On the virtual GPU an affine map is kept by its name, so that its provenance is known.
    """
    elements = dict.fromkeys(check.element for check in lab.rubric.check)
    return ["provenance" if device == "vgpu" and element == "affine" else element for element in elements]


def timed_elements(lab: Lab, device: Device) -> list[str]:
    """Return the elements for which the lab times the reference solution on this device."""
    timed = [check.element for check in lab.rubric.check if isinstance(check, TimingCheck)]
    return list(dict.fromkeys(timed)) if device == "gpu" else []


def _planned(rubric: Rubric, check: Check, counts: Mapping[str, Counts], options: Options) -> PlannedCheck:
    if isinstance(check, TimingCheck):
        return check
    common = {name: getattr(check, name) for name in CheckBase.model_fields} | {"explain": check.explanation}
    if isinstance(check, CountCheck):
        made = counts[check.name]
        calls = []
        for call in made.calls:
            low, high = limits(check, rubric.section, call.n)
            calls.append(CountedCall(n=call.n, schedule=call.schedule, repeat=call.repeat, at_least=low, at_most=high))
        return PlannedCount(**common, counter=check.counter, among=made.among, calls=calls)
    sizes = check.sizes + check.gpu_sizes if options.device == "gpu" else check.sizes
    extra = {Call(call.n, call.schedule) for one in counts.values() if one.among == check.name for call in one.calls}
    work = _work(rubric, check, counts, options)
    if work:
        extra |= {Call(call.n, call.schedule) for call in work.calls}
    if not options.is_narrow:
        extra.add(_unannounced(check, options.seed))
        extra.update(Call(n, "weak") for n in sizes if 0 < n <= check.weak_up_to and "weak" not in check.schedules)
        extra.update(Call(n, COUNTED_ORDER) for n in _beyond(rubric, check, options.seed))
    return PlannedCorrectness(
        **common,
        operation=check.operation,
        sizes=sizes if options.n is None else [options.n],
        schedules=check.schedules if options.schedule is None else [options.schedule],
        repeats=check.repeats,
        repeated_up_to=None if options.is_narrow else REPEATED_UP_TO,
        extra=[PlannedCall(n=call.n, schedule=call.schedule) for call in sorted(extra)],
        work=work,
    )


def _work(
    rubric: Rubric, check: CorrectnessCheck, counts: Mapping[str, Counts], options: Options
) -> PlannedWork | None:
    """Return how work is shared among threads in a scan in which no check counts that: one thread could do it all."""
    shared = next((one for one in rubric.check if isinstance(one, CountCheck) and one.counter == SHARED), None)
    if shared is None or shared.at_most is None or not _has_tails(check) or counts[shared.name].among == check.name:
        return None
    first, last = shared.range
    n = options.n
    if n is None:
        n = random.Random(f"{options.seed} {check.name} work").randint(first, last)
    if options.schedule is not None or not first <= n <= last:
        return None
    low, high = limits(shared, rubric.section, n)
    call = CountedCall(n=n, schedule=COUNTED_ORDER, repeat=0, at_least=low, at_most=high)
    return PlannedWork(counter=SHARED, explain=shared.explain, calls=[call])


def scans(lab: Lab) -> list[str]:
    """Return the checks whose calls `--prove` explores: the first one of each scan that a lab asks for."""
    firsts: dict[tuple[str, str], str] = {}
    for check in lab.rubric.check:
        if isinstance(check, CorrectnessCheck) and check.operation in ("inclusive", "exclusive"):
            firsts.setdefault((check.entry, check.element), check.name)
    return list(firsts.values())


def proofs(plan: Plan, lab: Lab) -> list[Plan]:
    """Return a plan for each of a lab's scans, which explores the executions of its check's calls alone."""
    prove = Prove(blocks=PROVED_BLOCKS, warp_instructions=PROOF_INSTRUCTIONS, seconds=PROOF_SECONDS)
    alone: dict[str, Any] = {
        "sizes": [1],
        "schedules": ["lockstep"],
        "repeats": 1,
        "extra": [],
        "work": None,
        "prove": prove,
    }
    named = {check.name: check for check in plan.checks}
    return [
        plan.model_copy(update={"checks": [named[name].model_copy(update={**alone, "needs": None})]})
        for name in scans(lab)
        if name in named
    ]


def shown_execution(rubric: Rubric, execution: str) -> tuple[str, str]:
    """Return the check and the trail that a proof has printed."""
    name, _, trail = execution.partition(":")
    scans = [check.name for check in rubric.check if isinstance(check, CorrectnessCheck) and not check.needs]
    if name not in scans or not TRAIL.fullmatch(trail):
        known = ", ".join(scans)
        raise UsageError(f"--trail takes what a proof has printed: CHECK:LAUNCH:STEPS, with CHECK one of {known}")
    return name, trail


def _unannounced(check: CorrectnessCheck, seed: int) -> Call:
    """Return a call of a size that no rubric names, as those that are counted have: each check has some."""
    secret = random.Random(f"{seed} {check.name}")
    return Call(_unnamed(secret, 1, min(max(*check.sizes, 1), UNANNOUNCED), check), COUNTED_ORDER)


def _beyond(rubric: Rubric, check: CorrectnessCheck, seed: int) -> list[int]:
    """Return sizes by which a program is found that is right at those that the rubric names, and wrong at others.

    Larger ones than are run under all schedules; a few that leave other rests, each check its own; and one in each
    octave, which the checks share.
    """
    secret = random.Random(f"{seed} {check.name} beyond")
    large = [secret.randint(low, high) for low, high in check.beyond if low > max(check.sizes)]
    alike = [one.name for one in rubric.check if isinstance(one, CorrectnessCheck) and _has_tails(one)]
    if check.name not in alike:
        return large
    shared = random.Random(f"{seed} tails")
    first = TAILS_FROM + shared.randrange(RESTS)
    tails = [first + rest for rest in shared.sample(range(RESTS), RESTS)]
    own = alike.index(check.name)
    begin = own * check.tails
    octaves = shared.sample(range(OCTAVES_FROM, OCTAVES_TO), OCTAVES_TO - OCTAVES_FROM) if check.beyond else []
    octaves = octaves[own :: len(alike)]
    between = [int(2 ** (octave + secret.random())) for octave in octaves]
    return [tails[(begin + k) % RESTS] for k in range(check.tails)] + between + large


def _has_tails(check: CorrectnessCheck) -> bool:
    return check.tails > 0 and check.profile is None and min(check.sizes) < TAILS_FROM < max(check.sizes)


def _unnamed(secret: random.Random, low: int, high: int, check: CorrectnessCheck | None) -> int:
    """Return a size that the check does not name, where its range has one."""
    named = {*check.sizes, *check.gpu_sizes} if check else set()
    n = secret.randint(low, high)
    while n in named and not named.issuperset(range(low, high + 1)):
        n = secret.randint(low, high)
    return n


def _counts(rubric: Rubric, check: CountCheck, options: Options) -> Counts:
    """Return which calls a count looks at.

    Those of sizes that only the seed knows, and some of those that the rubric names: nobody knows which. Equal ranges
    have equal calls, so that several counts look at the same ones.
    """
    low, high = check.range
    order: Schedule = SIDE_BY_SIDE if check.counter in COUNTED_SIDE_BY_SIDE else COUNTED_ORDER
    host = rubric.counted_among(check)
    secret = random.Random(f"{options.seed} {check.entry} {check.element} {low} {high} repeat")
    first = secret.randrange(host.repeats) if host else 0
    if host is None or options.is_narrow:
        asked = options.n if options.n is not None and low <= options.n <= high else None
        sizes = [asked] if asked is not None else _secret_sizes(rubric, check, options.seed, 1)
        return Counts(None, tuple(_call(n, order, host, first) for n in sizes))
    sizes = _secret_sizes(rubric, check, options.seed, 1 if order == SIDE_BY_SIDE or high > LARGE else 2)
    # By index as in lockstep, blocks run one after the other, and the work is the same.
    known: Schedule | None = next((own for own in host.schedules if own in SAME_WORK[order]), None)
    announced = [n for n in host.sizes if low <= n <= high and known is not None]
    secret = random.Random(f"{options.seed} {check.entry} {check.element} announced")
    announced = secret.sample(announced, min(len(announced), MOST_ANNOUNCED))
    where = sorted([(n, order) for n in sizes] + [(n, known or order) for n in announced])
    # In turn the first call of a size and later ones: a program that does its work in either alone is seen.
    return Counts(host.name, tuple(sorted({_call(n, how, host, first + at) for at, (n, how) in enumerate(where)})))


def _secret_sizes(rubric: Rubric, check: CountCheck, seed: int, count: int) -> list[int]:
    """Return sizes in the check's range: any, and if there is a second, one of whole sections in its upper half.

    A program that does something else from some size on is then seen, whatever the seed, if that is in the lower half.
    """
    low, high = check.range
    secret = random.Random(f"{seed} {check.entry} {check.element} {low} {high}")
    section = rubric.section or formulas.USUAL_SECTION
    first, last = math.ceil(low / section), high // section
    any_size = _unnamed(secret, low, high, rubric.counted_among(check))
    whole = section * secret.randint((first + last + 1) // 2, last) if first <= last else any_size
    return [any_size, whole][:count]


def _call(n: int, order: Schedule, host: CorrectnessCheck | None, repeat: int) -> Call:
    # How many elements a compaction keeps, and so what it costs, depends on the repeat: the first keeps half of them.
    if host is None or host.operation not in ("inclusive", "exclusive"):
        return Call(n, order)
    if n > REPEATED_UP_TO and order in host.schedules:
        return Call(n, order, host.schedules.index(order) % host.repeats)
    return Call(n, order, repeat % host.repeats)
