"""Have the judge grade submissions: build the runners, run the judge, take its result."""

import json
import os
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scanlab import plan as plans
from scanlab import sandbox
from scanlab.compile import (
    SANDBOXED_SOURCE,
    CompileError,
    CompileTimeoutError,
    ForbiddenHeaderError,
    build_runner,
    prune,
    read_source,
)
from scanlab.errors import KitError, UsageError, WorkError
from scanlab.finding import new_finding
from scanlab.gpu_lock import alone_on
from scanlab.labs import Lab
from scanlab.paths import ROOT, shown
from scanlab.process import kill_all, run_group
from scanlab.scratch import scratch
from scanlab.toolchain import product

RESULT_SCHEMA = "scanlab-result"
RESULT_VERSION = 1
GRACE = 30.0
"""Seconds that the judge gets beyond its checks' own limits."""
CLOCK_FACTOR = 4.0
"""A check ends after so many times its limit, which is processor time, by the clock (`TimeLimit::clock_factor`)."""
MESSAGE_LINES = 40
"""So many lines of a compiler's message are shown."""

Result = dict[str, Any]


@dataclass(frozen=True)
class Submission:
    """A file that is handed in for a lab."""

    lab: Lab
    path: Path
    is_a_copy: bool = False
    """Of a learner's lab: people are told of it as if it were the lab's own file, in which they look for it."""

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


def grade(
    submissions: Sequence[Submission], options: plans.Options, done: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Grade `submissions` side by side and return their results in the same order; `done` is told of each.

    A file that cannot be read or compiled is a `fail` like any other.

    Raises KitError when the kit, not the work, is at fault. Then everything that this process runs is ended, and it can
    start no other program: whoever goes on has to grade in a process of its own.
    """
    for submission in submissions:
        _ = submission.lab.rubric  # a broken lab.toml is told before anything is compiled
    if options.is_sandboxed:
        sandbox.require()
    workers = os.cpu_count() or 1
    is_timed = options.device == "gpu"  # then nothing else may run: no other judge, and no compiler
    with ThreadPoolExecutor(workers) as builders, ThreadPoolExecutor(1 if is_timed else workers) as judges:
        try:
            builds = [_start_builds(builders, submission, options) for submission in submissions]
            if is_timed:
                wait([future for build in builds for future in build.all()])
            judged = [
                judges.submit(_grade_one, submission, build, options)
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


def _start_builds(pool: ThreadPoolExecutor, submission: Submission, options: plans.Options) -> _Builds:
    try:
        read_source(submission.path)
    except (WorkError, UsageError) as error:
        return _Builds({}, {}, error)

    lab = submission.lab
    forbidden, is_sandboxed = lab.rubric.forbidden_headers, options.is_sandboxed
    timed = plans.timed_elements(lab, options.device) if lab.solution.exists() else []
    runners = {
        element: pool.submit(
            build_runner, submission.path, element, options.device, forbidden=forbidden, is_sandboxed=is_sandboxed
        )
        for element in plans.elements(lab)
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


def _grade_one(submission: Submission, builds: _Builds, options: plans.Options) -> Result:
    if builds.unreadable:
        lines = with_shown_paths(str(builds.unreadable).splitlines(), submission.path, submission.name)
        return failed(submission, options, lines[0], lines[1:])
    try:
        runners = {element: build.result() for element, build in builds.runners.items()}
    except CompileError as error:
        lines = str(error).splitlines()
        if len(lines) > MESSAGE_LINES:
            lines = [*lines[:MESSAGE_LINES], f"… {len(lines) - MESSAGE_LINES} more lines"]
        lines = with_shown_paths(lines, submission.path, submission.name)
        headline = f"{submission.name} {error.what}"
        if isinstance(error, CompileTimeoutError):
            return failed(submission, options, headline, lines, "compile", "timeout")
        finding = "header.forbidden" if isinstance(error, ForbiddenHeaderError) else "compile"
        return failed(submission, options, headline, lines, finding)
    reference = _reference(builds, submission.lab)
    again = submission.again(options)
    plan = plans.make_plan(submission.lab, submission.name, again, runners, options, reference)
    return with_shown_paths(run_judge(plan), submission.path, submission.name)


def with_shown_paths(value: Any, source: Path, name: str = "") -> Any:
    """Return `value` with the files that the compiler knows by their whole paths named as people name them.

    `source` is called `name`, if it has one, else as a learner would type it.
    """
    if isinstance(value, dict):
        return {key: with_shown_paths(item, source, name) for key, item in value.items()}
    if isinstance(value, list):
        return [with_shown_paths(item, source, name) for item in value]
    if isinstance(value, str):
        called = name or shown(source)
        return (
            value.replace(str(SANDBOXED_SOURCE), called)
            .replace(str(source.resolve()), called)
            .replace(shown(source), called)
            .replace(f"{ROOT}/", "")
        )
    return value


def longest(seconds: float, rounds: Sequence[float]) -> float:
    """Return within how many seconds by the clock a judge ends, whatever a submission does.

    `seconds` is the limit of a check; `rounds` has, for each check, for how long it begins rounds (0: it is not timed).
    """
    # A call of the last round may take as long as any.
    return GRACE + sum(CLOCK_FACTOR * seconds + begins for begins in rounds)


def run_judge(plan: dict[str, Any]) -> Result:
    """Run the judge on a plan and return its result.

    Raises KitError when it reports the kit's own fault, crashes, or does not end.
    """
    limit = longest(plan["limits"]["seconds"], [check.get("seconds", 0) for check in plan["checks"]])
    with scratch() as folder:
        plan_file, result_file = folder / "plan.json", folder / "result.json"
        plan_file.write_text(json.dumps(plan))
        judge = product("grader/autograder/judge-gpu" if plan["device"] == "gpu" else "grader/autograder/judge")
        command = [str(judge), "--plan", str(plan_file), "--result", str(result_file), "--die-with-parent"]
        try:
            with alone_on(plan["device"]):
                finished = run_group(command, limit, ROOT)
        except OSError as error:
            raise KitError(f"cannot start the judge: {error.strerror}") from error
        if finished.code is None:
            raise KitError(f"{plan['lab']}: the judge did not end within {limit:.0f} s")
        try:
            result = json.loads(result_file.read_text())
        except (OSError, ValueError):
            result = None
    said = "".join(f"\n  {line}" for line in finished.output.strip().splitlines()[-MESSAGE_LINES:])
    if finished.code not in (0, 1):
        ended = (
            f"was killed by signal {-finished.code}" if finished.code < 0 else f"ended with exit code {finished.code}"
        )
        raise KitError(f"{plan['lab']}: the judge {ended}{_faults(result) or said}")
    if not isinstance(result, dict) or (result.get("schema"), result.get("version")) != (RESULT_SCHEMA, RESULT_VERSION):
        raise KitError(f"{plan['lab']}: the judge wrote no result that this version can read{said}")
    if result.get("verdict") == "error" or (result.get("verdict") == "pass") != (finished.code == 0):
        raise KitError(f"{plan['lab']}: the judge's result and its exit code disagree{_faults(result) or said}")
    return result


def _faults(result: object) -> str:
    """Return what a result says about the kit's own faults, a line each."""
    checks = result.get("checks", []) if isinstance(result, dict) else []
    causes = [check["cause"] for check in checks if check.get("verdict") == "error" and check.get("cause")]
    return "".join(
        f"\n  {' — '.join(filter(None, (cause.get('headline'), cause.get('rationale'))))}" for cause in causes
    )


def failed(
    submission: Submission,
    options: plans.Options,
    headline: str,
    details: Sequence[str],
    finding_id: str = "file",
    verdict: Literal["fail", "timeout"] = "fail",
) -> Result:
    """Return the result of a submission that never reached the judge, in the judge's own form."""
    rubric = submission.lab.rubric
    cause = {
        "headline": headline,
        "rationale": "",
        "expected": "",
        "actual": "",
        "where": None,
        "details": list(details),
        "next": submission.again(options),
        "id": finding_id,
    }
    text = "\n  ".join([headline, *details])
    finding = {**new_finding(finding_id, headline, details=details), "facts": list(details), "text": text}
    check = {
        "name": "build",
        "title": "the file compiles",
        "verdict": verdict,
        "points": 0,
        "max_points": submission.lab.max_points(options.device),
        "not_run_points": submission.lab.not_run_points(options.device),
        "cause": cause,
        "counts": None,
        "times": None,
        "seconds": 0,
        "findings": [finding],
        "findings_total": 1,
    }
    return {
        "schema": RESULT_SCHEMA,
        "version": RESULT_VERSION,
        "lab": submission.lab.name,
        "title": rubric.title,
        "device": options.device,
        "seed": options.seed,
        "verdict": verdict,
        "points": 0,
        "max_points": submission.lab.max_points(options.device),
        "not_run_points": submission.lab.not_run_points(options.device),
        "checks": [check],
        "findings": [{**finding, "checks": ["build"]}],
        "findings_total": 1,
    }
