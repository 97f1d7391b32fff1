"""Take a class in: read the pile, find out whose each file is and which lab, and say what could not be taken."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scanlab.classroom.intake.archives import expand
from scanlab.classroom.intake.folders import walk
from scanlab.classroom.intake.handing import Handing, Placed
from scanlab.classroom.intake.items import ARCHIVES, Item, is_source, printable
from scanlab.classroom.intake.labfiles import LabNames, as_program
from scanlab.classroom.intake.person import MOST_LISTED, Person, Texts, may_be_program, who_id
from scanlab.classroom.intake.platforms import PLATFORMS
from scanlab.classroom.intake.roster import Roster
from scanlab.classroom.intake.schemes import Known, Source, sort_out
from scanlab.classroom.intake.whose import Owned, decide, find
from scanlab.classroom.records import Class, HandedIn, Problem, Student, Submission
from scanlab.contract import Device
from scanlab.errors import UsageError, WorkError
from scanlab.labs.folders import all_labs
from scanlab.paths import shown

FEW_OWNERS, LEAST_OF_ROSTER = 3, 5
"""So many submissions show whether a roster is theirs; it is not where it has fewer than one in so many of them."""
LONGEST_KEY = 100
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names that Windows keeps for devices."""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    labs: tuple[str, ...] = ()
    """Whole names, in the labs' order; none: those for which any student has handed in a file."""
    device: Device = "vgpu"
    seed: int = 7
    is_proved: bool = False
    title: str = ""
    course: Mapping[str, Any] = field(default_factory=dict)
    kit: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    """What kind of export the pile is; None: that is found out."""


@dataclass(frozen=True)
class TakenIn:
    """A class, the texts of its files by their hashes, and what is reported of the intake."""

    taken_in: Class
    sources: Mapping[str, bytes]
    other_labs: int
    """Files of labs that are not graded here."""
    kept: Mapping[str, bytes] = field(default_factory=dict)
    """The bytes of files that wait for an answer, by their hashes."""
    wrapper: str = ""
    """The folder around everything that was taken for the export's own, where only its look says so."""
    other_names: tuple[str, ...] = ()
    """Keys of those whose number in the export stands beside another's name, with that name."""


def take_in(pile: Path, wanted: Wanted, roster: Roster | None = None, known: Class | None = None) -> TakenIn:
    """Take a class in from a folder or an archive; nothing is written anywhere.

    `known` is the class as it was before, where there is one: whoever has handed in before keeps their key and what
    they have.

    Raises UsageError or WorkError, one clear line, when the pile cannot be read or holds no submissions.
    """
    names = LabNames([lab.name for lab in all_labs()])
    before = Source(known.source["kind"], known.source.get("prefix", "")) if known and known.source else None
    held = {one.student.id: one.owners for one in known.submissions if one.student} if known else {}
    owners = frozenset(owner for one in known.submissions for owner in one.owners) if known else frozenset()
    sorted_out = sort_out(_items(pile), names, Known(roster, wanted.source, before, owners))
    ignored = (*sorted_out.ignored, *_empty(sorted_out.empty, roster, owners))
    if not sorted_out.handings:
        raise WorkError(f"{shown(pile)} holds no submissions{_reasons(ignored)}")
    found = decide(sorted_out.handings, roster, held, _settled(known))
    if roster and known is None and wanted.source is None:
        _require_some_of_roster(found, pile, sorted_out.source.kind)
    chosen = wanted.labs or _labs_present(sorted_out.handings, names)
    if not chosen:
        raise UsageError(
            f"{shown(pile)}: no file's name says which lab it is, such as 02_kogge_stone/scan.cu or scan_02.cu; "
            "name the lab with --lab"
        )
    texts_of = Texts()
    taken = [Person(one, names, chosen) for one in found]
    keys = keys_for([person.owned for person in taken], known)
    submissions = tuple(
        person.submission(key, texts_of, has_roster=roster is not None) for person, key in zip(taken, keys, strict=True)
    )
    submissions = tuple(sorted(submissions, key=lambda one: one.key))
    missing, claimed = absent(submissions, roster.students if roster else ())
    taken_in = Class(
        title=wanted.title or printable(_title(pile)),
        device=wanted.device,
        is_proved=wanted.is_proved,
        seed=wanted.seed,
        labs=chosen,
        submissions=submissions,
        missing=missing,
        claimed=claimed,
        source={"kind": sorted_out.source.kind, "prefix": sorted_out.source.prefix},
        has_roster=roster is not None,
        groups={name: tuple(one.id for one in members) for name, members in (roster.groups if roster else {}).items()},
        ignored=tuple(
            problem if problem.name else problem.model_copy(update={"name": pile.name}) for problem in ignored
        ),
        course=wanted.course,
        kit=wanted.kit,
    )
    others = sum({id(handing): person.others_of(handing) for person in taken for handing in person.handings}.values())
    called = ((key, printable(person.owned.called)) for person, key in zip(taken, keys, strict=True))
    other_names = tuple(sorted(f"{key} ({name})" for key, name in called if name))
    return TakenIn(taken_in, texts_of.sources, others, texts_of.kept, sorted_out.wrapper, other_names)


def _require_some_of_roster(found: Sequence[Owned], pile: Path, kind: str) -> None:
    """Raise UsageError where hardly anyone is on the roster: it is another class's, or the pile is read wrongly."""
    of_roster = sum(one.student is not None or bool(one.claims) for one in found)
    if len(found) >= FEW_OWNERS and of_roster * LEAST_OF_ROSTER < len(found):
        others = ", ".join(name for name in PLATFORMS if name != kind)
        raise UsageError(
            f"of {len(found)} submissions in {shown(pile)} the roster knows {of_roster or 'none'}: is it this class's? "
            f"The pile was read as {kind}; --from says what it is ({others}), or --from {kind} to go on"
        )


def _empty(empty: Iterable[Handing], roster: Roster | None, owners: Collection[str]) -> list[Problem]:
    """Return which empty folders are no known student's: of those the roster says that they handed nothing in."""
    unknown = [
        one
        for one in empty
        if one.owner not in owners and not any(roster and find(one.kind, who, roster).students for who in one.who)
    ]
    return [Problem(name=one.origin, reason="is an empty folder: nothing was handed in") for one in unknown]


def _settled(known: Class | None) -> dict[str, Student | None]:
    """Return the answers to whose a submission is, by its owner."""
    return {
        owner: one.student
        for one in (known.submissions if known else ())
        for owner in one.owners
        if any(question.id == who_id(owner) and question.answer for question in one.questions)
    }


def absent(
    submissions: Iterable[Submission], students: Iterable[Student]
) -> tuple[tuple[Student, ...], tuple[Student, ...]]:
    """Return those of the roster who have handed nothing in, and those for whom that is not decided."""
    every = list(submissions)
    present = {one.student.id for one in every if one.student}
    claimed = {student for one in every for student in one.claims} - present
    left = [student for student in students if student.id not in present]
    return (
        tuple(student for student in left if student.id not in claimed),
        tuple(student for student in left if student.id in claimed),
    )


def take_one(folder: Path, labs: Sequence[str]) -> tuple[tuple[HandedIn, ...], tuple[Problem, ...], dict[str, bytes]]:
    """Take in what one person has handed in, in a folder of it: by the same rules as a class.

    Return the files for `labs`, what could not be taken, and the files' texts by their hashes. What waits for an answer
    in a class is not taken: here its student can hand in again. Raises UsageError when the folder cannot be read.
    """
    names = LabNames([lab.name for lab in all_labs()])
    handing = Handing("folders", "folder", printable(folder.name))
    for item in sorted(walk(folder), key=lambda item: item.parts):
        handing.put(Placed(item.parts or (folder.name,), item), names)
    person = Person(Owned([handing], ("folder",)), names, labs)
    read = Texts()
    files = person.handed_in(read)
    asked = [
        Problem(name=printable(folder.name), reason=question.text, lab=question.lab)
        for question in person.questions(read)
        if not any(problem.name in question.text or problem.reason in question.text for problem in person.problems)
    ]
    return files, (*person.problems, *asked), read.sources


def pile_items(pile: Path) -> Iterable[Item]:
    """Return all that lies in a pile. Raises UsageError when it cannot be read."""
    return _items(pile)


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


def _labs_present(handings: Iterable[Handing], names: LabNames) -> tuple[str, ...]:
    present: set[str | None] = set()
    for handing in handings:
        programs = [placed.parts for placed in handing.files if may_be_program(placed)]
        present |= {names.of_file(parts) or names.hinted(parts) for parts in programs}
        present |= {names.of_file(as_program(placed.parts)) for placed in handing.files}
        present |= {problem.lab for problem in handing.problems}
    return tuple(name for name in names.names if name in present)


def keys_for(owned: Sequence[Owned], known: Class | None) -> list[str]:
    """Return a name for each submission that file systems of all kinds keep apart from the others.

    Who has handed in before keeps theirs; no two are the same, whatever their names are.
    """
    by_student = {one.student.id: one.key for one in known.submissions if one.student} if known else {}
    by_owner = {
        owner: one.key for one in known.submissions if not one.group for owner in one.owners
    } if known else {}  # fmt: skip
    taken = {one.key.casefold() for one in known.submissions} if known else set()
    keys = []
    for one in owned:
        key = by_student.get(one.student.id) if one.student else None
        if key is None and not one.group:
            key = next((by_owner[owner] for owner in one.owners if owner in by_owner), None)
        if key is None and known and one.group and one.student is None:
            key = next((old.key for old in known.submissions if _is_same_member(old, one)), None)
        if key is None or key in keys:
            text = one.student.id if one.student else one.name or _stem(one.handings[0])
            key = new_key(text, taken)
        taken.add(key.casefold())
        keys.append(key)
    return keys


def _is_same_member(old: Submission, one: Owned) -> bool:
    """Return whether a group's member who is on no roster is one of those before."""
    return old.student is None and old.metadata.get("member") == one.name and not set(one.owners).isdisjoint(old.owners)


def new_key(text: str, taken: Collection[str]) -> str:
    """Return a name like `text` that every file system can have, and that is none of those `taken` (casefolded)."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip(".-_")[:LONGEST_KEY].rstrip(".-_") or "submission"
    key, count = base, 1
    while key.casefold() in taken or key.casefold().partition(".")[0] in RESERVED:
        count += 1
        key = f"{base}-{count}" if base.casefold().partition(".")[0] not in RESERVED else f"submission-{base}-{count}"
    return key


def _stem(handing: Handing) -> str:
    if handing.kind in ("canvas", "moodle") and handing.who:
        return "-".join([handing.who[0].name or "anonymous", *handing.who[0].exact])
    ending = next((ending for ending in ARCHIVES if handing.origin.casefold().endswith(ending)), "")
    return handing.origin[: len(handing.origin) - len(ending)]
