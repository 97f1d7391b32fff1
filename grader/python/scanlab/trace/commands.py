"""`trace`: draw what a kernel does, step by step."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scanlab import errors
from scanlab.arguments import (
    EntryOption,
    JsonOption,
    ScheduleName,
    SeedOption,
    require_folder,
    write_json,
    write_text,
)
from scanlab.contract import LARGEST_TRACED
from scanlab.terminal import print_styled

if TYPE_CHECKING:
    from scanlab.labs.folders import Lab
    from scanlab.trace.record import Options


def trace(
    what: Annotated[str, typer.Argument(metavar="LAB|FILE.cu", help="a lab, a folder with a scan.cu, or a file")],
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="instead of the lab's own scan.cu")] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=0, max=LARGEST_TRACED, help="elements; none: 16, or what the lab has")
    ] = None,
    entry: EntryOption = None,
    block: Annotated[int | None, typer.Option(min=0, help="the block to draw")] = None,
    launch: Annotated[int | None, typer.Option(min=1, help="the kernel launch to draw, from 1; none: all")] = None,
    schedule: Annotated[ScheduleName | None, typer.Option(help="the order of blocks and warps")] = None,
    seed: SeedOption = 7,
    trail: Annotated[
        str | None, typer.Option(metavar="TEXT", help="the execution of affine maps that `check --prove` has printed")
    ] = None,
    json_file: JsonOption = None,
    svg_file: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="also draw it as a picture")] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="also make a page to step through it in a browser")
    ] = None,
) -> None:
    """Draw a kernel's steps: who reads and writes what, and which inputs each position sums up.

    It runs on the virtual GPU. Exit code 1 says that the call did not end well, or that threads race.
    """
    from scanlab.judging.compiler.errors import CompileError
    from scanlab.judging.compiler.recipe import read_source
    from scanlab.labs.subject import entry_of, subject_of
    from scanlab.trace.html import page
    from scanlab.trace.record import record, shown_call
    from scanlab.trace.svg import svg
    from scanlab.trace.terminal import lines

    for target in (json_file, svg_file, html_file):
        require_folder(target)
    lab, path = subject_of(what, file)
    options = shown_call(lab, entry_of(lab, entry.value if entry else None), n)
    asked = {"block": block, "launch": launch, "schedule": schedule and schedule.value}
    options = replace(options, seed=seed, **{name: value for name, value in asked.items() if value is not None})
    options = replace(options, with_neighbours=html_file is not None or json_file is not None)
    if trail:
        options = _with_execution(options, lab, trail)
    source = read_source(path)
    try:
        traced = record(lab, path, options)
    except CompileError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(errors.FAILED) from error
    print_styled(lines(traced, shutil.get_terminal_size().columns))
    write_json(json_file, traced.model_dump(by_alias=True))
    if svg_file is not None:
        write_text(svg_file, svg(traced))
    if html_file is not None:
        write_text(html_file, page(traced, source.decode("utf-8-sig")))
    raise typer.Exit(errors.FAILED if traced.failure or traced.races else errors.PASSED)


def _with_execution(options: "Options", lab: "Lab | None", execution: str) -> "Options":
    """Return the options for one execution that a proof has found. Raises UsageError for one that is not of maps."""
    from scanlab.judging.plan import shown_execution

    if lab is None:
        raise errors.UsageError("--trail is of a lab's check: name the lab, and then the file")
    name, trail = shown_execution(lab.rubric, execution)
    (check,) = (check for check in lab.rubric.check if check.name == name)
    if check.element != "affine":
        raise errors.UsageError(f"--trail {name}: a trace draws affine maps; take the trail of a check of these")
    return replace(options, entry=check.entry, schedule="weak", trail=trail)
