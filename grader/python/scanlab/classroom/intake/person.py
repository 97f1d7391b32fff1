"""What one person has handed in: which file is which lab's, and what has to be asked where nothing shows it."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from scanlab.classroom.intake import texts
from scanlab.classroom.intake.handing import Handing, Placed
from scanlab.classroom.intake.items import is_header, is_source, is_text, printable
from scanlab.classroom.intake.labfiles import (
    LabNames,
    again,
    as_source,
    is_of_kit,
    is_skeleton,
    kit_roots,
    stem_of,
)
from scanlab.classroom.intake.whose import SHARED, Owned
from scanlab.classroom.records import Candidate, HandedIn, Problem, Question, Submission
from scanlab.labs.skeleton import untouched

NUMBERED = re.compile(
    r"(?:.*[\s_-])?(?:attempt|try|version|submission)[\s_-]{0,3}(?P<number>\d{1,4})", re.IGNORECASE | re.DOTALL
)
"""A folder that is called as one of several: `Attempt 2`, `scan_version_3`. Whoever hands in chooses that name: it says
which of their files is newer, and is never the number of an attempt. No export that is read here has such a number."""
MOST_LISTED = 5
MOST_CANDIDATES = 20


def may_be_program(placed: Placed) -> bool:
    """Return whether a file is called as a program, or looks like one; it is no copy of a skeleton."""
    name = placed.parts[-1]
    return not is_skeleton(placed.parts) and (
        is_source(name) or (is_text(name) and texts.looks_like_code(placed.item.data or b""))
    )


def who_id(owner: str, name: str = "") -> str:
    """Return what the question is called whose the work of an owner, or of a group's member, is."""
    return question_id("who", owner.removeprefix(SHARED), name)


@dataclass
class Texts:
    """The files' texts, by the hashes of their bytes: those that are graded, and those that wait for an answer."""

    sources: dict[str, bytes] = field(default_factory=dict)
    kept: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class _File:
    """A file that may be a lab's, and what shows which of several is the newest."""

    handing: Handing
    placed: Placed
    read: texts.Read
    is_hinted: bool = False
    """Its name says the lab by other words than the kit's."""

    @property
    def name(self) -> str:
        return printable("/".join(self.placed.parts))

    @property
    def full_name(self) -> str:
        """Return the name as the whole pile knows it."""
        return self.placed.item.name()

    @property
    def raw(self) -> bytes:
        return self.placed.item.data or b""

    @property
    def data(self) -> bytes:
        return self.read.data or self.raw

    @property
    def is_called_program(self) -> bool:
        """Return whether its name is a program's; else it is another text."""
        return is_source(self.placed.parts[-1])

    def is_in_folder_of(self, lab: str, names: LabNames) -> bool:
        """Return whether the file lies in a folder that is called like a lab."""
        return any(names.of_folder(part) == lab for part in self.placed.parts[:-1])

    @property
    def stem(self) -> str:
        """Return the name as names are compared: `scan` for `scan.cu`, `Scan (1).cu` and `scan-1.cu.txt`."""
        return stem_of(self.placed.parts[-1])

    @cached_property
    def is_untouched(self) -> bool:
        """Return whether it is as it was handed out."""
        return untouched(self.data.decode("utf-8", "replace"))

    @property
    def is_work(self) -> bool:
        """Return whether a student has written something here, and a person can read it."""
        return not self.is_untouched and (not self.read.fault or self.read.is_doubtful)

    def ages(self) -> tuple[str | None, int | None, int | None, float | None]:
        """Return what rises with time: when it came, its folder's number, Canvas's number, the file's own time."""
        folders = map(NUMBERED.fullmatch, self.placed.parts[:-1])
        number = next((int(found["number"]) for found in folders if found), None)
        return self.handing.submitted_at, number, self.placed.order or None, self.placed.item.modified

    def candidate(self, kept: dict[str, bytes]) -> Candidate:
        """Return the file as one that may be meant; its bytes are put into `kept`."""
        digest = hashlib.sha256(self.raw).hexdigest()
        kept[digest] = self.raw
        at = self.handing.submitted_at
        return Candidate(name=self.full_name, sha256=digest, origin=self.handing.origin, submitted_at=at)

    def handed_in(self, lab: str, sources: dict[str, bytes]) -> HandedIn:
        """Return the file as one that is graded; its text is put into `sources`."""
        digest = hashlib.sha256(self.data).hexdigest()
        sources[digest] = self.data
        return HandedIn(
            lab=lab, name=self.name, sha256=digest, submitted_at=self.handing.submitted_at, origin=self.handing.origin,
            taken_as=taken_as(self.placed.parts[-1], self.read.done, lab if self.is_hinted else ""),
        )  # fmt: skip


def taken_as(name: str, done: str, lab: str = "") -> str:
    """Return what was done to take a file that was not as it should be; empty where nothing was.

    `lab` is what its name was taken to say.
    """
    plain = as_source(name)
    renamed = f"taken for {printable(plain)}" if plain.casefold() != name.casefold() else ""
    return "; ".join(filter(None, (renamed, f"its name is taken to say {lab}" if lab else "", done)))


@dataclass(frozen=True)
class _Asked:
    """A question in the making."""

    lab: str | None
    text: str
    files: tuple[_File, ...] = ()
    kind: str = "file"


class Person:
    """One person's files, sorted by lab."""

    def __init__(self, owned: Owned, names: LabNames, chosen: Sequence[str]) -> None:
        self.owned, self.handings, self.names = owned, owned.handings, names
        self.chosen = chosen
        self.problems: list[Problem] = []
        self.files: dict[str, list[_File]] = {}
        """The attempts at each lab, the oldest first."""
        self.asked: list[_Asked] = []
        found: dict[str, list[_File]] = {}
        hinted: dict[str, list[_File]] = {}
        unnamed: list[_File] = []
        self._others: list[tuple[Handing, Placed]] = []
        """Files that are called no program."""
        roots = kit_roots((placed.parts for handing in self.handings for placed in handing.files), names)
        for handing in self.handings:
            self.problems += [problem for problem in handing.problems if problem.lab is None or problem.lab in chosen]
            for placed in handing.files:
                if not may_be_program(placed):
                    if not is_skeleton(placed.parts) and not is_of_kit(placed.parts, roots):
                        self._others.append((handing, placed))
                    continue
                file = _File(handing, placed, texts.read(placed.item.data or b""))
                lab = names.of_file(placed.parts)
                is_in_its_place = is_of_kit(placed.parts, roots) or any(map(names.of_folder, placed.parts[:-1]))
                hint = None if lab or is_in_its_place else names.hinted(placed.parts)
                if lab in chosen:
                    found.setdefault(str(lab), []).append(file)
                elif hint in chosen:
                    hinted.setdefault(str(hint), []).append(replace(file, is_hinted=True))
                elif lab is None and not is_of_kit(placed.parts, roots):
                    unnamed.append(file)
        for lab, files in hinted.items():
            if named := found.get(lab):
                own = [file for file in files if names.hinted(file.placed.parts[-1:]) == lab]
                found[lab] = [*named, *(file for file in own if file.is_work)]
            else:
                found[lab] = _programs(files)
        self._take(found, unnamed)
        self._ask_for_refused()
        self._ask_for_others()

    def others_of(self, handing: Handing) -> int:
        """Return how many files are of labs that are not graded."""
        labs = [self.names.of_file(placed.parts) for placed in handing.files if may_be_program(placed)]
        return sum(lab is not None and lab not in self.chosen for lab in labs)

    def _take(self, found: dict[str, list[_File]], unnamed: list[_File]) -> None:
        for lab in self.chosen:  # any name will do in a lab's own folder
            inside = [one for one in unnamed if one.is_in_folder_of(lab, self.names)]
            if files := self._that_may_be(lab, found.get(lab, []), inside):
                found[lab] = files
                unnamed = [one for one in unnamed if one not in files]
        if len(self.chosen) == 1:  # and where one lab is graded; what then lies beside its file need say nothing
            lab = self.chosen[0]
            named = found.get(lab) or [one for one in unnamed if one.stem == "scan"]
            if files := self._that_may_be(lab, named, [one for one in unnamed if one not in named]):
                found[lab] = files
            unnamed = []
        for lab in self.chosen:
            if lab in found:
                self._choose(lab, found[lab])
        wait = [lab for lab in self.chosen if lab not in found]
        for file in _programs(unnamed):
            lab = wait[0] if wait else self.chosen[0]
            reason = f"does not say which lab it is, as {lab}/scan.cu or scan_{lab[:2]}.cu would"
            if wait and file.is_work:
                self.asked.append(_Asked(None, f"{file.name} does not say which lab it is", (file,), "lab"))
            self.problems.append(Problem(name=file.name, reason=reason))

    def _that_may_be(self, lab: str, named: Sequence[_File], others: Sequence[_File]) -> list[_File]:
        """Return the files that may be a lab's: those that are called so, and of `others` what may be meant as well.

        That is any work where nothing `named` is; else what is called so with something more: `scan_v2.cu` beside
        `scan.cu`.
        """
        if not named:
            return _programs(others)
        work = [file for file in others if file.is_work]
        if not any(file.is_work for file in named):
            return [*named, *_programs(work)]
        stems = {file.stem for file in named} & self.names.stems_of(lab)
        more = [file for file in work if any(stem in file.stem for stem in stems)]
        has_program = any(file.is_called_program for file in named)
        return [*named, *(file for file in more if file.is_called_program or not has_program)]

    def _choose(self, lab: str, files: list[_File]) -> None:
        """Take the files for one lab as attempts, or ask which is meant where nothing shows it."""
        usable, doubtful = [], []
        for file in files:
            if file.read.fault:
                self.problems.append(Problem(name=file.name, reason=file.read.fault, lab=lab))
            if not file.read.fault:
                usable.append(file)
            elif file.read.is_doubtful:
                doubtful.append(file)
        begun = [file.handing for file in usable if file.is_work]  # beside work, a file as it was handed out is none
        usable = [file for file in usable if file.is_work or not any(file.handing is handing for handing in begun)]
        attempts = _in_order(usable) if usable else []
        if doubtful and not usable:
            self.asked.append(_Asked(lab, f"{doubtful[0].name} {doubtful[0].read.fault}", tuple(doubtful)))
        elif attempts is None:
            listed = ", ".join(file.full_name for file in usable[:MOST_LISTED])
            reason = f"{len(usable)} files may be this lab's, and nothing says which is meant: {listed}"
            self.problems.append(Problem(name=lab, reason=reason, lab=lab))
            self.asked.append(_Asked(lab, reason, tuple(usable)))
        elif attempts:
            self.files[lab] = attempts

    def _ask_for_refused(self) -> None:
        """Ask for what a person could open, where a lab has no file."""
        if all(lab in self.files or any(one.lab == lab for one in self.asked) for lab in self.chosen):
            return
        for handing in self.handings:
            for placed in handing.refused:
                name = placed.item.label or printable("/".join(placed.parts))
                lab = self.names.of_file(placed.parts) if placed.parts else None
                if lab is None or (lab in self.chosen and lab not in self.files):
                    self.asked.append(_Asked(lab, f"{name} {placed.item.refused}"))

    def _ask_for_others(self) -> None:
        """Ask for what is called after a lab and no program, where the lab has no file: else it would seem missing."""
        asked = {one.lab for one in self.asked}
        wait = [lab for lab in self.chosen if lab not in self.files and lab not in asked]
        said: dict[str | None, list[tuple[Handing, Placed]]] = {}
        for handing, placed in self._others:
            said.setdefault(self.names.of_other(placed.parts), []).append((handing, placed))
        for lab in wait:
            if lab in said:
                self._ask_for_other(lab, said[lab])

    def _ask_for_other(self, lab: str, others: Sequence[tuple[Handing, Placed]]) -> None:
        names = [printable("/".join(placed.parts)) for _, placed in others]
        listed = ", ".join(names[:MOST_LISTED]) + (" …" if len(names) > MOST_LISTED else "")
        readable = tuple(
            _File(handing, placed, texts.read(placed.item.data or b""))
            for handing, placed in others
            if is_header(placed.parts[-1]) and placed.item.data
        )
        text = f"{listed} {'is no program' if len(names) == 1 else 'are no programs'} that can be graded as it is"
        self.problems.append(Problem(name=names[0], reason="is no program: hand in the .cu file", lab=lab))
        self.asked.append(_Asked(lab, text, readable))

    def handed_in(self, read: Texts) -> tuple[HandedIn, ...]:
        """Return the files that may be graded; their texts are put into `read`."""
        return tuple(file.handed_in(lab, read.sources) for lab in self.chosen for file in self.files.get(lab, ()))

    def questions(self, read: Texts) -> list[Question]:
        """Return what has to be asked; the bytes of the files that may be meant are put into `read`."""
        questions = []
        for one in self.asked:
            candidates = tuple(file.candidate(read.kept) for file in one.files[:MOST_CANDIDATES])
            owner = self.owned.owners[0].removeprefix(SHARED)
            words = (owner, one.lab or "", *(f"{file.name} {file.sha256}" for file in candidates))
            identity = question_id(*words, *([] if candidates else [one.text]))
            questions.append(
                Question(id=identity, kind=one.kind, lab=one.lab, text=one.text, candidates=candidates)  # type: ignore[arg-type]
            )
        return questions

    def submission(self, key: str, read: Texts, has_roster: bool) -> Submission:
        """Return what is graded; the files' texts are put into `read`."""
        files = self.handed_in(read)
        newest = next((self.files[file.lab][-1].handing for file in files), self.handings[-1])
        problems, questions = list(self.problems), self.questions(read)
        if not files and not problems:
            problems.append(Problem(name=newest.origin, reason=_nothing_in(self.handings)))
        claims = tuple(student.id for student in self.owned.claims)
        if claims:
            listed = ", ".join(map(printable, claims[:MOST_LISTED])) + (" …" if len(claims) > MOST_LISTED else "")
            claimed = f"may be {listed}, and {self.owned.why}"
        if has_roster and self.owned.student is None:
            text = f"{newest.origin} {claimed if claims else 'is nobody on the roster'}: whose is it?"
            questions.append(Question(id=who_id(self.owned.owners[0], self.owned.name), kind="who", text=text))
        times = [handing.submitted_at for handing in self.handings if handing.submitted_at]
        member = {"member": self.owned.name} if self.owned.name else {}
        return Submission(
            key=key,
            student=self.owned.student,
            origin=newest.origin,
            submitted_at=newest.submitted_at or (max(times) if times else None),
            files=files,
            problems=tuple(problems),
            metadata={"scheme": newest.kind, **_own(newest, self.owned), **member},
            owners=self.owned.owners,
            claims=claims,
            group=self.owned.group,
            questions=tuple(questions),
        )


def _own(handing: Handing, owned: Owned) -> Mapping[str, str]:
    """Return what an export says of a submission; of a group's, not the number of the one who has uploaded it."""
    if owned.group is None:
        return handing.metadata
    numbers = ("canvas_user", "moodle_participant", "gradescope_sid", "github_login")
    return {name: text for name, text in handing.metadata.items() if name not in numbers}


def question_id(*words: str) -> str:
    """Return what a question is called: the same for the same words, in a form that TOML takes for a bare key."""
    return "q" + hashlib.sha256("\0".join(words).encode("utf-8", "backslashreplace")).hexdigest()[:9]


def _programs(files: Sequence[_File]) -> list[_File]:
    """Return the files that are called programs, unless only texts that look like one have work in them."""
    called = [file for file in files if file.is_called_program]
    return called if any(file.is_work for file in called) else list(files)


def _is_one_handing(files: Sequence[_File]) -> bool:
    return all(file.handing is files[0].handing for file in files)


def _replace_each_other(files: Sequence[_File]) -> bool:
    """Return whether Canvas has named these for one another: name.cu, and name-1.cu when it was handed in again.

    Files of different names came together, and their numbers say no more than which was sent first. Where the names'
    numbers do not rise with Canvas's, the student has chosen the names.
    """
    named = [(file.placed.order, *again(file.placed.parts[0])) for file in files]
    numbers = [number for *_, number in sorted(named)]
    return len({name for _, name, _ in named}) == 1 and numbers == sorted(numbers)


def _in_order(files: Sequence[_File]) -> list[_File] | None:
    """Return the attempts, the oldest first, or None where several differ and nothing shows which is the newest.

    A text that is handed in again right after itself is no other attempt.
    """
    if all(file.data == files[0].data for file in files):
        return [files[0]]
    is_one_handing = _is_one_handing(files)
    for at, ages in enumerate(zip(*(file.ages() for file in files), strict=True)):
        if is_one_handing and (at == 3 or (at == 2 and not _replace_each_other(files))):
            break  # files beside each other are no attempts: the one that was saved last need not be meant
        if None in ages or len({*ages}) == 1:
            continue
        rising = sorted(files, key=lambda file: file.ages()[at])  # type: ignore[arg-type, return-value]
        of_latest = [file for file in rising if file.ages()[at] == rising[-1].ages()[at]]
        if any(file.data != rising[-1].data for file in of_latest):
            return None
        return [one for place, one in enumerate(rising) if place == 0 or one.data != rising[place - 1].data]
    return None


def _nothing_in(handings: Iterable[Handing]) -> str:
    names = [printable("/".join(placed.parts)) for handing in handings for placed in handing.files]
    if not names:
        return "is empty"
    listed = ", ".join(names[:MOST_LISTED]) + (" …" if len(names) > MOST_LISTED else "")
    return f"has no file for a lab that is graded; there are: {listed}"
