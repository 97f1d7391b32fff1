"""Read course.toml. Everything that is wrong with it is reported at once, each with its line and key."""

import difflib
import zoneinfo
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from scanlab.classroom.progress import duration
from scanlab.course import seeds
from scanlab.course.model import Course, CourseLab, Due, Extension, Terms
from scanlab.course.problems import KINDS, Problems, choice, toml
from scanlab.course.salvage import MISSING, salvaged
from scanlab.course.tables import CheckTable, CourseTable, ExtensionTable, LabTable, OwnCheck, StudentTable, Visibility
from scanlab.errors import UsageError
from scanlab.judging import plan
from scanlab.labs.folders import Lab, all_labs
from scanlab.labs.rubric import Check, Rubric
from scanlab.paths import shown
from scanlab.toml_text import Place, TomlError, line_of, places, read_toml

CHECKS: tuple[Any, ...] = get_args(get_args(Check)[0])
"""The models of the kinds of checks."""
MOST_SECONDS = 3600
"""Of processor time: a lab that takes longer for each file cannot be meant."""
OF_THE_COURSE = ("name", "visibility", "enabled")
"""What a check's table says that is no part of a rubric's check."""


@dataclass(frozen=True)
class Read:
    """A course, and what only its instructor may see of it."""

    course: Course
    path: Path
    seed: int
    """The seed of a class that is graded by this course: secret where the course's is.

    Where the course names none (`names_seed`), each class makes one; this one is for proofs.
    """
    secret: str | int | None
    """The secret seed as it is written."""
    own_checks: Mapping[str, tuple[str, ...]]
    """The checks that the course adds, by lab."""
    lines: Mapping[Place, int] = field(repr=False)

    @property
    def names_seed(self) -> bool:
        """Return whether the file says with which seed a class is graded, in public or in secret."""
        return self.secret is not None or not self.course.secret_seed


def read_course(path: Path) -> Read:
    """Read a course.toml.

    Raises UsageError with a line `FILE:LINE: KEY: what is wrong; what is allowed` for everything that is wrong.
    """
    return _Reader(path).read()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        text = _text(path)
        try:
            self.data = read_toml(text)
        except TomlError as error:
            raise UsageError(f"{shown(path)}:{error.line}: not TOML: {error}") from error
        self.lines = places(text)
        self.problems = Problems(path, self.lines)
        self.wrong = self.problems.note
        self.kit = {lab.name: lab for lab in all_labs()}

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def read(self) -> Read:
        table = self._table()
        zone = self._zone(table)
        secret = self._secret(table)
        labs, own = self._labs(table, zone)
        students = tuple(self._student(one, i, table, zone) for i, one in enumerate(table.student))
        self._no_twins([one.id for one in students], "student", "id")
        self.problems.finish()
        course = Course(
            title=table.title,
            zone=zone,
            secret_seed=table.seed is None,  # where nothing is said, each class makes a secret seed of its own
            seed=table.seed if table.seed is not None else plan.DEFAULT_SEED,
            handouts=table.handouts,
            labs=tuple(labs),
            students=students,
        )
        seed = course.seed if secret is None else seeds.class_seed(secret)
        return Read(course, self.path, seed, secret, own, self.lines)

    def _table(self) -> CourseTable:
        """Return the file's tables; where some are wrong, which is noted, what can be read of the others."""
        try:
            return CourseTable.model_validate(self.data)
        except ValidationError as error:
            self.problems.explain(error, ())
            return salvaged(self.data)

    def _check_table(self, check: dict[str, Any], place: Place) -> CheckTable | None:
        try:
            return CheckTable.model_validate(check)
        except ValidationError as error:
            self.problems.explain(error, place, [CheckTable])
            return None

    def _zone(self, table: CourseTable) -> str:
        if table.timezone is None:
            return ""
        names = zoneinfo.available_timezones()
        if table.timezone not in names:
            if not names:
                said = "this machine knows no time zones; install tzdata, or give each date an offset"
            else:
                near = difflib.get_close_matches(table.timezone, names, n=1, cutoff=0.5)
                guess = f"did you mean {near[0]}?" if near else "give one such as Europe/Berlin"
                said = f"there is no time zone {table.timezone!r}; {guess}"
            self.wrong(("timezone",), said)
            return "UTC"
        return table.timezone

    def _secret(self, table: CourseTable) -> str | int | None:
        if table.secret_seed is not None:
            if said := seeds.complaint(table.secret_seed):
                self.wrong(("secret_seed",), said)
            return table.secret_seed
        if table.secret_seed_file is None:
            return None
        file = self.path.parent / table.secret_seed_file
        try:
            secret = file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            said = f"{shown(file)} does not exist; `grader/scanlab course seed {shown(self.path)}` makes it"
            self.wrong(("secret_seed_file",), said)
            return None
        except (OSError, UnicodeDecodeError) as error:
            self.wrong(
                ("secret_seed_file",), f"{shown(file)}: cannot read it: {getattr(error, 'strerror', 'not UTF-8')}"
            )
            return None
        if said := seeds.complaint(secret):
            self.wrong(("secret_seed_file",), f"{shown(file)}: {said}")
        return secret

    def _due(self, value: Any, zone: str, place: Place) -> Due | None:
        """Return a due date; a problem is noted."""
        example = "2027-03-14T23:59:00+01:00"
        if value is None:
            return None
        if isinstance(value, time) or (isinstance(value, date) and not isinstance(value, datetime)):
            self.wrong(place, f"{toml(value)} is no date with a time; write one such as {example}")
        elif not isinstance(value, datetime):
            self.wrong(place, f"has to be a date with a time, without quotes, such as {example}, not {toml(value)}")
        elif not 2000 <= value.year < 2200:
            self.wrong(place, f"{toml(value)} is in the year {value.year}: is that meant?")
        elif value.tzinfo is not None:
            return Due(at=value)
        elif not zone:
            said = f'in which time zone? Give an offset ({example}), or timezone = "Europe/Berlin" for the whole course'
            self.wrong(place, said)
        else:
            moment = value.replace(tzinfo=zoneinfo.ZoneInfo(zone))
            back = moment.astimezone(UTC).astimezone(moment.tzinfo).replace(tzinfo=None)
            if back != value:
                self.wrong(place, f"{toml(value)} does not exist in {zone}, where the clocks are put forward then")
            elif moment.utcoffset() != moment.replace(fold=1).utcoffset():
                self.wrong(place, f"{toml(value)} comes twice in {zone}, where the clocks are put back; add an offset")
            else:
                return Due(at=moment, zone=zone)
        return None

    def _lab_name(self, wanted: str, place: Place, allowed: Iterable[str]) -> str | None:
        """Return a lab's whole name, from `02`, `kogge_stone` or the whole of it."""
        names = list(dict.fromkeys(allowed))
        spellings = {spelling: name for name in names for spelling in (name, name[3:], name[:2], name[:2].lstrip("0"))}
        if wanted in spellings:
            return spellings[wanted]
        if wanted == MISSING:
            return None
        near = difflib.get_close_matches(wanted, spellings, n=1, cutoff=0.5) if len(wanted) > 2 else []
        guess = f"did you mean {spellings[near[0]]}?" if near else f"there are {', '.join(names)}"
        self.wrong(place, f"no lab is called {wanted!r}; {guess}")
        return None

    def _no_twins(self, names: list[str], array: str, key: str) -> None:
        for i, name in enumerate(names):
            if name != MISSING and name in names[:i]:
                first = line_of(self.lines, (array, names.index(name), key))
                self.wrong((array, i, key), f"{name} stands in line {first} already")

    def _labs(self, table: CourseTable, zone: str) -> tuple[list[CourseLab], dict[str, tuple[str, ...]]]:
        found: list[CourseLab] = []
        own: dict[str, tuple[str, ...]] = {}
        named = [self._lab_name(lab.name, ("lab", i, "name"), self.kit) for i, lab in enumerate(table.lab)]
        self._no_twins([name or f"({i})" for i, name in enumerate(named)], "lab", "name")
        entries = [(i, lab, name) for i, (lab, name) in enumerate(zip(table.lab, named, strict=True)) if name]
        self._look_at_nameless([i for i, name in enumerate(named) if not name], table, zone)
        if not table.lab:
            entries = [(-1, LabTable(name=name), name) for name in self.kit]
        for i, lab, name in sorted(entries, key=lambda entry: entry[2]):
            kit = self.kit[name]
            is_whole = not self.problems.has_some_in(("lab", i))
            rubric, visibility, added = self._rubric(lab, kit, ("lab", i))
            late = lab.late or table.late
            due = self._due(lab.due, zone, ("lab", i, "due"))
            release = self._due(lab.release, zone, ("lab", i, "release"))
            if due and release and due.at <= release.at:
                self.wrong(("lab", i, "due"), f"{name} is due no later than it is released, {toml(lab.release)}")
            if is_whole and lab.points is not None and lab.points != (sum_of := rubric.max_points()):
                said = f"the checks of {name} that need no GPU add up to {sum_of}"
                self.wrong(("lab", i, "points"), f"{said}, not to {lab.points}; change it, or the checks' own points")
            if lab.late and lab.due is None:
                self.wrong(("lab", i, "late"), f"{name} has no due date, so nothing is late; give due")
            found.append(
                CourseLab(
                    name=name,
                    title=rubric.title,
                    weight=lab.weight,
                    due=due,
                    late=late,
                    attempts=lab.attempts or table.attempts,
                    visibility=visibility,
                    rubric=rubric if rubric != kit.rubric else None,
                )
            )
            if "after_due_date" in visibility.values() and lab.due is None:
                self.wrong(("lab", i), f"{name} has checks that are shown after_due_date, and no due date; give due")
            own[name] = added
        return found, own

    def _look_at_nameless(self, numbers: Iterable[int], table: CourseTable, zone: str) -> None:
        """Look at what can be wrong with labs of which it is not known which they are."""
        for i in numbers:
            for key in ("due", "release"):
                self._due(getattr(table.lab[i], key), zone, ("lab", i, key))
            for j, check in enumerate(table.lab[i].check):
                if "kind" not in check:
                    self._check_table(check, ("lab", i, "check", j))

    def _rubric(self, lab: LabTable, kit: Lab, place: Place) -> tuple[Rubric, dict[str, Visibility], tuple[str, ...]]:
        """Return the lab's rubric, who sees each check, and the names of the course's own checks."""
        data = kit.rubric.model_dump()
        if lab.title:
            data["title"] = lab.title
        limits = ("seconds", "warp_instructions", "output_bytes")
        data["limits"] |= {name: getattr(lab, name) for name in limits if getattr(lab, name) is not None}
        checks: list[dict[str, Any]] = data["check"]
        at = {check["name"]: i for i, check in enumerate(checks)}
        origins: dict[int, Place] = {}
        visibility = {check["name"]: lab.visibility for check in checks}
        seen: dict[str, int] = {}
        own: list[str] = []
        off: dict[str, Place] = {}
        for j, written in enumerate(lab.check):
            here: Place = (*place, "check", j)
            name = written.get("name")
            if isinstance(name, str) and name in seen:
                self.wrong(
                    (*here, "name"),
                    f"{name} stands in line {line_of(self.lines, (*place, 'check', seen[name], 'name'))} already",
                )
                continue
            if isinstance(name, str):
                seen[name] = j
            if written.get("enabled") is False and isinstance(name, str):
                off[name] = (*here, "enabled")
            if "kind" in written:
                chosen = self._visibility(written, lab.visibility, here)
                if not isinstance(written.get("enabled", True), bool):
                    self.wrong((*here, "enabled"), f"has to be true or false, not {toml(written['enabled'])}")
                if name in at:
                    self.wrong((*here, "name"), f"{kit.name} has a check {name} already; leave out kind to change it")
                    continue
                origins[len(checks)] = here
                kept = {key: value for key, value in written.items() if key == "name" or key not in OF_THE_COURSE}
                checks.append(_whole(kept))
                if isinstance(name, str):
                    own.append(name)
                    visibility[name] = chosen
                continue
            changed = self._check_table(written, here)
            if changed is None:
                continue
            if changed.name not in at:
                near = difflib.get_close_matches(changed.name, at, n=1, cutoff=0.5)
                guess = f"did you mean {near[0]}?" if near else f"there are {', '.join(at)}"
                more = f"(a check of your own needs kind: {', '.join(KINDS)})"
                self.wrong((*here, "name"), f"{kit.name} has no check {changed.name!r}; {guess} {more}")
                continue
            i = at[changed.name]
            origins[i] = here
            visibility[changed.name] = changed.visibility or lab.visibility
            self._change(checks[i], changed, here)
        rubric = self._without(self._validated(data, origins, kit, place), off, place)
        if rubric != kit.rubric:
            self._no_hours(rubric, {checks[i]["name"]: here for i, here in origins.items()}, place)
        names = {check.name for check in rubric.check}
        return (
            rubric,
            {name: seen_by for name, seen_by in visibility.items() if name in names},
            tuple(name for name in own if name in names),
        )

    def _no_hours(self, rubric: Rubric, origins: Mapping[str, Place], place: Place) -> None:
        """Note the checks that take longer than they may, and a lab that takes hours, whoever has written the file."""
        seconds = {check.name: plan.least_seconds(check) for check in rubric.check}
        for name, takes in seconds.items():
            where = origins.get(name, place)
            keys = [(*where, key) for key in ("sizes", "n", "repeats", "schedules") if (*where, key) in self.lines]
            at = next(iter(keys), where if (*place, "seconds") not in self.lines else (*place, "seconds"))
            if takes > rubric.limits.seconds:
                least = duration(takes) if takes > 10 else f"{takes:.2g} s"
                said = f"{name} takes {least} of processor time or more, and a check may take"
                self.wrong(at, f"{said} {rubric.limits.seconds:g} s; take fewer or smaller sizes, or raise seconds")
            elif takes > MOST_SECONDS or (takes == max(seconds.values()) and sum(seconds.values()) > MOST_SECONDS):
                total = duration(sum(seconds.values()))
                self.wrong(at, f"each file of this lab takes {total} or more to grade; take fewer or smaller sizes")

    def _without(self, rubric: Rubric, off: Mapping[str, Place], place: Place) -> Rubric:
        """Return a rubric without the checks that are switched off; a problem is noted where another needs one."""
        left = [check for check in rubric.check if check.name not in off]
        is_needed = False
        for name, where in off.items():
            if waiting := [check.name for check in left if name in check.needed]:
                said = f"{', '.join(waiting)} {'needs' if len(waiting) == 1 else 'need'} {name} to pass"
                self.wrong(where, f"{said}; write points = 0, and it runs for no points, or switch them off as well")
                is_needed = True
        if not left:
            self.wrong(place, "all checks are switched off: leave this lab out of the course")
            return rubric
        return rubric.model_copy(update={"check": left}) if off and not is_needed else rubric

    def _visibility(self, written: dict[str, Any], default: Visibility, here: Place) -> Visibility:
        chosen = written.get("visibility", default)
        if chosen not in get_args(Visibility):
            self.wrong((*here, "visibility"), choice(chosen, get_args(Visibility)))
            return default
        return chosen

    def _change(self, check: dict[str, Any], changed: CheckTable, here: Place) -> None:
        for key in changed.model_fields_set.difference(OF_THE_COURSE):
            if key not in check:
                kind = check["kind"]
                allowed = [name for name in CheckTable.model_fields if name in check or name in OF_THE_COURSE]
                said = f"{changed.name} is a {kind} check, which has none (allowed are {', '.join(allowed)})"
                self.wrong((*here, key), said)
            else:
                check[key] = getattr(changed, key)
        if "explain" in changed.model_fields_set:
            check.pop("cause", None)  # the course explains it all
        check.update(_whole(check))

    def _validated(self, data: dict[str, Any], origins: dict[int, Place], kit: Lab, place: Place) -> Rubric:
        try:
            return Rubric.model_validate(data)
        except ValidationError as error:
            for problem in error.errors():
                loc = problem["loc"]
                if loc[:1] == ("check",) and len(loc) > 1 and loc[1] in origins:
                    kind = data["check"][loc[1]].get("kind")
                    models = [model for model in CHECKS if kind in get_args(model.model_fields["kind"].annotation)]
                    self.problems.explain_one(problem, (*origins[loc[1]], *loc[2:]), [*models, OwnCheck])
                else:  # of the rubric as a whole: the check that it names
                    named = [at for i, at in origins.items() if f"check {data['check'][i]['name']!r}" in problem["msg"]]
                    at = named[0] if named else place
                    keys = [key for key in ("needs", "entry", "at_most", "at_least") if f" {key} " in problem["msg"]]
                    key = next((key for key in keys if (*at, key) in self.lines), next(iter(keys), None))
                    self.problems.explain_one(problem, (*at, key) if named and key else at, [])
            return kit.rubric

    def _student(self, one: StudentTable, i: int, table: CourseTable, zone: str) -> Terms:
        labs = [name for lab in table.lab if (name := self._quiet_name(lab.name))] or list(self.kit)
        excused = [self._lab_name(name, ("student", i, "excused", j), labs) for j, name in enumerate(one.excused)]
        extensions = [
            self._extension(extension, ("student", i, "extension", j), labs, zone)
            for j, extension in enumerate(one.extension)
        ]
        return Terms(
            id=one.id,
            excused=tuple(name for name in excused if name),
            attempts=one.attempts,
            extensions=tuple(extensions),
        )

    def _quiet_name(self, wanted: str) -> str | None:
        return next((name for name in self.kit if wanted in (name, name[3:], name[:2], name[:2].lstrip("0"))), None)

    def _extension(self, one: ExtensionTable, place: Place, labs: list[str], zone: str) -> Extension:
        lab = self._lab_name(one.lab, (*place, "lab"), labs) if one.lab is not None else None
        return Extension(lab=lab, due=self._due(one.due, zone, (*place, "due")), hours=one.hours)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except FileNotFoundError as error:
        raise UsageError(f"{shown(path)} does not exist; `grader/scanlab course new` writes an example") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise UsageError(f"{shown(path)}:{line}: not UTF-8; save the file as UTF-8") from error
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot read it: {error.strerror}") from error


def _whole(check: dict[str, Any]) -> dict[str, Any]:
    """Return a check as a rubric has it: formulas as text, sizes rising."""
    made = dict(check)
    for key in ("at_most", "at_least"):
        if isinstance(made.get(key), int) and not isinstance(made[key], bool):
            made[key] = str(made[key])
    for key in ("sizes", "gpu_sizes"):
        sizes = made.get(key)
        if isinstance(sizes, list) and all(type(size) is int for size in sizes):
            made[key] = sorted(set(sizes))
    return made
