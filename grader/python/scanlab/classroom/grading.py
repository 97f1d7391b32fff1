"""Grade the units of a class, and make each submission's result from what they got."""

import resource
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from scanlab import machine
from scanlab.classroom.attempts import Attempts, graded_files
from scanlab.classroom.records import WORST_FIRST, Class, LabGrade, Record, Submission, Verdict
from scanlab.classroom.store import Store, Unit
from scanlab.course.lateness import deductions
from scanlab.course.model import lab_of, seed_for
from scanlab.errors import KitError, UsageError, WorkError
from scanlab.judging import judge
from scanlab.judging import plan as plans
from scanlab.judging.compile import build_runner
from scanlab.judging.plan import Options
from scanlab.judging.result import LabResult
from scanlab.process import reap_orphans
from scanlab.scratch import scratch

UnitWork = Callable[[Store, Class, Unit], object]
UnitLimit = Callable[[Unit], float]


def units(taken_in: Class) -> list[Unit]:
    """Return what there is to grade: each different file once for each lab, in the class's order."""
    return list(dict.fromkeys(unit for one in taken_in.submissions for unit in units_of(taken_in, one)))


def units_of(taken_in: Class, submission: Submission) -> list[Unit]:
    """Return what there is to grade of one submission."""
    return [Unit(file.lab, file.sha256) for file in graded_files(taken_in, submission)]


def options_for(taken_in: Class, unit: Unit, is_sandboxed: bool = True) -> Options:
    """Return how a unit is compiled and judged. The one place where that is said."""
    seed = seed_for(taken_in.course, taken_in.seed, unit.lab, unit.sha256)
    return Options(device=taken_in.device, seed=seed, prove=taken_in.is_proved, is_sandboxed=is_sandboxed)


def grade_unit(store: Store, taken_in: Class, unit: Unit, *, is_sandboxed: bool = True) -> Verdict:
    """Grade one unit, in the sandbox, and write its result. The kit's own fault is a result, too: `error`.

    Ask `sandbox.require()` once before the first unit: where no sandbox can be had, every unit is an `error`.

    May run in any process on any machine that sees the folder; whoever else grades the same unit writes the same.
    On a GPU the judge waits until no other process on this machine measures there.
    """
    options = options_for(taken_in, unit, is_sandboxed)
    began, used = time.monotonic(), _cpu_seconds()
    try:
        with _copied(store, taken_in, unit) as submission:
            result = judge.grade([submission], options)[0]
    except (KitError, OSError) as error:
        said = machine.sentence_of(error) if isinstance(error, OSError) else str(error)
        result = _faulty(store, taken_in, unit, said)
    reap_orphans()
    usage = {"seconds": time.monotonic() - began, "cpu_seconds": _cpu_seconds() - used}
    store.write_graded(unit, result, usage)
    return result.verdict


def compile_unit(store: Store, taken_in: Class, unit: Unit, *, is_sandboxed: bool = True) -> None:
    """Compile one unit into the cache, so that it need not be compiled while a GPU's times are measured.

    What goes wrong here goes wrong again in `grade_unit`, which says so.
    """
    with suppress(KitError, WorkError, UsageError, OSError), _copied(store, taken_in, unit) as submission:
        for element in plans.runners(submission.lab, taken_in.device):
            build_runner(
                submission.path,
                element,
                taken_in.device,
                is_sandboxed=is_sandboxed,
                forbidden=submission.lab.rubric.forbidden_headers,
            )


def write_fault(store: Store, taken_in: Class, unit: Unit, message: str, usage: dict[str, float]) -> None:
    """Write that the kit failed to grade a unit; a result that is there stays."""
    store.write_graded(unit, _faulty(store, taken_in, unit, message), usage)


def _faulty(store: Store, taken_in: Class, unit: Unit, message: str) -> LabResult:
    """Return the result of a unit that the kit could not grade, in the judge's own form."""
    submission = judge.Submission(lab_of(taken_in.course, unit.lab), store.source(unit.sha256), is_a_copy=True)
    options = options_for(taken_in, unit)
    headline, *details = message.splitlines() or ["the kit failed"]
    return judge.failed(submission, options, headline, details, "kit", "error")


@contextmanager
def _copied(store: Store, taken_in: Class, unit: Unit) -> Iterator[judge.Submission]:
    """Put a unit's file in a folder of its own, where nothing else of the class can be seen."""
    with scratch() as folder:
        path = folder / unit.lab / "scan.cu"
        path.parent.mkdir()
        shutil.copyfile(store.source(unit.sha256), path)
        yield judge.Submission(lab_of(taken_in.course, unit.lab), path, is_a_copy=True)


def _cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def make_record(store: Store, taken_in: Class, submission: Submission) -> Record:
    """Return what a submission got: a function of the class and of its graded units.

    Raises KitError when a unit is not graded yet.
    """
    handed_in = {file.lab for file in submission.files}
    problems = {problem.lab: f"{problem.name}: {problem.reason}" for problem in reversed(submission.problems)}
    labs = []
    for name in taken_in.labs:
        if question := submission.open_question(name):
            headline = f"waits for an answer: {question.text}"
            labs.append(_without_file(taken_in, name, "pending", headline))
        elif name in handed_in:
            labs.append(_counted(store, taken_in, submission, name))
        else:
            headline = problems.get(name) or problems.get(None) or "nothing was handed in"
            labs.append(_without_file(taken_in, name, "fail", headline))
    counting = [one for lab in labs for one in lab.attempts if not one.reason]
    return Record(
        key=submission.key,
        student=submission.student,
        origin=submission.origin,
        submitted_at=max((one.submitted_at for one in counting if one.submitted_at), default=submission.submitted_at),
        attempt=max((one.number for one in counting), default=submission.attempt),
        device=taken_in.device,
        verdict=next(
            verdict for verdict in WORST_FIRST if verdict in {lab.verdict for lab in labs} or verdict == "pass"
        ),
        points=sum(lab.points for lab in labs),
        max_points=sum(lab.max_points for lab in labs),
        not_run_points=sum(lab.not_run_points for lab in labs),
        labs=tuple(labs),
        problems=submission.problems,
        metadata=submission.metadata,
        claims=submission.claims,
        group=submission.group,
        taken_as=tuple(dict.fromkeys(f"{file.name}: {file.taken_as}" for file in submission.files if file.taken_as)),
    )


def _without_file(taken_in: Class, name: str, verdict: Verdict, headline: str) -> LabGrade:
    lab = lab_of(taken_in.course, name)
    return LabGrade(
        lab=name,
        sha256=None,
        verdict=verdict,
        points=0,
        max_points=lab.max_points(taken_in.device),
        not_run_points=lab.not_run_points(taken_in.device),
        headline=headline,
    )


def _counted(store: Store, taken_in: Class, submission: Submission, lab: str) -> LabGrade:
    """Return the grade of the attempt at a lab that counts."""
    attempts = Attempts(taken_in, submission, lab)
    grades = {}
    for place in attempts.graded():
        file = attempts.files[place]
        grade = _graded(store, Unit(lab, file.sha256))
        at, beyond = file.submitted_at or submission.submitted_at, attempts.number_beyond(place)
        grades[place] = _after_deductions(grade, taken_in, submission, at, beyond)
    counts, attempted = attempts.chosen(
        [grades[place].points if place in grades else None for place in range(len(attempts.files))]
    )
    return grades[counts].model_copy(update={"attempts": attempted})


def _after_deductions(
    grade: LabGrade, taken_in: Class, submission: Submission, submitted_at: str | None, beyond: int | None
) -> LabGrade:
    """Return an attempt's grade after what the course takes off: for late work, and for one that no longer counts.

    `beyond` is the number of such a one, else None.
    """
    taken = deductions(
        taken_in.course,
        grade.lab,
        submitted_at,
        submission,
        points=grade.points,
        max_points=grade.max_points,
        attempt=beyond,
        is_marked_late=submission.metadata.get("late") == "yes",
    )
    left = round(grade.points - sum(one.points for one in taken), 2) if taken else grade.points
    return grade.model_copy(update={"points": left, "deductions": taken})


def _graded(store: Store, unit: Unit) -> LabGrade:
    result = store.read_graded(unit)
    if result is None:
        raise KitError(f"{store.graded(unit)} is not there: grade the class with --resume")
    return LabGrade(
        lab=unit.lab,
        sha256=unit.sha256,
        verdict=result.verdict,
        points=result.points,
        max_points=result.max_points,
        not_run_points=result.not_run_points,
        result=result,
    )
