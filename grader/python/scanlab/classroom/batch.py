"""Grade a class on this machine: units side by side, each in a process of its own, so that nothing done is lost."""

import fcntl
import os
import select
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from scanlab.classroom import grading, workers
from scanlab.classroom.progress import REDRAW, Progress, Running, State
from scanlab.classroom.records import Class, Submission, Verdict
from scanlab.classroom.store import Store, Unit, dump
from scanlab.course.model import lab_of
from scanlab.errors import KitError, UsageError
from scanlab.executors.interface import Executor
from scanlab.judging.compiler.running import COMPILE_TIMEOUT
from scanlab.judging.judge import GRACE, longest, longest_proof
from scanlab.judging.plan import MOST_PROVED
from scanlab.labs.folders import Lab
from scanlab.labs.rubric import CorrectnessCheck, CountCheck
from scanlab.paths import build_folder, shown
from scanlab.scratch import scratch

SMALLEST_CHECK = 1 << 12
"""Elements: what every check of a lab costs at least, in the estimate of its time."""


@dataclass(frozen=True)
class Settings:
    """How a class is graded; none of it changes a result."""

    jobs: int
    is_sandboxed: bool = True
    only: Collection[str] = ()
    """Keys of the submissions that are graded, again if need be; none: what is not graded yet."""
    executor: Executor | None = None
    """Grades the units elsewhere; None: `jobs` processes here."""


@dataclass
class Outcome:
    """What one run did."""

    graded: int = 0
    """Units."""
    kept: int = 0
    """Units that were graded by an earlier run."""
    verdicts: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[Unit, str]] = field(default_factory=list)
    seconds: float = 0
    cpu_seconds: float = 0
    """Of the processes that graded, and of all that they started."""


def cores() -> int:
    """Return on how many processors this process may run."""
    return len(os.sched_getaffinity(0))


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a results folder, so that no second run writes in it; the hold ends with this process, however it ends.

    Raises UsageError when another run holds it, KitError when it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise KitError(f"cannot write {shown(folder)}: {error.strerror}") from error
    try:
        _hold(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path) -> None:
    deadline = time.monotonic() + 2  # a run that has just been killed leaves workers that end at once
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise UsageError(f"another run grades into {shown(folder)}; wait for it, or stop it") from error
            time.sleep(0.05)


def grade_class(store: Store, taken_in: Class, settings: Settings, progress: Progress) -> Outcome:
    """Grade what is not graded yet, and write each submission's result as soon as all its units are.

    The folder is held by the caller (`alone_in`), and this process has no other threads. Raises KitError when results
    cannot be written; what is written stays.
    """
    began = time.monotonic()
    store.sweep()
    workers.adopt_orphans()
    run = _Run(store, taken_in, settings, progress)
    with scratch() as folder:
        try:
            run.write_complete(taken_in.submissions)
            if settings.executor:
                run.go_elsewhere(settings.executor)
                return run.outcome
            if taken_in.device == "gpu":  # nothing may be compiled while times are measured
                run.go(
                    folder,
                    partial(grading.compile_unit, is_sandboxed=settings.is_sandboxed),
                    settings.jobs,
                    "compiling",
                )
            run.go(folder, partial(grading.grade_unit, is_sandboxed=settings.is_sandboxed), run.judges, "grading")
        finally:
            run.outcome.seconds = time.monotonic() - began
            workers.end_all()
            workers.end_orphans()
    return run.outcome


class _Run:
    """One run over a class."""

    def __init__(self, store: Store, taken_in: Class, settings: Settings, progress: Progress) -> None:
        self.store, self.taken_in, self.settings, self.progress = store, taken_in, settings, progress
        self.outcome = Outcome()
        self.state = State(0)
        self.whose: dict[Unit, list[Submission]] = {}
        for submission in taken_in.submissions:
            for unit in dict.fromkeys(grading.units_of(taken_in, submission)):
                self.whose.setdefault(unit, []).append(submission)
        before = {unit: self._verdict(unit) for unit in self.whose}
        self.waiting = {unit for unit in self.whose if self._is_due(unit, before[unit])}
        self.missing = {unit for unit, verdict in before.items() if verdict is None}
        self.outcome.kept = len(self.whose) - len(self.waiting)
        self.weights = {lab: _work(lab_of(taken_in.course, lab)) for lab in taken_in.labs}
        self.times: dict[str, list[float]] = {}
        self.judges = 1 if taken_in.device == "gpu" else settings.jobs

    def _verdict(self, unit: Unit) -> Verdict | None:
        result = self.store.read_graded(unit)
        return result.verdict if result else None

    def _is_due(self, unit: Unit, verdict: Verdict | None) -> bool:
        if self.settings.only:
            return any(one.key in self.settings.only for one in self.whose[unit])
        return verdict in (None, "error")

    def write_complete(self, submissions: Sequence[Submission]) -> None:
        """Write the results of the submissions all of whose units have one."""
        for submission in submissions:
            if not self.missing.isdisjoint(grading.units_of(self.taken_in, submission)):
                continue
            record = grading.make_record(self.store, self.taken_in, submission)
            path = self.store.result(submission.key)
            if not path.exists() or path.read_bytes() != dump(record).encode():
                self.store.write_record(record)

    def go(self, folder: Path, work: "grading.UnitWork", jobs: int, what: str) -> None:
        """Do `work` on every unit that is due, on `jobs` processes: what takes long first, so that all end together."""
        self.state = State(len(self.waiting), what=what)
        is_grading = what == "grading"
        queue = sorted(self.waiting, key=lambda unit: (self.weights[unit.lab], unit.lab, unit.sha256))
        threads = str(max(1, cores() // jobs))
        # A relative path means another folder to a worker that works elsewhere.
        environment = {"SCANLAB_THREADS": threads, "SCANLAB_BUILD": str(build_folder())}
        limit = _limit(self.taken_in)
        running: dict[Unit, workers.Worker] = {}
        number = 0
        ended: list[tuple[Unit, workers.Ended]] = []
        while queue or running or ended:
            while queue and len(running) < jobs:
                unit = queue.pop()
                number += 1
                start = partial(work, self.store, self.taken_in, unit)
                running[unit] = workers.Worker(start, folder / f"{number:06}", environment, limit(unit))
            for unit, how in ended:  # only now: writing takes time in which no place should stand empty
                self._ended(unit, how, is_grading)
            self._show(running, queue)
            select.select([*running.values()], [], [], REDRAW if running else 0)
            ended = [(unit, how) for unit, worker in running.items() if (how := worker.poll())]
            for unit, _ in ended:
                del running[unit]
        self._show(running, queue)

    def go_elsewhere(self, executor: Executor) -> None:
        """Have every unit that is due graded by `executor`."""
        self.state = State(len(self.waiting), what="grading")
        self.progress.show(self.state)

        def done(unit: Unit, verdict: Verdict) -> None:
            self.outcome.cpu_seconds += self.store.read_usage(unit).get("cpu_seconds", 0)
            self.state.done += 1
            self._count(unit, verdict, _headline(self.store, unit) if verdict == "error" else "")
            self.progress.show(self.state)

        executor.run(self.store, self.taken_in, sorted(self.waiting, key=lambda unit: (unit.lab, unit.sha256)), done)

    def _ended(self, unit: Unit, ended: workers.Ended, is_grading: bool) -> None:
        self.outcome.cpu_seconds += ended.cpu_seconds
        self.state.done += 1
        if ended.fault:
            workers.end_orphans()
        if not is_grading:
            return
        if ended.fault:
            usage = {"seconds": ended.seconds, "cpu_seconds": ended.cpu_seconds}
            grading.write_fault(self.store, self.taken_in, unit, ended.fault, usage)
        verdict = self._verdict(unit)
        if verdict is None:
            raise KitError(f"{shown(self.store.graded(unit))} was not written, and nothing says why")
        self.times.setdefault(unit.lab, []).append(ended.seconds)
        error = ""
        if ended.fault or ended.is_error:
            kept = "" if verdict == "error" else "the kit failed; the earlier result is kept"
            error = kept or ended.fault or _headline(self.store, unit)
        self._count(unit, verdict, error)

    def _count(self, unit: Unit, verdict: Verdict, error: str) -> None:
        """Take note of a unit's result; `error` says why the kit failed to grade it."""
        self.missing.discard(unit)
        self.outcome.graded += 1
        self.outcome.verdicts[verdict] += 1
        self.state.verdicts[verdict] += 1
        if error:
            self.outcome.errors.append((unit, error))
        self.write_complete(self.whose[unit])

    def _show(self, running: dict[Unit, workers.Worker], queue: Sequence[Unit]) -> None:
        now = time.monotonic()
        self.state.running = [
            Running(unit.lab, self._people(unit), now - worker.began) for unit, worker in running.items()
        ]
        left = [self._expected(unit.lab) for unit in queue]
        if self.times and None not in left:
            halves = sum(self._expected(unit.lab) or 0 for unit in running) / 2
            self.state.seconds_left = (sum(filter(None, left)) + halves) / max(1, len(running))
        self.progress.show(self.state)

    def _people(self, unit: Unit) -> str:
        people = self.whose[unit]
        more = len(people) - 1
        return people[0].key + (f" and {more} with the same file" if more else "")

    def _expected(self, lab: str) -> float | None:
        """Return how long a unit of a lab takes, by those that have ended: of this lab, else by the labs' sizes."""
        if lab in self.times:
            return sum(self.times[lab]) / len(self.times[lab])
        seconds = sum(sum(times) for times in self.times.values())
        weight = sum(self.weights[known] * len(times) for known, times in self.times.items())
        return seconds * self.weights[lab] / weight if weight else None


def _headline(store: Store, unit: Unit) -> str:
    result = store.read_graded(unit)
    causes = result.kit_faults if result else []
    return causes[0].headline if causes else "the kit failed"


def _work(lab: Lab) -> int:
    """Return about how much work a lab's checks are: elements times runs."""
    total = 0
    for check in lab.rubric.check:
        if isinstance(check, CorrectnessCheck):
            total += sum(max(n, SMALLEST_CHECK) for n in check.sizes) * len(check.schedules) * check.repeats
        elif isinstance(check, CountCheck):
            total += max(check.range[1], SMALLEST_CHECK)
    return total


def _limit(taken_in: Class) -> "grading.UnitLimit":
    """Return for how many seconds a unit may be graded before its process is ended: more than all its limits allow."""

    def limit(unit: Unit) -> float:
        if taken_in.device == "gpu":
            return float("inf")  # it may wait for the GPU as long as others measure; the judge has limits of its own
        rubric = lab_of(taken_in.course, unit.lab).rubric
        seconds = longest(rubric.limits.seconds, [0] * len(rubric.check))
        seconds += MOST_PROVED * longest_proof(rubric.limits.seconds) if taken_in.is_proved else 0
        return 2 * COMPILE_TIMEOUT + GRACE + seconds

    return limit
