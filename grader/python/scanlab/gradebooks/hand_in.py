"""Grade what one person has handed in, in a folder: what runs inside Gradescope, Autolab, PrairieLearn and the like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from scanlab.classroom import grading
from scanlab.classroom.intake.take_in import take_one
from scanlab.classroom.records import Class, HandedIn, Problem, Record, Student, Submission
from scanlab.classroom.store import Store
from scanlab.contract import Device
from scanlab.course.model import Course
from scanlab.course.seen import Sight
from scanlab.errors import KitError
from scanlab.gradebooks.model import Options
from scanlab.gradebooks.text import one_line
from scanlab.judging import sandbox
from scanlab.judging.plan import DEFAULT_SEED
from scanlab.labs.folders import find_lab
from scanlab.paths import shown
from scanlab.scratch import scratch

KEY = "submission"


class Settings(BaseModel):
    """What an adapter grades, and how: adapter.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    platform: str
    labs: tuple[str, ...]
    device: Device = "vgpu"
    seed: int = DEFAULT_SEED
    title: str = ""
    problems: Mapping[str, str] = {}
    course: Course | None = None
    """What of a course holds here, see `adapter.part_of_course`."""
    is_sandboxed: bool = True
    """False where the platform's container forbids sandboxes, and is thrown away after each submission."""


@dataclass(frozen=True)
class HandIn:
    """What a platform hands over."""

    folder: Path
    origin: str = "submission"
    students: Sequence[Student] = ()
    """Who has handed it in, as far as the platform says; several are a group, which gets one result."""
    submitted_at: str | None = None
    attempt: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


def read_settings(path: Path) -> Settings:
    """Return an adapter's settings. Raises KitError when they are broken: the learner cannot help it."""
    try:
        return Settings.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise KitError(f"{shown(path)}: cannot read it: {error.strerror}") from error
    except (ValidationError, UnicodeDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": "not UTF-8"}
        place = ".".join(map(str, first["loc"]))
        raise KitError(f"{shown(path)}: {place + ': ' if place else ''}{first['msg']}") from error


def grade(settings: Settings, hand_in: HandIn) -> tuple[Record, Options]:
    """Grade a folder, and return what it got, and how to report it.

    Raises KitError for the kit's own fault, in which case there is no score, and UsageError for anything but a folder.
    """
    labs = [find_lab(lab).name for lab in settings.labs]
    files, problems, sources = take(hand_in.folder, labs)
    with scratch() as folder:
        store = Store(folder)
        for sha256, data in sources.items():
            store.write_source(sha256, data)
        submission = Submission(
            key=KEY,
            student=next(iter(hand_in.students), None),
            origin=hand_in.origin,
            submitted_at=hand_in.submitted_at,
            attempt=hand_in.attempt,
            files=files,
            problems=tuple(problems),
            metadata=hand_in.metadata,
        )
        taken_in = Class(
            title=settings.title or (settings.course.title if settings.course else ""),
            device=settings.device,
            seed=settings.seed,
            labs=tuple(labs),
            submissions=(submission,),
            course=settings.course.public_view() if settings.course else {},
        )
        if settings.is_sandboxed and files:
            sandbox.require()
        for unit in grading.units(taken_in):
            grading.grade_unit(store, taken_in, unit, is_sandboxed=settings.is_sandboxed)
        # A platform takes one result for a group: that of the member to whom the course leaves most.
        members = [submission.model_copy(update={"student": student}) for student in hand_in.students] or [submission]
        records = [grading.make_record(store, taken_in, member) for member in members]
        record = max(records, key=lambda one: one.points)
    if record.verdict == "error":
        raise KitError(_fault(record))
    return record, Options(problems=settings.problems, sight=Sight.of(taken_in))


def _fault(record: Record) -> str:
    causes = [cause for lab in record.labs if lab.result for cause in lab.result.kit_faults]
    facts = [line for cause in causes[:1] for line in (cause.headline, *cause.details)]
    return "\n  ".join(["the kit's own fault, and no score", *map(one_line, filter(None, facts))])


def take(folder: Path, labs: Sequence[str]) -> tuple[tuple[HandedIn, ...], list[Problem], dict[str, bytes]]:
    """Return the files of a folder that are for `labs`, what is missing or could not be taken, and the files' texts.

    Raises UsageError when the folder cannot be read.
    """
    files, problems, sources = take_one(folder, labs)
    missing = []
    for lab in labs:
        if any(one.lab == lab for one in (*files, *problems)):
            continue
        name = "scan.cu" if len(labs) == 1 else f"{lab}/scan.cu"
        refused = next((problem for problem in problems if problem.lab is None), None)
        why = f"; not taken: {refused.name}, which {refused.reason}" if refused else ""
        missing.append(Problem(name=name, reason=f"not in what was handed in{why}", lab=lab))
    return files, [*problems, *missing], sources
