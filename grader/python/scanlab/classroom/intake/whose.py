"""Whose each submission is: the one place where that is decided, by the export's own structure and the roster.

No student is found by a part of an identifier, by an order of words beyond their own name, or by what a student can
choose. Where a name may be that of several, or several may be one student, each is kept apart as a claim: it is graded,
counts for no student, and changes no other student's grade until a person has answered whose it is (`answers.py`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scanlab.classroom.intake.handing import Handing, Who
from scanlab.classroom.intake.items import printable
from scanlab.classroom.intake.roster import Roster
from scanlab.classroom.records import Group, Student
from scanlab.people import letters

SURE, BY_NAME = 0, 1
AGAIN = re.compile(r"-\d{1,2}$")
SHARED = "shared "
"""Stands before an owner whose work counts for another member of the group as well."""


@dataclass(frozen=True)
class Found:
    """Who is meant by what an export says of one person."""

    students: tuple[Student, ...] = ()
    """One; none; or all between whom nothing decides."""
    rank: int = SURE
    """The lower the surer: an identifier that only one can have, or a name, which another may have as well."""
    is_claim: bool = False
    """They may be meant, and nothing that is known says more."""
    is_called_otherwise: bool = False
    """The platform's number is theirs, and the name beside it is not."""


@dataclass
class Owned:
    """All that one person has handed in, or one owner who is unknown."""

    handings: list[Handing]
    owners: tuple[str, ...]
    """As whom the export knows it; `shared …` for what another member of a group has handed in."""
    student: Student | None = None
    claims: tuple[Student, ...] = ()
    group: Group | None = None
    name: str = ""
    """Of a group's member who is on no roster."""
    why: str = ""
    """Why it counts for no student, in words."""
    called: str = ""
    """The export's name, where it is not that of the student whose number stands beside it; of a group's it is none."""


@dataclass
class _Owner:
    """One owner of the pile, and the people behind it."""

    handings: list[Handing] = field(default_factory=list)
    people: list[tuple[Who, Found]] = field(default_factory=list)


def decide(
    handings: Iterable[Handing],
    roster: Roster | None,
    held: Mapping[str, Collection[str]],
    settled: Mapping[str, Student | None],
) -> list[Owned]:
    """Return whose the submissions are.

    `held` says as whom those are known, by their ids, who have a grade of this class already: they keep it, and a
    submission of another owner that may be theirs is a claim. `settled` says whose an owner's is by what a person has
    answered; None: no student's.
    """
    owners: dict[str, _Owner] = {}
    for handing in handings:
        one = owners.setdefault(handing.owner, _Owner())
        one.handings.append(handing)
        if not one.people:
            one.people = [(who, find(handing.kind, who, roster)) for who in handing.who]
    for name, one in owners.items():
        if name in settled:
            student = settled[name]
            one.people = [(Who(), Found((student,) if student else ()))]
    decided: list[Owned] = []
    for_student: dict[str, list[tuple[str, int]]] = {}
    for name, one in owners.items():
        if len(one.people) == 1 and len(one.people[0][1].students) == 1 and not one.people[0][1].is_claim:
            student = one.people[0][1].students[0]
            for_student.setdefault(student.id, []).append((name, one.people[0][1].rank))
    winners = {student: _winners(claimants, held.get(student, ())) for student, claimants in for_student.items()}
    for name, one in owners.items():
        decided += _decided(name, one, roster, winners)
    return _together(decided)


def _winners(claimants: Sequence[tuple[str, int]], held: Collection[str]) -> Collection[str]:
    """Return the owners that are the student: those known before, else the surest; none where nothing decides."""
    if own := [owner for owner in held if not owner.startswith(SHARED)]:
        return own
    best = min(rank for _, rank in claimants)
    surest = [owner for owner, rank in claimants if rank == best]
    return surest if len(surest) == 1 else ()


def _decided(name: str, one: _Owner, roster: Roster | None, winners: Mapping[str, Collection[str]]) -> list[Owned]:
    if len(one.people) > 1:
        return _members(name, one, [(who, found.students) for who, found in one.people])
    who, found = one.people[0] if one.people else (Who(), Found())
    if len(found.students) > 1 or (found.students and found.is_claim):
        return [Owned(one.handings, (name,), claims=found.students, why="the roster does not decide")]
    if not found.students:
        group = _group_called(who.name, roster)
        return _members(name, one, _people_of(group, roster), group) if group else [Owned(one.handings, (name,))]
    student = found.students[0]
    if name not in winners[student.id]:
        return [Owned(one.handings, (name,), claims=(student,), why="another submission is theirs, or may be")]
    if group := roster.group_of(student) if roster else "":
        return _members(name, one, _people_of(group, roster), group, student)
    return [Owned(one.handings, (name,), student, called=who.name if found.is_called_otherwise else "")]


def _group_called(name: str, roster: Roster | None) -> str:
    """Return the group of this name: Canvas and Moodle put it in a student's place."""
    named = [group for group in roster.groups if letters(group) == letters(name)] if roster and letters(name) else []
    return named[0] if len(named) == 1 else ""


def _people_of(group: str, roster: Roster | None) -> list[tuple[Who, tuple[Student, ...]]]:
    return [(Who(one.name, (one.id,)), (one,)) for one in roster.groups[group]] if roster else []


def _members(
    owner: str,
    one: _Owner,
    people: Sequence[tuple[Who, tuple[Student, ...]]],
    name: str = "",
    whose: Student | None = None,
) -> list[Owned]:
    """Return what each member of a group has handed in: the same, under a name of their own.

    `whose` is the member who has handed it in, where that is known.
    """
    called = [students[0].name if len(students) == 1 else who.name or " ".join(who.exact) for who, students in people]
    group = Group(name=name, members=tuple(printable(text) for text in called))
    members = []
    for (_, students), text in zip(people, called, strict=True):
        student = students[0] if len(students) == 1 else None
        claims = students if len(students) > 1 else ()
        members.append(
            Owned(
                list(one.handings),
                (owner if student is not None and student is whose else f"{SHARED}{owner}",),
                student,
                claims,
                group,
                "" if student else printable(text),
                "the roster does not decide" if claims else "",
            )
        )
    return members


def _together(decided: Iterable[Owned]) -> list[Owned]:
    """Return one entry a student: a member of a group may have handed in with others, and alone."""
    merged: dict[str, Owned] = {}
    others: list[Owned] = []
    for one in decided:
        if one.student is None:
            others.append(one)
        elif known := merged.get(one.student.id):
            known.handings += [handing for handing in one.handings if handing not in known.handings]
            known.owners = tuple(dict.fromkeys((*known.owners, *one.owners)))
            known.group = known.group or one.group
            known.called = known.called or one.called
        else:
            merged[one.student.id] = replace(one, handings=list(one.handings))
    return [*merged.values(), *others]


def find(kind: str, who: Who, roster: Roster | None) -> Found:
    """Return who is meant. Without a roster those whom the export itself names by an identifier."""
    if roster is None:
        return Found((_of_export(who),)) if kind == "gradescope" and who.exact else Found()
    if kind == "folders":
        stem = who.exact[0] if who.exact else ""
        if found := roster.exactly([stem]):
            return Found(tuple(found))
        return Found(tuple(roster.by_stem(stem)), BY_NAME)
    if kind == "github":
        return _by_login(who.exact[0], roster)
    if kind in ("moodle", "canvas"):
        return _by_number(kind, who, roster)
    if found := roster.exactly(who.exact):
        return Found(tuple(found))
    return Found(tuple(roster.by_name(who.name)), BY_NAME, is_claim=_is_strange(kind, who, roster))


def _is_strange(kind: str, who: Who, roster: Roster) -> bool:
    """Return whether the roster knows other people's identifiers of the platform's: then a name alone is not enough."""
    return kind in ("blackboard", "sakai") and bool(who.exact) and any(one.login for one in roster.students)


def _by_login(login: str, roster: Roster) -> Found:
    """Return whose login it is; a second repository, `ann-1`, may be ann's, or that of an account of this name."""
    if found := roster.by_login(login):
        return Found(tuple(found))
    first = AGAIN.sub("", login)
    return Found(tuple(roster.by_login(first)), BY_NAME, is_claim=True) if first != login else Found()


def _by_number(kind: str, who: Who, roster: Roster) -> Found:
    """Return whom Canvas or Moodle mean by a number of theirs and a name.

    A number is sure where the roster has the platform's own numbers. In another roster the same digits may be another
    kind of number: they mean a student only together with the name, and alone they are a claim.
    """
    number = who.exact[0] if who.exact else ""
    named = _named(kind, who.name, roster)
    if numbered := roster.by_number(kind, number):
        has_name = not who.name or any(student in named for student in numbered)
        rank = SURE if kind == "moodle" or has_name else BY_NAME
        if kind == "moodle" and not has_name:  # where teams hand in, it is a team's number, and another student's, too
            either = {student.id: student for student in (*numbered, *named)}
            return Found() if _group_called(who.name, roster) else Found((*either.values(),), BY_NAME, is_claim=True)
        is_blind = all(student.name == student.id for student in numbered)  # a roster without names
        return Found(tuple(numbered), rank, is_called_otherwise=not has_name and not is_blind)
    numbered = roster.exactly([number])
    if both := [student for student in named if student in numbered]:
        return Found(tuple(both))
    return Found(tuple(named), BY_NAME) if named else Found(tuple(numbered), BY_NAME, is_claim=True)


def _named(kind: str, name: str, roster: Roster) -> list[Student]:
    """Return whose name this is; Moodle puts a group's name and a dash before it."""
    if found := roster.by_name(name):
        return found
    if kind == "moodle":
        for at in (at for at, letter in enumerate(name) if letter == "-"):
            if (found := roster.by_name(name[at + 1 :])) and len(found) == 1:
                return found
    return []


def _of_export(who: Who) -> Student:
    email = next((text for text in who.exact if "@" in text), "")
    first = printable(who.exact[0])
    return Student(id=first, name=printable(who.name) or first, email=printable(email))
