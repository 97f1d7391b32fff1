"""`export`: what a class got, as the file that a gradebook or an autograder reads."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scanlab import errors
from scanlab.gradebooks.formats import FormatName, format_called
from scanlab.paths import shown

if TYPE_CHECKING:
    from scanlab.classroom.records import Record
    from scanlab.classroom.store import Store
    from scanlab.gradebooks.model import Export, Format, Options


class MissingName(StrEnum):
    """What a lab counts that was not handed in."""

    due = "due"
    zero = "zero"
    blank = "blank"


class ScaleName(StrEnum):
    """What is done where the platform's maximum is not the labs'."""

    exact = "exact"
    proportional = "proportional"


LabsOption = Annotated[list[str] | None, typer.Option("--lab", metavar="LAB", help="these labs only; may be repeated")]
ProblemOption = Annotated[
    list[str] | None, typer.Option("--problem", metavar="LAB=NAME", help="what a lab is called on the platform")
]


def export(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="the folder that `grade --out` has made")],
    form: Annotated[FormatName, typer.Option("--format", help="the platform, or the kind of file")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="the file, or a folder; none: stdout")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="one submission only: one file")] = None,
    labs: LabsOption = None,
    gradebook: Annotated[
        Path | None, typer.Option("--gradebook", metavar="FILE", help="what was downloaded from Canvas or Moodle")
    ] = None,
    column: Annotated[str | None, typer.Option("--column", help="the gradebook's column to fill in")] = None,
    match: Annotated[
        str | None, typer.Option("--match", help="the gradebook's column that identifies students")
    ] = None,
    scale: Annotated[
        ScaleName, typer.Option(help="exact: refuse another maximum; proportional: convert")
    ] = ScaleName.exact,
    feedback: Annotated[bool, typer.Option("--feedback", help="moodle: write feedback beside each grade")] = False,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="KEY", help="leave a submission out")
    ] = None,
    missing: Annotated[
        MissingName, typer.Option(help="what was not handed in: 0 once it is due, else blank; or always 0, or blank")
    ] = MissingName.due,
    problem: ProblemOption = None,
    database: Annotated[
        Path | None, typer.Option("--database", metavar="FILE", help="nbgrader: its gradebook.db, to be filled in")
    ] = None,
    classroom: Annotated[str, typer.Option(help="classroom50: the classroom's short name")] = "",
    assignment: Annotated[str, typer.Option(help="classroom50: the assignment's slug")] = "",
) -> None:
    """Write what a class got for a gradebook.

    A submission that the kit itself could not grade is left out and listed, and the exit code is 3.
    """
    from scanlab.classroom.store import Store
    from scanlab.gradebooks.model import Options
    from scanlab.gradebooks.output import require_other

    format_ = format_called(form.value)
    _check(format_, out, key, gradebook, column, feedback)
    if database is not None and (format_.name != "nbgrader" or out is not None):
        raise errors.UsageError(
            "--database is for --format nbgrader, which then writes no other file: leave --out away"
        )
    require_other(out, gradebook)
    options = Options(
        scale=scale.value,
        column=column,
        match=match,
        feedback=feedback,
        missing=missing.value,
        classroom=classroom,
        assignment=assignment,
        problems=problem_names(problem or ()),
    )
    store = Store(results)
    if database is not None:
        faulty = _write_database(store, labs or (), without or (), options, database)
    elif format_.one is not None:
        faulty = _write_each(format_, store, labs or (), without or (), options, key, out)
    else:
        faulty = _write_whole(format_, store, labs or (), without or (), options, gradebook, out)
    if faulty:
        said = (
            "reported as errors, without a score" if format_.shows_faults else "left out: no score is written for them"
        )
        reasons = "".join(f"\n  {record.key}: {_why(record)}" for record in faulty)
        _say(f"{len(faulty)} could not be graded by the kit's own fault, and are {said}{reasons}")
        _say("grade them again with --resume")
        raise typer.Exit(errors.KIT_FAULT)


def problem_names(given: Sequence[str]) -> dict[str, str]:
    """Return what labs are called on the platform, from LAB=NAME. Raises UsageError for anything else."""
    from scanlab.labs.folders import find_lab

    names = {}
    for text in given:
        lab, equals, name = text.partition("=")
        if not equals or not name.strip():
            raise errors.UsageError(f"--problem {text}: write LAB=NAME, such as 02=kogge_stone")
        names[find_lab(lab).name] = name.strip()
    return names


def _check(
    format_: "Format", out: Path | None, key: str | None, gradebook: Path | None, column: str | None, feedback: bool
) -> None:
    """Raise UsageError for options that do not go together."""
    if format_.needs_gradebook and gradebook is None:
        raise errors.UsageError(f"--format {format_.name} fills in a downloaded file: name it with --gradebook FILE")
    if gradebook is not None and not format_.needs_gradebook:
        raise errors.UsageError(f"--gradebook: --format {format_.name} needs none")
    if column is not None and not format_.needs_gradebook:
        raise errors.UsageError(f"--column is for canvas and moodle, not for {format_.name}")
    if feedback and format_.name != "moodle":
        raise errors.UsageError(f"--feedback is for moodle, not for {format_.name}")
    if key is not None and format_.one is None:
        raise errors.UsageError(f"--key: --format {format_.name} is one file for the whole class")
    if format_.one is not None and key is None and out is None:
        raise errors.UsageError(
            f"--format {format_.name} makes a file a submission: name a folder with --out, or --key"
        )


def _write_each(
    format_: "Format", store: "Store", labs: Sequence[str], without: Sequence[str], options: "Options",
    key: str | None, out: Path | None,
) -> Sequence["Record"]:  # fmt: skip
    from scanlab.gradebooks.model import is_absent
    from scanlab.gradebooks.output import make_folder, write
    from scanlab.gradebooks.selection import select, select_one

    assert format_.one is not None
    if key is not None:
        record, merged = select_one(store, key, labs, options)
        if record.verdict == "pending":
            raise errors.UsageError(f"--key {key}: waits for an answer in answers.toml, so that there is no score")
        if record.verdict == "error":
            return (record,)
        write(out, format_.one(record, merged).encode())
        return ()
    assert out is not None
    chosen = select(store, labs, without, options)
    if chosen.excused:
        _say(f"excused, and without a file: {', '.join(record.key for record in chosen.excused)}")
    _say_blank(chosen)
    handed_in = [record for record in chosen.records if not is_absent(record)]
    files = {f"{record.key}{format_.suffix}": format_.one(record, chosen.options) for record in handed_in}
    _say_pending(chosen)
    make_folder(out)
    for name, text in files.items():
        write(out / name, text.encode())
    _say(f"{len(files)} files in {shown(out)}")
    return chosen.faulty


def _write_whole(
    format_: "Format", store: "Store", labs: Sequence[str], without: Sequence[str], options: "Options",
    gradebook: Path | None, out: Path | None,
) -> Sequence["Record"]:  # fmt: skip
    from scanlab.gradebooks.output import read_gradebook, write
    from scanlab.gradebooks.selection import select

    assert format_.whole is not None
    chosen = select(store, labs, without, options)
    written = format_.whole(chosen, read_gradebook(gradebook) if gradebook else None)
    write(out, written.content)
    _say_pending(chosen)
    _say_blank(chosen)
    for note in written.notes:
        _say(note)
    if out is not None:
        _say(f"wrote {shown(out)}")
    return chosen.faulty


def _say_pending(chosen: "Export") -> None:
    """Say who has no score because a person has to answer something first."""
    if chosen.pending or chosen.claimed:
        names = [record.key for record in chosen.pending] + [student.id for student in chosen.claimed]
        _say(f"pending, and without a score until answers.toml says more: {', '.join(names)}")


def _say_blank(chosen: "Export") -> None:
    """Say who has no number since they have handed nothing in for what is not due, and how to make it 0."""
    from scanlab.gradebooks.marks import some

    names = [record.key for record in chosen.waiting] + [student.id for student in chosen.missing]
    partly = [record.key for record in chosen.records if chosen.blank.get(record.key)]
    rule = {"due": "not due, or without a due date", "blank": "--missing blank", "zero": ""}[chosen.options.missing]
    if names:
        advice = "; --missing zero makes it 0" if chosen.options.missing == "due" else ""
        _say(f"nothing handed in ({rule}), and left blank ({len(names)}): {some(names)}{advice}")
    if partly:
        _say(f"some labs not handed in ({rule}), and blank: {some(partly)}")


def _write_database(
    store: "Store", labs: Sequence[str], without: Sequence[str], options: "Options", database: Path
) -> Sequence["Record"]:
    from scanlab.gradebooks.selection import select
    from scanlab.gradebooks.systems.nbgrader.database import fill

    chosen = select(store, labs, without, options)
    for note in fill(chosen, database):
        _say(note)
    _say_pending(chosen)
    _say_blank(chosen)
    _say(f"wrote {shown(database)}")
    return chosen.faulty


def _why(record: "Record") -> str:
    """Return what the kit says of its own fault."""
    from scanlab.gradebooks.text import one_line

    for lab in record.labs:
        for cause in lab.result.kit_faults if lab.result else ():
            return f"{lab.lab}: {one_line(cause.headline) or 'no reason is known'}"
    return "no reason is known"


def _say(text: str) -> None:
    print(f"scanlab: {text}", file=sys.stderr, flush=True)
