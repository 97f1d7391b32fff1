"""Take a class in: read the pile, find out whose each file is and which lab, and say what could not be taken."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scanlab.classroom.intake.archives import expand
from scanlab.classroom.intake.folders import walk
from scanlab.classroom.intake.items import ARCHIVES, Item, is_source, printable
from scanlab.classroom.intake.labfiles import LabNames, is_skeleton
from scanlab.classroom.intake.roster import Hints, Roster
from scanlab.classroom.intake.schemes import Handing, Placed, sort_out
from scanlab.classroom.records import Class, HandedIn, Problem, Student, Submission
from scanlab.errors import UsageError, WorkError
from scanlab.labs import Device, all_labs
from scanlab.paths import shown

ATTEMPT = re.compile(r"(?:attempt|try|version|submission)[\s_-]*(\d{1,4})", re.IGNORECASE)
LONGEST_KEY = 100
MOST_LISTED = 5


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    labs: tuple[str, ...] = ()
    """Whole names, in the labs' order; none: those of which anybody has handed in a file."""
    device: Device = "vgpu"
    seed: int = 7
    title: str = ""
    course: Mapping[str, Any] = field(default_factory=dict)
    kit: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TakenIn:
    """A class, the texts of its files by their hashes, and what a person is told of the taking in."""

    taken_in: Class
    sources: Mapping[str, bytes]
    other_labs: int
    """Files of labs that are not graded here."""


def take_in(pile: Path, wanted: Wanted, roster: Roster | None = None) -> TakenIn:
    """Take a class in from a folder or an archive; nothing is written anywhere.

    Raises UsageError or WorkError, one clear line, when the pile cannot be read or holds no submissions.
    """
    names = LabNames([lab.name for lab in all_labs()])
    sorted_out = sort_out(_items(pile), names)
    if not sorted_out.handings:
        raise WorkError(f"{shown(pile)} holds no submissions{_reasons(sorted_out.ignored)}")
    sources: dict[str, bytes] = {}
    groups = _groups(sorted_out.handings, roster)
    chosen = wanted.labs or _labs_present(groups, names)
    if not chosen:
        raise UsageError(
            f"{shown(pile)}: no file's name says which lab it is, such as 02_kogge_stone/scan.cu or scan_02.cu; "
            "name the lab with --lab"
        )
    taken = [_Person(group, names, chosen) for group in groups]
    keys = _keys(person.group for person in taken)
    submissions = tuple(person.submission(key, sources) for person, key in zip(taken, keys, strict=True))
    present = {person.group.student.id for person in taken if person.group.student}
    taken_in = Class(
        title=wanted.title or printable(_title(pile)),
        device=wanted.device,
        seed=wanted.seed,
        labs=chosen,
        submissions=tuple(sorted(submissions, key=lambda one: one.key)),
        missing=tuple(student for student in roster.students if student.id not in present) if roster else (),
        ignored=tuple(
            problem if problem.name else problem.model_copy(update={"name": pile.name})
            for problem in sorted_out.ignored
        ),
        course=wanted.course,
        kit=wanted.kit,
    )
    return TakenIn(taken_in, sources, sum(person.other_labs for person in taken))


def take_one(folder: Path, labs: Sequence[str]) -> tuple[tuple[HandedIn, ...], tuple[Problem, ...], dict[str, bytes]]:
    """Take in what one person has handed in, in a folder of it: by the same rules as a class.

    Return the files for `labs`, what could not be taken, and the files' texts by their hashes. Raises UsageError when
    the folder cannot be read.
    """
    names = LabNames([lab.name for lab in all_labs()])
    handing = Handing("plain", printable(folder.name), Hints())
    for item in sorted(walk(folder), key=lambda item: item.parts):
        handing.put(Placed(item.parts or (folder.name,), item), names)
    person = _Person(_Group([handing], None), names, labs)
    sources: dict[str, bytes] = {}
    return person.handed_in(sources), tuple(person.problems), sources


def _items(pile: Path) -> Iterable[Item]:
    try:
        if pile.is_dir():
            return sorted(walk(pile), key=lambda item: item.parts)
        if not pile.is_file():
            problem = "is no plain file" if pile.exists() else "does not exist"
            raise UsageError(f"{shown(pile)} {problem}; name a folder or an archive of submissions")
        if is_source(pile.name):
            raise UsageError(f"{shown(pile)} is one file; use: grader/scanlab check LAB {shown(pile)}")
        with pile.open("rb") as file:
            # Members stand in any order; a folder's files do not.
            return sorted(expand(file, (), is_pile=True), key=lambda item: item.parts)
    except OSError as error:
        raise UsageError(f"{shown(pile)}: cannot read it: {error.strerror}") from error


def _reasons(problems: Sequence[Problem]) -> str:
    lines = [f"\n  {problem.name or 'it'} {problem.reason}" for problem in problems[:MOST_LISTED]]
    more = len(problems) - MOST_LISTED
    return "".join(lines) + (f"\n  and {more} more" if more > 0 else "")


def _title(pile: Path) -> str:
    name = pile.resolve().name
    ending = next((ending for ending in ARCHIVES if name.casefold().endswith(ending)), "")
    return name[: len(name) - len(ending)] or "class"


# ---- whose it is -----------------------------------------------------------------------------------------------------


@dataclass
class _Group:
    """All that one person has handed in."""

    handings: list[Handing]
    student: Student | None
    doubt: str = ""
    """Why nobody of the roster is named."""


def _groups(handings: Iterable[Handing], roster: Roster | None) -> list[_Group]:
    groups: dict[tuple[str, ...], _Group] = {}
    for at, handing in enumerate(handings):
        found = roster.find(handing.hints) if roster else []
        if len(found) == 1:
            groups.setdefault(("student", found[0].id), _Group([], found[0])).handings.append(handing)
            continue
        doubt = ""
        if found:
            listed = ", ".join(printable(student.id) for student in found[:MOST_LISTED])
            doubt = f"may be {listed}{' …' if len(found) > MOST_LISTED else ''}: the roster does not decide"
        key = ("alone", handing.hints.exact[0]) if _is_known(handing.hints) and not doubt else ("alone", str(at), "")
        groups.setdefault(key, _Group([], None, doubt)).handings.append(handing)
    return list(groups.values())


def _is_known(hints: Hints) -> bool:
    return bool(hints.exact and hints.exact[0])


def _labs_present(groups: Iterable[_Group], names: LabNames) -> tuple[str, ...]:
    present = {
        names.of_file(placed.parts)
        for group in groups
        for handing in group.handings
        for placed in handing.files
        if not is_skeleton(placed.parts)
    }
    present |= {
        problem.lab for group in groups for handing in group.handings for problem in handing.problems if problem.lab
    }
    return tuple(name for name in names.names if name in present)


def _keys(groups: Iterable[_Group]) -> list[str]:
    """Return a name for each submission that file systems of all kinds can tell from the others."""
    taken: set[str] = set()
    keys = []
    for group in groups:
        text = group.student.id if group.student else _stem(group.handings[0])
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip(".-_")[:LONGEST_KEY].rstrip(".-_") or "submission"
        key, count = base, 1
        while key.casefold() in taken:
            count += 1
            key = f"{base}-{count}"
        taken.add(key.casefold())
        keys.append(key)
    return keys


def _stem(handing: Handing) -> str:
    if handing.scheme in ("canvas", "moodle"):
        return f"{handing.hints.name or 'anonymous'}-{handing.hints.exact[0]}"
    ending = next((ending for ending in ARCHIVES if handing.origin.casefold().endswith(ending)), "")
    return handing.origin[: len(handing.origin) - len(ending)]


# ---- what it is ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """A file that may be a lab's, and what tells which of several is the newest."""

    handing: Handing
    placed: Placed

    @property
    def name(self) -> str:
        return printable("/".join(self.placed.parts))

    @property
    def full_name(self) -> str:
        """Return the name as the whole pile knows it."""
        return self.placed.item.name()

    @property
    def data(self) -> bytes:
        return self.placed.item.data or b""

    def is_in_folder_of(self, lab: str, names: LabNames) -> bool:
        """Return whether the file lies in a folder that is called like a lab."""
        return any(names.of_folder(part) == lab for part in self.placed.parts[:-1])

    def is_scan(self) -> bool:
        """Return whether the file is called as each lab's own is."""
        return self.placed.parts[-1].casefold() == "scan.cu"

    def ages(self) -> tuple[str | None, int | None, int | None, float | None]:
        """Return what rises with time: when it came, which attempt, Canvas's number, the file's own time."""
        words = (self.handing.origin, *self.placed.parts[:-1])
        attempt = next((int(found[1]) for word in words if (found := ATTEMPT.search(word))), None)
        if self.handing.scheme == "gradescope":
            attempt = None  # the folder's number is the submission's
        return self.handing.submitted_at, attempt, self.placed.order or None, self.placed.item.modified


class _Person:
    """One person's files, sorted by lab."""

    def __init__(self, group: _Group, names: LabNames, chosen: Sequence[str]) -> None:
        self.group = group
        self.chosen = chosen
        self.problems: list[Problem] = []
        self.files: dict[str, list[_Candidate]] = {}
        """The attempts at each lab, the oldest first."""
        self.other_labs = 0
        found: dict[str, list[_Candidate]] = {}
        unnamed: list[_Candidate] = []
        for handing in group.handings:
            self.problems += [problem for problem in handing.problems if problem.lab is None or problem.lab in chosen]
            for placed in handing.files:
                if is_skeleton(placed.parts):
                    continue
                candidate = _Candidate(handing, placed)
                lab = names.of_file(placed.parts)
                if lab in chosen:
                    found.setdefault(str(lab), []).append(candidate)
                elif lab is not None:
                    self.other_labs += 1
                elif is_source(placed.parts[-1]):
                    unnamed.append(candidate)
        for lab in chosen:  # any name will do in a lab's own folder
            if lab not in found and (inside := [one for one in unnamed if one.is_in_folder_of(lab, names)]):
                found[lab] = inside
                unnamed = [one for one in unnamed if one not in inside]
        if len(chosen) == 1:  # and where one lab is graded; what then lies beside its file need say nothing
            if not found and unnamed:
                found[chosen[0]] = [one for one in unnamed if one.is_scan()] or unnamed
            unnamed = []
        for lab in chosen:
            if lab in found:
                self._choose(lab, found[lab])
        for candidate in unnamed:
            advice = f"name it {chosen[0]}/scan.cu or scan_{chosen[0][:2]}.cu"
            self.problems.append(Problem(name=candidate.name, reason=f"does not say which lab it is: {advice}"))

    def _choose(self, lab: str, candidates: list[_Candidate]) -> None:
        """Take the files for one lab as attempts, or none where nothing tells which is the newest."""
        usable = []
        for candidate in candidates:
            if fault := _fault(candidate.data):
                self.problems.append(Problem(name=candidate.name, reason=fault, lab=lab))
            else:
                usable.append(candidate)
        if not usable:
            return
        attempts = _in_order(usable)
        if attempts is None:
            listed = ", ".join(candidate.full_name for candidate in usable[:MOST_LISTED])
            reason = f"{len(usable)} files may be this lab's, and nothing says which is meant: {listed}"
            self.problems.append(Problem(name=lab, reason=reason, lab=lab))
            return
        self.files[lab] = attempts

    def handed_in(self, sources: dict[str, bytes]) -> tuple[HandedIn, ...]:
        """Return the files that may be graded; their texts are put into `sources`."""
        files = []
        for lab in self.chosen:
            for one in self.files.get(lab, ()):
                digest = hashlib.sha256(one.data).hexdigest()
                sources[digest] = one.data
                at, number, *_ = one.ages()
                files.append(HandedIn(lab=lab, name=one.name, sha256=digest, submitted_at=at, attempt=number))
        return tuple(files)

    def submission(self, key: str, sources: dict[str, bytes]) -> Submission:
        """Return what is graded; the files' texts are put into `sources`."""
        files = self.handed_in(sources)
        newest = next((self.files[file.lab][-1].handing for file in files), self.group.handings[-1])
        problems = list(self.problems)
        if not files and not problems:
            problems.append(Problem(name=newest.origin, reason=_nothing_in(self.group.handings)))
        if self.group.doubt:
            problems.append(Problem(name=newest.origin, reason=self.group.doubt))
        times = [handing.submitted_at for handing in self.group.handings if handing.submitted_at]
        attempts = [candidates[-1].ages()[1] for candidates in self.files.values()]
        return Submission(
            key=key,
            student=self.group.student,
            origin=newest.origin,
            submitted_at=newest.submitted_at or (max(times) if times else None),
            attempt=max((attempt for attempt in attempts if attempt is not None), default=None),
            files=files,
            problems=tuple(problems),
            metadata={"scheme": newest.scheme, **newest.metadata},
        )


def _in_order(candidates: Sequence[_Candidate]) -> list[_Candidate] | None:
    """Return the attempts, the oldest first, or None where several differ and nothing tells which is the newest.

    A text that is handed in again right after itself is no other attempt.
    """
    if all(candidate.data == candidates[0].data for candidate in candidates):
        return [candidates[0]]
    is_one_handing = all(candidate.handing is candidates[0].handing for candidate in candidates)
    for at, ages in enumerate(zip(*(candidate.ages() for candidate in candidates), strict=True)):
        if is_one_handing and at == 3:
            break  # files beside each other are no attempts: the one that was saved last need not be meant
        if None in ages or len({*ages}) == 1:
            continue
        rising = sorted(candidates, key=lambda candidate: candidate.ages()[at])  # type: ignore[arg-type, return-value]
        of_latest = [candidate for candidate in rising if candidate.ages()[at] == rising[-1].ages()[at]]
        if any(candidate.data != rising[-1].data for candidate in of_latest):
            return None
        return [one for place, one in enumerate(rising) if place == 0 or one.data != rising[place - 1].data]
    return None


def _fault(data: bytes) -> str:
    """Return why a text cannot be a lab's file, or an empty text."""
    if not data.strip():
        return "is empty"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is UTF-16 text: save it as UTF-8"
    if b"\0" in data:
        return "is a binary file, no text"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return f"is not UTF-8 text (line {line}, byte {data[error.start]:#04x}): save it as UTF-8"
    return ""


def _nothing_in(handings: Iterable[Handing]) -> str:
    names = [printable("/".join(placed.parts)) for handing in handings for placed in handing.files]
    if not names:
        return "is empty"
    listed = ", ".join(names[:MOST_LISTED]) + (" …" if len(names) > MOST_LISTED else "")
    return f"has no file for a lab that is graded; there are: {listed}"
