"""`trace`: draw what a kernel does, step by step."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scanlab import errors
from scanlab.arguments import JsonOption, ScheduleName, SeedOption, require_folder, write_json, write_text
from scanlab.paths import shown

if TYPE_CHECKING:
    from rich.text import Text

    from scanlab.labs.folders import Lab
    from scanlab.trace.record import Options

LARGEST_N = 4096
"""Elements; of a large n no more than the first positions are drawn."""


class EntryName(StrEnum):
    """The function that is called."""

    inclusive_scan = "inclusive_scan"
    exclusive_scan = "exclusive_scan"
    compact = "compact"
    split = "split"


def trace(
    what: Annotated[str, typer.Argument(metavar="LAB|FILE.cu", help="a lab, a folder with a scan.cu, or a file")],
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="instead of the lab's own scan.cu")] = None,
    n: Annotated[int, typer.Option("--n", min=0, max=LARGEST_N, help="elements")] = 16,
    entry: Annotated[EntryName | None, typer.Option(help="the function to call; the lab's first one")] = None,
    block: Annotated[int, typer.Option(min=0, help="the block to draw")] = 0,
    launch: Annotated[int | None, typer.Option(min=1, help="the kernel launch to draw, from 1; none: all")] = None,
    schedule: Annotated[ScheduleName, typer.Option(help="the order of blocks and warps")] = ScheduleName.lockstep,
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
    from scanlab.judging.compile import CompileError, read_source
    from scanlab.trace.html import page
    from scanlab.trace.record import Options, record
    from scanlab.trace.svg import svg
    from scanlab.trace.terminal import lines

    for target in (json_file, svg_file, html_file):
        require_folder(target)
    lab, path = _subject(what, file)
    options = Options(_entry(lab, entry), n, block, launch or 0, schedule.value, seed)
    options = replace(options, with_neighbours=html_file is not None or json_file is not None)
    if trail:
        options = _with_execution(options, lab, trail)
    source = read_source(path)
    try:
        traced = record(lab, path, options)
    except CompileError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(errors.FAILED) from error
    _print(lines(traced, shutil.get_terminal_size().columns))
    write_json(json_file, traced.model_dump(by_alias=True))
    if svg_file is not None:
        write_text(svg_file, svg(traced))
    if html_file is not None:
        write_text(html_file, page(traced, source.decode("utf-8-sig")))
    raise typer.Exit(errors.FAILED if traced.failure or traced.races else errors.PASSED)


def _subject(what: str, file: Path | None) -> tuple["Lab | None", Path]:
    """Return the lab, where there is one, and the file. Raises UsageError for what is neither."""
    from scanlab.labs.folders import FOLDER, find_lab

    if what.endswith(".cu"):
        if file is not None:
            raise errors.UsageError(f"{what} and {shown(file)}: name a lab and a file, or one file")
        parts = Path(what).absolute().parts
        is_of_lab = any(FOLDER.fullmatch(part) for part in parts)
        return (find_lab(what) if is_of_lab else None), Path(what)
    lab = find_lab(what)
    own = Path(what) / "scan.cu"
    if file is None and "/" in what and own.is_file():
        return lab, own
    if file is None and not lab.source.exists():
        raise errors.UsageError(
            f"{shown(lab.source)} does not exist; `grader/scanlab reset {lab.number}` brings the skeleton back"
        )
    return lab, file or lab.source


def _entry(lab: "Lab | None", wanted: EntryName | None) -> str:
    """Return the entry to call. Raises UsageError for one that the lab does not ask for."""
    if lab is None:
        return wanted.value if wanted else EntryName.inclusive_scan.value
    entries = lab.rubric.entries
    if wanted is not None and wanted.value not in entries:
        raise errors.UsageError(f"--entry {wanted.value}: {lab.name} has {' and '.join(entries)}")
    return wanted.value if wanted else entries[0]


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


def _print(found: Sequence["Text"]) -> None:
    from scanlab.trace.terminal import plain

    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        print(plain(found), flush=True)
        return
    from scanlab.terminal import console as console_of

    console = console_of(highlight=False, soft_wrap=True)
    for line in found:
        console.print(line)
