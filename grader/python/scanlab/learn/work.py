"""Work for a learner in a process of its own, ready for it: what a check imports is loaded before the first save.

A save while it is running ends that process, and whatever it runs, and starts another.
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

from scanlab.errors import ScanlabError
from scanlab.judging.result import LabResult
from scanlab.paths import ROOT
from scanlab.process import Interrupted, stop_on_signals

GRACE = 5.0
"""Seconds that a process gets to end what it runs."""
Kind = Literal["first", "whole", "fault"]
Say = Callable[[Kind, str], None]
Work = Callable[[str, Path, Say], None]
"""What is done with a lab, by its name, and a file."""


@dataclass(frozen=True)
class News:
    """What work has to say: `first`: a result before cures are tried; `whole`: all; `fault`: why there is none."""

    kind: Kind
    text: str

    @property
    def result(self) -> LabResult:
        """Return the result of a check's `first` and `whole`."""
        return LabResult.model_validate_json(self.text)


class Background:
    """Works on one version of a file at a time."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__, "scanlab.judging.judge", "scanlab.judging.report"])
        _start_server()
        self._process: BaseProcess | None = None
        self._news: Connection | None = None

    def start(self, lab: str, path: Path) -> None:
        """Take a lab, by its name, and a file; work that is going on is ended."""
        self.stop()
        self._news, given = self._context.Pipe(duplex=False)
        self._process = self._context.Process(target=_run, args=(self._work, lab, path, given), name="work")
        self._process.start()
        given.close()

    def news(self, seconds: float = 0) -> Iterator[News]:
        """Yield what the work says within these seconds; after `whole` and `fault` it is over."""
        while self._news is not None and self._news.poll(seconds):
            try:
                news = News(*self._news.recv())
            except EOFError:
                news = News("fault", f"the {self._work.__name__} ended without a result")
            if news.kind != "first" and self._process is not None:
                self._process.join(GRACE)
                self.stop()
            yield news
            if news.kind != "first":
                return

    def stop(self) -> None:
        """End the work, if there is any, with all that it has started."""
        if self._process is not None:
            self._process.terminate()
            self._process.join(GRACE)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        if self._news is not None:
            self._news.close()
        self._process = self._news = None


def _start_server() -> None:
    """Start the process of which the others are forks.

    It loads beforehand what it finds in PYTHONPATH, and skips the rest: up to Python 3.12 it does not get `sys.path`.
    """
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "grader/python"), before]))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _run(work: Work, lab: str, path: Path, out: Connection) -> None:
    def say(kind: Kind, text: str) -> None:
        with suppress(BrokenPipeError):
            out.send((kind, text))

    stop_on_signals()
    try:
        work(lab, path, say)
    except ScanlabError as error:
        say("fault", str(error))
    except Interrupted:
        pass


def check(lab: str, path: Path, say: Say) -> None:
    """Check a file as a lab's."""
    from scanlab.judging.judge import Submission, grade
    from scanlab.judging.plan import Options
    from scanlab.labs.folders import find_lab

    submission = Submission(find_lab(lab), path)
    options = Options(remarks=True, side_by_side=True)
    (result,) = grade([submission], options, first=lambda result: say("first", result.model_dump_json()))
    say("whole", result.model_dump_json())


def trace(lab: str, path: Path, say: Say) -> None:
    """Trace the first entry of a lab's file, for the stepper."""
    from scanlab.labs.folders import find_lab
    from scanlab.trace.html import stepper_data
    from scanlab.trace.record import record, shown_call

    os.nice(5)  # a save's check goes first
    found = find_lab(lab)
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    traced = record(found, path, replace(shown_call(found, found.rubric.entries[0]), with_neighbours=True))
    say("whole", json.dumps(stepper_data(traced, text), ensure_ascii=False, separators=(",", ":")))


def site(_lab: str, path: Path, say: Say) -> None:
    """Build the handouts' site into a folder."""
    from scanlab.handouts.site import build

    os.nice(10)
    say("whole", str(build(path)))
