"""`bench`: compare scans; `bench vgpu`: measure the virtual GPU itself."""

import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from scanlab import __version__, errors
from scanlab.arguments import DeviceName, DeviceOption, JsonOption, require_folder, write_json, write_text

if TYPE_CHECKING:
    from scanlab.bench.result import Result
    from scanlab.bench.tables import Table
    from scanlab.process import Interrupted

LARGEST_N = 1 << 30
WIDE = 250
"""Columns that the widest table may have."""
TEXT_WIDTH = 120
POWER = re.compile(r"(\d{1,2})\^(\d{1,2})")


class ScansByDefault(TyperGroup):
    """A group in which `bench` without a command's name means `bench scans`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        """Put the default command in front of arguments that name none."""
        if args[:1] != ["--help"] and (not args or args[0] not in self.commands):
            args = ["scans", *args]
        return super().parse_args(ctx, args)


bench = typer.Typer(
    cls=ScansByDefault,
    help="Compare scans: `bench [LAB|FILE.cu …]` means `bench scans [LAB|FILE.cu …]`.",
    add_completion=False,
    rich_markup_mode=None,
)


class QuantityName(StrEnum):
    """What a plot shows over n."""

    speed = "speed"
    time = "time"


@bench.command()
def scans(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[LAB|FILE.cu …]", help="these only; CUB and the copy stand beside")
    ] = None,
    device: DeviceOption = DeviceName.vgpu,
    n: Annotated[
        list[str] | None, typer.Option("--n", metavar="N", help="a size such as 2^20 or 10000000; give several")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="turns of each program at each size")] = 5,
    calls: Annotated[int, typer.Option(min=1, max=10000, help="timed calls a turn, at most")] = 20,
    seconds: Annotated[float, typer.Option(min=0.01, max=3600, help="for one program at one size, at most")] = 2.0,
    json_file: JsonOption = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE.md", help="also write the tables as a page")
    ] = None,
    plots: Annotated[
        list[Path] | None, typer.Option("--plot", metavar="FILE.svg|.png", help="also draw it; may be given twice")
    ] = None,
    quantity: Annotated[QuantityName, typer.Option(help="what a plot shows over n")] = QuantityName.speed,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE.json", help="show what --json wrote; measure nothing")
    ] = None,
) -> None:
    """Compare scans with CUB's and with a copy: times on a GPU, counts on the virtual one.

    Without a name: every lab's solution, variants of them, and your own files once you have begun with them.
    """
    from scanlab.bench import plot
    from scanlab.bench.result import read_result

    plots = plots or []
    for path in (json_file, markdown_file, *plots):
        require_folder(path)
    stopped: Interrupted | None = None
    if source is not None:
        if what or n:
            raise errors.UsageError("--from shows what was measured; labs and sizes cannot be chosen any more")
        result = read_result(source)
        _refuse_plots_of_counts(result.subject, plots)
        plot.prepare(plots)
    else:
        _refuse_plots_of_counts("times" if device is DeviceName.gpu else "counts", plots)
        plot.prepare(plots)
        result, stopped = _measure(what or [], device, n or [], rounds, calls, seconds)
    _print_result(result)
    write_json(json_file, result.model_dump(by_alias=True))
    if stopped is not None:
        raise stopped
    if plots:
        plot.draw(result, plots, quantity.value)
    if markdown_file is not None:
        from scanlab.bench.page import markdown

        write_text(markdown_file, markdown(result, markdown_file, plots, json_file or source))
    raise typer.Exit(errors.FAILED if result.failed() else errors.PASSED)


def _refuse_plots_of_counts(subject: str, plots: Sequence[Path]) -> None:
    if plots and subject == "counts":
        raise errors.UsageError("--plot draws times, which only a GPU has: --device gpu")


def _measure(
    what: list[str], device: DeviceName, n: list[str], rounds: int, calls: int, seconds: float
) -> tuple["Result", "Interrupted | None"]:
    from scanlab.bench import contenders, counts, times

    sizes = tuple(sorted({_size(text) for text in n}))
    chosen, notes = contenders.choose(what)
    about = {
        "command": shlex.join(["grader/scanlab", *sys.argv[1:]]),
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "kit": __version__,
        "notes": notes,
    }
    with _progress() as say:
        if device is DeviceName.gpu:
            options = times.Options(
                sizes=sizes or times.SIZES,
                n=times.TABLE_N if not sizes or times.TABLE_N in sizes else sizes[-1],
                rounds=rounds,
                calls=calls,
                seconds=seconds,
            )
            return times.measure_times(chosen, options, **about, say=say)
        if sizes and sizes[-1] > counts.LARGEST_N:
            raise errors.UsageError(f"--n {sizes[-1]}: at most {counts.LARGEST_N} elements on the virtual GPU")
        return counts.measure_counts(chosen, sizes or (counts.TABLE_N,), **about, say=say)


def _size(text: str) -> int:
    """Return the number of elements that `text` says: digits, or a power such as 2^20."""
    power = POWER.fullmatch(text)
    digits = text.replace("_", "").replace(",", "")
    value = 0
    if power:
        value = int(power.group(1)) ** int(power.group(2))
    elif digits.isdecimal() and digits.isascii() and len(digits) < 20:
        value = int(digits)
    if not 1 <= value <= LARGEST_N:
        raise errors.UsageError(f"--n {text}: expected a whole number from 1 to {LARGEST_N}, or a power such as 2^20")
    return value


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Give a function that shows one line of progress on a terminal's stderr."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from scanlab.terminal import console as console_of

    with console_of(sys.stderr).status("…") as status:
        yield status.update


def _print_result(result: "Result") -> None:
    from scanlab.bench.tables import explanations, heading, tables, troubles

    for line in heading(result):
        print(line)
    for table in tables(result):
        print(f"\n{table.title}")
        _print_table(table)
    print()
    for line in [*explanations(result), *troubles(result)]:
        print(textwrap.fill(line, TEXT_WIDTH, subsequent_indent="  ", break_long_words=False))


def _print_table(table: "Table") -> None:
    from rich.table import Table as RichTable

    from scanlab.terminal import console as console_of

    shown = RichTable(box=None, pad_edge=False)
    for at, name in enumerate(table.columns):
        shown.add_column(name, no_wrap=True, justify="left" if at < table.names else "right")
    for row in table.rows:
        shown.add_row(*row)
    console = console_of(highlight=False, markup=False, width=WIDE)
    with console.capture() as captured:
        console.print(shown)
    # A terminal that is too narrow wraps the lines; nothing is cut off.
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


@bench.command("vgpu")
def bench_vgpu(
    json_file: JsonOption = None,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="timed launches of each kernel")] = 7,
    kernels: Annotated[
        list[str] | None, typer.Option("--filter", metavar="NAME", help="only kernels with this in their names")
    ] = None,
    observers: Annotated[list[str] | None, typer.Option(metavar="SET", help="only this set, such as none")] = None,
    n: Annotated[int, typer.Option("--n", min=1, max=1 << 24, help="elements")] = 1 << 20,
) -> None:
    """Measure the virtual GPU on one core, beside a prototype, and on several cores."""
    from scanlab.bench import engine

    require_folder(json_file)
    options = engine.Options(n, repeat, tuple(kernels or ()), tuple(observers or ()))
    with _progress() as say:
        result = engine.bench_vgpu(options, say)
    _print_bench(result)
    write_json(json_file, result)


def _print_bench(result: dict[str, Any]) -> None:
    from rich.table import Table

    from scanlab.bench import engine
    from scanlab.terminal import console as console_of

    console = console_of(highlight=False, width=None if sys.stdout.isatty() else 120)
    table = Table(box=None, pad_edge=False)
    for name in engine.COLUMNS:
        table.add_column(name, no_wrap=True, justify="left" if name in ("kernel", "observers") else "right")
    for row in engine.table_rows(result):
        table.add_row(*row)
    console.print(table)
    if columns := engine.parallel_columns(result):
        beside = Table(box=None, pad_edge=False)
        for at, name in enumerate(columns):
            beside.add_column(name, no_wrap=True, justify="left" if at == 0 else "right")
        for row in engine.parallel_rows(result):
            beside.add_row(*row)
        print()
        console.print(beside)
        print()
    for line in engine.notes(result):
        print(line)
