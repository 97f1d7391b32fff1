"""What the terminal and the picture draw alike: a row for each step in which something changes, and the wires between.

A row is what one array holds after one interval. Rows in which the shown positions only keep their values, or hand them
on to the same position of another array, are left out; wires lead past them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from scanlab.trace.model import Array, Interval, Launch, Source, Write

OUTPUT = "d_y"
MOST_ROWS = 40
"""At most this many steps of a launch are drawn: a loop without end has any number of them."""


@dataclass
class Cell:
    """A position in a row. Without `write` it keeps what it held; `is_final`: the output gets this value."""

    text: str
    write: Write | None = None
    is_final: bool = False
    race: bool = False


@dataclass(frozen=True)
class Wire:
    """A value's way, from a position of a row to a position of a row, which may be the same one."""

    from_row: int
    from_position: int
    to_row: int
    to_position: int
    adds: bool
    race: bool


@dataclass
class DrawnRow:
    """`interval` None: what stood there before the kernel. `left_out` rows before it are not drawn."""

    array: Array
    interval: Interval | None
    cells: dict[int, Cell]
    lines: list[int] = field(default_factory=list)
    left_out: int = 0

    @property
    def additions(self) -> int:
        """Return how many of the shown positions got a sum."""
        return sum(cell.write is not None and cell.write.adds for cell in self.cells.values())

    @property
    def when(self) -> str:
        """Return `after barrier 2`."""
        if self.interval is None:
            return "before the kernel"
        return f"after barrier {self.interval.barriers}" if self.interval.barriers else "at the beginning"

    @property
    def within(self) -> str:
        """Return `warp sync 3`; empty before the first one of the interval."""
        return f"warp sync {self.interval.warp_syncs}" if self.interval and self.interval.warp_syncs else ""

    @property
    def where(self) -> str:
        """Return `line 31`, `lines 30, 31`; empty for what stood there before, and for lines of other files."""
        lines = [str(line) for line in self.lines if line]
        return f"line{'s' if len(lines) > 1 else ''} {', '.join(lines)}" if lines else ""


@dataclass
class Drawing:
    """A launch as it is drawn. `left_out` rows after the last one changed nothing, `cut_off` ones were too many.

    `stored`: the last step, a plain copy of this array to the output, is not drawn.
    """

    rows: list[DrawnRow]
    wires: list[Wire]
    left_out: int
    cut_off: int
    stored: str


def drawing_of(launch: Launch) -> Drawing:
    """Return the rows and wires of a launch."""
    return _Drawer(launch).draw()


class _Drawer:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.arrays = {array.name: array for array in launch.arrays}
        self.writes = {write.id: write for interval in launch.intervals for write in interval.writes}
        self.previous: dict[int, int | None] = {}
        latest: dict[tuple[str, int], int] = {}
        for write in self.writes.values():  # in the order in which they happened
            self.previous[write.id] = latest.get((write.array, write.element))
            latest[write.array, write.element] = write.id
        self.outputs = {write.element: _value(write) for write in self.writes.values() if write.array == OUTPUT}

    def draw(self) -> Drawing:
        held: defaultdict[str, dict[int, Write]] = defaultdict(dict)
        rows: list[DrawnRow] = []
        left_out, cut_off, stored = 0, 0, ""
        for interval in self.launch.intervals:
            for name, writes in _by_array(interval.writes).items():
                array = self.arrays.get(name)
                if array is None or (array.size == 1 and array.holds == "numbers"):
                    continue
                if name == OUTPUT and (source := self._stored_from(array, writes)):
                    stored = source
                elif self._is_quiet(writes, held[name]):
                    left_out += 1
                elif len(rows) == MOST_ROWS:
                    cut_off += 1
                else:
                    rows.append(self._row(array, interval, writes, held[name], left_out))
                    left_out = 0
                held[name] |= {write.element: write for write in writes}
        rows = self._rows_before(rows) + rows
        return Drawing(rows, self._wires(rows), left_out, cut_off, stored)

    def _row(
        self, array: Array, interval: Interval, writes: Sequence[Write], held: dict[int, Write], left_out: int
    ) -> DrawnRow:
        cells = {element: Cell(write.text) for element, write in held.items()}
        for write in writes:
            raced = any(source.race for source in write.sources)
            before = cells.get(write.element)
            race = write.race or raced or bool(before and before.write and before.race)
            cells[write.element] = Cell(write.text, write, self.outputs.get(write.element) == _value(write), race)
        return DrawnRow(array, interval, cells, sorted({write.line for write in writes}), left_out)

    def _is_quiet(self, writes: Sequence[Write], held: dict[int, Write]) -> bool:
        def is_quiet(write: Write) -> bool:
            before = held.get(write.element)
            if before is not None and _value(before) == _value(write):
                return True
            return self._is_handed_on(write) and self._space(write.sources[0].array) == "shared"

        return not any(write.adds for write in writes) and all(map(is_quiet, writes))

    def _is_handed_on(self, write: Write) -> bool:
        """Is it a copy of the same position of another array?"""
        sources = write.sources
        return len(sources) == 1 and sources[0].element == write.element and sources[0].array != write.array

    def _stored_from(self, array: Array, writes: Sequence[Write]) -> str:
        """Return the name of the shared array that is copied to the output as it is, position by position."""
        names = {write.sources[0].array if self._is_handed_on(write) and not write.adds else "" for write in writes}
        whole = array.first is not None and len({w.element for w in writes}) == array.last - array.first + 1
        name = names.pop() if len(names) == 1 and whole else ""
        return name if name and self._space(name) == "shared" and not any(write.race for write in writes) else ""

    def _space(self, name: str) -> str:
        return self.arrays[name].space if name in self.arrays else ""

    def _rows_before(self, rows: Sequence[DrawnRow]) -> list[DrawnRow]:
        """Return what stood in arrays before, where a drawn row has taken it from another position, or added it."""
        wanted = {
            source.array
            for row in rows
            for cell in row.cells.values()
            if cell.write
            for source in cell.write.sources
            if source.write is None and (cell.write.adds or source.element != cell.write.element)
        }
        return [
            DrawnRow(self.arrays[row.array], None, {row.first + k: Cell(t) for k, t in enumerate(row.cells) if t})
            for row in self.launch.before
            if row.array in wanted and row.array in self.arrays
        ]

    def _wires(self, rows: Sequence[DrawnRow]) -> list[Wire]:
        place: dict[int, tuple[int, int]] = {}
        before: dict[str, int] = {}
        for at, row in enumerate(rows):
            if row.interval is None:
                before[row.array.name] = at
                continue
            for write in row.interval.writes:
                if write.array == row.array.name:
                    place[write.id] = at, write.element
        found: dict[Wire, None] = {}
        for write_id, (to_row, to_position) in place.items():
            write = self.writes[write_id]
            for source in write.sources:
                origin = self._origin(source, place, before)
                if origin is not None and origin != (to_row, to_position):
                    start = _latest_row(rows, *origin, to_row)
                    found.setdefault(Wire(start, origin[1], to_row, to_position, write.adds, source.race))
        return list(found)

    def _origin(
        self, source: Source, place: dict[int, tuple[int, int]], before: dict[str, int]
    ) -> tuple[int, int] | None:
        """Return where the wire begins: the drawn position from which the value has come."""
        while source.write is not None and source.write not in place:
            write = self.writes.get(source.write)
            if write is None:  # a position that is not shown
                return None
            if len(write.sources) == 1 and not write.adds:
                source = write.sources[0]
            else:  # a row that changed nothing
                source = Source(array=write.array, element=write.element, write=self.previous[write.id])
        if source.write is not None:
            return place[source.write]
        return (before[source.array], source.element) if source.array in before else None


def _value(write: Write) -> tuple[str, str]:
    """Return what distinguishes values; a long sum's text does not."""
    return write.text, str(write.runs)


def _latest_row(rows: Sequence[DrawnRow], row: int, position: int, before: int) -> int:
    """Return the last row before another in which a position still holds what it got in `row`."""
    latest = row
    for at in range(row + 1, before):
        if rows[at].array.name == rows[row].array.name:
            cell = rows[at].cells.get(position)
            if cell is None or cell.write is not None:
                break
            latest = at
    return latest


def _by_array(writes: Sequence[Write]) -> dict[str, list[Write]]:
    found: defaultdict[str, list[Write]] = defaultdict(list)
    for write in writes:
        found[write.array].append(write)
    return found
