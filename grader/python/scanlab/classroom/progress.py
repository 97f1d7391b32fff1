"""What a person sees while a class is graded: a picture that moves on a terminal, else a line from time to time."""

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scanlab.classroom.records import WORST_FIRST

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

EARLY, EARLY_SECONDS, LATE_SECONDS = 60.0, 10.0, 60.0
"""Lines come every 10 s in the first minute, and every minute then."""
REDRAW = 0.25
STYLES = {"pass": "green", "fail": "red", "timeout": "red", "inconclusive": "yellow", "error": "magenta"}


@dataclass(frozen=True)
class Running:
    """One file that is graded now."""

    lab: str
    whose: str
    seconds: float


@dataclass
class State:
    """How far a run has come. A unit is one file graded as one lab."""

    total: int
    done: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    running: Sequence[Running] = ()
    seconds_left: float | None = None
    what: str = "grading"


class Progress:
    """Shows a state, at most four times a second. Has no thread: whoever grades calls `show`."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._began = self._shown = time.monotonic()
        self._ticks = _processor_ticks()
        self._busy = 0.0

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            from rich.live import Live

            from scanlab.terminal import console as console_of

            self._live = Live(console=console_of(sys.stderr, highlight=False), auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, state: State, is_forced: bool = False) -> None:
        """Show a state, if it is time for that."""
        now = time.monotonic()
        interval = REDRAW if self._live else EARLY_SECONDS if now - self._began <= EARLY else LATE_SECONDS
        if now - self._shown < interval and not is_forced:
            return
        self._shown = now
        self._measure()
        if self._live is None:
            print(self._line(state), file=sys.stderr, flush=True)
        else:
            self._live.update(self._picture(state, self._live.console), refresh=True)

    def _measure(self) -> None:
        ticks = _processor_ticks()
        if ticks and self._ticks and ticks[1] > self._ticks[1]:
            self._busy = (ticks[0] - self._ticks[0]) / (ticks[1] - self._ticks[1])
        self._ticks = ticks

    def _line(self, state: State) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in _ordered(state.verdicts))
        left = f", {duration(state.seconds_left)} left" if state.seconds_left is not None else ""
        return f"{state.what}: {state.done} of {state.total} files{f': {counts}' if counts else ''}{left}"

    def _picture(self, state: State, console: "Console") -> "RenderableType":
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        width = max(10, min(40, console.width - 50))
        bar = ProgressBar(total=max(state.total, 1), completed=state.done, width=width)
        head = Table.grid(padding=(0, 1))
        left = f"{duration(state.seconds_left)} left" if state.seconds_left is not None else ""
        cores = f"{self._busy:.0%} of {os.cpu_count()} CPUs"
        head.add_row(state.what, bar, f"{state.done}/{state.total}", left, Text(cores, style="dim"))
        counts = Text("  ")
        for name, count in _ordered(state.verdicts):
            counts.append(f"{count} {name}  ", style=STYLES.get(name, ""))
        now = Table.grid(padding=(0, 2))
        for one in state.running[: max(3, console.height - 6)]:
            now.add_row(f"  {one.lab}", one.whose, f"{one.seconds:.0f} s")
        return Group(head, counts, now)


def _ordered(verdicts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(name, verdicts[name]) for name in reversed(WORST_FIRST) if verdicts.get(name)]


def _processor_ticks() -> tuple[float, float] | None:
    """Return the machine's busy and all processor time so far, where the system reports it."""
    try:
        with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123
            numbers = [float(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return (sum(numbers) - numbers[3] - numbers[4], sum(numbers)) if len(numbers) > 4 else None


def duration(seconds: float) -> str:
    """Return a time for people: 42 s, 7 min, 1 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
