"""Grade a class on a Slurm cluster: submit tasks of several units each, see what they leave, submit that again."""

import hashlib
import re
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scanlab.bootstrap import build
from scanlab.bootstrap.console import say as say_on_stderr
from scanlab.classroom.grading import write_fault
from scanlab.classroom.records import Class
from scanlab.classroom.store import Store, Unit
from scanlab.errors import KitError, UsageError
from scanlab.executors.interface import Done, verdict_of
from scanlab.executors.slurm_jobs import Jobs, LimitError, Submitted
from scanlab.executors.slurm_options import SlurmOptions
from scanlab.executors.slurm_queue import Queue, QueueError, TaskState, max_array
from scanlab.executors.slurm_task import Notice, Notices
from scanlab.judging.toolchain import toolchain
from scanlab.process import Interrupted

LEAST_UNITS, MOST_UNITS = 4, 32
"""A task has this many units, at least and at most, where the user does not say: starting one takes about as long as
grading one."""
LOG_LINES = 6
"""At most this many lines of a lost task's log are shown."""
LINE_LENGTH = 300
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,255}")
WAITING = ("PENDING", "CONFIGURING")


@dataclass(frozen=True)
class Pace:
    """How often to look, in seconds."""

    results: float = 1.0
    """Between two looks into the results folder."""
    queue: tuple[float, float] = (2.0, 30.0)
    """Between two questions to Slurm, soon after a submission and later."""
    settle: float = 5.0
    """After a task's end, for its last files to appear: network filesystems are late."""
    completing: float = 90.0
    """For which a task may be about to end, before it counts as ended: on a dead node that has no end."""
    ending: float = 20.0
    """For which the last tasks may go on when all results are there."""
    full: float = 30.0
    """Before more jobs are submitted when Slurm takes no more and none of them has ended."""
    silence: float = 900.0
    """For which Slurm may not answer, or may take no jobs while none is left, before this gives up."""


@dataclass
class _Task:
    submitted: Submitted
    left: list[Unit]
    state: TaskState = field(default_factory=lambda: TaskState("PENDING", "", ""))
    ended_at: float | None = None

    @property
    def has_begun_none(self) -> bool:
        return len(self.left) == len(self.submitted.units)


@dataclass
class _Run:
    """What one call of `run` keeps in mind."""

    store: Store
    taken_in: Class
    done: Done
    jobs: Jobs
    notices: Notices
    waiting: list[tuple[Unit, ...]]
    """Chunks to submit, in their order."""
    tasks: dict[str, _Task] = field(default_factory=dict)
    tries: Counter[Unit] = field(default_factory=Counter)
    """How often a task has ended while it had the unit in hand."""
    faults: dict[Unit, int] = field(default_factory=dict)
    """When an `error` that is no longer news was written, in nanoseconds."""
    dropped: list[Unit] = field(default_factory=list)
    """Their tasks were cancelled by a user."""
    reported: set[str] = field(default_factory=set)
    """The nodes that were already reported."""
    keeps_logs: bool = False


class SlurmExecutor:
    """Grades units as arrays of Slurm jobs; an `interface.Executor`."""

    def __init__(
        self,
        options: SlurmOptions,
        say: Callable[[str], None] = say_on_stderr,
        status: Callable[[str], None] = lambda _: None,
        how: Mapping[str, Any] | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Take the user's options.

        `say` prints a line for people, `status` shows what the jobs do now, and `how` are further keyword arguments
        for grade_unit.
        """
        self.options, self.say, self.status = options, say, status
        self.how, self.pace = how or {}, pace or Pace()

    def run(self, store: Store, taken_in: Class, units: Sequence[Unit], done: Done) -> None:
        """Grade `units` as interface.Executor says; all jobs are cancelled when this ends early."""
        store = Store(store.folder.resolve())
        todo = []
        for unit in units:
            verdict = verdict_of(store, unit)
            if verdict in (None, "error"):
                todo.append(unit)
            else:
                done(unit, verdict)
        if not todo:
            return
        largest = max_array()
        if not build.ready(str(toolchain().nvcc)):
            raise KitError("the build is not made from the sources as they are: start the command with grader/scanlab")
        queue = Queue(f"scanlab-{hashlib.sha256(str(store.folder).encode()).hexdigest()[:10]}")
        chunks = self._chunks(todo)
        jobs = Jobs(queue.name, store.folder, taken_in, self.options, len(chunks[0]), self.how)
        run = _Run(store, taken_in, done, jobs, Notices(store.folder), chunks)
        run.faults = {unit: written for unit in todo if (written := _written(store, unit))}
        self._end_earlier(queue)
        shutil.rmtree(store.folder / "slurm", ignore_errors=True)
        try:
            self._watch(run, queue, largest)
        except BaseException as error:
            self._cancel(queue, has_jobs=bool(run.tasks) or isinstance(error, Interrupted))
            raise
        self._wait_for_the_last(queue)
        if not run.keeps_logs:
            shutil.rmtree(store.folder / "slurm", ignore_errors=True)
        if run.dropped:
            count = _count(len(run.dropped), "file")
            raise KitError(f"jobs on Slurm were cancelled: {count} not graded; the same with --resume goes on")

    def _chunks(self, units: Sequence[Unit]) -> list[tuple[Unit, ...]]:
        size = self.options.units_per_task
        if size is None:
            size = min(max(-(-len(units) // self.options.at_once), LEAST_UNITS), MOST_UNITS)
        count = -(-len(units) // size)
        return [tuple(units[start::count]) for start in range(count)]  # each has some of every lab: all end together

    def _watch(self, run: _Run, queue: Queue, largest: int) -> None:
        """Submit what waits and see to what runs, until there is neither."""
        room, submit_at, ask_at = largest, 0.0, 0.0
        answered_at = submitted_at = time.monotonic()
        refused_at: float | None = None
        while run.waiting or run.tasks:
            now = time.monotonic()
            if run.waiting and now >= submit_at:
                chunks = run.waiting[:room]
                refusal = self._submit(run, chunks)
                if not refusal:
                    room, submitted_at, refused_at = min(2 * room, largest), now, None
                elif len(chunks) > 1:
                    room = len(chunks) // 2
                    continue
                else:
                    submit_at, refused_at = now + self.pace.full, refused_at or now
                    if not run.tasks and now - refused_at > self.pace.silence:
                        raise KitError(f"Slurm takes no more jobs of yours: {refusal}; later, the same with --resume")
            if run.tasks and now >= ask_at:
                try:
                    self._update(run, queue.states(), now)
                    answered_at = now
                except QueueError as error:
                    if now - answered_at > self.pace.silence:
                        raise KitError(f"Slurm has not answered for {self.pace.silence:.0f} s: {error}") from error
                soon, late = self.pace.queue
                ask_at = now + min(max((now - submitted_at) / 4, soon), late)
            before = len(run.tasks)
            self._collect(run)
            for name, task in list(run.tasks.items()):
                if not task.left:
                    del run.tasks[name]
                    run.notices.drop(name)
                elif task.ended_at is not None and now >= task.ended_at + self.pace.settle:
                    del run.tasks[name]
                    self._lost(run, task)
            if len(run.tasks) < before:
                submit_at = ask_at = 0.0  # there may be room for more
            self._show(run)
            if run.waiting or run.tasks:
                time.sleep(self.pace.results)

    def _submit(self, run: _Run, chunks: Sequence[tuple[Unit, ...]]) -> str:
        """Submit the first of the chunks that wait; return what Slurm says when it does not take so many now."""
        try:
            try:
                submitted = run.jobs.submit(chunks)
            except UsageError:
                if not run.jobs.exclude:
                    raise
                run.jobs.exclude.clear()  # perhaps no node is left
                submitted = run.jobs.submit(chunks)
        except LimitError as error:
            return str(error)
        del run.waiting[: len(chunks)]
        for one in submitted:
            run.tasks[one.id] = _Task(one, list(one.units))
        return ""

    def _update(self, run: _Run, states: dict[str, TaskState], now: float) -> None:
        """Take over what Slurm says of each task; one that it no longer knows has ended."""
        for name, task in run.tasks.items():
            task.state = states.get(name) or TaskState("gone", task.state.node, "")
            if task.state.has_ended or name not in states:
                task.ended_at = task.ended_at or now
            elif task.state.state == "COMPLETING":
                task.ended_at = task.ended_at or now + self.pace.completing
            else:
                task.ended_at = None

    # ---- what the tasks leave ----------------------------------------------------------------------------------------

    def _collect(self, run: _Run) -> None:
        """Take the results that are new."""
        for task in run.tasks.values():
            if task.state.state in WAITING:
                continue
            for unit in list(task.left):
                written = _written(run.store, unit)
                if not written or written == run.faults.get(unit):
                    continue
                verdict = verdict_of(run.store, unit)
                if verdict is None:
                    continue
                task.left.remove(unit)
                if verdict != "error":
                    run.done(unit, verdict)
                    continue
                run.faults[unit] = written
                run.tries[unit] += 1
                if run.tries[unit] > self.options.retries:
                    run.done(unit, "error")
                else:
                    run.waiting.append((unit,))  # another node may do better

    def _lost(self, run: _Run, task: _Task) -> None:
        """See to the units that a task has left behind: submit them again, or give them up."""
        notice = run.notices.read(task.submitted.id)
        run.notices.drop(task.submitted.id)
        if task.state.state == "CANCELLED":
            run.dropped += task.left
            return
        if notice and notice.unit in task.left:
            charged = [notice.unit]  # alone from now on: what ends a task must not take others with it
        elif task.has_begun_none:
            charged = list(task.left)
            self._distrust(run, task, notice)
        else:
            charged = []  # it was warned that its time is over
        spared = [unit for unit in task.left if unit not in charged]
        again = []
        for unit in charged:
            run.tries[unit] += 1
            if run.tries[unit] <= self.options.retries:
                again.append(unit)
            else:
                self._give_up(run, task, notice, unit)
        run.waiting += [tuple(some) for some in (again, spared) if some]

    def _distrust(self, run: _Run, task: _Task, notice: Notice | None) -> None:
        """Keep the next tasks off a node on which this one could not even begin."""
        if task.state.state not in ("FAILED", "BOOT_FAIL", "NODE_FAIL"):
            return
        node = notice.node if notice else task.state.node
        if NODE.fullmatch(node):  # it goes into a line of sbatch's
            run.jobs.exclude.add(node)
        fault = (notice.fault if notice else "") or _said(task) or _no_log(run, task)
        if node not in run.reported:
            run.reported.add(node)
            self.say(f"{fault}; its files go to other nodes")

    def _give_up(self, run: _Run, task: _Task, notice: Notice | None, unit: Unit) -> None:
        verdict = verdict_of(run.store, unit)
        if verdict in (None, "error"):
            where = f" on {task.state.node}" if task.state.node else ""
            tries = _count(run.tries[unit], "try", "tries")
            headline = f"not graded after {tries}: Slurm task {task.submitted.id}{where} ended ({task.state.state})"
            details = [notice.fault] if notice and notice.fault else []
            lines = _log_lines(task.submitted.log)
            if lines:
                name = task.submitted.log.relative_to(run.store.folder)
                details += [f"the end of its log, {name} in the results folder:", *lines]
            else:
                details.append(_no_log(run, task))
            message = "\n".join([headline, *details])
            write_fault(run.store, run.taken_in, unit, message, {"seconds": 0.0, "cpu_seconds": 0.0})
            run.keeps_logs = True
            verdict = "error"
        run.done(unit, verdict)

    # ---- people, and the end -----------------------------------------------------------------------------------------

    def _show(self, run: _Run) -> None:
        states = Counter("wait" if task.state.state in WAITING else "run" for task in run.tasks.values())
        reasons = Counter(task.state.reason for task in run.tasks.values() if task.state.state in WAITING)
        why = next((f" ({reason})" for reason, _ in reasons.most_common(1) if reason not in ("", "None")), "")
        waiting = states["wait"] + len(run.waiting)
        self.status(f"Slurm: {_count(states['run'], 'task')} running, {waiting} waiting{why if states['wait'] else ''}")

    def _end_earlier(self, queue: Queue) -> None:
        """End the tasks of a run that could not do so itself."""
        try:
            left = [state for state in queue.states().values() if not state.has_ended]
            if left:
                queue.cancel()
                self.say(f"cancelled {_count(len(left), 'task')} that an earlier run has left on Slurm")
        except QueueError as error:
            raise KitError(f"Slurm does not answer: {error}") from error

    def _wait_for_the_last(self, queue: Queue) -> None:
        """Wait until the tasks, whose results are all there, have ended, or end them: they still write their logs."""
        end = time.monotonic() + self.pace.ending
        with suppress(QueueError):
            while any(not state.has_ended and state.state != "COMPLETING" for state in queue.states().values()):
                if time.monotonic() > end:
                    queue.cancel()
                    return
                time.sleep(self.pace.results)

    def _cancel(self, queue: Queue, *, has_jobs: bool) -> None:
        """End all jobs, whatever signals come meanwhile, and say so where there are some."""
        kept = {}
        if threading.current_thread() is threading.main_thread():
            numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            kept = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
        try:
            queue.cancel()
            if has_jobs:
                self.say(
                    "cancelled the jobs on Slurm; what is graded stays, and the same command with --resume goes on"
                )
        except (QueueError, OSError) as error:
            self.say(f"cannot cancel the jobs on Slurm ({error}); type: scancel --name={queue.name}")
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)


def _written(store: Store, unit: Unit) -> int:
    """Return when a unit's result was written, in nanoseconds; 0 where there is none."""
    try:
        return store.graded(unit).stat().st_mtime_ns
    except OSError:
        return 0


def _log_lines(log: Path) -> list[str]:
    """Return the end of a task's log, without what a terminal would take for commands."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8192))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    lines = ["".join(c for c in line if c.isprintable()).strip()[:LINE_LENGTH] for line in text.splitlines()]
    return [line for line in lines if line][-LOG_LINES:]


def _said(task: _Task) -> str:
    """Return the kit's own last line in a task's log, or an empty text."""
    own = [line for line in _log_lines(task.submitted.log) if line.startswith("scanlab: ")]
    return own[-1].removeprefix("scanlab: ") if own else ""


def _no_log(run: _Run, task: _Task) -> str:
    node = f"node {task.state.node or 'unknown'}"
    if task.submitted.log.exists():
        return f"{node}: task {task.submitted.id} ended ({task.state.state}) before it began"
    return (
        f"{node}: task {task.submitted.id} left no log: perhaps the node cannot see {run.store.folder}, "
        "which has to lie where all nodes see it (--out)"
    )


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
