"""Grade what one person has handed in, in a folder: what runs inside Gradescope, Autolab, PrairieLearn and the like."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

from scanlab import sandbox
from scanlab.classroom import grading
from scanlab.classroom.records import Class, HandedIn, Problem, Record, Student, Submission
from scanlab.classroom.store import Store
from scanlab.course import Course, Sight
from scanlab.errors import KitError, UsageError
from scanlab.gradebooks.model import Options
from scanlab.gradebooks.selection import checks
from scanlab.gradebooks.text import one_line
from scanlab.labs import Device, Lab, find_lab
from scanlab.paths import shown
from scanlab.plan import DEFAULT_SEED

MOST_BYTES = 1 << 20
"""Of one file; a lab's file has some thousand."""
MOST_FILES = 2_000
DEEPEST = 8
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
    student: Student | None = None
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
    """Grade a folder, and return what it got, and how to tell it.

    Raises KitError for the kit's own fault, in which case there is no score, and UsageError for a folder that is none.
    """
    labs = [find_lab(lab) for lab in settings.labs]
    files, problems = take(hand_in.folder, labs)
    with tempfile.TemporaryDirectory(prefix="scanlab-") as scratch:
        store = Store(Path(scratch))
        handed_in = []
        for lab, (name, content) in files.items():
            digest = hashlib.sha256(content).hexdigest()
            store.source(digest).parent.mkdir(exist_ok=True)
            store.source(digest).write_bytes(content)
            handed_in.append(HandedIn(lab=lab, name=name, sha256=digest))
        submission = Submission(
            key=KEY,
            student=hand_in.student,
            origin=hand_in.origin,
            submitted_at=hand_in.submitted_at,
            attempt=hand_in.attempt,
            files=tuple(handed_in),
            problems=tuple(problems),
            metadata=hand_in.metadata,
        )
        taken_in = Class(
            title=settings.title or (settings.course.title if settings.course else ""),
            device=settings.device,
            seed=settings.seed,
            labs=tuple(lab.name for lab in labs),
            submissions=(submission,),
            course=settings.course.public_view() if settings.course else {},
        )
        if settings.is_sandboxed and files:
            sandbox.require()
        for unit in grading.units(taken_in):
            grading.grade_unit(store, taken_in, unit, is_sandboxed=settings.is_sandboxed)
        record = grading.make_record(store, taken_in, submission)
    if record.verdict == "error":
        raise KitError(_fault(record))
    return record, Options(problems=settings.problems, sight=Sight.of(taken_in))


def _fault(record: Record) -> str:
    causes = [check.get("cause") or {} for lab in record.labs for check in checks(lab) if check["verdict"] == "error"]
    told = [line for cause in causes[:1] for line in (cause.get("headline", ""), *(cause.get("details") or []))]
    return "\n  ".join(["the kit's own fault, and no score", *map(one_line, filter(None, told))])


# ---- which file is which lab -----------------------------------------------------------------------------------------


def take(folder: Path, labs: Sequence[Lab]) -> tuple[dict[str, tuple[str, bytes]], list[Problem]]:
    """Return the file of each lab, its name and its bytes, and what could not be taken.

    A file belongs to a lab when it or a folder of it is called like it: 02_kogge_stone/scan.cu, 02.cu, kogge_stone.cu.
    Where one lab is graded, scan.cu is its file, or else the only .cu file that there is. Links are not followed.

    Raises UsageError when the folder cannot be read.
    """
    problems: list[Problem] = []
    found = dict(_walk(folder, problems))
    files = {}
    for lab in labs:
        named = [name for name in found if _names(PurePosixPath(name), lab)]
        if not named and len(labs) == 1:
            named = [name for name in found if PurePosixPath(name).name == "scan.cu"] or list(found)
        nearest = min((_distance(name) for name in named), default=None)
        best = [name for name in named if _distance(name) == nearest]
        if len(best) > 1:
            some = ", ".join(best[:5])
            reason = f"{len(best)} files may be meant for {lab.name} ({some}): hand in one scan.cu"
            problems.append(Problem(name=best[0], reason=reason, lab=lab.name))
        elif best:
            try:
                files[lab.name] = (best[0], _read(found[best[0]]))
            except OSError as error:
                why = error.strerror or str(error)
                problems.append(Problem(name=best[0], reason=f"cannot be read: {why}", lab=lab.name))
        else:
            names = "scan.cu" if len(labs) == 1 else f"{lab.name}/scan.cu"
            refused = [problem for problem in problems if problem.lab is None]
            why = f"; not taken: {refused[0].name}, which {refused[0].reason}" if refused else ""
            problems.append(Problem(name=names, reason=f"not in what was handed in{why}", lab=lab.name))
    return files, problems


def _names(path: PurePosixPath, lab: Lab) -> bool:
    called = {lab.name, lab.name[3:], lab.number}
    return path.stem.casefold() in called or any(part.casefold() == lab.name for part in path.parent.parts)


def _distance(name: str) -> tuple[bool, int]:
    """Order files that may be meant: scan.cu first, and what lies nearest to the top."""
    path = PurePosixPath(name)
    return path.name != "scan.cu", len(path.parts)


def _walk(folder: Path, problems: list[Problem]) -> Iterator[tuple[str, Path]]:
    """Yield the .cu files of a folder by their names in it."""

    def stop(error: OSError) -> None:
        raise UsageError(f"{shown(Path(error.filename))}: cannot read it: {error.strerror}") from error

    seen = 0
    for place, folders, names in os.walk(folder, onerror=stop):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__"))) if depth < DEEPEST else []
        for name in sorted(names):
            seen += 1
            if seen > MOST_FILES:
                problems.append(Problem(name="…", reason=f"more than {MOST_FILES} files: the others are not looked at"))
                return
            path = Path(place) / name
            if not name.casefold().endswith(".cu") or name.startswith("."):
                continue
            relative = one_line(os.fsencode(path.relative_to(folder)).decode(errors="replace"))
            if reason := _refusal(path):
                problems.append(Problem(name=relative, reason=reason))
            else:
                yield relative, path


def _refusal(path: Path) -> str:
    try:
        about = path.lstat()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISLNK(about.st_mode):
        return "is a link, which is not followed"
    if not stat.S_ISREG(about.st_mode):
        return "is no plain file"
    return f"has {about.st_size} bytes; a lab's file has at most {MOST_BYTES}" if about.st_size > MOST_BYTES else ""


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MOST_BYTES)
