"""What of a flow is worth showing: the positions whose values reach the output, and who touches them.

A block has hundreds of threads and positions, and n is small: most of them hold no input.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from scanlab.judging.result import Finding
from scanlab.trace import costs
from scanlab.trace.accesses import TracedLaunch
from scanlab.trace.flow import ArrayFacts, Flow, Position, ReadFact, WriteFact, flow_of, is_poison, mark_races
from scanlab.trace.model import Array, Instruction, Interval, Launch, Read, Row, Source, Write
from scanlab.trace.sums import Sums, short, text

MOST_POSITIONS = 32
"""At most this many positions of an array are shown."""
OUTPUT = "d_y"
NOT_A_SUM = "?"
"""Stands where a value is no sum of inputs."""
OLD = "old"
"""Stands where memory that no thread has written was copied."""
LARGEST_NUMBER = 99_999
"""Larger ones are no counts, but other data."""
SHOWN_ODDITIES = 5

Shown = Mapping[int, tuple[int, int]]
"""The first and the last position that is shown, by an array's number."""


def launch_of(
    raw: TracedLaunch, number: int, sums: Sums, races: Sequence[Finding], failed: bool, source: str
) -> Launch:
    """Return a launch as it is shown, with the lines of the file `source`.

    `races` are the race check's findings; `failed` says that the call did not end well.
    """
    flow = flow_of(raw, sums)
    mark_races(flow, races, raw.places, raw.kernel)
    shown = _shown(flow, sums, failed)
    reads = [read for read in flow.reads if _is_shown(read.at, shown)]
    writes = [write for write in flow.writes if _is_shown(write.at, shown)]
    view = _View(raw, flow, shown, sums, source)
    by_step = view.instructions()
    all_instructions = [one for step in by_step.values() for one in step]
    threads = raw.block[0] * raw.block[1] * raw.block[2]
    busy = {write.thread for write in writes if flow.arrays[write.at[0]].size > 1}
    return Launch(
        number=number,
        kernel=raw.kernel,
        grid=raw.grid,
        block_size=raw.block,
        traced=raw.has_block,
        arrays=[view.array(at) for at in range(len(flow.arrays)) if at in shown or flow.arrays[at].space == "shared"],
        before=view.before(reads),
        intervals=view.intervals(reads, writes, by_step),
        idle_threads=threads - len(busy) if raw.has_block else 0,
        notes=view.notes(writes),
        replays=sum(one.replays * len(one.orders) for one in all_instructions),
        sectors=sum(one.sectors * len(one.orders) for one in all_instructions),
        least_sectors=sum(one.least_sectors * len(one.orders) for one in all_instructions),
    )


def _shown(flow: Flow, sums: Sums, failed: bool) -> Shown:
    """Return the positions to show, by array."""
    relevant = _towards_output(flow, sums)
    if failed or not relevant:
        relevant |= _that_hold_inputs(flow)
    positions: defaultdict[int, set[int]] = defaultdict(set)
    for array, element in relevant:
        if _is_legible(flow, array):
            positions[array].add(element)
    for array, facts in enumerate(flow.arrays):
        if array not in positions and facts.space == "shared" and _is_legible(flow, array):
            written = {write.at[1] for write in flow.writes if write.at[0] == array}
            if written:
                positions[array] = set(sorted(written)[:MOST_POSITIONS])
    return {array: (min(own), min(max(own), min(own) + MOST_POSITIONS - 1)) for array, own in positions.items()}


def _is_legible(flow: Flow, array: int) -> bool:
    """Return whether an array holds elements, or numbers that are small enough to be counts."""
    if flow.arrays[array].is_elements:
        return True
    values = (fact.value for fact in (*flow.reads, *flow.writes) if fact.at[0] == array)
    return all(value is None or is_poison(value) or abs(_signed(value[0])) <= LARGEST_NUMBER for value in values)


def _towards_output(flow: Flow, sums: Sums) -> set[Position]:
    """Return the positions from which the first outputs are made, and these."""
    stored = [write for write in flow.writes if flow.arrays[write.at[0]].name == OUTPUT]
    if not stored:
        stored = [write for write in flow.writes if _is_of_elements(flow.arrays[write.at[0]], "global")]
    if not stored:
        return set()
    lowest = {
        array: min(write.at[1] for write in stored if write.at[0] == array) for array in {w.at[0] for w in stored}
    }
    left = [write.id for write in stored if write.at[1] < lowest[write.at[0]] + MOST_POSITIONS]
    seen: set[int] = set(left)
    found: set[Position] = set()
    while left:
        write = flow.writes[left.pop()]
        found.add(write.at)
        for source in write.sources:
            found.add(source.at)
            if source.write is not None and source.write not in seen:
                seen.add(source.write)
                left.append(source.write)
    return found | _inputs_in_registers(flow, sums, seen)


def _inputs_in_registers(flow: Flow, sums: Sums, writes: Iterable[int]) -> set[Position]:
    """Return where the inputs were read that came to these writes by registers alone, as by shuffles."""
    totals = (flow.writes[write].total or () for write in writes if not flow.writes[write].sources)
    inputs = {((i, i),) for total in totals for first, last in total for i in range(first, last + 1)}
    read = (read for read in flow.reads if read.write is None and flow.arrays[read.at[0]].is_elements)
    return {one.at for one in read if one.value is not None and sums.total(one.value) in inputs}


def _that_hold_inputs(flow: Flow) -> set[Position]:
    """Return the first positions of each array, no more than there are inputs, in which a sum of inputs has stood."""
    inputs = {read.at for read in flow.reads if read.write is None and flow.arrays[read.at[0]].space == "global"}
    found = {write.at for write in flow.writes if flow.arrays[write.at[0]].is_elements and write.total != ()}
    return {(array, element) for array, element in found if element < max(len(inputs), 1)}


def _is_of_elements(array: ArrayFacts, space: str) -> bool:
    return array.is_elements and array.space == space


def _is_shown(at: Position, shown: Shown) -> bool:
    return at[0] in shown and shown[at[0]][0] <= at[1] <= shown[at[0]][1]


class _View:
    """Turns the facts that are shown into the trace's objects."""

    def __init__(self, raw: TracedLaunch, flow: Flow, shown: Shown, sums: Sums, source: str) -> None:
        self.raw, self.flow, self.shown, self.sums = raw, flow, shown, sums
        self.places = [place.seen_from(source) for place in raw.places]

    def array(self, at: int) -> Array:
        facts = self.flow.arrays[at]
        first, last = self.shown.get(at, (None, None))
        kind = "elements" if facts.is_elements else "numbers"
        return Array(name=facts.name, space=facts.space, holds=kind, size=facts.size, first=first, last=last)

    def intervals(
        self,
        reads: Iterable[ReadFact],
        writes: Iterable[WriteFact],
        instructions: Mapping[tuple[int, int], list[Instruction]],
    ) -> list[Interval]:
        by_step: defaultdict[int, tuple[list[ReadFact], list[WriteFact]]] = defaultdict(lambda: ([], []))
        for read in reads:
            by_step[read.step][0].append(read)
        for write in writes:
            by_step[write.step][1].append(write)
        cells: dict[Position, str] = {}
        found = []

        def begins_at(step: int) -> tuple[int, int]:
            """Return after which barrier, and when: warps that wait for each other count their own syncs."""
            return self.flow.steps[step][0], min(fact.order for facts in by_step[step] for fact in facts)

        for step in sorted(by_step, key=begins_at):
            barriers, syncs = self.flow.steps[step]
            cells |= {write.at: self.text(write) for write in by_step[step][1]}
            begins = self.raw.barriers[barriers - 1] if barriers else None
            found.append(
                Interval(
                    barriers=barriers,
                    warp_syncs=syncs,
                    begins=None if begins is None else self.places[begins],
                    reads=[self.read(read) for read in by_step[step][0]],
                    writes=[self.write(write) for write in by_step[step][1]],
                    holds=self.rows(cells),
                    instructions=instructions[barriers, syncs],
                )
            )
        return found

    def instructions(self) -> dict[tuple[int, int], list[Instruction]]:
        """Return what warps did in each step; neighbours that did the same as often before are joined."""
        found: defaultdict[tuple[int, int], list[Instruction]] = defaultdict(list)
        times: Counter[tuple[object, ...]] = Counter()
        joined: dict[tuple[object, ...], Instruction] = {}
        for one in self.flow.instructions:
            array = self.flow.arrays[one.array]
            touched = costs.as_floats(one.touched, array.unit) if array.is_elements else one.touched
            is_shared = array.space == "shared"
            used, least = (0, 0) if is_shared else costs.sectors(touched.values())
            what = Instruction(
                line=self.places[one.place].line,
                does=one.does,
                array=array.name,
                first_warp=one.warp,
                orders=[one.order],
                lanes=one.lanes,
                bytes=max(size for _, size in touched.values()),
                replays=costs.replays(touched) if is_shared else 0,
                sectors=used,
                least_sectors=least,
            )
            alike = (one.step, what.line, what.does, one.array, what.lanes, what.bytes, what.replays, used, least)
            times[one.warp, alike] += 1
            key = (alike, times[one.warp, alike])
            before = joined.get(key)
            if before is not None and before.first_warp + len(before.orders) == one.warp:
                before.orders.append(one.order)
            else:
                joined[key] = what
                found[one.step].append(what)
        return found

    def before(self, reads: Iterable[ReadFact]) -> list[Row]:
        cells: dict[Position, str] = {}
        for read in reads:
            if read.write is None:
                cells.setdefault(read.at, self.text(read))
        return self.rows(cells)

    def rows(self, cells: Mapping[Position, str]) -> list[Row]:
        written = {array for array, _ in cells}
        return [
            Row(
                array=self.flow.arrays[array].name,
                first=first,
                cells=[cells.get((array, element)) for element in range(first, last + 1)],
            )
            for array, (first, last) in self.shown.items()
            if array in written
        ]

    def read(self, read: ReadFact) -> Read:
        array, element = self.flow.arrays[read.at[0]].name, read.at[1]
        return Read(
            thread=read.thread,
            array=array,
            element=element,
            line=self.line(read),
            order=read.order,
            text=self.text(read),
            write=read.write,
            race=read.race,
        )

    def write(self, write: WriteFact) -> Write:
        array = self.flow.arrays[write.at[0]]
        sources = [
            Source(array=self.flow.arrays[s.at[0]].name, element=s.at[1], write=s.write, race=s.race)
            for s in write.sources
        ]
        runs = write.total if array.is_elements else None
        return Write(
            id=write.id,
            thread=write.thread,
            array=array.name,
            element=write.at[1],
            line=self.line(write),
            order=write.order,
            text=self.text(write),
            runs=None if runs is None else list(runs),
            adds=write.adds,
            sources=sources,
            odd=self.odd(write) or "",
            race=write.race,
        )

    def odd(self, write: WriteFact) -> str | None:
        """Return what is remarkable about a sum, where it is certain."""
        is_sum = write.value is not None and self.flow.arrays[write.at[0]].is_elements
        return _oddity(write) if is_sum and self.sums.is_certain else None

    def text(self, fact: ReadFact | WriteFact) -> str:
        if fact.value is None:
            return NOT_A_SUM
        if is_poison(fact.value):
            return OLD
        if not self.flow.arrays[fact.at[0]].is_elements:
            return str(_signed(fact.value[0]))
        total = fact.total if isinstance(fact, WriteFact) else self.sums.total(fact.value)
        return NOT_A_SUM if total is None else short(total)

    def line(self, fact: ReadFact | WriteFact) -> int:
        return self.places[fact.place].line

    def notes(self, writes: Sequence[WriteFact]) -> list[str]:
        found = self._odd(writes)
        for at, (first, last) in self.shown.items():
            array = self.flow.arrays[at]
            left = array.size - (last - first + 1)
            if left > 0 and array.space == "shared":
                found.append(f"{left} more position{'s' if left > 1 else ''} of {array.name}: not drawn")
        by_registers = [write for write in writes if write.total and not write.sources]
        if by_registers:
            by = "shuffles, or were added up in registers" if self.raw.has_shuffles else "registers"
            many = len(by_registers) > 1
            found.append(
                f"{len(by_registers)} value{'s' if many else ''} came by {by}: "
                f"no wire{'s' if many else ''} lead{'' if many else 's'} there"
            )
        hidden = [
            f"some of {array.name}" if array.others else array.name
            for at, array in enumerate(self.flow.arrays)
            if array.others or (at not in self.shown and not array.is_elements)
        ]
        if hidden:
            found.append(f"other data than elements is not drawn: {', '.join(hidden)}")
        if self.raw.left_out:
            found.append(f"it goes on: {self.raw.left_out} more accesses were not recorded")
        return found

    def _odd(self, writes: Sequence[WriteFact]) -> list[str]:
        """Return what is remarkable about sums: an input twice, out of order, left out, or no sum at all."""
        found: dict[str, None] = {}
        for write in writes:
            if write.value is not None and (odd := self.odd(write)) is not None:
                name = f"{self.flow.arrays[write.at[0]].name}[{write.at[1]}]"
                line, added = self.line(write), self.sums.lines.get(write.value) or self.line(write)
                where = f"line {line}" if added == line else f"line {line} (added in line {added})"
                found.setdefault(f"{name}, {where}, thread {write.thread}: {odd}")
        shown = list(found)[:SHOWN_ODDITIES]
        more = len(found) - len(shown)
        return [*shown, f"and {more} more such value{'s' if more > 1 else ''}"] if more else shown


def _oddity(write: WriteFact) -> str | None:
    total = write.total
    if total is None:
        return "memory that no thread has written" if is_poison(write.value) else "no sum of inputs"
    if len(total) < 2:
        return None
    count = Counter(i for first, last in total for i in range(first, last + 1))
    twice = [i for i, times in count.items() if times > 1]
    firsts = [first for first, _ in total]
    if twice:
        why = f"x{twice[0]} counts {_times(count[twice[0]])}"
    elif firsts != sorted(firsts):
        why = f"x{firsts[1]} comes after x{total[0][1]}: out of order"
    else:
        gap = total[0][1] + 1
        why = f"x{gap} is missing"
    return f"{text(total)}: {why}"


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
