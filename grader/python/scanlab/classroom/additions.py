"""What a pile has that its class, which was taken in before, does not: late hand-ins, and more attempts.

They are added. Whatever was taken in before stays as it is, also where the pile no longer has it: an export may hold
the newest attempts only, or nothing but what came late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from scanlab.classroom.intake.take_in import absent
from scanlab.classroom.records import Class, HandedIn, Student, Submission
from scanlab.course.changes import changes

Identity = tuple[str, str, str | None]


@dataclass(frozen=True)
class Added:
    """A class with what is new in it."""

    taken_in: Class
    new: tuple[str, ...]
    """Keys of those who had handed nothing in before."""
    again: tuple[str, ...]
    """Keys of those who have handed in more: files, or what could not be taken."""
    found: tuple[str, ...] = ()
    """Keys of those whose work was graded, and who are on the roster only now."""
    dropped: tuple[str, ...] = ()
    """Keys of those who are on the roster no more: what they have stays."""
    labs: tuple[str, ...] = ()
    """Labs that the class did not have."""
    course: tuple[str, ...] = ()
    """What is different in the course file."""


def add(known: Class, now: Class) -> Added:
    """Return the class `known` with what is new in `now`; its device and seed stay. A course is the newer one.

    `now` was taken in with `known` at hand: who was there before has the same key. Its labs may be others: a platform
    that has an assignment for each lab has a pile for each.
    """
    labs = tuple(sorted({*known.labs, *now.labs}))
    before = {one.key: one for one in known.submissions}
    submissions = dict(before)
    again, found = [], []
    for one in now.submissions:
        old = before.get(one.key)
        if old and _is_known_now(known, old, one):
            old = submissions[one.key] = _as_students(old, one.student)
            found.append(one.key)
        submissions[one.key] = _more(old, one, labs) if old else one
        if old and submissions[one.key] is not old:
            again.append(one.key)
    every = tuple(sorted(submissions.values(), key=lambda one: one.key))
    missing, claimed = absent(every, {one.id: one for one in (*known.students(), *now.students())}.values())
    changed = changes(known.course, now.course, known.labs, known.seed).points
    taken_in = known.model_copy(
        update={
            "labs": labs,
            "kit": {**known.kit, **now.kit},
            "course": now.course if changed else known.course,
            "submissions": every,
            "missing": missing,
            "claimed": claimed,
            "has_roster": known.has_roster or now.has_roster,
            "ignored": (*known.ignored, *(problem for problem in now.ignored if problem not in known.ignored)),
        }
    )
    new = tuple(one.key for one in now.submissions if one.key not in before)
    more = tuple(lab for lab in labs if lab not in known.labs)
    return Added(taken_in, new, tuple(again), tuple(found), _dropped(known, now), more, changed)


def _more(old: Submission, now: Submission, labs: Sequence[str]) -> Submission:
    """Return a submission with the attempts, problems and questions of `now` that are new; `old` where none are."""
    files = [file for lab in labs for file in _attempts(_at(old, lab), _at(now, lab))]
    known = {question.id for question in old.questions}
    questions = [
        question
        for question in now.questions
        if question.id not in known and not (old.student and question.kind == "who")
    ]
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


def differences(known: Class, now: Class, *, has_all_labs: bool = True) -> list[str]:
    """Return why `now` cannot be added to `known`, a line each: it is graded differently, or is other people's.

    `has_all_labs`: `now` has all labs that its class shall have, not only those of this pile.
    """
    lost = has_all_labs and not {*known.labs} <= {*now.labs}
    lines = [f"the labs: {' '.join(known.labs)} then, {' '.join(now.labs)} now"] if lost else []
    lines += [
        f"{what}: {_short(one)} then, {_short(other)} now"
        for what, one, other in (
            ("the device", known.device, now.device),
            ("--prove", str(known.is_proved).lower(), str(now.is_proved).lower()),
        )
        if one != other
    ]
    lines += [f"the course file: {line}" for line in changes(known.course, now.course, known.labs, known.seed).results]
    if known.seed != now.seed:
        lines.append("the seed is another")  # it may be a secret
    lines += [
        f"the kit: {part} is another"
        for part in sorted((known.kit.keys() | now.kit.keys()) - ({*known.labs} ^ {*now.labs}))
        if known.kit.get(part) != now.kit.get(part)
    ]
    by_key = {one.key: one for one in known.submissions}
    dropped = _dropped(known, now)
    had = sum(one.student is not None for one in known.submissions)
    if 2 * len(dropped) > had:
        lines.append(f"the roster: {len(dropped)} of {had} students are on it no more")
    for one in now.submissions:
        old = by_key.get(one.key)
        has_left = one.key in dropped and one.student is None
        if old and _who(old) != _who(one) and not has_left and not _is_known_now(known, old, one):
            lines.append(f"the roster: {one.origin} is {_who(old)} then, {_who(one)} now")
    return lines


def _dropped(known: Class, now: Class) -> tuple[str, ...]:
    """Return the keys of students whom the roster of `now` does not have any more."""
    there = {student.id for student in now.students()}
    left = (one for one in known.submissions if one.student and one.student.id not in there)
    return tuple(one.key for one in left) if now.has_roster and there else ()


def _is_known_now(known: Class, old: Submission, now: Submission) -> bool:
    """Return whether work that was no student's is found to be one's who has none: the roster says more than before.

    A claim stays one, also where a pile has it without the others that may be the same student's.
    """
    student = now.student
    theirs = [one for one in known.submissions if student and one.student and one.student.id == student.id]
    return student is not None and old.student is None and not old.claims and not theirs


def _as_students(old: Submission, student: Student | None) -> Submission:
    questions = tuple(one for one in old.questions if one.kind != "who" or one.answer)
    return old.model_copy(update={"student": student, "questions": questions})


def _who(submission: Submission) -> str:
    return submission.student.id if submission.student else "nobody"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
