"""Time scans beside each other on a GPU.

Each contender is a program of its own that waits for its turn (timer.py), so that in every round all of them are
measured shortly after each other, and what drifts (clocks, temperature, other users) hits all alike. What is slow gets
fewer turns, and none where a call would take longer than the limit.
"""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from scanlab.bench.contenders import TIMER, Contender
from scanlab.bench.result import SCHEMA, VERSION, DeviceFacts, Entry, Point, Result, Row
from scanlab.bench.timer import NoAnswerError, Timer, TimerError
from scanlab.contract import Device
from scanlab.errors import KitError, ScanlabError
from scanlab.judging.compile import compile_object, link
from scanlab.judging.compiler.cache import prune
from scanlab.judging.compiler.errors import CompileError
from scanlab.judging.compiler.recipe import Source
from scanlab.judging.toolchain import product
from scanlab.process import Interrupted, kill_all

SECTION = 1024
"""Elements of a section, where a lab scans sections."""
TABLE_N = 10_000_000
"""The size of the main table."""
SIZES = tuple(sorted({TABLE_N, *(1 << k for k in range(10, 31, 2))}))
TRIAL_N = 100_003
"""Each scan is tried with this many elements first: many sections and a partial one, in next to no time."""
GRACE = 30.0
"""Seconds that a turn may take beyond what it was given."""
STEEPEST = 2.5
"""Times are taken to grow with at most this power of n."""


@dataclass(frozen=True)
class Options:
    """What the command line chooses.

    `n` is the size of the main table; one contender gets `seconds` per size, over `rounds` turns of at most `calls`
    timed calls each.
    """

    sizes: tuple[int, ...] = SIZES
    n: int = TABLE_N
    rounds: int = 5
    calls: int = 20
    seconds: float = 2.0

    def entries(self, n: int) -> tuple[Entry, ...]:
        """Return which entries are measured at n: both where the main table shows both."""
        return ("inclusive", "exclusive") if n == self.n else ("inclusive",)


@dataclass
class _Runner:
    """One contender: its program, the process while it lives, and what was found."""

    contender: Contender
    row: Row
    program: Path | None = None
    trouble: str = ""
    timer: Timer | None = None
    hopeless: str = ""
    history: dict[Entry, list[tuple[int, float]]] = field(default_factory=dict)

    def close(self) -> None:
        if self.timer is not None:
            self.timer.close()
            self.timer = None

    def estimate(self, entry: Entry, n: int) -> float:
        """Return about how many seconds a call at n takes, from what smaller sizes took; 0 where nothing is known."""
        known = sorted(self.history.get(entry) or self.history.get("inclusive") or [])
        below = [point for point in known if point[0] <= n]
        if not below:
            return known[0][1] if known else 0.0
        power = 1.0
        if len(below) > 1 and below[-1][0] > below[-2][0]:
            (n0, t0), (n1, t1) = below[-2:]
            power = min(max(1.0, math.log(t1 / t0) / math.log(n1 / n0)), STEEPEST)
        return below[-1][1] * (n / below[-1][0]) ** power

    def remember(self, entry: Entry, n: int, ms: Sequence[float]) -> None:
        self.history.setdefault(entry, []).append((n, max(median(ms), 1e-6) * 1e-3))


def measure_times(
    contenders: Sequence[Contender],
    options: Options,
    command: str,
    date: str,
    kit: str,
    notes: Sequence[str] = (),
    say: Callable[[str], None] = lambda _: None,
    device: Device = "gpu",
) -> tuple[Result, Interrupted | None]:
    """Measure and return the result, with what stopped the measurement before its end, if anything did.

    Raises KitError where there is no GPU, or the kit's own programs fail.
    """
    runners = [_Runner(each, Row(name=each.name, role=each.role, source=each.source)) for each in contenders]
    result: Result | None = None
    stopped: Interrupted | None = None
    try:
        say("asking the device …")
        facts, empty_ms = _about_device(device)
        result = Result(
            schema=SCHEMA,
            version=VERSION,
            subject="times",
            date=date,
            command=command,
            kit=kit,
            device=facts,
            n=options.n,
            sizes=list(options.sizes),
            rounds=options.rounds,
            calls=options.calls,
            seconds=options.seconds,
            empty_launch_ms=empty_ms,
            notes=list(notes),
            rows=[runner.row for runner in runners],
        )
        say("compiling …")
        _build(runners, device)
        _Measurement(runners, options, device, say).run()
    except Interrupted as signal:
        if result is None:
            raise
        result.interrupted = True
        stopped = signal
    finally:
        for runner in runners:
            runner.close()
    return result, stopped


def _command(program: Path, device: Device) -> list[str]:
    if device == "gpu":
        return [str(program)]
    # Its time is no time, so the caches need no emptying.
    return [str(product("grader/vgpu/server/vgpu-run")), "--", str(program), "0"]


def _about_device(device: Device) -> tuple[DeviceFacts, float | None]:
    """Ask a timer without a scan about the device; return that, and what an empty launch takes in ms."""
    try:
        timer = Timer(_command(link([compile_object(Source(TIMER), device)], device), device))
    except TimerError as error:
        raise KitError(f"the timer program {error}") from error
    except CompileError as error:
        raise KitError(f"the timer program {error.what}: {first_error(str(error))}") from error
    try:
        facts = timer.device
        if facts["status"] != "ok":
            raise KitError(f"no GPU to measure: {facts.get('text')}. Without one: grader/scanlab bench --device vgpu")
        empty = timer.ask("measure empty nothing 0 1 100 1", GRACE)
    except TimerError as error:
        raise KitError(f"the timer program {error}") from error
    finally:
        timer.close()
    versions = {name: _release(facts.pop(name, 0)) for name in ("runtime", "driver")}
    return DeviceFacts(**facts, **versions), median(empty["ms"]) if empty["status"] == "ok" else None


def _release(number: int) -> str:
    """Return 13.0 for 13000."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else ""


def _build(runners: Sequence[_Runner], device: Device) -> None:
    """Compile and link every contender, side by side; what does not compile is noted."""

    def build(runner: _Runner) -> None:
        path = runner.contender.path
        try:
            objects = [compile_object(Source(each), device) for each in (TIMER, path) if each is not None]
            runner.program = link(objects, device)
        except CompileError as error:
            runner.trouble = f"{error.what}: {first_error(str(error))}"
        except KitError:
            raise
        except ScanlabError as error:
            runner.trouble = first_error(str(error))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for done in [pool.submit(build, runner) for runner in runners]:
                done.result()
        except BaseException:
            kill_all()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    prune()


def first_error(text: str) -> str:
    """Return the first line of a compiler's message that speaks of an error, or else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "")


class _Measurement:
    """The turns."""

    def __init__(
        self, runners: Sequence[_Runner], options: Options, device: Device, say: Callable[[str], None]
    ) -> None:
        self._runners = runners
        self._options = options
        self._device = device
        self._say = say

    def run(self) -> None:
        """Try every scan, then measure size by size, the smallest first."""
        for runner in self._runners:
            self._say(f"trying {runner.contender.name} …")
            self._try(runner)
        for n in sorted(self._options.sizes):
            points = self._first_round(n)
            for number in range(2, self._options.rounds + 1):
                for runner, point in points:
                    self._progress(runner, n, number)
                    self._turn_again(runner, point)
            for runner, point in points:
                if point.status == "ok":
                    runner.remember(point.entry, n, point.ms)

    def _progress(self, runner: _Runner, n: int, number: int) -> None:
        self._say(f"n = {n:,}, round {number} of {self._options.rounds}: {runner.contender.name} …")

    def _try(self, runner: _Runner) -> None:
        """Call a scan once: how long it takes, and where that is not known, whether it scans sections."""
        section = runner.contender.section
        for tried in (0, SECTION) if section is None else (section,):
            runner.row.section = tried
            answer = self._ask(runner, "inclusive", TRIAL_N, 1, 0.0)
            if answer["status"] == "ok":
                runner.remember("inclusive", TRIAL_N, answer["ms"])
                return
            if answer["status"] != "wrong":
                return
        runner.row.section = section or 0

    def _first_round(self, n: int) -> list[tuple[_Runner, Point]]:
        """Give every contender its first turn at n; return those that shall have more."""
        options = self._options
        again = []
        for runner in self._runners:
            for entry in options.entries(n) if runner.contender.role != "copy" else ("inclusive",):
                self._progress(runner, n, 1)
                point = Point(n=n, entry=entry, status="skipped")
                runner.row.points.append(point)
                one = runner.estimate(entry, n)
                if 2 * one > options.seconds:
                    point.text = f"a call would take about {one:.2g} s"
                    continue
                few = 2 * one * options.rounds > options.seconds  # a turn calls once without timing
                seconds = options.seconds - 2 * one if few else options.seconds / options.rounds
                answer = self._ask(runner, entry, n, options.calls, seconds)
                _note(point, answer)
                if point.status == "ok" and not few:
                    again.append((runner, point))
        return again

    def _turn_again(self, runner: _Runner, point: Point) -> None:
        """Give a contender a further turn; a failure now spoils what was measured before."""
        if point.status == "ok":
            seconds = self._options.seconds / self._options.rounds
            _note(point, self._ask(runner, point.entry, point.n, self._options.calls, seconds))

    def _ask(self, runner: _Runner, entry: Entry, n: int, calls: int, seconds: float) -> dict[str, Any]:
        """Have one turn measured; return the timer's answer, or one that says what is wrong."""
        if runner.program is None:
            return {"status": "not_built", "text": runner.trouble}
        if runner.hopeless:
            return {"status": "no_end", "text": runner.hopeless}
        what = "copy copy" if runner.contender.role == "copy" else f"{entry}_scan {entry}"
        try:
            if runner.timer is None:
                runner.timer = Timer(_command(runner.program, self._device))
            line = f"measure {what} {runner.row.section} {n} {calls} {max(seconds, 0.0):g}"
            answer = runner.timer.ask(line, GRACE + 4 * seconds)
        except NoAnswerError as error:
            runner.close()
            runner.hopeless = f"{error} at n = {n:,}"
            return {"status": "no_end", "text": runner.hopeless}
        except TimerError as error:
            runner.close()
            return {"status": "error", "text": f"its process {error}"}
        if answer["status"] == "bad_command":
            raise KitError(f"the timer program does not understand: {line}")
        if answer["status"] in ("error", "out_of_memory"):
            runner.close()  # most errors are final for a process
        return answer


def _note(point: Point, answer: dict[str, Any]) -> None:
    point.status = answer["status"]
    point.text = answer.get("text", "")
    point.ms = point.ms + answer["ms"] if answer["status"] == "ok" else []
