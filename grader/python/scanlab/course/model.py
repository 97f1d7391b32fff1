"""A course as it was understood: what `class.json` keeps of it, and what grading, pages and gradebooks ask of it.

It never holds the secret seed, so that whoever may see results may see a course.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, ValidationError

from scanlab.classroom.records import Record, Student, Submission
from scanlab.course.seeds import SMALLEST
from scanlab.course.tables import Attempts, Handouts, Late, Visibility
from scanlab.errors import UsageError
from scanlab.judging.plan import DEFAULT_SEED
from scanlab.labs.folders import Lab, find_lab
from scanlab.labs.rubric import Rubric
from scanlab.people import folded

SCHEMA = "scanlab-course"
Who = Student | Submission | Record | str | None
"""A student: their row of the roster, what they have handed in or got, or the id that course.toml gives them; None: any
student whom course.toml does not mention."""


class Model(BaseModel):
    """Data that is never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Due(Model):
    """A due date, and the time zone whose calendar days count: `zone` is a name, or empty for the offset of `at`."""

    at: datetime
    zone: str = ""

    def here(self, moment: datetime) -> datetime:
        """Return `moment` in the due date's own time zone."""
        zone: tzinfo = ZoneInfo(self.zone) if self.zone else self.at.tzinfo or UTC
        return moment.astimezone(zone)

    def later(self, hours: float) -> "Due":
        """Return a due date so many hours of real time later."""
        moment = (self.at.astimezone(UTC) + timedelta(hours=hours)).isoformat()
        return Due(at=self.here(datetime.fromisoformat(moment)), zone=self.zone)


class CourseLab(Model):
    """One lab of the course."""

    name: str
    title: str
    weight: float
    due: Due | None
    late: Late | None
    attempts: Attempts
    visibility: Mapping[str, Visibility]
    """Of each check, by its name."""
    rubric: Rubric | None
    """The whole rubric where it is not the kit's own."""


class Extension(Model):
    """More time for one student; without `lab` for all labs."""

    lab: str | None
    due: Due | None
    hours: float | None


class Terms(Model):
    """What holds for one student only."""

    id: str
    """As course.toml has it."""
    excused: tuple[str, ...] = ()
    attempts: int | None = None
    extensions: tuple[Extension, ...] = ()
    found: tuple[Literal["student", "submission"], str] | None = None
    """Whom it means in a class (`matching.py`): a student, by their id on the roster, or a submission that the roster
    does not know, by its key. None: in no class, or no student there."""

    def means(self, who: Who) -> bool:
        """Return whether this is about a student. Without a class to look in, any identifier of theirs will do."""
        if isinstance(who, str) or who is None:
            return who is not None and folded(who) == folded(self.id)
        student = who if isinstance(who, Student) else who.student
        if self.found:
            return self.found == (("student", student.id) if student else ("submission", getattr(who, "key", "")))
        return student is not None and student.person().is_called(self.id)


class Course(Model):
    """A whole course. Equal files give equal courses."""

    schema_name: Literal["scanlab-course"] = SCHEMA
    version: Literal[1] = 1
    title: str
    zone: str = ""
    secret_seed: bool
    """The data depends on the class's seed and on each file, see `seed_for`; False: on `seed` alone."""
    seed: int
    """The public seed; that of the labs' own checks where the course's is secret."""
    handouts: Handouts
    labs: tuple[CourseLab, ...]
    students: tuple[Terms, ...] = ()

    # ---- to and from class.json --------------------------------------------------------------------------------------

    def public_view(self) -> dict[str, Any]:
        """Return the course as JSON values, for `records.Class.course`; the secret seed is not in it."""
        return self.model_dump(mode="json")

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> "Course":
        """Return the course of a class, from `records.Class.course`; `NO_COURSE` when it was graded without one.

        Raises UsageError when this version cannot read all of it: what a word hides must not be shown by guessing.
        """
        if not view:
            return NO_COURSE
        try:
            return cls.model_validate(dict(view))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, ("course", *first["loc"])))
            raise UsageError(f"class.json is damaged or of another version: {place}: {first['msg']}") from error

    # ---- labs --------------------------------------------------------------------------------------------------------

    def find(self, lab: str) -> CourseLab | None:
        """Return a lab of the course by its whole name; None when it has no such lab."""
        return next((one for one in self.labs if one.name == lab), None)

    def lab(self, name: str) -> Lab:
        """Return a lab with the course's rubric, ready to be graded. Raises UsageError when the kit has no such lab."""
        kit, found = find_lab(name), self.find(name)
        return kit if found is None or found.rubric is None else kit.with_rubric(found.rubric)

    def weighted_percent(self, grades: Mapping[str, tuple[float, float]], student: Who = None) -> float | None:
        """Return what `grades` (by lab: points, and points that can be won) make together, 0 to 100, by the weights.

        A lab that a student is excused from does not count; None when nothing counts. Without a course all weigh the
        same.
        """
        total = weights = 0.0
        for lab, (points, most) in grades.items():
            found = self.find(lab)
            weight = found.weight if found else 1.0
            if most > 0 and not self.excused(lab, student):
                total += weight * points / most
                weights += weight
        return 100 * total / weights if weights else None

    # ---- students ----------------------------------------------------------------------------------------------------

    def terms(self, student: Who) -> Terms | None:
        """Return what holds for this student only; None: nothing. If several tables are about them, all hold."""
        about = [terms for terms in self.students if terms.means(student)]
        if len(about) < 2:
            return about[0] if about else None
        return about[0].model_copy(
            update={
                "excused": tuple(lab for terms in about for lab in terms.excused),
                "attempts": max((terms.attempts for terms in about if terms.attempts), default=None),
                "extensions": tuple(one for terms in about for one in terms.extensions),
            }
        )

    def excused(self, lab: str, student: Who) -> bool:
        """Return whether a lab does not count for a student."""
        terms = self.terms(student)
        return terms is not None and lab in terms.excused

    def counting(self, labs: Iterable[str], student: Who) -> tuple[str, ...]:
        """Return those of `labs` from which a student is not excused."""
        return tuple(lab for lab in labs if not self.excused(lab, student))

    def due(self, lab: str, student: Who = None) -> Due | None:
        """Return when a lab is due for a student, with their extension; None: it never is."""
        found, terms = self.find(lab), self.terms(student)
        due = found.due if found else None
        if due is None or terms is None:
            return due
        extensions = [one for one in terms.extensions if one.lab in (lab, None)]
        moments = [one.due or due.later(one.hours or 0) for one in extensions]
        return max([due, *moments], key=lambda one: one.at)

    def last_due(self, lab: str) -> datetime | None:
        """Return when a lab is due for the last of all students; None: it never is."""
        dates = [self.due(lab, one) for one in (None, *(terms.id for terms in self.students))]
        return max((one.at for one in dates if one), default=None)

    def last_due_of_all(self) -> datetime | None:
        """Return when the last of all labs is due for the last student; None: nothing ever is."""
        return max((one for lab in self.labs if (one := self.last_due(lab.name))), default=None)

    def is_extended(self, lab: str, student: Who) -> bool:
        """Return whether a student has more time than the others."""
        return self.due(lab, student) != self.due(lab)

    def attempts(self, lab: str, student: Who = None) -> Attempts:
        """Return which attempts of a student count."""
        found, terms = self.find(lab), self.terms(student)
        rule = found.attempts if found else Attempts()
        return rule.model_copy(update={"at_most": terms.attempts}) if terms and terms.attempts else rule

    # ---- what may be seen --------------------------------------------------------------------------------------------

    def visibility(self, lab: str, check: str) -> Visibility:
        """Return who sees a check's result. `build`, the check that a file compiles, is seen by all."""
        found = self.find(lab)
        return found.visibility.get(check, "visible") if found else "visible"


NO_COURSE = Course(title="", secret_seed=False, seed=DEFAULT_SEED, handouts="without_solutions", labs=())
"""What holds without a course: the kit's rubrics, everything is visible, nothing is due, and all know the seed."""


def lab_of(view: Mapping[str, Any], name: str) -> Lab:
    """Return a lab with the rubric of a class's course. Raises UsageError as `Course.of` and `Course.lab` do."""
    return Course.of(view).lab(name)


def has_secret_seed(view: Mapping[str, Any], seed: int) -> bool:
    """Return whether the seed of a class is secret: by its course, or, without one, since it cannot be tried out."""
    return bool(view.get("secret_seed")) if view else seed >= SMALLEST


def seed_for(view: Mapping[str, Any], seed: int, lab: str, sha256: str) -> int:
    """Return the seed of one file's data: a class's own `seed`, or, where that is secret, one made from it.

    A made one holds for this file and this lab alone, and nothing leads back from it: a result may name it, and its
    student can run the very case again, but a file that was fitted to its data is another file, with other data.
    """
    if not has_secret_seed(view, seed):
        return seed
    made = hmac.new(seed.to_bytes(16, "little"), f"{lab} {sha256}".encode(), hashlib.sha256).digest()
    return int.from_bytes(made[:8], "little")
