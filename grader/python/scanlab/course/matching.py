"""Which students the [[student]] tables of course.toml mean in a class: decided once, before anything is graded.

An identifier is looked up whole, whatever its case: any that the roster or the export knows. What matches none is
looked up as the part of an address before its @, and then as a name. Each counts where it is one person's alone.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from scanlab.classroom.records import Class, Student, Submission
from scanlab.course.model import Course, Terms
from scanlab.errors import UsageError
from scanlab.paths import shown
from scanlab.people import People, Person, folded, letters
from scanlab.toml_text import Place, line_of

if TYPE_CHECKING:
    from scanlab.course.read import Read

Found = tuple[Literal["student", "submission"], str]
MOST_LISTED = 5


class Match:
    """All people whom a class knows, and whom an entry of course.toml may mean."""

    def __init__(self, students: Iterable[Student], submissions: Iterable[Submission] = ()) -> None:
        self._found: dict[int, Found] = {}
        people: list[Person] = []

        def add(one: Person, found: Found) -> None:
            self._found[id(one)] = found
            people.append(one)

        theirs = {one.student.id: one for one in submissions if one.student}
        for student in students:
            also = theirs.get(student.id)
            add(also.person() if also else student.person(), ("student", student.id))
        for one in submissions:
            if not one.student:
                add(one.person(), ("submission", one.key))
        self._people = People(people)
        self._ways: Sequence[tuple[str, Callable[[str], Sequence[Person]]]] = (
            ("called", self._people.find),
            ("with an address before whose @ stands", _index(people, _local_parts, folded)),
            ("of the name", _index(people, _names, _name)),
        )

    def whom(self, text: str) -> tuple[Found | None, str]:
        """Return whom an identifier means, or else why it means no student, for a message."""
        for how, find in self._ways:
            found = find(text)
            if len(found) == 1:
                return self._found[id(found[0])], ""
            if found:
                who = sorted(self._found[id(one)][1] for one in found)
                listed = ", ".join(who[:MOST_LISTED]) + (" …" if len(who) > MOST_LISTED else "")
                return None, f"{len(found)} people are {how} {text!r} ({listed}); give an id that one of them has alone"
        return None, ""


def _index(
    people: Iterable[Person], texts_of: Callable[[Person], Iterable[str]], form: Callable[[str], str]
) -> Callable[[str], Sequence[Person]]:
    index: dict[str, list[Person]] = {}
    for one in people:
        for text in {form(text) for text in texts_of(one)} - {""}:
            index.setdefault(text, []).append(one)
    return lambda text: index.get(form(text), ())


def _local_parts(one: Person) -> Iterable[str]:
    return [text.split("@")[0] for text in one.identifiers if "@" in text]


def _names(one: Person) -> Iterable[str]:
    return [one.name]


def _name(text: str) -> str:
    """Return a name's words in no order: Ann Berg, Berg, Ann."""
    return " ".join(sorted(word for word in (letters(word) for word in text.replace(",", " ").split()) if word))


def matched(
    course: Course,
    students: Sequence[Student],
    submissions: Sequence[Submission],
    *,
    is_whole: bool,
    place: Callable[[int], str],
) -> tuple[Course, list[str]]:
    """Return the course with the student whom each of its [[student]] tables means, and what could not be found out.

    `is_whole` says that all students are known: the roster was given. `place` gives a table's file and line.

    Raises UsageError with a line for each table that means no student, though all are known, or several, and for two
    about the same person.
    """
    match = Match(students, submissions)
    wrong: list[str] = []
    unknown: list[str] = []
    tables: list[Terms] = []
    first: dict[Found, int] = {}
    for i, terms in enumerate(course.students):
        found, why = match.whom(terms.id)
        if found and found in first:
            before = course.students[first[found]].id
            why = f"{terms.id!r} and {before!r} ({place(first[found])}) are one person, {found[1]}; make it one table"
        elif found:
            first[found] = i
        elif not why and is_whole:
            why = f"nobody on the roster is called {terms.id!r}, by an id, login, address, number or name"
        elif not why:
            unknown.append(f"{place(i)}: {terms.id!r}")
        if why:
            wrong.append(f"{place(i)}: id: {why}")
        tables.append(terms.model_copy(update={"found": found}))
    if wrong:
        raise UsageError("\n".join(wrong))
    return course.model_copy(update={"students": tuple(tables)}), unknown


def places_of(read: "Read | None") -> Callable[[int], str]:
    """Return what gives file and line of each table about one student."""
    if read is None:
        return lambda i: f"class.json: course.students[{i}]"
    path, lines = shown(read.path), read.lines

    def place(i: int) -> str:
        where: Place = ("student", i, "id")
        return f"{path}:{line_of(dict(lines), where) or 1}"

    return place


def in_class(taken_in: Class, read: "Read | None", *, has_roster: bool) -> tuple[Class, list[str]]:
    """Return a class with the students whom its course means, and a text for each table whose student was not found.

    Raises UsageError as `matched` does.
    """
    course = Course.of(taken_in.course)
    if not course.students:
        return taken_in, []
    found, unknown = matched(
        course, taken_in.students(), taken_in.submissions, is_whole=has_roster, place=places_of(read)
    )
    return taken_in.model_copy(update={"course": found.public_view()}), unknown
