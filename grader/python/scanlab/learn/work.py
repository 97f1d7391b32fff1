"""Check a file in a process that is ready for it: what a check imports is loaded before the first save.

A save while a check is running ends that process, and whatever it runs, and starts another.
"""

import multiprocessing
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

from scanlab.errors import ScanlabError
from scanlab.judging.result import LabResult
from scanlab.process import Interrupted, stop_on_signals

GRACE = 5.0
"""Seconds that a check gets to end what it runs."""


@dataclass(frozen=True)
class News:
    """What a check has to say: `first`: its result before cures are tried; `whole`; `fault`: why there is none."""

    kind: Literal["first", "whole", "fault"]
    text: str

    @property
    def result(self) -> LabResult:
        """Return the result of `first` and `whole`."""
        return LabResult.model_validate_json(self.text)


class Checker:
    """Checks one version of a file at a time."""

    def __init__(self) -> None:
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__, "scanlab.judging.judge", "scanlab.judging.report"])
        self._process: BaseProcess | None = None
        self._news: Connection | None = None

    @property
    def is_busy(self) -> bool:
        """Return whether a check is running."""
        return self._process is not None

    def start(self, lab: str, path: Path) -> None:
        """Check a file as a lab's, by the lab's name; a check that is running is ended."""
        self.stop()
        self._news, given = self._context.Pipe(duplex=False)
        self._process = self._context.Process(target=_check, args=(lab, path, given), name="check")
        self._process.start()
        given.close()

    def news(self, seconds: float = 0) -> Iterator[News]:
        """Yield what the check says within these seconds; after `whole` and `fault` it is over."""
        while self._news is not None and self._news.poll(seconds):
            try:
                news = News(*self._news.recv())
            except EOFError:
                news = News("fault", "the check ended without a result")
            if news.kind != "first" and self._process is not None:
                self._process.join(GRACE)
                self.stop()
            yield news
            if news.kind != "first":
                return

    def stop(self) -> None:
        """End the check, if one is running, with all that it has started."""
        if self._process is not None:
            self._process.terminate()
            self._process.join(GRACE)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        if self._news is not None:
            self._news.close()
        self._process = self._news = None


def _check(lab_name: str, path: Path, out: Connection) -> None:
    from scanlab.judging.judge import Submission, grade
    from scanlab.judging.plan import Options
    from scanlab.labs.folders import find_lab

    def say(kind: str, text: str) -> None:
        with suppress(BrokenPipeError):
            out.send((kind, text))

    stop_on_signals()
    try:
        submission = Submission(find_lab(lab_name), path)
        options = Options(remarks=True)
        (result,) = grade([submission], options, first=lambda result: say("first", result.model_dump_json()))
        say("whole", result.model_dump_json())
    except ScanlabError as error:
        say("fault", str(error))
    except Interrupted:
        pass
