"""The tables of course.toml as they are written."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from scanlab.contract import Profile, Schedule
from scanlab.labs.rubric import Text

Visibility = Literal["visible", "hidden", "after_due_date"]
Handouts = Literal["without_solutions", "full", "none"]
Points = Annotated[int, Field(ge=0, le=100_000)]
Size = Annotated[int, Field(ge=0, le=1 << 30)]
Formula = Annotated[str, StringConstraints(min_length=1)] | int
LARGEST_SEED = (1 << 64) - 1
LONGEST_HOURS = 10 * 366 * 24
LONGEST_MINUTES = 60 * LONGEST_HOURS


class Table(BaseModel):
    """A table of course.toml: a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Late(Table):
    """What late work costs. `percent` or `points` for each begun day or hour, at most `maximum` of them."""

    percent: float | None = Field(default=None, gt=0, le=100)
    points: float | None = Field(default=None, gt=0)
    per: Literal["day", "hour"] = "day"
    of: Literal["maximum", "earned"] = "maximum"
    grace_minutes: int = Field(default=0, ge=0, le=LONGEST_MINUTES)
    maximum: float | None = Field(default=None, gt=0)
    late_marker: Literal["in_time", "one_unit", "no_points"] | None = None
    cut_off_hours: float | None = Field(default=None, ge=0, le=LONGEST_HOURS)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.percent is not None and self.points is not None:
            raise ValueError("percent and points: give one of them")
        if self.percent is None and self.points is None and self.cut_off_hours is None:
            raise ValueError("nothing is taken off: give percent, points or cut_off_hours")
        if self.cut_off_hours is not None and self.cut_off_hours * 60 < self.grace_minutes:
            raise ValueError("cut_off_hours ends before grace_minutes does")
        return self


class Attempts(Table):
    """Which of a student's attempts at a lab counts."""

    count: Literal["last", "best"] = "last"
    at_most: int | None = Field(default=None, ge=1)
    minutes_between: int = Field(default=0, ge=0, le=LONGEST_MINUTES)


class CheckTable(Table):
    """A check of the kit that is changed: everything left out stays as the kit has it."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    visibility: Visibility | None = None
    enabled: bool | None = None
    points: Points | None = None
    title: Text | None = None
    explain: str | None = None
    needs: Text | None = None
    profile: Profile | None = None
    sizes: Annotated[list[Size], Field(min_length=1)] | None = None
    gpu_sizes: list[Size] | None = None
    schedules: Annotated[list[Schedule], Field(min_length=1)] | None = None
    weak_up_to: Annotated[int, Field(ge=0)] | None = None
    repeats: int | None = Field(default=None, ge=1)
    n: Size | Annotated[list[Size], Field(min_length=2, max_length=2)] | None = None
    at_most: Formula | None = None
    at_least: Formula | None = None
    full: float | None = None
    none: float | None = None
    seconds: float | None = None


class OwnCheck(Table):
    """What the table of a check of the course's own may say beside what a rubric's check has."""

    visibility: Visibility | None = None
    enabled: bool | None = None


class LabTable(Table):
    """A lab of the course. `check` holds tables of both kinds, CheckTable and whole ones with `kind`."""

    name: Text
    title: Text | None = None
    points: Points | None = None
    """What all its checks that need no GPU have to add up to; nothing is changed by it."""
    release: Any = None
    due: Any = None
    weight: float = Field(default=1.0, ge=0)
    visibility: Visibility = "visible"
    seconds: float | None = Field(default=None, gt=0, le=3600)
    warp_instructions: int | None = Field(default=None, gt=0)
    output_bytes: int | None = Field(default=None, gt=0)
    late: Late | None = None
    attempts: Attempts | None = None
    check: list[dict[str, Any]] = []


class ExtensionTable(Table):
    """More time for one student: a due date of their own, or so many hours more; without `lab` for all labs."""

    lab: Text | None = None
    due: Any = None
    hours: float | None = Field(default=None, gt=0, le=LONGEST_HOURS)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.due is None) == (self.hours is None):
            raise ValueError("give due (a date with a time) or hours (so many more)")
        if self.due is not None and self.lab is None:
            raise ValueError("due is for one lab: name it with lab, or give hours")
        return self


class StudentTable(Table):
    """What holds for one student only. `id` is the roster's, or a login or e-mail address there."""

    id: Text
    excused: list[Text] = []
    attempts: int | None = Field(default=None, ge=1)
    extension: list[ExtensionTable] = []


class CourseTable(Table):
    """The whole of course.toml."""

    title: Text
    timezone: Text | None = None
    seed: int | None = Field(default=None, ge=0, le=LARGEST_SEED)
    secret_seed: str | int | None = None
    secret_seed_file: Text | None = None
    handouts: Handouts = "without_solutions"
    late: Late | None = None
    attempts: Attempts = Attempts()
    lab: list[LabTable] = []
    student: list[StudentTable] = []

    @model_validator(mode="after")
    def _one_seed(self) -> Self:
        given = [name for name in ("seed", "secret_seed", "secret_seed_file") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)}: give one of them")
        return self


TABLES: dict[tuple[str, ...], type[Table]] = {
    (): CourseTable,
    ("late",): Late,
    ("attempts",): Attempts,
    ("lab",): LabTable,
    ("lab", "late"): Late,
    ("lab", "attempts"): Attempts,
    ("lab", "check"): CheckTable,
    ("student",): StudentTable,
    ("student", "extension"): ExtensionTable,
}
"""The model of each table, by its name."""
