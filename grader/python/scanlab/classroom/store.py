"""The folder in which a class's results lie, and how it is written: each file whole or not at all.

class.json                  who handed in what (records.Class); written before anything is graded, and again when late
                            hand-ins are added (`additions.py`): what was in it stays
sources/SHA256.cu           each file that is graded, once
kept/SHA256                 the bytes of each file that waits for an answer, or has got one (`answers.py`)
answers.toml                the questions, and what a person has answered
graded/LAB/SHA256.json      what the judge says of it (schema scanlab-result, without `seconds`): the unit of work.
                            Identical files are graded once, and a run that was killed goes on where one is missing
usage/LAB/SHA256.json       what grading it took: {"seconds": wall clock, "cpu_seconds": of all its processes}
results/KEY.json            what a submission got (records.Record): made from the above, and from them alone
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from scanlab import files
from scanlab.classroom.records import Class, Record
from scanlab.errors import KitError, UsageError
from scanlab.judging.result import CheckResult, LabResult
from scanlab.paths import shown

Model = TypeVar("Model", bound=BaseModel)
ROUNDING = 0.01
"""Points by which a sum may differ from its parts."""


@dataclass(frozen=True)
class Unit:
    """One file graded as one lab."""

    lab: str
    sha256: str


class Store:
    """One results folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # ---- the class ---------------------------------------------------------------------------------------------------

    @property
    def class_file(self) -> Path:
        """Return the file that makes a folder a results folder."""
        return self.folder / "class.json"

    def read_class(self) -> Class:
        """Return who handed in what. Raises UsageError when this is no results folder that this version can read."""
        return _read(self.class_file, Class, "grader/scanlab grade SUBMISSIONS --out makes one")

    def write_class(self, taken_in: Class) -> None:
        """Write `class.json`."""
        write_atomically(self.class_file, dump(taken_in))

    def sweep(self) -> None:
        """Remove the half-written files that a killed run has left; no other process may be writing."""
        for folder in (self.folder, *(self.folder / name for name in ("sources", "kept", "results"))):
            files.remove_unfinished(folder)
        for name in ("graded", "usage"):
            for folder in (self.folder / name).glob("*/"):
                files.remove_unfinished(folder)

    # ---- sources and units -------------------------------------------------------------------------------------------

    def source(self, sha256: str) -> Path:
        """Return where a graded file's text lies."""
        return self.folder / "sources" / f"{sha256}.cu"

    def write_source(self, sha256: str, data: bytes) -> None:
        """Write a file's text, if it is not there yet."""
        path = self.source(sha256)
        if not path.exists():
            write_atomically(path, data.decode("utf-8"))

    def kept(self, sha256: str) -> Path:
        """Return where the bytes of a file lie that waits for an answer."""
        return self.folder / "kept" / sha256

    def write_kept(self, sha256: str, data: bytes) -> None:
        """Write the bytes of a file that waits for an answer, if they are not there yet."""
        path = self.kept(sha256)
        if not path.exists():
            write_atomically(path, data)

    def graded(self, unit: Unit) -> Path:
        """Return where the judge's result of a unit lies."""
        return self.folder / "graded" / unit.lab / f"{unit.sha256}.json"

    def usage(self, unit: Unit) -> Path:
        """Return the file that says what grading a unit took."""
        return self.folder / "usage" / unit.lab / f"{unit.sha256}.json"

    def read_usage(self, unit: Unit) -> dict[str, float]:
        """Return what grading a unit took; empty when that is not known."""
        with suppress(OSError, ValueError):
            usage = json.loads(self.usage(unit).read_text(encoding="utf-8"))
            if isinstance(usage, dict):
                return usage
        return {}

    def read_graded(self, unit: Unit) -> LabResult | None:
        """Return the judge's result of a unit, or None when there is none, or a damaged one: it is graded again."""
        with suppress(OSError, ValidationError, OverflowError):
            result = LabResult.model_validate_json(self.graded(unit).read_bytes())
            if _is_sound(result, unit):
                return result
        return None

    def write_graded(self, unit: Unit, result: LabResult, usage: dict[str, float]) -> None:
        """Write a unit's result and what it took. The kit's own fault never replaces a result that is there."""
        if result.verdict == "error":
            earlier = self.read_graded(unit)
            if earlier is not None and earlier.verdict != "error":
                return
        write_atomically(self.usage(unit), json.dumps(usage) + "\n", is_lasting=False)
        write_atomically(self.graded(unit), result.without_times().by_name() + "\n")

    # ---- results -----------------------------------------------------------------------------------------------------

    def result(self, key: str) -> Path:
        """Return where a submission's result lies."""
        return self.folder / "results" / f"{key}.json"

    def read_record(self, key: str) -> Record:
        """Return what a submission got. Raises UsageError when it is not there, or damaged."""
        return _read(self.result(key), Record, "the class is not graded to its end; grade it with --resume")

    def records(self) -> Iterator[Record]:
        """Yield what each submission got, in the class's order. Raises UsageError when one is not there."""
        for submission in self.read_class().submissions:
            yield self.read_record(submission.key)

    def remove_record(self, key: str) -> None:
        """Remove the result of a submission that has become part of another."""
        self.result(key).unlink(missing_ok=True)

    def write_record(self, record: Record) -> None:
        """Write what a submission got."""
        write_atomically(self.result(record.key), dump(record))


def dump(model: BaseModel) -> str:
    """Return a model as JSON for a file: equal models give equal bytes."""
    return json.dumps(model.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=1) + "\n"


def write_atomically(path: Path, text: str | bytes, is_lasting: bool = True) -> None:
    """Write a file of the folder whole (`files.replace`), and make its folder. It is lasting: the grades are in it.

    Raises KitError, with its name, when it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, text, is_lasting=is_lasting)
    except OSError as error:
        raise KitError(f"cannot write {shown(path)}: {error.strerror}") from error


def _is_sound(result: LabResult, unit: Unit) -> bool:
    """Return whether a task, on whatever machine, has written what a judge says of this unit."""
    if result.lab != unit.lab or not result.checks:
        return False
    if not _has_points(result) or not all(_has_points(check) for check in result.checks):
        return False
    points, most = sum(check.points for check in result.checks), sum(check.max_points for check in result.checks)
    return abs(points - result.points) < ROUNDING and abs(most - result.max_points) < ROUNDING


def _has_points(part: LabResult | CheckResult) -> bool:
    return 0 <= part.points <= part.max_points + ROUNDING


def _read(path: Path, model: type[Model], advice: str) -> Model:
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{shown(path)} does not exist: {advice}") from error
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot read it: {error.strerror}") from error
    except (ValidationError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0] if isinstance(error, UnicodeDecodeError) else error.errors()[0]["msg"]
        raise UsageError(f"{shown(path)} is damaged or of another version: {first}") from error
