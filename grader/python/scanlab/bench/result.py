"""What a comparison of scans has found: the JSON that `bench` writes, and the figures that follow from it."""

from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from scanlab.errors import UsageError
from scanlab.paths import shown

SCHEMA = "scanlab-bench"
VERSION = 1
ELEMENT_BYTES = 4

Entry = Literal["inclusive", "exclusive"]
Role = Literal["solution", "variant", "yours", "file", "cub", "copy"]
Status = Literal[
    "ok",
    "wrong",  # another result than a scan's
    "error",  # a CUDA error, or its process ended
    "out_of_memory",
    "missing",  # the file has no such entry
    "no_end",  # no answer within the limit
    "skipped",  # it would take too long
    "not_built",  # nvcc or the linker refuses it
]


class Point(BaseModel):
    """One entry at one size: milliseconds of each timed call, or the virtual GPU's counts."""

    n: int = Field(ge=1)
    entry: Entry
    status: Status
    text: str = ""
    ms: list[float] = []
    counts: dict[str, float] | None = None

    @property
    def median_ms(self) -> float | None:
        """Return the median of the timed calls, in ms."""
        return median(self.ms) if self.status == "ok" and self.ms else None

    @property
    def min_ms(self) -> float | None:
        """Return the fastest of the timed calls, in ms."""
        return min(self.ms) if self.status == "ok" and self.ms else None


class Row(BaseModel):
    """What was measured: a file with a scan, CUB's, or the copy. `section` 0: the whole array is one scan."""

    name: str
    role: Role
    source: str = ""
    section: int = 0
    points: list[Point] = []

    def at(self, n: int, entry: Entry = "inclusive") -> Point | None:
        """Return what was found for `entry` at n elements, or None."""
        return next((point for point in self.points if (point.n, point.entry) == (n, entry)), None)

    def median_ms(self, n: int, entry: Entry = "inclusive") -> float | None:
        """Return the median time at n elements in ms; None where there is none."""
        point = self.at(n, entry)
        return point.median_ms if point else None


class DeviceFacts(BaseModel):
    """The GPU; what it does not report is 0 or empty."""

    name: str
    multiprocessors: int = 0
    l2_bytes: int = 0
    memory_bytes: int = 0
    peak_gb_s: float = 0
    runtime: str = ""
    driver: str = ""
    flush_bytes: int = 0


class Result(BaseModel):
    """One comparison. `n` is the size of the main table, in elements; `sizes` are all that were measured."""

    kind: Literal["scanlab-bench"] = Field(alias="schema")
    version: Literal[1]
    subject: Literal["times", "counts"]
    date: str
    command: str
    kit: str
    device: DeviceFacts
    n: int = Field(ge=1)
    sizes: list[int] = Field(min_length=1)
    rounds: int = 1
    calls: int = 1
    seconds: float = 0
    empty_launch_ms: float | None = None
    interrupted: bool = False
    notes: list[str] = []
    rows: list[Row] = []

    def copy_ms(self, n: int) -> float | None:
        """Return the median time of the copy of n elements in ms; None where there is none."""
        return next((row.median_ms(n) for row in self.rows if row.role == "copy"), None)

    def failed(self) -> bool:
        """Return whether something that was measured is wrong or broken."""
        bad = ("wrong", "error", "missing", "no_end", "not_built")
        return any(point.status in bad for row in self.rows for point in row.points)


def gb_a_second(n: int, ms: float) -> float:
    """Return 10^9 bytes a second for n elements that are each read once and written once in `ms` milliseconds."""
    return 2 * n * ELEMENT_BYTES / (ms * 1e6)


def read_result(path: Path) -> Result:
    """Read what `bench --json` wrote. Raises UsageError for anything else."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown(path)}: not UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot read it: {error.strerror}") from error
    try:
        return Result.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise UsageError(f"{shown(path)} is not what `bench --json` writes: {place}: {first['msg']}") from error
