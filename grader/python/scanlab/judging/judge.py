"""Have the judge grade submissions: build the runners, run the judge, take its result."""

import json
import os
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from scanlab import machine
from scanlab.errors import KitError, UsageError, WorkError
from scanlab.judging import plan as plans
from scanlab.judging import sandbox
from scanlab.judging.compile import CONTROL, build_runner
from scanlab.judging.compiled import host_state
from scanlab.judging.compiled.own_libc import with_own_libc
from scanlab.judging.compiler import assembler
from scanlab.judging.compiler.builds import explained, source_of, with_cause, with_entries, with_warnings
from scanlab.judging.compiler.cache import prune
from scanlab.judging.compiler.causes import shown_lines
from scanlab.judging.compiler.errors import (
    CompileError,
    CompileTimeoutError,
    ForbiddenHeaderError,
    LinkError,
    RefusedError,
)
from scanlab.judging.compiler.links import shown_text
from scanlab.judging.compiler.recipe import SANDBOXED_SOURCE, read_source, said_of
from scanlab.judging.compiler.warnings import mistakes, warnings
from scanlab.judging.gpu_lock import alone_on
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.left_out import with_left_out
from scanlab.judging.parts import judge_in_parts, parts_of
from scanlab.judging.places import with_places
from scanlab.judging.result import Cause, CheckResult, Finding, Judged, LabResult, first_problem
from scanlab.judging.toolchain import product
from scanlab.judging.tried.edits import with_slip
from scanlab.judging.tried.graded import Graded
from scanlab.judging.tried.needless import are_results_right, needless_barrier, with_needless_steps
from scanlab.judging.tried.statements import with_atomic_in_words, with_cure, with_what_a_call_left
from scanlab.labs.folders import Lab
from scanlab.labs.rubric import CountCheck, Rubric, TimingCheck
from scanlab.labs.skeleton import given_lines, solution_of
from scanlab.paths import ROOT, shown
from scanlab.process import kill_all, run_group
from scanlab.scratch import scratch

GRACE = 30.0
"""Seconds that the judge gets beyond its checks' own limits."""
LATER = 19
"""The niceness of a compiler whose program is not the first to be judged."""
CLOCK_FACTOR = 4.0
"""A check ends by the clock after this many times its limit, which is processor time (`TimeLimit::clock_factor`)."""
GAP = "unsupported"
"""The finding of what the virtual GPU cannot run."""
MESSAGE_LINES = 40
"""At most this many lines of a compiler's message are shown."""


@dataclass(frozen=True)
class Submission:
    """A file that is handed in for a lab."""

    lab: Lab
    path: Path
    is_a_copy: bool = False
    """Of a learner's lab: it is reported as if it were the lab's own file, in which they look for it."""

    @property
    def name(self) -> str:
        """Return what people call the file."""
        return shown(self.lab.source) if self.is_a_copy else shown(self.path)

    def again(self, options: plans.Options) -> str:
        """Return the command that checks this file again."""
        words = ["grader/scanlab", "check", self.lab.number]
        if not self.is_a_copy and self.path.resolve() != self.lab.source.resolve():
            words.append(shown(self.path))
        if options.device != "vgpu":
            words += ["--device", options.device]
        return shlex.join(words)


Called = Callable[[LabResult], None]


def _ignore(_: LabResult) -> None:
    """Do nothing with a result."""


def grade(
    submissions: Sequence[Submission], options: plans.Options, done: Called = _ignore, *, first: Called | None = None
) -> list[LabResult]:
    """Grade `submissions` side by side and return their results in the same order; `done` is called with each.

    `first` is called, from another thread, with what the judge has found, before cures and remarks are tried. That
    comes as early as can be, if all of it takes a little longer.

    A file that cannot be read or compiled is a `fail` like any other.

    Raises KitError when the kit, not the work, is at fault. Then everything that this process runs is ended, and it can
    start no other program: whoever goes on has to grade in a process of its own.
    """
    for submission in submissions:
        _ = submission.lab.rubric  # a broken lab.toml is reported before anything is compiled
    if options.is_sandboxed:
        sandbox.require()
    workers = len(os.sched_getaffinity(0))
    is_timed = options.device == "gpu"  # then nothing else may run: no other judge, and no compiler
    with ThreadPoolExecutor(workers) as builders, ThreadPoolExecutor(1 if is_timed else workers) as judges:
        try:
            urgent = first is not None
            builds = [_start_builds(builders, submission, options, is_urgent=urgent) for submission in submissions]
            if is_timed:
                wait([future for build in builds for future in build.all()])
            most = workers if options.side_by_side and not is_timed else 1
            judged = [
                judges.submit(_grade_one, submission, build, options, first, most)
                for submission, build in zip(submissions, builds, strict=True)
            ]
            results = []
            for future in judged:
                results.append(future.result())
                done(results[-1])
        except BaseException:
            kill_all()
            builders.shutdown(wait=False, cancel_futures=True)
            judges.shutdown(wait=False, cancel_futures=True)
            raise
    prune()
    return results


@dataclass(frozen=True)
class _Builds:
    """The programs of one submission and of the solution that it is timed against, by element, while they are made."""

    runners: dict[str, Future[Path]]
    reference: dict[str, Future[Path]]
    unreadable: WorkError | UsageError | None = None

    def all(self) -> list[Future[Path]]:
        return [*self.runners.values(), *self.reference.values()]


def _start_builds(
    pool: ThreadPoolExecutor, submission: Submission, options: plans.Options, *, is_urgent: bool
) -> _Builds:
    """Start to compile a submission for each element; the first one goes before the others if it is urgent."""
    try:
        read_source(submission.path)
    except (WorkError, UsageError) as error:
        return _Builds({}, {}, error)

    lab = submission.lab
    forbidden, is_sandboxed = lab.rubric.forbidden_headers, options.is_sandboxed
    timed = plans.timed_elements(lab, options.device) if lab.solution.exists() else []
    runners = {
        element: pool.submit(
            build_runner,
            submission.path,
            element,
            options.device,
            forbidden=forbidden,
            given=given_lines(lab),
            is_sandboxed=is_sandboxed,
            niceness=LATER if place and is_urgent else 0,
        )
        for place, element in enumerate(plans.runners(lab, options.device))
    }
    return _Builds(
        runners,
        {name: pool.submit(build_runner, lab.solution, name, options.device, is_sandboxed=False) for name in timed},
    )


def _reference(builds: _Builds, lab: Lab) -> dict[str, Path]:
    """Return the reference solution's programs. Raises KitError when it cannot be read or compiled."""
    try:
        return {element: build.result() for element, build in builds.reference.items()}
    except (WorkError, UsageError) as error:
        what = f"{error.what}:\n" if isinstance(error, CompileError) else "cannot be used: "
        raise KitError(f"the reference solution of {lab.name} {what}{error}") from error


class UnsupportedError(KitError):
    """The virtual GPU does not know what a submission's PTX has, or cannot read it."""


def _grade_one(
    submission: Submission, builds: _Builds, options: plans.Options, first: Called | None, most: int
) -> LabResult:
    """Grade a submission with at most so many judges at a time.

    What the virtual GPU cannot run is the kit's fault only where CUDA's own assembler takes it.
    """
    try:
        return _judged(submission, builds, options, first, most)
    except UnsupportedError:
        if refused := _refused(submission, options):
            return refused
        raise


def _refused(submission: Submission, options: plans.Options) -> LabResult | None:
    """Return the result of a submission whose PTX CUDA's assembler refuses; None where it takes it, or has failed."""
    elements = plans.runners(submission.lab, options.device)
    found = assembler.refused(submission.path, elements, is_sandboxed=options.is_sandboxed)
    if found is None:
        return None
    cause, said = found
    place = shown_lines(cause, source_of(submission.path))
    result = failed(submission, options, f"{submission.name} does not compile", [*place, *said], "compile")
    return with_cause(result, submission.name, cause).with_texts(with_shown_paths(submission.path, submission.name))


def _judged(
    submission: Submission, builds: _Builds, options: plans.Options, first: Called | None, most: int
) -> LabResult:
    """Return the result of a submission. Raises UnsupportedError where the virtual GPU cannot run it."""
    as_shown = with_shown_paths(submission.path, submission.name)
    if builds.unreadable:
        lines = [as_shown(line) for line in str(builds.unreadable).splitlines()]
        return failed(submission, options, lines[0], lines[1:])
    file, again = _file(submission), submission.again(options)
    is_said = threading.Event()

    def say_first(known: LabResult) -> None:
        if first and not is_said.is_set():
            is_said.set()
            first(with_places(known, file, submission.name).with_texts(as_shown))

    early = _judge_early(submission, builds, again, options, say_first) if most > 1 and first else None
    runners: dict[str, Path] = {}
    errors: dict[str, CompileError] = {}
    for element, build in builds.runners.items():
        try:
            runners[element] = build.result()
        except CompileError as caught:
            errors[element] = caught
    if errors:
        error = next(iter(errors.values()))
        lines = (shown_text(str(error)) if isinstance(error, LinkError) else str(error)).splitlines()
        if len(lines) > MESSAGE_LINES:
            lines = [*lines[:MESSAGE_LINES], f"… {len(lines) - MESSAGE_LINES} more lines"]
        if isinstance(error, RefusedError):
            lines = error.sentence.splitlines()[1:]  # the first is the cause
        lines = [as_shown(line) for line in lines]
        headline = f"{submission.name} {error.what}"
        if isinstance(error, CompileTimeoutError):
            return failed(submission, options, headline, lines, "compile", "timeout")
        finding = "header.forbidden" if isinstance(error, ForbiddenHeaderError) else "compile"
        cause, place = explained([submission.path], errors, runners)
        result = failed(submission, options, headline, [*place, *lines], finding, title=error.check)
        return with_cause(result, submission.name, cause) if cause else result
    if any(map(assembler.is_refused, runners.values())) and (refused := _refused(submission, options)):
        return refused
    reference = _reference(builds, submission.lab)
    plan = plans.make_plan(submission.lab, submission.name, again, runners, options, reference)
    if options.device == "vgpu":
        sandboxed = options.is_sandboxed
        states = [
            host_state.read(submission.path, element, file, submission.name, is_sandboxed=sandboxed)
            for element in runners
        ]
        breach = next((state.breach for state in states if state.breach), "")
        kept = next((state.state for state in states if state.state), "")
        plan = plan.model_copy(update={"host_breach": breach, "host_state": kept})
    graded = Graded(plan, file, lambda plan: judge_in_parts(plan, run_judge, most), options.is_sandboxed)
    needless: list[Finding | None] = []

    def try_barriers(known: LabResult) -> None:
        if options.remarks and are_results_right(plan, known.checks):
            needless.append(needless_barrier(replace(graded, run_judge=run_judge)))

    result = judge_in_parts(plan, run_judge, most, say_first, try_barriers, early)
    if ended := _ended(result):
        _require_that_programs_run(plan, options)
        if any(KILLED in cause.rationale for cause in ended):  # by whom is not known: another time it may not be
            result = judge_in_parts(plan, run_judge, most)
    judged = result
    result = with_what_a_call_left(with_atomic_in_words(result, file))
    if options.remarks:
        result = with_slip(result, graded, judged=judged, is_plain=True)
    result = with_cure(result, graded)
    if options.remarks:
        result = with_slip(result, graded, judged=judged, is_plain=False, solution=solution_of(submission.lab))
    if are_results_right(plan, result.checks):
        for barrier in filter(None, needless):
            result = result.with_finding(result.checks[0], barrier)
        if options.remarks:
            result = with_needless_steps(result, graded)
    result = with_proofs(result, plans.proofs(plan, submission.lab) if options.prove else [])
    result = _with_causes_of_counts(result, submission.lab.rubric)
    result = _with_source(result, submission, file, list(runners), options)
    result = with_own_libc(
        result, file, submission.path, submission.name, runners, options.device, is_sandboxed=options.is_sandboxed
    )
    if options.device == "vgpu":
        result = with_left_out(result, runners.values(), file, submission.path, submission.name)
    return with_places(result, file, submission.name).with_texts(as_shown)


ENDED = frozenset({"crash.exit", "crash.host", "cuda.error"})
"""Of causes: the program has ended, or has got no device, which a machine that lacks something may have caused, too."""
KILLED = "the program was killed"


def _ended(result: LabResult) -> list[Cause]:
    causes = (check.cause for check in result.failed_checks)
    return [cause for cause in causes if cause and cause.id in ENDED]


def _require_that_programs_run(plan: plans.Plan, options: plans.Options) -> None:
    """Raise KitError, one line, where the kit's own program ends before it answers, as a submission has."""
    checks = [one for one in plan.checks if isinstance(one, plans.PlannedCorrectness) and one.element == "float"]
    if not checks:
        return
    try:
        control = build_runner(CONTROL, "float", options.device, is_sandboxed=options.is_sandboxed)
    except CompileError as error:
        raise KitError(f"this machine cannot compile the kit's own program: {error}") from error
    smallest = {"sizes": [min(checks[0].sizes)], "extra": [], "work": None, "prove": None}
    check = checks[0].model_copy(update=smallest)
    changes = {"runners": {"float": str(control)}, "checks": [check], "is_brief": True, "marks": (), "barriers": ()}
    if causes := _ended(run_judge(plan.model_copy(update={**changes, "trail": "", "device_code": ""}))):
        raise KitError(machine.fault_of_a_program(causes[0].rationale))


def _judge_early(
    submission: Submission, builds: _Builds, again: str, options: plans.Options, say_first: Called
) -> LabResult | None:
    """Return what is found of a plan's first part where that is known before the other elements' programs are built.

    A first failure is said at once. None where it is not known, or is not all that the judge will say of it: why a sum
    is wrong is seen on elements that are names.
    """
    (element, build), *others = builds.runners.items()
    try:
        runner = build.result()
    except CompileError:
        return None
    if all(other.done() for _, other in others):
        return None
    plan = parts_of(plans.make_plan(submission.lab, submission.name, again, {element: runner}, options))[0]
    if {check.element for check in plan.checks} != {element}:
        return None
    early = judge_in_parts(plan, run_judge, 1)
    if early.checks[0].failure:
        say_first(early)
    is_wrong = any(check.cause and check.cause.id.startswith("wrong.") for check in early.checks)
    return None if is_wrong else early


def _with_causes_of_counts(result: LabResult, rubric: Rubric) -> LabResult:
    """Return the result with the one cause that fits, of each count that misses its limits."""
    written = {check.name: check for check in rubric.check if isinstance(check, CountCheck)}

    def changed(check: CheckResult) -> CheckResult:
        one, cause = written.get(check.name), check.cause
        if one is None or cause is None or check.limits is None or cause.id != f"cost.{one.counter}":
            return check
        value = (check.counts or {}).get(one.counter)
        found = one.cause_of(value, check.limits.n, rubric.section) if value is not None else None
        if found is None:
            return check
        rationale = f"{found.says.strip()}\n{one.explain.strip()}".strip()
        return check.model_copy(update={"cause": cause.model_copy(update={"rationale": rationale})})

    return result.model_copy(update={"checks": tuple(changed(check) for check in result.checks)})


def _file(submission: Submission) -> LearnersFile:
    """Return a submission's file; an empty one where it has gone."""
    try:
        text = submission.path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        text = ""
    return LearnersFile(text, given_lines(submission.lab))


def _with_source(
    result: LabResult, submission: Submission, file: LearnersFile, elements: Sequence[str], options: plans.Options
) -> LabResult:
    """Return a result with nvcc's warnings about the learner's lines, of all builds, and what else the file says."""
    texts = [
        said_of(submission.path, element, options.device, is_sandboxed=options.is_sandboxed) for element in elements
    ]
    source = source_of(submission.path)
    result = with_entries(result, source, submission.name)
    result = with_warnings(result, mistakes(texts, source, submission.name))
    return result.model_copy(update={"warnings": warnings(texts, source, submission.name, file.own)})


def with_shown_paths(source: Path, name: str = "") -> Callable[[str], str]:
    """Return a function that makes a text name files as people do, where the compiler has written whole paths.

    `source` is called `name`, if it has one, else as a learner would type it.
    """
    called = name or shown(source)
    known = (str(SANDBOXED_SOURCE), str(source.resolve()), shown(source))

    def changed(text: str) -> str:
        for path in known:
            text = text.replace(path, called)
        return text.replace(f"{ROOT}/", "")

    return changed


def longest(seconds: float, rounds: Sequence[float]) -> float:
    """Return within how many seconds by the clock a judge ends, whatever a submission does.

    `seconds` is the limit of a check; `rounds` has, for each check, for how long it begins rounds (0: it is not timed).
    """
    # A call of the last round may take as long as any.
    return GRACE + sum(CLOCK_FACTOR * seconds + begins for begins in rounds)


def longest_proof(seconds: float) -> float:
    """Return within how many seconds by the clock a judge has explored what it is to explore, with a limit as above."""
    return CLOCK_FACTOR * (plans.PROOF_SECONDS + seconds)


def with_proofs(result: LabResult, proofs: Sequence[plans.Plan]) -> LabResult:
    """Return the result with what the checks that passed prove beside: each of `proofs` explores one check's calls.

    As many are explored at a time as there are processors, each by a judge of its own. The later one begins, the less
    time it has, so that on two processors all of them end within `PROOF_SECONDS` and a few more.
    """
    passed = {check.name for check in result.checks if check.verdict == "pass"}
    wanted = [plan for plan in proofs if plan.checks[0].name in passed]
    began = time.monotonic()

    def proved_in_time(plan: plans.Plan) -> LabResult:
        return run_judge(plan.with_time_to_prove(plans.PROOF_SECONDS - (time.monotonic() - began)))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for proved in pool.map(proved_in_time, wanted):
            result = result.with_proof(proved)
    return result


def run_judge(plan: plans.Plan) -> LabResult:
    """Run the judge on a plan and return its result.

    Raises KitError when it reports the kit's own fault, crashes, does not end, or writes what is no result;
    UnsupportedError when the fault is that the virtual GPU cannot run the program.
    """
    rounds = [check.seconds if isinstance(check, TimingCheck) else 0 for check in plan.checks]
    is_proof = any(isinstance(check, plans.PlannedCorrectness) and check.prove for check in plan.checks)
    limit = longest(plan.limits.seconds, rounds) + (longest_proof(plan.limits.seconds) if is_proof else 0)
    with scratch() as folder, sandbox.in_a_group(plan.launcher, plan.device) as launcher:
        plan_file, result_file = folder / "plan.json", folder / "result.json"
        document = plan.model_copy(update={"launcher": launcher}).model_dump(mode="json")
        try:
            plan_file.write_text(json.dumps(document))
        except OSError as error:
            raise KitError(machine.sentence_of(error)) from error
        judge = product("grader/autograder/judge-gpu" if plan.device == "gpu" else "grader/autograder/judge")
        command = [str(judge), "--plan", str(plan_file), "--result", str(result_file), "--die-with-parent"]
        try:
            with alone_on(plan.device):
                finished = run_group(command, limit, ROOT)
        except OSError as error:
            raise KitError(f"cannot start the judge: {machine.sentence_of(error)}") from error
        if finished.code is None:
            raise KitError(f"{plan.lab}: the judge did not end within {limit:.0f} s")
        judged, problem = _read(result_file)
    said = "".join(f"\n  {line}" for line in finished.output.strip().splitlines()[-MESSAGE_LINES:])
    if finished.code not in (0, 1):
        ended = (
            f"was killed by signal {-finished.code}" if finished.code < 0 else f"ended with exit code {finished.code}"
        )
        is_gap = judged is not None and any(check.cause and check.cause.id == GAP for check in judged.checks)
        faults = _faults(judged).lstrip()
        if is_gap:
            raise UnsupportedError(f"{plan.lab}: the virtual GPU cannot run this file: {faults}")
        raise KitError(f"{plan.lab}: the judge {ended}{f': {faults}' if faults else said}")
    if judged is None:
        raise KitError(f"{plan.lab}: the judge wrote no result that this version can read: {problem}{said}")
    result = LabResult.of_checks(plan.lab, plan.title, judged.device, plan.seed, judged.checks)
    if result.kit_faults or bool(result.failed_checks) != (finished.code == 1):
        raise KitError(f"{plan.lab}: the judge's result and its exit code disagree{_faults(judged) or said}")
    return result


def _read(file: Path) -> tuple[Judged | None, str]:
    """Return what the judge has written, or None and why there is nothing."""
    try:
        return Judged.model_validate_json(file.read_bytes()), ""
    except OSError as error:
        return None, error.strerror or "it cannot be read"
    except ValidationError as error:
        return None, first_problem(error)


def _faults(judged: Judged | None) -> str:
    """Return what the judge says about the kit's own faults, each once: in which call, what, where, and what to do."""
    causes = [check.cause for check in judged.checks if check.verdict == "error" and check.cause] if judged else []
    seen: dict[str, str] = {}
    for cause in causes:
        place = f"{cause.where.file}:{cause.where.line}" if cause.where and cause.where.line else ""
        what = " — ".join(filter(None, (cause.actual.removeprefix("FAULT: "), place, cause.rationale)))
        seen.setdefault(what or cause.headline, " — ".join(filter(None, (cause.headline, what))))
    return "".join(f"\n  {text}" for text in seen.values())


def failed(
    submission: Submission,
    options: plans.Options,
    headline: str,
    details: Sequence[str],
    finding_id: str = "file",
    verdict: Literal["fail", "timeout", "error"] = "fail",
    title: str = CompileError.check,
) -> LabResult:
    """Return the result of a submission that never reached the judge, in the judge's own form."""
    lab, facts = submission.lab, tuple(details)
    finding = Finding.in_source(finding_id, "mistake", headline, facts)
    check = CheckResult(
        name="build",
        title=title,
        verdict=verdict,
        points=0,
        max_points=lab.max_points(options.device),
        not_run_points=lab.not_run_points(options.device),
        cause=Cause(
            id=finding_id,
            headline=headline,
            rationale="",
            expected="",
            actual="",
            where=None,
            details=facts,
            next=submission.again(options),
        ),
        counts=None,
        seconds=0,
        findings=(finding,),
        findings_total=1,
    )
    return LabResult.of_checks(lab.name, lab.rubric.title, options.device, options.seed, [check])
