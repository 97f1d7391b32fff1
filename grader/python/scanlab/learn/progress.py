"""What a learner has passed, when, and in how many tries: a file of their own copy of the kit.

A try is a version of the lab's own file that a whole check has graded; the same text again is no other try.
"""

import fcntl
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scanlab.files import replace
from scanlab.judging.result import LabResult
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab
from scanlab.paths import STATE

FILE = STATE / "progress.json"
BAR = 22
"""Columns of the bar."""
WIDTH = 20
"""Columns of what is said of a lab: `37.5 points, 12 tries`."""


class LabProgress(BaseModel):
    """One lab: `passed` is when it was first passed, `points` the most of any try, `last` the last try's hash."""

    model_config = ConfigDict(extra="ignore")

    tries: int = 0
    tries_to_pass: int | None = None
    passed: datetime | None = None
    points: float = 0
    last: str = ""

    def text(self) -> str:
        """Return `passed, 3 tries`, `40 points, 2 tries`; nothing of a lab that was not tried."""
        tries = self.tries if self.tries_to_pass is None else self.tries_to_pass
        if not self.tries:
            return ""
        return f"{'passed' if self.passed else f'{self.points:g} points'}, {tries} {'try' if tries == 1 else 'tries'}"


class Progress(BaseModel):
    """All labs that were tried, by name."""

    model_config = ConfigDict(extra="ignore")

    version: Literal[1] = 1
    labs: dict[str, LabProgress] = Field(default_factory=dict)

    def of(self, lab: Lab) -> LabProgress:
        """Return a lab's own; of a lab that was never tried an empty one."""
        return self.labs.get(lab.name, LabProgress())

    def next_lab(self, ladder: Sequence[Lab]) -> Lab | None:
        """Return the first lab that is not passed; None when all are."""
        return next((lab for lab in ladder if self.of(lab).passed is None), None)

    def passed(self, ladder: Sequence[Lab]) -> int:
        """Return how many of these labs are passed."""
        return sum(self.of(lab).passed is not None for lab in ladder)

    def bar(self, ladder: Sequence[Lab]) -> str:
        """Return `[######------] 3 of 11 labs`, in ASCII: any terminal shows it."""
        done = self.passed(ladder)
        filled = BAR * done // max(len(ladder), 1)
        return f"[{'#' * filled}{'-' * (BAR - filled)}] {done} of {len(ladder)} labs passed"


def read(file: Path | None = None) -> Progress:
    """Return what is known; nothing where there is no file, or one that this version cannot read."""
    try:
        return Progress.model_validate_json((file or FILE).read_bytes())
    except (OSError, ValidationError):
        return Progress()


def record(lab: Lab, text: bytes, result: LabResult, file: Path | None = None) -> Progress:
    """Add what a whole check of a lab's own file has found, and return all. A folder that is read-only stays as it is.

    `text` is what was checked. A file that is as it was handed out is no try.
    """
    file = file or FILE
    if skeleton.untouched(text.decode(errors="replace")):
        return read(file)
    with _alone(file):
        progress = read(file)
        one = progress.of(lab)
        digest = hashlib.sha256(text).hexdigest()[:16]
        one.tries += digest != one.last
        one.last = digest
        one.points = max(one.points, result.points)
        if result.verdict == "pass" and one.passed is None:
            one.passed, one.tries_to_pass = datetime.now(UTC), one.tries
        progress.labs[lab.name] = one
        with suppress(OSError):
            replace(file, progress.model_dump_json(indent=1) + "\n")
    return progress


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Let one process at a time read, change and write it; without a lock where the folder cannot be written."""
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
            return
    yield
