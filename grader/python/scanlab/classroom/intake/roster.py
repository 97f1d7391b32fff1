"""The roster: who is in the class, from the CSV that a platform exports or a plain one, and whom a name belongs to."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scanlab.classroom.intake.items import printable
from scanlab.classroom.records import Student
from scanlab.errors import UsageError
from scanlab.paths import shown

ROLES = {
    "id": (
        "id studentid studentnumber studentno sid idnumber sisuserid identifier matriculationnumber matrikelnummer "
        "rosteridentifier"
    ),
    "name": "name fullname studentname student displayname",
    "first": "firstname givenname forename first",
    "last": "lastname surname familyname last",
    "email": "email emailaddress mail",
    "login": "login loginid username githubusername github sisloginid user userid",
}
"""What a column is called, in small letters and digits only, by what it tells."""
PARTICIPANT = re.compile(r"Participant (\d+)")
HEADER = "id,name,email,login"


@dataclass(frozen=True)
class Hints:
    """What an export says of who has handed something in."""

    name: str = ""
    """A person's name in any order, with or without spaces."""
    exact: tuple[str, ...] = ()
    """Ids, logins or addresses, the surest first."""
    words: tuple[str, ...] = ()
    """Parts of a folder's name that may be an id or a login."""


@dataclass
class Roster:
    """The students, and how to find one."""

    students: tuple[Student, ...] = ()
    _exact: dict[str, set[int]] = field(default_factory=dict)
    _names: dict[str, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for at, student in enumerate(self.students):
            for text in _identifiers(student):
                self._exact.setdefault(text, set()).add(at)
            for text in _names_of(student):
                self._names.setdefault(text, set()).add(at)

    def find(self, hints: Hints) -> list[Student]:
        """Return who is meant: one student, none, or all between whom the hints do not decide."""
        for text in hints.exact:
            if found := self._exact.get(text.casefold().strip()):
                return self._of(found)
        if hints.name and (found := self._by_name(hints.name)):
            return self._of(found)
        by_word = [self._exact[word.casefold()] for word in hints.words if word.casefold() in self._exact]
        return self._of(set().union(*by_word)) if by_word else []

    def _by_name(self, name: str) -> set[int]:
        return self._names.get(_letters(name)) or self._names.get(_sorted_words(name)) or set()

    def _of(self, found: Iterable[int]) -> list[Student]:
        return [self.students[at] for at in sorted(found)]


def read_roster(path: Path) -> Roster:
    """Read a roster: an export of Canvas, Moodle, Gradescope or GitHub Classroom, or a plain `id,name,email,login`.

    Raises UsageError, one clear line with the line's number, for a file that is no roster.
    """
    rows = _rows(path)
    header_at, header = next(((line, row) for line, row in rows if any(row)), (0, []))
    if not header:
        raise UsageError(f"{shown(path)} is empty; its first line has to name the columns, such as {HEADER}")
    names = _unique([cell.strip() for cell in header])
    roles = _roles(names)
    if not roles.keys() & {"id", "name", "last", "email", "login"}:
        listed = printable(", ".join(names))
        raise UsageError(f"{shown(path)}:{header_at}: no column names students (there are: {listed}); such as {HEADER}")
    students: list[Student] = []
    lines: dict[str, int] = {}
    for line, row in rows[rows.index((header_at, header)) + 1 :]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) > len(names) and any(cell.strip() for cell in row[len(names) :]):
            raise UsageError(f"{shown(path)}:{line}: {len(row)} cells, but the header names {len(names)} columns")
        columns = dict(zip(names, [*row, *[""] * len(names)], strict=False))
        student = _student(columns, roles)
        if student is None:
            continue
        if student.id.casefold() in lines:
            first = lines[student.id.casefold()]
            raise UsageError(f"{shown(path)}:{line}: the id {printable(student.id)!r} stands in line {first} already")
        lines[student.id.casefold()] = line
        students.append(student)
    if not students:
        raise UsageError(f"{shown(path)} names no students below its first line")
    return Roster(tuple(students))


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
    """Return which column tells what."""
    roles: dict[str, str] = {}
    plain = {_letters(name): name for name in reversed(names)}
    for role, known in ROLES.items():
        for text in known.split():
            if text in plain:
                roles.setdefault(role, plain[text])
    return roles


def _student(columns: dict[str, str], roles: dict[str, str]) -> Student | None:
    """Return a row's student; None for a row that is no student's, such as Canvas's points possible."""

    def cell(role: str) -> str:
        return columns.get(roles.get(role, ""), "").strip()

    first, last, name = cell("first"), cell("last"), cell("name")
    if name.casefold() == "points possible" or name == "Student, Test":
        return None
    if not name:
        name = f"{first} {last}".strip()
    elif not last and name.count(",") == 1:
        last, first = (part.strip() for part in name.split(","))
        name = f"{first} {last}".strip()
    moodle = next((columns[key].strip() for key in columns if _letters(key) == "identifier"), "")
    participant = PARTICIPANT.fullmatch(moodle)
    known = cell("id") or moodle
    if participant and known in ("", moodle):
        known = participant[1]
    login, email = cell("login"), cell("email")
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


def _identifiers(student: Student) -> set[str]:
    """Return the texts that stand for one student alone, in small letters."""
    texts = {student.id, student.email, student.login, student.email.split("@")[0]}
    every = {text for names in (ROLES["id"], ROLES["login"]) for text in names.split()}
    for column, cell in student.columns.items():
        if _letters(column) in {*every, "integrationid", "githubid"}:
            participant = PARTICIPANT.fullmatch(cell.strip())
            texts.add(participant[1] if participant else cell)
    return {text.casefold().strip() for text in texts if text.strip()}


def _names_of(student: Student) -> set[str]:
    first, last = student.first_name, student.last_name
    texts = {_letters(student.name), _sorted_words(student.name), _letters(first + last), _letters(last + first)}
    return {text for text in texts if text}


def _letters(text: str) -> str:
    """Return a text's letters and digits alone, small and without accents: Canvas and people drop the others."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def _sorted_words(text: str) -> str:
    words = (_letters(word) for word in re.split(r"[\s,_.\-]+", text))
    return " ".join(sorted(word for word in words if word))
