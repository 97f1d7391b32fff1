"""What of a class could not be taken: who has 0 points for it, and what stands beside a grade or a question."""

from scanlab.classroom.records import Class, Problem, Submission
from scanlab.course.model import Course


def without_work(taken_in: Class) -> dict[str, list[str]]:
    """Return who has 0 points in a lab since nothing of it could be graded: by key, why, a line each.

    A lab that was not handed in at all is none of these, nor one that waits for an answer or is excused.
    """
    course = Course.of(taken_in.course)
    found: dict[str, list[str]] = {}
    for one in taken_in.submissions:
        for lab, problem in _costs(taken_in, one).items():
            if not course.excused(lab, one):
                where = f" {lab}" if len(taken_in.labs) > 1 and problem.lab else ""
                found.setdefault(one.key, []).append(f"{one.key}{where}: {problem.name}: {problem.reason}")
    return {key: list(dict.fromkeys(lines)) for key, lines in found.items()}


def beside_work(taken_in: Class) -> list[str]:
    """Return what else was not taken as it was handed in, a line each: beside a grade, or what a question is about.

    What was refused of a lab that has a file is left out.
    """
    lines = []
    for one in taken_in.submissions:
        costs, graded = [*_costs(taken_in, one).values()], {file.lab for file in one.files}
        rest = [problem for problem in one.problems if problem not in costs and problem.lab not in graded]
        lines += [f"{one.key}: {problem.name}: {problem.reason}" for problem in rest]
    return lines


def _costs(taken_in: Class, one: Submission) -> dict[str, Problem]:
    """Return what has cost a submission which lab; what names no lab costs one only where nothing at all is graded."""
    graded = {file.lab for file in one.files}
    unnamed = next((problem for problem in one.problems if problem.lab is None), None) if not graded else None
    costs = {}
    for lab in taken_in.labs:
        if lab not in graded and not one.open_question(lab):
            problem = next((problem for problem in one.problems if problem.lab == lab), unnamed)
            costs |= {lab: problem} if problem else {}
    return costs
