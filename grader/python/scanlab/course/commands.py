"""`course` and `pack`: what the course asks for, and what its students get."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scanlab import errors
from scanlab.arguments import DeviceName, DeviceOption, JsonOption, write_json, write_text
from scanlab.paths import shown

if TYPE_CHECKING:
    from rich.table import Table

    from scanlab.course.model import Course
    from scanlab.course.read import Read
    from scanlab.judging.result import LabResult

course = typer.Typer(
    help="What the course asks for: points, limits, due dates, who sees what (course.toml).", no_args_is_help=True
)
CourseArgument = Annotated[Path, typer.Argument(metavar="[FILE]", help="the course's file")]
DEFAULT = Path("course.toml")


@course.command()
def check(
    file: CourseArgument = DEFAULT,
    prove: Annotated[bool, typer.Option("--prove", help="grade the solutions by the course's rubrics")] = False,
    roster: Annotated[
        Path | None, typer.Option(metavar="CSV", help="who is in the class: whom the tables of single students mean")
    ] = None,
    device: DeviceOption = DeviceName.vgpu,
    json_file: JsonOption = None,
) -> None:
    """Look for mistakes in a course.toml, and show what it means."""
    from scanlab.course import meaning
    from scanlab.course.read import read_course

    read = read_course(file)
    found = matched(read, roster)
    _show(_table(["lab", "due", "points", "weight", "not visible", "late work"], meaning.lab_rows(found)))
    changed = meaning.changes(found)
    if changed:
        print("\nDiffers from the kit:")
        rows = [[change.lab, change.check, change.key, change.kit, change.course] for change in changed]
        _show(_table(["lab", "check", "key", "kit", "course"], rows))
    if found.students:
        print("\nSingle students:")
        for line in meaning.student_lines(found):
            print(f"  {line}")
    print(f"\n{found.title}: {_summary(read)}")
    if found.students and roster is None:
        count = f"{len(found.students)} table{'' if len(found.students) == 1 else 's'} [[student]]"
        print(f"note: whom {count} mean{'s' if len(found.students) == 1 else ''} was not checked: add --roster CSV")
    for remark in meaning.remarks(found):
        print(f"note: {remark}")
    faults: list[str] = []
    if prove:
        faults = _prove(read, device)
    write_json(json_file, {**found.public_view(), "faults": faults} if prove else found.public_view())
    raise typer.Exit(errors.FAILED if faults else errors.PASSED)


def matched(read: "Read", roster: Path | None) -> "Course":
    """Return the course with the students whom its tables mean. Raises UsageError where one means none."""
    if roster is None:
        return read.course
    from scanlab.classroom.intake.roster import read_roster
    from scanlab.course.matching import matched, places_of

    students = read_roster(roster).students
    return matched(read.course, students, (), is_whole=True, place=places_of(read))[0]


def _summary(read: "Read") -> str:
    """Return the course in one line."""
    found = read.course
    rubrics = [found.lab(lab.name).rubric for lab in found.labs]
    points = sum(rubric.max_points() for rubric in rubrics)
    timed = sum(rubric.max_points(("timing",)) for rubric in rubrics)
    own = sum(map(len, read.own_checks.values()))
    seed = "a secret seed" if found.secret_seed else f"the public seed {found.seed}"
    parts = [f"{len(found.labs)} lab{'' if len(found.labs) == 1 else 's'}", f"{points} points"]
    parts += [f"{timed} more on a GPU"] if timed else []
    parts += [f"{own} check{'' if own == 1 else 's'} of its own"] if own else []
    return ", ".join([*parts, seed])


def _prove(read: "Read", device: DeviceName) -> list[str]:
    from scanlab.course.prove import prove

    def done(result: "LabResult") -> None:
        print(f"  {result.lab}: {result.verdict}, {result.points:g} of {result.max_points:g}", flush=True)

    print("\nThe solutions, by this course's rubrics:")
    _, faults = prove(read.course, read.seed, device.value, done)
    for fault in faults:
        print(f"  FAIL {fault}")
    if faults:
        print("no file can get what the solution does not get: change these limits, or the solution")
    return faults


def _table(titles: list[str], rows: list[list[str]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _show(table: "Table") -> None:
    import sys

    from scanlab.terminal import console as console_of

    console_of(highlight=False, width=None if sys.stdout.isatty() else 140).print(table)


@course.command()
def new(file: CourseArgument = DEFAULT) -> None:
    """Write an example to begin with, and a secret seed beside it."""
    from scanlab.course.example import example
    from scanlab.course.seeds import make_file

    if file.exists():
        raise errors.UsageError(f"{shown(file)} is there already; name another file")
    if not file.absolute().parent.is_dir():
        raise errors.UsageError(f"cannot write {shown(file)}: its folder does not exist")
    secret = file.with_suffix(".seed")
    if not secret.exists():
        make_file(secret)
    write_text(file, example(secret.name))
    print(f"{shown(file)} is an example: change it, then type: grader/scanlab course check {shown(file)}")
    print(f"{shown(secret)} is the course's secret seed: it belongs in no repository that students can read")


@course.command()
def seed(file: CourseArgument = DEFAULT) -> None:
    """Make the secret seed that a course.toml names with secret_seed_file."""
    import tomllib

    from scanlab.course.seeds import make_file

    try:
        named = tomllib.loads(file.read_text(encoding="utf-8")).get("secret_seed_file")
    except (OSError, ValueError) as error:
        raise errors.UsageError(f"{shown(file)}: cannot read it: {error}") from error
    if not isinstance(named, str) or not named:
        raise errors.UsageError(f'{shown(file)} names no file for it; write: secret_seed_file = "{file.stem}.seed"')
    made = file.parent / named
    make_file(made)
    print(f"{shown(made)} is the course's secret seed: it belongs in no repository that students can read")


def pack(
    out: Annotated[Path, typer.Option("--out", metavar="FILE.zip|DIR", help="a zip file, or a new folder")],
    file: Annotated[Path | None, typer.Option("--course", metavar="FILE", help="a course.toml")] = None,
    labs: Annotated[str | None, typer.Option("--labs", metavar="01,02", help="these only")] = None,
) -> None:
    """Make the students' copy of the kit, without solutions, and prove that nothing leaks."""
    from scanlab.course.bundle.make_bundle import make

    made = make(out, file, labs)
    for remark in made.remarks:
        print(f"note: {remark}")
    print(f"{shown(out)}: {made.count} files, {made.labs}; looked through, and nothing leaks")
