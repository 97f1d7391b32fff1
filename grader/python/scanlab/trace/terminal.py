"""A trace as text: for each step who wrote, what was read for it, and what each position holds then."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text

from scanlab.judging import report
from scanlab.trace.model import Launch, Trace, Write
from scanlab.trace.rows import Cell, DrawnRow, drawing_of

NARROWEST = 40
NOTHING = "nothing was written that can be drawn: the compiler drops what is never read"
FINAL, KEPT, RACE, TITLE = "bold cyan", "dim", "bold red", "bold"
LABELS = ("thread", "reads", "holds", "race")
MARGIN = max(map(len, LABELS)) + 1


def lines(trace: Trace, width: int) -> list[Text]:
    """Return the lines, of at most `width` columns where the positions can be cut off to fit."""
    width = max(width, NARROWEST)
    found: list[Text] = []
    for launch in trace.launches:
        found += _launch(trace, launch, width)
    found += [_text(f"note: {note}", "") for note in trace.notes]
    if trace.races:
        found += [_text(line, RACE if at == 0 else "") for race in trace.races for at, line in _numbered(race.text)]
    if trace.failure:
        found += [_text(line, style) for line, style in failure_lines(trace)]
    if trace.printed.strip():
        found += [Text("the program printed:"), *[_text(f"  {line}", "") for line in trace.printed.splitlines()]]
    return found


def failure_lines(trace: Trace) -> list[tuple[str, str]]:
    """Return how the call ended, as `check` would report it, with styles."""
    if trace.failure is None:
        return []
    cause = trace.failure.cause
    return report.failure_lines(trace.lab or trace.source, trace.failure.verdict, cause.headline or trace.entry, cause)


def _numbered(text: str) -> Iterable[tuple[int, str]]:
    return enumerate(text.splitlines())


def _text(text: str, style: str) -> Text:
    return Text(text, style=style)


def _launch(trace: Trace, launch: Launch, width: int) -> list[Text]:
    threads = launch.block_size[0] * launch.block_size[1] * launch.block_size[2]
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    size = f"{threads} thread{'' if threads == 1 else 's'}"
    head = f"{launch.kernel}, launch {launch.number}: block {trace.block} of {blocks}, {size}, n = {trace.n}"
    found = [_text(head, TITLE)]
    if not launch.traced:
        why = "it has not begun" if trace.block < blocks else "the launch has no such block"
        return [*found, Text(f"  nothing of block {trace.block}: {why}"), Text("")]
    drawing = drawing_of(launch)
    tables = [_table(row) for row in drawing.rows]
    sizes = _sizes(drawing.rows, tables)
    above: list[int] = []
    for row, table in zip(drawing.rows, tables, strict=True):
        if row.left_out:
            found.append(_text(f"  {_left_out(row.left_out)}", KEPT))
        found += _row(row, table, sizes[_span(row)], width - MARGIN, above)
        above = sorted(row.cells)
    if not drawing.rows:
        found.append(Text(f"  {NOTHING}"))
    if drawing.left_out:
        found.append(_text(f"  {_left_out(drawing.left_out)}", KEPT))
    if drawing.cut_off:
        found.append(_text(f"  … {drawing.cut_off} more steps …", KEPT))
    if drawing.stored:
        found.append(Text(f"then d_y gets {drawing.stored}, position by position"))
    found += [Text(f"note: {note}") for note in launch.notes]
    if launch.idle_threads and drawing.rows:
        found.append(Text(f"note: {launch.idle_threads} of {threads} threads write none of these positions"))
    return [*found, Text("")]


def _left_out(count: int) -> str:
    return "… 1 interval without additions …" if count == 1 else f"… {count} intervals without additions …"


def _row(
    row: DrawnRow, table: Mapping[str, "Cells"], sizes: Mapping[int, int], room: int, above: Sequence[int]
) -> list[Text]:
    """Return a step's lines; its positions stand above them where they are not those of the step before."""
    additions = f"{row.additions} addition{'s' if row.additions > 1 else ''}" if row.additions else ""
    head = Text(row.array.name, style=TITLE)
    head.append(", ".join(["", row.when, *filter(None, (row.within, row.where, additions))]), style="not bold")
    positions = sorted(row.cells)
    shown = _fitting(positions, sizes, room)
    found = [head]
    header: dict[str, Cells] = {"": {position: (str(position), KEPT) for position in positions}}
    for label, cells in (table if positions == above else header | dict(table)).items():
        line = Text(f"{_cut(label):<{MARGIN}}")
        for position in shown:
            text, style = cells.get(position, ("", ""))
            line.append(text.rjust(sizes[position]), style=style)
            line.append(" ")
        line.rstrip()
        found.append(line)
    left = len(positions) - len(shown)
    if left:
        found.append(_text(f"{'':<{MARGIN}}and {left} more position{'s' if left > 1 else ''} to the right", KEPT))
    return found


def _cut(label: str) -> str:
    return label if len(label) < MARGIN else f"{label[: MARGIN - 2]}…"


Cells = dict[int, tuple[str, str]]


def _table(row: DrawnRow) -> dict[str, Cells]:
    """Return the lines of a row by their labels, each with text and style by position."""
    written = {position: cell.write for position, cell in row.cells.items() if cell.write}
    table: dict[str, Cells] = {}
    if any(write.thread != position for position, write in written.items()):
        table["thread"] = {position: (str(write.thread), "") for position, write in written.items()}
    for array, cells in _reads(written).items():
        table["reads" if array == row.array.name else array] = cells
    table["holds"] = {position: (cell.text, _style(cell)) for position, cell in row.cells.items()}
    if any(cell.race for cell in row.cells.values()):
        table["race"] = {position: ("!", RACE) for position, cell in row.cells.items() if cell.race}
    return table


def _reads(written: Mapping[int, Write]) -> dict[str, Cells]:
    """Return what was read for each position, in a line for each array: `3+4`, or `3` where it was copied."""
    found: defaultdict[str, Cells] = defaultdict(dict)
    for position, write in written.items():
        by_array: defaultdict[str, list[str]] = defaultdict(list)
        for source in write.sources:
            by_array[source.array].append(str(source.element))
        race = any(source.race for source in write.sources)
        for array, elements in by_array.items():
            found[array][position] = ("+".join(elements), RACE if race else "")
    return dict(found)


def _style(cell: Cell) -> str:
    if cell.race:
        return RACE
    if cell.write is None:
        return KEPT
    return FINAL if cell.is_final else ""


def _span(row: DrawnRow) -> tuple[int | None, int | None]:
    return row.array.first, row.array.last


def _sizes(
    rows: Sequence[DrawnRow], tables: Sequence[Mapping[str, Cells]]
) -> dict[tuple[int | None, int | None], dict[int, int]]:
    """Return the width of each column, the same for all steps of arrays that show the same positions."""
    found: defaultdict[tuple[int | None, int | None], dict[int, int]] = defaultdict(dict)
    for row, table in zip(rows, tables, strict=True):
        sizes = found[_span(row)]
        for cells in table.values():
            for position, (text, _) in cells.items():
                sizes[position] = max(sizes.get(position, len(str(position))), len(text))
    return found


def _fitting(positions: Sequence[int], sizes: Mapping[int, int], room: int) -> list[int]:
    """Return the positions that fit, from the left; at least one."""
    shown: list[int] = []
    used = -1
    for position in positions:
        used += sizes[position] + 1
        if used > room and shown:
            break
        shown.append(position)
    return shown


def plain(found: Sequence[Text]) -> str:
    """Return the lines without styles."""
    return "\n".join(line.plain.rstrip() for line in found)
