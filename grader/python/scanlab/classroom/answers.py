"""`answers.toml`: what the kit has asked, and what a person has answered.

One table per question, with the one key `answer`; what is written for each new question is commented out, so that
nothing is answered by accident. An answer is applied once, kept in `class.json`, and from then on like anything that is
graded.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scanlab.classroom.additions import in_order, merged
from scanlab.classroom.intake import texts
from scanlab.classroom.intake.items import bytes_text, composed, printable
from scanlab.classroom.intake.person import taken_as
from scanlab.classroom.intake.take_in import absent
from scanlab.classroom.records import Candidate, Class, HandedIn, Question, Submission
from scanlab.errors import UsageError
from scanlab.labs.folders import find_lab
from scanlab.paths import shown
from scanlab.people import People
from scanlab.toml_text import places

NAME = "answers.toml"
NONE, NOBODY = "none", "nobody"
HEAD = """\
# What could not be decided. Take the marks (#) from a question's last two lines, fill in the answer, and grade again
# with --resume: nothing that is graded changes, and what waits here gets its grade. What is left alone waits on.
"""

Read = Callable[[str], bytes]
"""Gives the bytes of a kept file by their hash."""


@dataclass(frozen=True)
class Answer:
    """One answer, and where it stands."""

    text: str
    place: str
    """`answers.toml:12`, for messages."""


@dataclass(frozen=True)
class Answered:
    """A class after its answers."""

    taken_in: Class
    sources: Mapping[str, bytes]
    """Texts that are graded now, by their hashes."""
    gone: tuple[str, ...]
    """Keys of submissions that have become part of another."""


def read_answers(path: Path) -> dict[str, Answer]:
    """Return the answers of a file by their questions. Raises UsageError, with the line, for an invalid file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        tree = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot read it: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown(path)}: not UTF-8 text; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        raise UsageError(f"{shown(path)}:{line}: not TOML: {error}") from error
    lines = places(text)
    answers = {}
    for name, table in tree.items():
        place = f"{shown(path)}:{lines.get((name,), 1)}"
        if not isinstance(table, dict):
            raise UsageError(f"{place}: {printable(name)} stands outside a question; write it below its [question]")
        if wrong := next((key for key in table if key != "answer"), ""):
            at = lines.get((name, wrong), lines.get((name,), 1))
            raise UsageError(f"{shown(path)}:{at}: {printable(wrong)}: a question has the one key `answer`")
        answer = table.get("answer")
        at = f"{shown(path)}:{lines.get((name, 'answer'), lines.get((name,), 1))}"
        if isinstance(answer, bool) or not isinstance(answer, str | int) or not str(answer).strip():
            raise UsageError(f'{at}: [{printable(name)}] needs an answer in quotes, such as answer = "{NONE}"')
        answers[name] = Answer(str(answer).strip(), at)
    return answers


def apply(taken_in: Class, answers: Mapping[str, Answer], kept: Read) -> Answered:
    """Return the class with its questions answered.

    Raises UsageError, with the line, for an answer to no question, one that the question does not take, and one that
    was answered otherwise before.
    """
    work = _Work(taken_in, kept)
    for name, answer in answers.items():
        work.answer(name, answer)
    submissions = tuple(sorted(work.submissions.values(), key=lambda one: one.key))
    missing, claimed = absent(submissions, taken_in.students())
    changed = taken_in.model_copy(update={"submissions": submissions, "missing": missing, "claimed": claimed})
    return Answered(changed if work.is_changed else taken_in, work.sources, tuple(work.gone))


class _Work:
    """A class while its answers are applied."""

    def __init__(self, taken_in: Class, kept: Read) -> None:
        self.taken_in, self.kept = taken_in, kept
        self.submissions = {one.key: one for one in taken_in.submissions}
        self.students = {student.id: student for student in taken_in.students()}
        self.sources: dict[str, bytes] = {}
        self.gone: list[str] = []
        self.is_changed = False

    def answer(self, name: str, answer: Answer) -> None:
        """Apply one answer, to all members of a group."""
        asked = [
            (one.key, question)
            for one in self.submissions.values()
            for question in one.questions
            if question.id == name
        ]
        if not asked:
            raise UsageError(f"{answer.place}: [{printable(name)}]: there is no such question in this class; remove it")
        for key, question in asked:
            if question.answer == answer.text:
                continue
            if question.answer:
                raise UsageError(
                    f"{answer.place}: was answered with {question.answer!r} before, and what is graded stays;"
                    " put that back, or grade into another --out"
                )
            self.is_changed = True
            closed = question.model_copy(update={"answer": answer.text})
            if question.kind == "who":
                self._who(key, closed, answer)
            else:
                self._file(key, closed, answer)

    def _put(self, one: Submission, closed: Question, **changes: object) -> Submission:
        questions = tuple(closed if question.id == closed.id else question for question in one.questions)
        changed = one.model_copy(update={"questions": questions, **changes})
        self.submissions[one.key] = changed
        return changed

    def _who(self, key: str, closed: Question, answer: Answer) -> None:
        one = self.submissions[key]
        if answer.text.casefold() == NOBODY:
            self._put(one, closed, claims=())
            return
        found = People([student.person() for student in self.students.values()]).find(answer.text)
        if len(found) != 1:
            why = "nobody on the roster is called so" if not found else "several on the roster are called so"
            raise UsageError(f"{answer.place}: {answer.text!r}: {why}; write an id of the roster, or {NOBODY!r}")
        student = self.students[found[0].key]
        one = self._put(one, closed, claims=(), student=student)
        other = next(
            (each for each in self.submissions.values() if each.student == student and each.key != one.key), None
        )
        if other is not None:
            self.submissions[other.key] = merged(other, one, self.taken_in.labs)
            del self.submissions[one.key]
            self.gone.append(one.key)

    def _file(self, key: str, closed: Question, answer: Answer) -> None:
        one = self.submissions[key]
        if answer.text.casefold() == NONE:
            self._put(one, closed)
            return
        if closed.kind == "lab":
            lab, candidate = self._lab(answer), closed.candidates[0]
        else:
            lab, candidate = closed.lab, _candidate(closed, answer)
        if lab is None:
            raise UsageError(f"{answer.place}: nothing of it can be read: the answer is {NONE!r}, or a new hand-in")
        raw = self.kept(candidate.sha256)
        read = texts.read(raw, is_decided=True)
        if read.fault:
            raise UsageError(f"{answer.place}: {candidate.name} {read.fault}; answer {NONE!r}")
        digest = hashlib.sha256(read.data).hexdigest()
        self.sources[digest] = read.data
        name = candidate.name.rpartition("/")[2]
        file = HandedIn(
            lab=lab, name=candidate.name, sha256=digest, submitted_at=candidate.submitted_at,
            attempt=candidate.attempt, origin=candidate.origin, taken_as=taken_as(name, read.done),
        )  # fmt: skip
        files = in_order([*one.files, file], self.taken_in.labs)
        self._put(one, closed, files=tuple(files))

    def _lab(self, answer: Answer) -> str:
        try:
            lab = find_lab(answer.text.zfill(2)).name
        except UsageError as error:
            raise UsageError(f"{answer.place}: {error}") from error
        if lab not in self.taken_in.labs:
            graded = ", ".join(self.taken_in.labs)
            raise UsageError(f"{answer.place}: this class is graded on {graded}; one of these, or {NONE!r}")
        return lab


def _candidate(question: Question, answer: Answer) -> Candidate:
    """Return the file that is meant: its name, or its number in the list."""
    named = [one for one in question.candidates if composed(one.name) == composed(answer.text)]
    if len(named) == 1:
        return named[0]
    if answer.text.isdecimal() and 0 < int(answer.text[:9]) <= len(question.candidates):
        return question.candidates[int(answer.text) - 1]
    names = ", ".join(repr(one.name) for one in question.candidates)
    what = f"one of {names}, its number, or {NONE!r}" if names else f"{NONE!r}: nothing of it can be read"
    raise UsageError(f"{answer.place}: {answer.text!r} is no file of the question; the answer is {what}")


# ---- the questions, for people ---------------------------------------------------------------------------------------


def open_questions(taken_in: Class) -> list[tuple[str, Question]]:
    """Return the open questions, each once, with the key of the submission: those that keep a grade back come first."""
    found = [(one.key, question) for one in taken_in.submissions for question in one.questions if not question.answer]
    once = {question.id: (key, question) for key, question in reversed(found)}
    claims = {one.key for one in taken_in.submissions if one.claims}
    waits = [pair for pair in found if once[pair[1].id] == pair]
    return sorted(waits, key=lambda pair: (pair[1].kind == "who" and pair[0] not in claims, pair[1].kind == "who"))


def template(taken_in: Class, text: str, size: Callable[[str], int]) -> str:
    """Return the file's text with an entry for each open question that it has not; what is there stays."""
    new = [pair for pair in open_questions(taken_in) if f"[{pair[1].id}]" not in text]
    if not new:
        return text
    lines = [text.rstrip("\n") if text else HEAD.rstrip("\n")]
    for key, question in new:
        where = question.lab or (" ".join(taken_in.labs) if question.kind != "who" else "")
        lines += ["", f"# {key}{f', {where}' if where else ''}: {question.text}"]
        lines += [
            f"#   {at}: {one.name} ({', '.join(filter(None, (bytes_text(size(one.sha256)), one.submitted_at)))})"
            for at, one in enumerate(question.candidates, 1)
        ]
        lines += [f"#[{question.id}]", f'#answer = ""  # {_takes(question, taken_in)}']
    return "\n".join(lines) + "\n"


def _takes(question: Question, taken_in: Class) -> str:
    if question.kind == "who":
        return f'an id, login or e-mail address of the roster; or "{NOBODY}"'
    if question.kind == "lab":
        return f'the lab: {", ".join(lab[:2] for lab in taken_in.labs)}; or "{NONE}": it is no hand-in'
    if question.candidates:
        return f'the file that is meant, or its number; or "{NONE}": nothing was handed in'
    return f'"{NONE}": nothing was handed in. Else take it in again in a form that can be read'
