"""The picture of a trace: positions across, steps downwards, a wire from what was read to what was written.

It is written by hand, element by element: a drawing of boxes and lines needs no library, and the same trace gives the
same bytes everywhere.
"""

import textwrap
from xml.sax.saxutils import escape

from scanlab.trace.model import Launch, Trace
from scanlab.trace.rows import Cell, Drawing, DrawnRow, Wire, drawing_of
from scanlab.trace.terminal import NOTHING, failure_lines

INK, GREY, FAINT, THREAD = "#1f2933", "#66727f", "#97a3af", "#d3d9e0"
BLUE, PALE = "#1f6fb2", "#e4f0fa"
RED, PALE_RED = "#c62828", "#fdecea"
"""Distinguishable without red and green: races are also thicker and dashed."""

LEFT, RIGHT, TOP = 128, 18, 16
COLUMN, BOX, HEIGHT = 46, 41, 22
STEP = 64
LINE = 15
DOT, STEM = 4, 9
FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
CHARACTER = 6.4
"""Average width of a character of the small text, to wrap it."""
NARROWEST = 560


def svg(trace: Trace) -> str:
    """Return the picture as SVG."""
    return _Picture(trace).text()


class _Picture:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.parts: list[str] = []
        self.y = TOP
        drawn = [(launch, drawing_of(launch)) for launch in trace.launches if launch.traced]
        columns = max((len(_columns(drawing)) for _, drawing in drawn), default=0)
        self.width = max(LEFT + columns * COLUMN + RIGHT, NARROWEST)
        for at, (launch, drawing) in enumerate(drawn):
            if at:
                self.y += 22
            self.launch(launch, drawing, len(trace.launches) > 1)
        self.remarks()

    def text(self) -> str:
        """Return the whole."""
        height = self.y + 8
        name = escape(f"{self.trace.source}: {self.trace.entry}, n = {self.trace.n}")
        return "\n".join(
            [
                f"<svg xmlns='http://www.w3.org/2000/svg' width='{self.width}' height='{height}' "
                f"viewBox='0 0 {self.width} {height}' role='img' {FONT}>",
                f"<title>{name}</title>",
                f"<desc>{escape(self.description())}</desc>",
                f"<rect x='0.5' y='0.5' width='{self.width - 1}' height='{height - 1}' rx='8' fill='#ffffff' "
                "stroke='#e1e5ea'/>",
                *self.parts,
                "</svg>",
                "",
            ]
        )

    def description(self) -> str:
        """Return the picture in words, row by row."""
        found = []
        for launch in self.trace.launches:
            for row in drawing_of(launch).rows:
                cells = ", ".join(f"{position}: {cell.text}" for position, cell in sorted(row.cells.items()))
                found.append(f"{row.array.name} {row.when}: {cells}.")
        return " ".join(found)

    # ---- one launch --------------------------------------------------------------------------------------------------

    def launch(self, launch: Launch, drawing: Drawing, is_numbered: bool) -> None:
        number = f"launch {launch.number}: " if is_numbered else ""
        threads = launch.block_size[0] * launch.block_size[1] * launch.block_size[2]
        self.label(16, self.y + 12, f"{number}{launch.kernel}", INK, 13, "600")
        right = f"block {self.trace.block} of {threads} threads, n = {self.trace.n}"
        self.label(self.width - RIGHT, self.y + 12, right, GREY, 11, anchor="end")
        self.y += 34
        columns = _columns(drawing)
        if columns:
            self.label(16, self.y, "position", GREY, 11)
            for at, position in enumerate(columns):
                self.label(_x(at), self.y, str(position), GREY, 11, anchor="middle")
            self.y += 24
        middles = self.middles(drawing)
        at_row = {id(row): middle for row, middle in zip(drawing.rows, middles, strict=True)}
        self.wires(drawing, middles)
        for row in drawing.rows:
            self.row(row, at_row[id(row)])
        self.y = (middles[-1] if middles else self.y) + HEIGHT // 2 + 28
        if drawing.left_out:
            self.gap(drawing.left_out, self.y)
            self.y += 20
        if drawing.cut_off:
            self.remark(f"… {drawing.cut_off} more steps …", GREY)
        if drawing.stored:
            self.remark(f"then d_y gets {drawing.stored}, position by position", GREY)
        if not drawing.rows:
            self.remark(NOTHING, GREY)
        for note in launch.notes:
            self.remark(note, GREY)

    def middles(self, drawing: Drawing) -> list[int]:
        """Return where each row lies, and note the gaps between."""
        found = []
        y = self.y
        for at, row in enumerate(drawing.rows):
            y += (HEIGHT // 2 if at == 0 else STEP) + (18 if row.left_out and at else 0)
            if row.left_out and at:
                self.gap(row.left_out, y - STEP // 2 - 4)
            found.append(y)
        return found

    def gap(self, count: int, y: int) -> None:
        text = "1 interval without additions" if count == 1 else f"{count} intervals without additions"
        self.label(16, y, f"⋮  {text}", GREY, 10, style="italic")

    def row(self, row: DrawnRow, y: int) -> None:
        self.label(16, y - 6, row.array.name, INK, 12, "600")
        self.label(16, y + 7, row.when, GREY, 10)
        additions = f"{row.additions} addition{'s' if row.additions > 1 else ''}" if row.additions else ""
        self.label(16, y + 19, " · ".join(filter(None, (row.where, additions))), GREY, 10)
        first = row.array.first or 0
        for position, cell in sorted(row.cells.items()):
            self.cell(_x(position - first), y, cell)

    def cell(self, x: int, y: int, cell: Cell) -> None:
        if cell.write is None:
            self.parts.append(_rect(x, y, "#ffffff", "#ffffff", 0))
            self.label(x, y + 4, cell.text, FAINT, _size(cell.text), anchor="middle")
            return
        fill, border = ("#ffffff", GREY)
        if cell.is_final:
            fill, border = PALE, BLUE
        if cell.race:
            fill, border = PALE_RED, RED
        self.parts.append(_rect(x, y, fill, border, 2 if cell.race else 1))
        weight = "600" if cell.is_final or cell.race else "400"
        self.label(x, y + 4, cell.text, RED if cell.race else INK, _size(cell.text), weight, "middle")

    # ---- wires -------------------------------------------------------------------------------------------------------

    def wires(self, drawing: Drawing, middles: list[int]) -> None:
        self.kept(drawing, middles)
        # What crosses lies above what goes straight down, and races above all.
        for wire in sorted(drawing.wires, key=lambda wire: (wire.race, self.is_straight(drawing, wire) is False)):
            self.wire(drawing, wire, middles)
        for wire in drawing.wires:
            if wire.adds:
                self.dot(drawing, wire, middles)

    def kept(self, drawing: Drawing, middles: list[int]) -> None:
        """Draw faint lines where a position keeps its value from one row of its array to the next."""
        latest: dict[str, int] = {}
        for at, row in enumerate(drawing.rows):
            above = latest.get(row.array.name)
            latest[row.array.name] = at
            if above is None:
                continue
            for position, cell in row.cells.items():
                if cell.write is None and position in drawing.rows[above].cells:
                    x = self.x_of(drawing, at, position)
                    ends = middles[above] + HEIGHT // 2, middles[at] - HEIGHT // 2
                    self.line(x, ends[0], x, ends[1], THREAD, 1)

    def is_straight(self, drawing: Drawing, wire: Wire) -> bool:
        return self.x_of(drawing, wire.from_row, wire.from_position) == self.x_of(
            drawing, wire.to_row, wire.to_position
        )

    def x_of(self, drawing: Drawing, row: int, position: int) -> int:
        return _x(position - (drawing.rows[row].array.first or 0))

    def wire(self, drawing: Drawing, wire: Wire, middles: list[int]) -> None:
        x1, x2 = (
            self.x_of(drawing, wire.from_row, wire.from_position),
            self.x_of(drawing, wire.to_row, wire.to_position),
        )
        y1, y2 = middles[wire.from_row], middles[wire.to_row]
        straight = x1 == x2
        colour = RED if wire.race else GREY if straight or not wire.adds else BLUE
        thick = 2.2 if wire.race else 1.2 if straight else 1.5
        dash = "6 3" if wire.race else ""
        if wire.from_row == wire.to_row:
            self.beside(x1, x2, y1, colour, thick, dash, wire.adds)
            return
        end = y2 - HEIGHT // 2 - (STEM if wire.adds else 0)
        self.line(x1, y1 + HEIGHT // 2, x2, end, colour, thick, dash)

    def beside(self, x1: int, x2: int, y: int, colour: str, thick: float, dash: str, adds: bool) -> None:
        """Draw a wire within a row: a thread goes on with what it has just written."""
        top = y - HEIGHT // 2
        start = x1 + (BOX // 2 - 5 if x2 > x1 else 5 - BOX // 2)
        end = top - (STEM if adds else 0)
        rise = STEM + abs(x2 - x1) // COLUMN * 2
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        self.parts.append(
            f"<path d='M{start} {top} Q{(start + x2) // 2} {top - rise} {x2} {end}' fill='none' stroke='{colour}' "
            f"stroke-width='{thick}'{dashed}/>"
        )

    def dot(self, drawing: Drawing, wire: Wire, middles: list[int]) -> None:
        x, top = self.x_of(drawing, wire.to_row, wire.to_position), middles[wire.to_row] - HEIGHT // 2
        race = drawing.rows[wire.to_row].cells[wire.to_position].race
        colour = RED if race else BLUE
        self.line(x, top - STEM, x, top, colour, 1.5)
        self.parts.append(f"<circle cx='{x}' cy='{top - STEM}' r='{DOT}' fill='{colour}'/>")

    # ---- text --------------------------------------------------------------------------------------------------------

    def remarks(self) -> None:
        """Write what stands below: notes, races, and how the call ended."""
        for note in self.trace.notes:
            self.remark(note, GREY)
        for race in self.trace.races:
            for line in race.text.splitlines():
                self.remark(line, RED)
        for line, _ in failure_lines(self.trace):
            self.remark(line, RED)

    def remark(self, text: str, colour: str) -> None:
        indent = 16 + 8 * (len(text) - len(text.lstrip()))
        for line in textwrap.wrap(text, int((self.width - indent - 16) / CHARACTER), break_long_words=False):
            self.label(indent, self.y + 4, line, colour, 11)
            self.y += LINE

    def label(
        self,
        x: int,
        y: int,
        text: str,
        colour: str,
        size: int,
        weight: str = "400",
        anchor: str = "start",
        style: str = "",
    ) -> None:
        if not text:
            return
        more = f" text-anchor='{anchor}'" if anchor != "start" else ""
        more += f" font-weight='{weight}'" if weight != "400" else ""
        more += f" font-style='{style}'" if style else ""
        self.parts.append(f"<text x='{x}' y='{y}' font-size='{size}' fill='{colour}'{more}>{escape(text)}</text>")

    def line(self, x1: int, y1: int, x2: int, y2: int, colour: str, thick: float, dash: str = "") -> None:
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        self.parts.append(
            f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='{colour}' stroke-width='{thick}'{dashed}/>"
        )


def _columns(drawing: Drawing) -> list[int]:
    """Return the positions above the columns: those of the widest array."""
    rows = [row for row in drawing.rows if row.array.first is not None and row.array.last is not None]
    if not rows:
        return []
    widest = max((row.array for row in rows), key=lambda array: (array.last or 0) - (array.first or 0))
    return list(range(widest.first or 0, (widest.last or 0) + 1))


def _x(column: int) -> int:
    return LEFT + column * COLUMN + COLUMN // 2


def _size(text: str) -> int:
    """Return the size of a cell's text, smaller when it is long."""
    return 12 if len(text) <= 4 else 11 if len(text) == 5 else 9 if len(text) <= 7 else 7


def _rect(x: int, y: int, fill: str, border: str, thick: int) -> str:
    return (
        f"<rect x='{x - BOX // 2}' y='{y - HEIGHT // 2}' width='{BOX}' height='{HEIGHT}' rx='5' fill='{fill}' "
        f"stroke='{border}' stroke-width='{thick}'/>"
    )
