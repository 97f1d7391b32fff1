"""From accesses to a flow of values: which reads went into which write.

The tracer (grader/tracer) reports what each thread has read and written, with the values. What a thread does in its
registers is not seen; but of a value that it writes it is known what it was made of, and where it has read that.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from scanlab.judging.result import Finding
from scanlab.trace.accesses import Access, TracedArray, TracedLaunch, Value
from scanlab.trace.costs import Instruction, instructions
from scanlab.trace.model import Place
from scanlab.trace.sums import Sum, Sums

POISON = (0xFEFE_FEFE, 0xFFFF_FFFF)
"""Words of memory that no thread has written, and of an output before the call."""
REMEMBERED = 24
"""At most this many of the values that a thread has met are looked at as parts of what it writes."""
LATEST = 8
"""At most this many of the counts that it has just read are tried as parts of one that it writes."""
SHOWN_READS = 4
"""Of a value that is no sum of inputs, at most this many of the latest reads are taken for the sources."""

Position = tuple[int, int]
"""An array's number, and the element."""


@dataclass
class ArrayFacts:
    """An array as the tracer saw it; `unit` is the size of an element in bytes.

    An array of structures may hold elements and other data, such as barriers: that lies in the positions `others`.
    """

    name: str
    space: str
    bytes: int
    unit: int
    is_elements: bool
    others: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """Return how many elements it has."""
        return self.bytes // self.unit


@dataclass
class ReadFact:
    """One read: in which interval and by which instruction, and which write it saw."""

    step: int
    thread: int
    at: Position
    place: int
    value: Value | None
    write: int | None
    order: int = -1
    race: bool = False


@dataclass
class WriteFact:
    """One write. Without `explained` its value has come by registers, and `sources` is a guess or empty."""

    id: int
    step: int
    thread: int
    at: Position
    place: int
    value: Value | None
    order: int
    sources: list[ReadFact] = field(default_factory=list)
    explained: bool = False
    adds: bool = False
    total: Sum | None = None
    previous: int | None = None
    race: bool = False


@dataclass
class Flow:
    """One launch: `steps` are (barriers, warp_syncs) of each interval, `arrays` by the tracer's numbers."""

    steps: list[tuple[int, int]]
    arrays: list[ArrayFacts]
    reads: list[ReadFact]
    writes: list[WriteFact]
    instructions: list[Instruction]


def flow_of(launch: TracedLaunch, sums: Sums) -> Flow:
    """Return the flow of a launch."""
    accesses = launch.accesses
    arrays = _arrays(launch.arrays, accesses, sums)
    steps = sorted({access.step for access in accesses})
    number = {step: at for at, step in enumerate(steps)}
    follow = _Follow(arrays, sums)
    all_instructions, orders = instructions(accesses)
    for access, order in zip(accesses, orders, strict=True):
        array = arrays[access.array]
        for element, value in _elements(access, array.unit):
            if element in array.others:
                continue
            follow.take(access, number[access.step], order, (access.array, element), value)
    return Flow(steps, arrays, follow.reads, follow.writes, all_instructions)


def _arrays(facts: Sequence[TracedArray], accesses: Sequence[Access], sums: Sums) -> list[ArrayFacts]:
    by_array: defaultdict[int, list[Access]] = defaultdict(list)
    for access in accesses:
        by_array[access.array].append(access)
    found = []
    for at, fact in enumerate(facts):
        own = by_array[at]
        held = _elements_among(own, sums)
        unit = sums.bytes if held else min([4, *(access.bytes for access in own)])
        touched = {element for access in own for element, _ in _elements(access, unit)} if held else set()
        facts_of_it = ArrayFacts(fact.short_name, fact.space, fact.bytes, unit, bool(held), frozenset(touched - held))
        found.append(facts_of_it)
    return found


def _elements_among(accesses: Sequence[Access], sums: Sums) -> set[int]:
    """Return the positions that hold elements, by their size; none where no element is known among them.

    Where all accesses have the size of elements, that is all of them: what else is found there is a damaged element.
    """
    touched: set[int] = set()
    known: set[int] = set()
    others: set[int] = set()
    has_sum = False
    for access in accesses:
        is_torn = access.offset % sums.bytes or access.bytes % sums.bytes
        if is_torn and not sums.halves.issuperset(access.words or (0,)):
            others.update(range(access.offset // sums.bytes, (access.offset + access.bytes - 1) // sums.bytes + 1))
            continue
        for element, value in _elements(access, sums.bytes):
            touched.add(element)
            if value is not None and sums.is_element(value):
                known.add(element)
                has_sum = has_sum or not sums.is_identity(value)
    if not others:
        return touched if known else set()
    return known - others if has_sum else set()


def _elements(access: Access, unit: int) -> Iterator[tuple[int, Value | None]]:
    """Give the elements that an access touches, with their values: that of a half is not known."""
    words = max(unit // 4, 1)
    for k in range(max(access.bytes // unit, 1)):
        is_known = access.words is not None and access.bytes >= unit
        yield access.offset // unit + k, access.words[k * words : (k + 1) * words] if is_known else None


class _Follow:
    """Takes the accesses in their order."""

    def __init__(self, arrays: Sequence[ArrayFacts], sums: Sums) -> None:
        self.arrays = arrays
        self.sums = sums
        self.reads: list[ReadFact] = []
        self.writes: list[WriteFact] = []
        self.current: dict[Position, int] = {}
        self.fresh: defaultdict[int, list[ReadFact]] = defaultdict(list)  # by thread, since its last write
        self.met: defaultdict[int, list[ReadFact]] = defaultdict(list)  # by thread, before

    def take(self, access: Access, step: int, order: int, at: Position, value: Value | None) -> None:
        if access.does != "write":
            writer = self.current.get(at)
            if value is not None and writer is not None:
                seen = self.writes[writer]
                if seen.value is None:
                    seen.value, seen.total = value, self.sums.total(value)  # of an atomic: what it has left is seen now
                elif seen.value != value:
                    writer = None  # another block's value
            read = ReadFact(step, access.thread, at, access.place, value, writer, order)
            self.reads.append(read)
            self.fresh[access.thread].append(read)
        if access.does != "read":
            self._write(access, step, order, at, value)

    def _write(self, access: Access, step: int, order: int, at: Position, value: Value | None) -> None:
        thread, before = access.thread, self.current.get(at)
        write = WriteFact(len(self.writes), step, thread, at, access.place, value, order, previous=before)
        fresh, met = self.fresh.pop(thread, []), self.met[thread]
        if value is not None:
            self._explain(write, value, fresh, met)
        self.writes.append(write)
        self.current[at] = write.id
        if write.explained:  # what was read and not used yet is for a later write
            used = {id(source) for source in write.sources}
            self.fresh[thread] = [read for read in fresh if id(read) not in used][-REMEMBERED:]
            fresh = [read for read in fresh if id(read) in used]
        met.extend(fresh)
        # What it has written it may still have in a register.
        met.append(ReadFact(step, thread, at, access.place, value, write.id))
        del met[:-REMEMBERED]

    def _explain(self, write: WriteFact, value: Value, fresh: list[ReadFact], met: list[ReadFact]) -> None:
        is_elements = self.arrays[write.at[0]].is_elements
        fresh = _last_of_each([read for read in fresh if self.arrays[read.at[0]].is_elements == is_elements])
        if not is_elements:
            # Counts: several may be the same, so only what was just read is tried, and a 0 says nothing.
            orders = (order for size in (1, 2, 3) for order in combinations(fresh[-LATEST:], size))
            numbers = (order for order in orders if sum((read.value or (0,))[0] for read in order) == value[0])
            write.sources = list(next(numbers, ())) if value[0] else []
            write.explained, write.adds = bool(write.sources), len(write.sources) > 1
            return
        if self.sums.is_identity(value):
            # A constant, unless it was just read, or stood at this place of another array.
            met = [read for read in met if read.at[1] == write.at[1]]
        older = _last_of_each([read for read in met[::-1] if self.arrays[read.at[0]].is_elements])
        parts = self.sums.parts(value, _values(fresh[::-1]), _values(older))
        write.total = self.sums.total(value)
        if parts:
            write.explained, write.adds = True, len(parts) > 1
            write.sources = _reads_of(parts, [*fresh[::-1], *older])
        elif write.total is None:  # made of what the thread has just read, most likely
            write.sources, write.adds = fresh[-SHOWN_READS:], True


def _values(reads: Sequence[ReadFact]) -> list[Value]:
    return [read.value for read in reads if read.value is not None]


def _reads_of(parts: Sequence[Value], reads: Sequence[ReadFact]) -> list[ReadFact]:
    """Return where the parts were read: the same at different positions, if it was."""
    by_value: defaultdict[Value | None, list[ReadFact]] = defaultdict(list)
    for read in reads:
        by_value[read.value].append(read)
    return [own.pop(0) if len(own := by_value[part]) > 1 else own[0] for part in parts]


def _last_of_each(reads: Sequence[ReadFact]) -> list[ReadFact]:
    """Return the reads without those that found the same value at the same position again."""
    return list({(read.at, read.write, read.value): read for read in reads}.values())


def is_poison(value: Value | None) -> bool:
    """Return whether these are the bytes of memory that no thread has written."""
    return value is not None and bool(value) and all(word == value[0] for word in value) and value[0] in POISON


def mark_races(flow: Flow, races: Sequence[Finding], places: Sequence[Place], kernel: str) -> None:
    """Mark the reads and writes that race, by the lines and the array that the race check names.

    The check gives one example for a pair of lines; here it is every position that both lines touch between the same
    barriers, in different threads.
    """
    for race in races:
        if race.kernel != kernel or len(race.parts) != 2:
            continue
        lines = [(part.file, part.line) for part in race.parts]
        for facts in _touches(flow, race.variable).values():
            first = [fact for fact in facts if _line(fact, places) == lines[0]]
            second = [fact for fact in facts if _line(fact, places) == lines[1]]
            for one, other in product(first, second):
                if one.thread != other.thread and (isinstance(one, WriteFact) or isinstance(other, WriteFact)):
                    one.race = other.race = True


def _line(fact: ReadFact | WriteFact, places: Sequence[Place]) -> tuple[str, int]:
    return places[fact.place].file, places[fact.place].line


def _touches(flow: Flow, variable: str) -> dict[tuple[Position, int], list[ReadFact | WriteFact]]:
    """Return who touches each position of the variable, by the number of barriers before."""
    found: defaultdict[tuple[Position, int], list[ReadFact | WriteFact]] = defaultdict(list)
    for fact in (*flow.reads, *flow.writes):
        if flow.arrays[fact.at[0]].name == variable:
            found[fact.at, flow.steps[fact.step][0]].append(fact)
    return found
