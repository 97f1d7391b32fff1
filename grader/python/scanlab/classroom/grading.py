"""Grade the units of a class, and make each submission's result from what they got."""

import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from scanlab import judge
from scanlab.classroom.records import WORST_FIRST, Class, LabGrade, Record, Submission, Verdict
from scanlab.classroom.store import Store, Unit
from scanlab.course import deductions, lab_of, seed_for
from scanlab.errors import KitError
from scanlab.plan import Options


def units(taken_in: Class) -> list[Unit]:
    """Return what there is to grade: each different file once for each lab, in the class's order."""
    handed_in = (Unit(file.lab, file.sha256) for one in taken_in.submissions for file in one.files)
    return list(dict.fromkeys(handed_in))


def grade_unit(store: Store, taken_in: Class, unit: Unit, *, is_sandboxed: bool = True) -> Verdict:
    """Grade one unit, in the sandbox, and write its result. The kit's own fault is a result, too: `error`.

    Ask `sandbox.require()` once before the first unit: where no sandbox can be had, every unit is an `error`.

    May run in any process on any machine that sees the folder; whoever else grades the same unit writes the same.
    """
    lab = lab_of(taken_in.course, unit.lab)
    seed = seed_for(taken_in.course, taken_in.seed, unit.lab, unit.sha256)
    options = Options(device=taken_in.device, seed=seed, is_sandboxed=is_sandboxed)
    began, used = time.monotonic(), _cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="scanlab-") as scratch:
        path = Path(scratch) / unit.lab / "scan.cu"
        path.parent.mkdir()
        shutil.copyfile(store.source(unit.sha256), path)
        submission = judge.Submission(lab, path, is_a_copy=True)
        try:
            result = judge.grade([submission], options)[0]
        except KitError as error:
            headline, *details = str(error).splitlines()
            result = judge.failed(submission, options, headline, details, "kit")
            result["verdict"] = result["checks"][0]["verdict"] = "error"
    usage = {"seconds": time.monotonic() - began, "cpu_seconds": _cpu_seconds() - used}
    store.write_graded(unit, _without_times(result), usage)
    return result["verdict"]


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _without_times(result: dict[str, Any]) -> dict[str, Any]:
    checks = [{key: value for key, value in check.items() if key != "seconds"} for check in result["checks"]]
    return {**result, "checks": checks}


def make_record(store: Store, taken_in: Class, submission: Submission) -> Record:
    """Return what a submission got: a function of the class and of its graded units.

    Raises KitError when a unit is not graded yet.
    """
    files = {file.lab: file.sha256 for file in submission.files}
    problems = {problem.lab: problem.reason for problem in reversed(submission.problems)}
    labs = []
    for name in taken_in.labs:
        if name in files:
            labs.append(_after_deductions(_graded(store, Unit(name, files[name])), taken_in, submission))
        else:
            headline = problems.get(name) or problems.get(None) or "nothing was handed in"
            lab = lab_of(taken_in.course, name)
            device = taken_in.device
            labs.append(
                LabGrade(
                    lab=name,
                    sha256=None,
                    verdict="fail",
                    points=0,
                    max_points=lab.max_points(device),
                    not_run_points=lab.not_run_points(device),
                    headline=headline,
                )
            )
    return Record(
        key=submission.key,
        student=submission.student,
        origin=submission.origin,
        submitted_at=submission.submitted_at,
        attempt=submission.attempt,
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
    )


def _after_deductions(grade: LabGrade, taken_in: Class, submission: Submission) -> LabGrade:
    """Return a grade after what the course takes off for late work and attempts that no longer count."""
    taken = deductions(
        taken_in.course,
        grade.lab,
        submission.submitted_at,
        submission.student,
        points=grade.points,
        max_points=grade.max_points,
        attempt=submission.attempt,
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
        verdict=result["verdict"],
        points=result["points"],
        max_points=result["max_points"],
        not_run_points=result["not_run_points"],
        result=result,
    )
