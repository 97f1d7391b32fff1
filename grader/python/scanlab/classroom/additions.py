"""What a pile has that its class, which was taken in before, does not: late hand-ins, and more attempts.

They are added. Whatever was taken in before stays as it is, also where the pile no longer has it: an export may hold
the newest attempts only, or nothing but what came late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from scanlab.classroom.intake.take_in import absent
from scanlab.classroom.records import Class, HandedIn, Submission
from scanlab.course.matching import as_written

Identity = tuple[str, str, str | None]


@dataclass(frozen=True)
class Added:
    """A class with what is new in it."""

    taken_in: Class
    new: tuple[str, ...]
    """Keys of those who had handed nothing in before."""
    again: tuple[str, ...]
    """Keys of those who have handed in more: files, or what could not be taken."""


def add(known: Class, now: Class) -> Added:
    """Return the class `known` with what is new in `now`; its labs, device, seed and course stay.

    `now` was taken in with `known` at hand: who was there before has the same key.
    """
    before = {one.key: one for one in known.submissions}
    submissions = dict(before)
    again = []
    for one in now.submissions:
        old = before.get(one.key)
        submissions[one.key] = _more(old, one, known.labs) if old else one
        if old and submissions[one.key] is not old:
            again.append(one.key)
    every = tuple(sorted(submissions.values(), key=lambda one: one.key))
    missing, claimed = absent(every, {one.id: one for one in (*known.students(), *now.students())}.values())
    taken_in = known.model_copy(
        update={
            "submissions": every,
            "missing": missing,
            "claimed": claimed,
            "has_roster": known.has_roster or now.has_roster,
            "ignored": (*known.ignored, *(problem for problem in now.ignored if problem not in known.ignored)),
        }
    )
    return Added(taken_in, tuple(one.key for one in now.submissions if one.key not in before), tuple(again))


def _more(old: Submission, now: Submission, labs: Sequence[str]) -> Submission:
    """Return a submission with the attempts, problems and questions of `now` that are new; `old` where none are."""
    files = [file for lab in labs for file in _attempts(_at(old, lab), _at(now, lab))]
    known = {question.id for question in old.questions}
    questions = [question for question in now.questions if question.id not in known]
    problems = [problem for problem in now.problems if problem not in old.problems]
    if len(files) == len(old.files) and not problems and not questions:
        return old
    newest = now if len(files) > len(old.files) else old
    return newest.model_copy(
        update={
            "student": old.student or now.student,
            "claims": () if old.student else now.claims,
            "group": old.group or now.group,
            "owners": tuple(dict.fromkeys((*old.owners, *now.owners))),
            "files": tuple(files),
            "problems": (*old.problems, *problems),
            "questions": (*old.questions, *questions),
        }
    )


def merged(old: Submission, more: Submission, labs: Sequence[str]) -> Submission:
    """Return a student's submission with another that turned out to be theirs.

    Its attempts come last, as far as no times say otherwise.
    """
    known = {_identity(file) for file in old.files}
    files = in_order([*old.files, *(file for file in more.files if _identity(file) not in known)], labs)
    return old.model_copy(
        update={
            "owners": tuple(dict.fromkeys((*old.owners, *more.owners))),
            "files": tuple(files),
            "problems": (*old.problems, *(problem for problem in more.problems if problem not in old.problems)),
            "questions": (*old.questions, *(one for one in more.questions if one not in old.questions)),
        }
    )


def in_order(files: Sequence[HandedIn], labs: Sequence[str]) -> list[HandedIn]:
    """Return files lab by lab, each lab's attempts by their times where all have one."""
    return [file for lab in labs for file in _by_time([file for file in files if file.lab == lab])]


def _attempts(old: Sequence[HandedIn], now: Sequence[HandedIn]) -> list[HandedIn]:
    """Return the attempts at one lab, the oldest first, with those of `now` that are new."""
    known = [_identity(file) for file in old]
    if [_identity(file) for file in now[: len(old)]] == known:
        new = list(now[len(old) :])
    else:
        new = [file for file in now if _identity(file) not in known]
    return _by_time([*old, *new])


def _by_time(files: Sequence[HandedIn]) -> list[HandedIn]:
    every = list(files)
    if all(file.submitted_at for file in every):
        every.sort(key=lambda file: file.submitted_at or "")
    # A text that is handed in again right after itself is no other attempt.
    return [next(group) for _, group in groupby(every, key=lambda file: file.sha256)]


def _at(submission: Submission, lab: str) -> list[HandedIn]:
    return [file for file in submission.files if file.lab == lab]


def _identity(file: HandedIn) -> Identity:
    return file.lab, file.sha256, file.submitted_at


def differences(known: Class, now: Class) -> list[str]:
    """Return why `now` cannot be added to `known`, a line each: it is graded differently, or is other people's."""
    lines = [
        f"{what}: {_short(one)} then, {_short(other)} now"
        for what, one, other in (
            ("the device", known.device, now.device),
            ("--prove", str(known.is_proved).lower(), str(now.is_proved).lower()),
            ("the labs", " ".join(known.labs), " ".join(now.labs)),
            ("the course file", as_written(known.course), as_written(now.course)),
        )
        if one != other
    ]
    if known.seed != now.seed:
        lines.append("the seed is another")  # it may be a secret
    lines += [
        f"the kit: {part} is another"
        for part in sorted(known.kit.keys() | now.kit.keys())
        if known.kit.get(part) != now.kit.get(part)
    ]
    by_key = {one.key: one for one in known.submissions}
    for one in now.submissions:
        old = by_key.get(one.key)
        if old and _who(old) != _who(one):
            lines.append(f"the roster: {one.origin} is {_who(old)} then, {_who(one)} now")
    return lines


def _who(submission: Submission) -> str:
    return submission.student.id if submission.student else "nobody"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
