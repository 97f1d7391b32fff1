"""The roster: who is in the class, from the CSV that a platform exports or a plain one, and whom a name belongs to."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scanlab.classroom.intake.header_words import OTHER_LANGUAGES
from scanlab.classroom.intake.items import printable
from scanlab.classroom.records import Student
from scanlab.errors import UsageError
from scanlab.paths import shown
from scanlab.people import (
    EMAIL_COLUMNS,
    ID_COLUMNS,
    IDENTIFYING,
    LOGIN_COLUMNS,
    PARTICIPANT,
    People,
    bare,
    folded,
    letters,
    lost_number,
)

ROLES: Mapping[str, Sequence[str]] = {
    "id": ID_COLUMNS,
    "name": ["name", "fullname", "studentname", "student", "displayname"],
    "first": ["firstname", "givenname", "forename", "first"],
    "last": ["lastname", "surname", "familyname", "last"],
    "email": EMAIL_COLUMNS,
    "login": LOGIN_COLUMNS,
    "group": ["group", "groupname", "team", "teamname", "gruppe", "gruppenname"],
}
"""What a column is called, in small letters and digits only, by what it holds."""
GITHUB_COLUMNS = ("githubusername", "github", "githublogin")
CANVAS_COLUMNS = ("sisuserid", "sisloginid", "section")
HEADER = "id,name,email,login"
WORDS = re.compile(r"[\s_,;()\[\]]+")
DASHES = re.compile("[-\u2010-\u2015\u2212]")
PIECES = re.compile(rf"[^{DASHES.pattern[1:-1]}\s_,;()\[\]]+")
MOST_PIECES = 6
"""Between dashes and the like, in an identifier."""
OTHER_ROLES = frozenset(
    ("instructor", "ta", "teachingassistant", "teacher", "lecturer", "professor", "tutor", "grader", "reader",
     "observer", "designer", "nichteditierenderlehrer", "dozent", "dozentin", "lehrer", "manager")
)  # fmt: skip
"""Of the column `Role`: whoever has one of these hands in nothing."""
NO_GROUP = ("", "-", "none", "no group", "keine")


@dataclass
class Roster:
    """The students, and how to find one. An identifier is compared whole; a name's words may stand in any order."""

    students: tuple[Student, ...] = ()
    groups: Mapping[str, tuple[Student, ...]] = field(default_factory=dict)
    """Those who hand in together, by the group's name."""
    _people: People = field(init=False)
    _by_key: dict[str, Student] = field(init=False)
    _names: dict[str, list[Student]] = field(init=False)
    _logins: dict[str, list[Student]] = field(init=False)
    _platform: dict[tuple[str, str], list[Student]] = field(init=False)
    """By what only that platform can mean: its own number in a roster that it has made."""

    def __post_init__(self) -> None:
        self._people = People([student.person() for student in self.students])
        self._by_key = {student.id: student for student in self.students}
        self._names, self._logins, self._platform = {}, {}, {}
        for student in self.students:
            cells = {letters(column): bare(cell) for column, cell in reversed(student.columns.items())}
            for text in _names_of(student):
                self._names.setdefault(text, []).append(student)
            logins = [cells[column] for column in GITHUB_COLUMNS if cells.get(column)] or [student.login]
            for login in {folded(text) for text in logins if text}:
                self._logins.setdefault(login, []).append(student)
            numbers = {
                "moodle": next((found[1] for cell in cells.values() if (found := PARTICIPANT.fullmatch(cell))), "")
            }
            if "id" in cells and any(column in cells for column in CANVAS_COLUMNS):
                numbers["canvas"] = cells["id"]
            numbers["canvas"] = cells.get("canvasuserid") or numbers.get("canvas", "")
            for platform, number in numbers.items():
                if number:
                    self._platform.setdefault((platform, number), []).append(student)

    def exactly(self, texts: Iterable[str]) -> list[Student]:
        """Return those who are called so by an identifier: one, none, or all between whom the texts do not decide."""
        found = {one.key: self._by_key[one.key] for text in texts for one in self._people.find(text)}
        return list(found.values())

    def by_login(self, login: str) -> list[Student]:
        """Return whose login on GitHub this is, by the roster's own column for it where there is one."""
        return self._logins.get(folded(login), [])

    def by_number(self, platform: str, number: str) -> list[Student]:
        """Return whose number on a platform this is, by a roster that names the platform's own numbers."""
        return self._platform.get((platform, number), [])

    def by_name(self, name: str) -> list[Student]:
        """Return those of this name, written in any order and with or without spaces."""
        return (self._names.get(letters(name)) or self._names.get(_sorted_words(name)) or []) if name else []

    def by_stem(self, stem: str) -> list[Student]:
        """Return after whom a folder is named: an identifier, a name, or both together and nothing else."""
        if found := self.exactly([stem]) or self.by_name(stem):
            return found
        meant = {one.id: one for one, rest in self._identified(stem) if _says_only(one, rest)}
        others = {one.id for word in WORDS.split(stem) for one in self.exactly([word])} - meant.keys()
        return [*meant.values()] if len(meant) == 1 and not others else []

    def _identified(self, stem: str) -> Iterable[tuple[Student, str]]:
        """Yield whom a part of a folder's name identifies, and what else the name says; a dash may separate the two."""
        pieces = [*PIECES.finditer(stem)]
        for at, first in enumerate(pieces):
            for last in pieces[at : at + MOST_PIECES]:
                if len(found := self.exactly([stem[first.start() : last.end()]])) == 1:
                    yield found[0], f"{stem[: first.start()]} {stem[last.end() :]}"

    def agrees(self, platform: str, number: str, name: str) -> bool:
        """Return whether a student has this name, and the number as well where the roster has the platform's."""
        named = {student.id for student in self.by_name(name)}
        numbered = {student.id for student in self.by_number(platform, number)}
        return bool(named & numbered) if numbered else bool(named)

    def group_of(self, student: Student) -> str:
        """Return the name of a student's group, or an empty text."""
        return next((name for name, members in self.groups.items() if student in members), "")


def read_roster(path: Path, groups: Path | None = None) -> Roster:
    """Read a roster: an export of Canvas, Moodle, Gradescope or GitHub Classroom, or a plain `id,name,email,login`.

    A column `group` says who hands in together; so does the file `groups`, such as Canvas's export of groups, whose
    rows name a group and a student by any identifier.

    Raises UsageError, one clear line with the line's number, for a file that is no roster.
    """
    names, rows = _table(path, HEADER)
    roles = _roles(names)
    if not roles.keys() & {"id", "name", "last", "email", "login"}:
        listed = printable(", ".join(names))
        raise UsageError(
            f"{shown(path)}:{rows[0][0]}: no column names students (there are: {listed}); such as {HEADER}"
        )
    students: list[Student] = []
    lines: dict[str, int] = {}
    together: dict[str, list[Student]] = {}
    for line, columns in rows[1:]:
        student = _student(columns, roles)
        if student is None:
            continue
        if folded(student.id) in lines:
            first = lines[folded(student.id)]
            raise UsageError(f"{shown(path)}:{line}: the id {printable(student.id)!r} stands in line {first} already")
        lines[folded(student.id)] = line
        students.append(student)
        if (group := columns.get(roles.get("group", ""), "").strip()).casefold() not in NO_GROUP:
            together.setdefault(group, []).append(student)
    if not students:
        raise UsageError(f"{shown(path)} names no students below its first line")
    roster = Roster(tuple(students), {name: tuple(members) for name, members in together.items()})
    return read_groups(groups, roster) if groups else roster


def read_groups(path: Path, roster: Roster) -> Roster:
    """Return the roster with the groups of a file: a row names a group and a student.

    Raises UsageError, with the line's number, for a row whose student the roster does not know, or not for certain.
    """
    names, rows = _table(path, "group,id")
    roles = _roles(names)
    if "group" not in roles:
        listed = printable(", ".join(names))
        raise UsageError(f"{shown(path)}:{rows[0][0]}: no column names groups (there are: {listed}); such as group,id")
    others = [name for name in names if letters(name) in IDENTIFYING or name == roles.get("name")]
    others = others or [name for name in names if name != roles["group"]]
    together: dict[str, list[Student]] = {}
    for line, columns in rows[1:]:
        group = columns[roles["group"]].strip()
        if group.casefold() in NO_GROUP:
            continue
        canvas = next((columns[name].strip() for name in names if letters(name) == "canvasuserid"), "")
        cells = [columns[name].strip() for name in others if columns[name].strip()]
        found = roster.by_number("canvas", canvas) if canvas else []
        found = found or _common(roster.exactly([cell]) for cell in cells) or _common(map(roster.by_name, cells))
        if len(found) != 1:
            row = printable(", ".join(cells)) or "an empty row"
            why = "is nobody on the roster" if not found else "may be several on the roster"
            raise UsageError(f"{shown(path)}:{line}: {row} {why}")
        if (other := next((name for name, members in together.items() if found[0] in members), group)) != group:
            raise UsageError(f"{shown(path)}:{line}: {found[0].id} is in the group {printable(other)!r} already")
        together.setdefault(group, []).append(found[0])
    return Roster(roster.students, {name: tuple(members) for name, members in together.items()})


def _common(found: Iterable[Sequence[Student]]) -> list[Student]:
    every = {student.id: student for students in found for student in students}
    return list(every.values())


def _table(path: Path, example: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the columns' names, and each row that is not empty with its line; the first is the header's."""
    rows = _rows(path)
    at, header = next(((line, row) for line, row in rows if any(row)), (0, []))
    if not header:
        raise UsageError(f"{shown(path)} is empty; its first line has to name the columns, such as {example}")
    names = _unique([cell.strip() for cell in header])
    table = [(at, dict.fromkeys(names, ""))]
    roles = _roles(names)
    identifying = [
        name for name in names if letters(name) in IDENTIFYING or name in (roles.get("id"), roles.get("login"))
    ]
    for line, row in rows[rows.index((at, header)) + 1 :]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) > len(names) and any(cell.strip() for cell in row[len(names) :]):
            raise UsageError(f"{shown(path)}:{line}: {len(row)} cells, but the header names {len(names)} columns")
        columns = dict(zip(names, [*row, *[""] * len(names)], strict=False))
        if lost := next((why for name in identifying if (why := lost_number(columns[name]))), ""):
            raise UsageError(f"{shown(path)}:{line}: {lost}")
        table.append((line, columns))
    return names, table


def read_csv(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file with the lines that they end in; `,`, `;` or tabs, UTF-8 or UTF-16.

    Raises UsageError, one clear line, for a file that is no CSV.
    """
    return _rows(path)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot read it: {error.strerror}") from error
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageError(f"{shown(path)}:{line}: not UTF-8 text; save the file as CSV in UTF-8") from error
    if "\0" in text:
        raise UsageError(f"{shown(path)} is no CSV file: it has NUL characters")
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = []
    try:
        for row in reader:
            rows.append((reader.line_num, row))
    except csv.Error as error:
        raise UsageError(f"{shown(path)}:{reader.line_num}: no CSV: {error}") from error
    return rows


def _unique(names: Sequence[str]) -> list[str]:
    """Return the header with a number after each name that stands there a second time."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def _roles(names: Sequence[str]) -> dict[str, str]:
    """Return which column holds what."""
    roles: dict[str, str] = {}
    plain = {letters(name): name for name in reversed(names)}
    for role, known in ROLES.items():
        for text in (*known, *OTHER_LANGUAGES.get(role, ())):
            if text in plain:
                roles.setdefault(role, plain[text])
    return roles


def _student(columns: dict[str, str], roles: dict[str, str]) -> Student | None:
    """Return a row's student; None for one that is no student's: Canvas's points possible, a teaching assistant's."""

    def cell(role: str) -> str:
        return columns.get(roles.get(role, ""), "").strip()

    first, last, name = cell("first"), cell("last"), cell("name")
    has_sis_id = any(columns[key].strip() for key in columns if letters(key) == "sisuserid")
    if any(letters(key) in ("role", "roles") and letters(columns[key]) in OTHER_ROLES for key in columns):
        return None
    called = name or ", ".join(filter(None, (last, first)))
    if called.casefold() == "points possible" or (called == "Student, Test" and not has_sis_id):
        return None
    if not name:
        name = f"{first} {last}".strip()
    elif (
        first and not last and "," not in name and letters(first) not in letters(name)
    ):  # "Name" and "Vorname": the first is the surname
        last, name = name, f"{first} {name}"
    elif not last and name.count(",") == 1:
        last, first = (part.strip() for part in name.split(","))
        name = f"{first} {last}".strip()
    moodle = next((bare(columns[key]) for key in columns if letters(key) == "identifier"), "")
    participant = PARTICIPANT.fullmatch(moodle)
    known = bare(cell("id")) or moodle
    if participant and known in ("", moodle):
        known = participant[1]
    login, email = bare(cell("login")), bare(cell("email"))
    student_id = known or login or email or name
    if not student_id:
        return None
    return Student(
        id=student_id,
        name=name or student_id,
        first_name=first,
        last_name=last,
        email=email,
        login=login,
        columns=columns,
    )


def _names_of(student: Student) -> set[str]:
    first, last = student.first_name, student.last_name
    texts = {letters(student.name), _sorted_words(student.name), letters(first + last), letters(last + first)}
    return {text for text in texts if text}


def _sorted_words(text: str) -> str:
    return " ".join(sorted(filter(None, _words(text))))


def _words(text: str) -> list[str]:
    return [letters(word) for word in re.split(rf"[\s,_.]+|{DASHES.pattern}", text)]


def _says_only(student: Student, text: str) -> bool:
    """Return whether a text has words of a student's name, and identifiers of theirs, and nothing else."""
    known = {"", letters(student.name), *map(letters, WORDS.split(student.name)), *_words(student.name)}
    who = student.person()

    def is_known(word: str) -> bool:
        return letters(word) in known or who.is_called(word)

    return all(is_known(word) or all(map(is_known, DASHES.split(word))) for word in WORDS.split(text))
