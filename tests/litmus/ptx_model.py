"""Which outcomes of a litmus test PTX's memory model allows: an axiomatic oracle.

Every candidate execution of a straight-line program is enumerated: who reads from whom, in which order the fence.sc
stand, in which order writes to a location become coherent. What no axiom forbids is an outcome. Exponential, which is
no matter for a dozen instructions.

Sources. "ISA" is the chapter "Memory Consistency Model" of the PTX ISA (section numbers of 8.5 to 9.1); "ASPLOS" is
Lustig, Sahasrabuddhe, Giroux: A Formal Analysis of the NVIDIA PTX Memory Consistency Model, ASPLOS 2019. Where the two
say it differently, the function's docstring says which is followed. One proxy, whole words only, so ISA 8.6, mixed
sizes and single-copy atomicity do not come up. Where the text leaves room, this is how it is read:

- A read-modify-write is one operation, both a read and a write (ISA 8.4), as for observation order. SC per location
  then implies its atomicity; ASPLOS has two events, and an axiom for what is between them.
- ISA 8.9.5 ends in orders of *memory* operations, but the Fence-SC axiom asks for causality between fences: base
  causality order is meant, as in ASPLOS.
- SC per location is asked of all morally strong communication, as in ASPLOS, not only of sets that are pairwise so.
- A reduction forms no acquire pattern, but passes a release sequence on, as other atomic operations do.
- The model has no word for final values; `Execution.finals` takes the host's read after the grid.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations, permutations, product

from language import NOT_READ, Instruction, Test, outcome_text, value_of

INITIAL = -1  # the thread of the writes that initialise memory

Relation = list[int]  # for each event, the set of events after it, as a mask of bits
Way = list[tuple[Instruction, str, bool]]  # which guards ("guard") and compare-and-swaps ("swap") hold


@dataclass(frozen=True)
class Event:
    """An operation (ISA 8.4). A read-modify-write is one event; a barrier is an arrival and a wait."""

    thread: int
    kind: str  # memory fence arrive wait
    order: str = ""  # rlx acq rel acq_rel sc, or "" of what is weak
    scope: str = ""
    location: str = ""
    reads: bool = False
    writes: bool = False
    source: Instruction | None = None
    number: int = 0  # of a barrier, in its thread

    def is_strong(self) -> bool:
        return self.order != ""

    def acquires(self) -> bool:
        """A reduction conceptually reads, but forms no acquire pattern (ISA 8.8 and 8.11.1)."""
        return self.order in ("acq", "acq_rel") and (self.kind == "fence" or self.reads)

    def releases(self) -> bool:
        return self.order in ("rel", "acq_rel") and (self.kind == "fence" or self.writes)

    def is_fence_sc(self) -> bool:
        return self.kind == "fence" and self.order == "sc"


@dataclass
class Answer:
    """Outcomes; `without_load_buffering` only from executions without a cycle in program order and reads-from."""

    allowed: set[str] = field(default_factory=set)
    without_load_buffering: set[str] = field(default_factory=set)
    has_race: bool = False  # some allowed execution has a data race (ISA 8.7.1)


def closure(relation: Relation) -> Relation:
    rows = list(relation)
    for middle in range(len(rows)):
        for first in range(len(rows)):
            if rows[first] >> middle & 1:
                rows[first] |= rows[middle]
    return rows


def is_acyclic(relation: Relation) -> bool:
    return not any(row >> index & 1 for index, row in enumerate(closure(relation)))


def union(*relations: Relation) -> Relation:
    return [a | b for a, b in zip(relations[0], union(*relations[1:]), strict=True)] if relations[1:] else relations[0]


def then(first: Relation, second: Relation) -> Relation:
    """Pairs of which the first relation leads to where the second begins."""
    rows = []
    for row in first:
        reached = 0
        for index, following in enumerate(second):
            reached |= following * (row >> index & 1)
        rows.append(reached)
    return rows


def paths(thread: int, program: tuple[Instruction, ...]) -> Iterator[tuple[list[Event], Way]]:
    """The events of a thread for each way that its guards and compare-and-swaps can go, with that way.

    A seq_cst access is what the Atomics ABI of "PTX Writer's Guide to Interoperability" makes of it: a fence.sc before
    an acquiring read (or read-modify-write) or a relaxed write. An acquire or release fence is fence.acq_rel, as
    nvcc spells it for compute_80. A compare-and-swap that fails writes nothing (ISA 8.4: "if they result in a write").
    """
    decisions = [(one, "guard") for one in program if one.guard] + [(one, "swap") for one in program if one.op == "cas"]
    for choice in product((True, False), repeat=len(decisions)):
        way = [(one, kind, holds) for (one, kind), holds in zip(decisions, choice, strict=True)]
        holds_of = {(id(one), kind): holds for one, kind, holds in way}
        skipped = [one for one in program if not holds_of.get((id(one), "guard"), True)]
        if any(holds_of.get((id(one), "swap"), False) for one in skipped):
            continue  # the same as without the swap
        events, barriers = [], 0
        for one in program:
            if one in skipped:
                continue
            if one.op == "bar":
                events += [Event(thread, "arrive", number=barriers), Event(thread, "wait", number=barriers)]
                barriers += 1
            elif one.op == "fence":
                events.append(Event(thread, "fence", "sc" if one.order == "sc" else "acq_rel", one.scope))
            else:
                order, writes = one.order, one.writes() and holds_of.get((id(one), "swap"), True)
                if order == "sc":
                    events.append(Event(thread, "fence", "sc", one.scope))
                    order = "acq" if one.reads() else "rlx"
                events.append(Event(thread, "memory", order, one.scope, one.location, one.reads(), writes, one))
        yield events, way


class Candidate:
    """Events with the relations that do not depend on choices: program order, moral strength, barriers."""

    def __init__(self, test: Test, threads: list[list[Event]]) -> None:
        self.blocks = test.blocks
        initial = [Event(INITIAL, "memory", location=location, writes=True) for location in test.locations()]
        self.events = initial + [event for thread in threads for event in thread]
        self.initial = len(initial)
        self.indices = range(len(self.events))
        self.program_order = self.relation(lambda a, b: self.events[a].thread == self.events[b].thread and a < b)
        for index in range(self.initial):
            self.program_order[index] = 0
        self.strong = self.relation(self.are_morally_strong)
        self.same_location = self.relation(
            lambda a, b: a != b and self.events[a].location == self.events[b].location != ""
        )
        self.barriers = self.relation(self.barrier_joins)

    def relation(self, holds: Callable[[int, int], bool]) -> Relation:
        return [sum(1 << b for b in self.indices if holds(a, b)) for a in self.indices]

    def includes(self, one: Event, other: Event) -> bool:
        """Whether the scope of `one` includes the thread of `other` (ISA 8.5); one grid on one device."""
        return one.scope in ("gpu", "sys") or self.blocks[one.thread] == self.blocks[other.thread]

    def are_morally_strong(self, a: int, b: int) -> bool:
        """ISA 8.7: related in program order, or both strong and each in the other's scope."""
        one, other = self.events[a], self.events[b]
        if a == b or INITIAL in (one.thread, other.thread):
            return False
        if one.thread == other.thread:
            return True
        return one.is_strong() and other.is_strong() and self.includes(one, other) and self.includes(other, one)

    def barrier_joins(self, a: int, b: int) -> bool:
        """ISA 8.9.4: a bar.sync synchronizes with those on the same barrier; ASPLOS parts arrival and wait."""
        one, other = self.events[a], self.events[b]
        return (
            (one.kind, other.kind) == ("arrive", "wait")
            and one.number == other.number
            and self.blocks[one.thread] == self.blocks[other.thread]
        )

    def patterns(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Release patterns as (first operation, write), acquire patterns as (read, last operation): ISA 8.8.

        Each is: an operation by itself; or it and a strong access to the same location, after the release or before
        the acquire; or a fence in its place. fence.sc is a fence.acq_rel, too (ISA 9.7.13, membar and fence).
        """
        release, acquire = [], []
        for a in self.indices:
            one = self.events[a]
            is_fence = one.kind == "fence"  # of either kind: all are at least acq_rel
            if one.releases() and not is_fence:
                release.append((a, a))
            if one.acquires() and not is_fence:
                acquire.append((a, a))
            for b in self.indices:
                other = self.events[b]
                if other.kind != "memory" or not other.is_strong():
                    continue
                same = is_fence or one.location == other.location
                if self.program_order[a] >> b & 1 and other.writes and same and (is_fence or one.releases()):
                    release.append((a, b))
                is_reduction = other.source.op == "red"
                may_acquire = (is_fence or one.acquires()) and not is_reduction
                if self.program_order[b] >> a & 1 and other.reads and same and may_acquire:
                    acquire.append((b, a))
        return release, acquire


class Execution:
    """A candidate with its reads-from: values, and what follows from them."""

    def __init__(self, candidate: Candidate, sources: dict[int, int]) -> None:
        self.candidate = candidate
        self.sources = sources
        empty = [0] * len(candidate.events)
        self.reads_from = list(empty)
        for read, write in sources.items():
            self.reads_from[write] |= 1 << read
        self.strong_reads = [row & mask for row, mask in zip(self.reads_from, candidate.strong, strict=True)]

    def is_out_of_thin_air(self) -> bool:
        """ISA 8.10.4, as acyclic(rf + dep) of ASPLOS; dependencies through values and through guards."""
        events, dependencies = self.candidate.events, list(self.reads_from)
        for a in self.candidate.indices:
            for b in self.candidate.indices:
                if not self.candidate.program_order[a] >> b & 1 or not events[a].reads or not events[b].source:
                    continue
                used = {part for operand in events[b].source.operands for part in operand.split("+")}
                used |= {events[b].source.guard[0]} if events[b].source.guard else set()
                if events[a].source.register in used:
                    dependencies[a] |= 1 << b
        return not is_acyclic(dependencies)

    @cached_property
    def values(self) -> tuple[list[int], dict[str, int]]:
        """What each write wrote, and the registers. For executions that are not out of thin air."""
        events = self.candidate.events
        registers: dict[str, int] = {}
        setters = {events[i].source.register: i for i in self.candidate.indices if events[i].reads}

        @cache
        def old(index: int) -> int:
            return written(self.sources[index])

        @cache
        def written(index: int) -> int:
            source = events[index].source
            if source is None:
                return 0
            for part in "+".join(source.operands).split("+"):
                if part in setters:
                    registers[part] = old(setters[part])
            value = value_of(source.operands[-1], registers)
            return old(index) + value if source.op in ("add", "red") else value

        for name, index in setters.items():
            if name not in ("", "_"):
                registers[name] = old(index)
        return [written(i) if events[i].writes else 0 for i in self.candidate.indices], registers

    def went(self, way: Way, registers: dict[str, int]) -> bool:
        """Whether the values lead where the events assume."""
        for one, kind, holds in way:
            index = next((i for i in self.sources if self.candidate.events[i].source is one), None)
            if kind == "guard":
                if (registers.get(one.guard[0], NOT_READ) == one.guard[1]) != holds:
                    return False
            elif index is not None:
                old = self.values[0][self.sources[index]]
                if (old == value_of(one.operands[0], registers)) != holds:
                    return False
        return True

    def observation(self) -> Relation:
        """ISA 8.9.2: a morally strong reads-from, and on through read-modify-writes, which are one event here."""
        return closure(self.strong_reads)

    def causalities(self) -> Iterator[tuple[Relation, Relation]]:
        """Base causality order and causality order (ISA 8.9.5), for every Fence-SC order (ISA 8.9.3).

        All accesses are of one proxy, and the axioms ask for causality between overlapping operations only, so that
        the proxy-preserved order is the base causality order. Initial writes come before everything (ISA 8.2.6).
        """
        candidate, observation = self.candidate, self.observation()
        synchronizes = list(candidate.barriers)
        release, acquire = candidate.patterns()
        for (first, write), (read, last) in product(release, acquire):
            # ISA 8.9.4, 4th rule: moral strength is asked of the first operation and the last.
            if observation[write] >> read & 1 and candidate.strong[first] >> last & 1:
                synchronizes[first] |= 1 << last
        for index in range(candidate.initial):
            synchronizes[index] = (1 << len(candidate.events)) - (1 << candidate.initial)
        fences = [i for i in candidate.indices if candidate.events[i].is_fence_sc()]
        seen = set()
        for order in permutations(fences):
            if any(
                a > b and candidate.events[a].thread == candidate.events[b].thread for a, b in combinations(order, 2)
            ):
                continue
            fence_order = [0] * len(candidate.events)
            for a, b in combinations(order, 2):
                if candidate.strong[a] >> b & 1:
                    fence_order[a] |= 1 << b
            base = closure(union(candidate.program_order, synchronizes, fence_order))
            # Fence-SC (ISA 8.10.2): fence.sc are related by the base causality order if they are in any.
            if tuple(fence_order) in seen or any(row >> index & 1 for index, row in enumerate(base)):
                continue
            seen.add(tuple(fence_order))
            yield base, union(base, then(observation, base))

    def coherences(self, causality: Relation) -> Iterator[Relation]:
        """ISA 8.9.6: total over morally strong writes and those in causality order, which it follows (8.10.1)."""
        candidate = self.candidate
        by_location: dict[str, list[int]] = {}
        for index in candidate.indices:
            if candidate.events[index].writes:
                by_location.setdefault(candidate.events[index].location, []).append(index)
        seen = set()
        # The first of each list is the initial write, which comes first.
        for orders in product(*([(first, *o) for o in permutations(rest)] for first, *rest in by_location.values())):
            order = [0] * len(candidate.events)
            follows = True
            for a, b in (pair for one in orders for pair in combinations(one, 2)):
                follows &= not causality[b] >> a & 1
                if candidate.strong[a] >> b & 1 or causality[a] >> b & 1:
                    order[a] |= 1 << b
            order = closure(order)
            if follows and tuple(order) not in seen:
                seen.add(tuple(order))
                yield order

    def is_allowed(self, causality: Relation, coherence: Relation) -> bool:
        """The axioms Atomicity, SC per location and Causality (ISA 8.10.3, 8.10.5, 8.10.6)."""
        candidate = self.candidate
        from_reads = [0] * len(candidate.events)
        for read, write in self.sources.items():
            from_reads[read] = coherence[write] & ~(1 << read)
        for read, write in self.sources.items():
            if candidate.events[read].writes:
                between = coherence[write] & candidate.strong[read]
                if any(between >> w & 1 and coherence[w] >> read & 1 for w in candidate.indices):
                    return False
            # Causality: what comes before is not read from, and hides what is older.
            if causality[read] >> write & 1 or any(
                from_reads[read] >> w & 1 and causality[w] >> read & 1 for w in candidate.indices
            ):
                return False
        # ASPLOS: acyclic(strong[com] + po_loc). The ISA asks it of sets that are pairwise morally strong.
        communication = union(self.reads_from, coherence, from_reads)
        by_location = [
            (com & strong) | (order & same)
            for com, strong, order, same in zip(
                communication, candidate.strong, candidate.program_order, candidate.same_location, strict=True
            )
        ]
        return is_acyclic(by_location)

    def finals(self, coherence: Relation) -> Iterator[dict[str, int]]:
        """Final values: what the host reads, to which the end of the grid is before in causality order (ISA 8.9.4).

        It reads no write that has a later one, but any other: writes that race have no order, and no last one.
        """
        values = self.values[0]
        last: dict[str, set[int]] = {}
        for index in self.candidate.indices:
            if self.candidate.events[index].writes and coherence[index] == 0:
                last.setdefault(self.candidate.events[index].location, set()).add(values[index])
        for choice in product(*last.values()):
            yield dict(zip(last, choice, strict=True))

    def has_race(self, causality: Relation) -> bool:
        """ISA 8.7.1: conflicting, neither ordered by causality nor morally strong."""
        candidate = self.candidate
        for a, b in combinations(candidate.indices, 2):
            one, other = candidate.events[a], candidate.events[b]
            if candidate.same_location[a] >> b & 1 and (one.writes or other.writes):
                is_ordered = (causality[a] >> b | causality[b] >> a | candidate.strong[a] >> b) & 1
                if not is_ordered:
                    return True
        return False


def executions(test: Test) -> Iterator[tuple[Execution, dict[str, int]]]:
    """All candidates whose values agree with their reads-from, with their registers."""
    for combination in product(*(list(paths(*one)) for one in enumerate(test.threads))):
        candidate = Candidate(test, [events for events, _ in combination])
        events = candidate.events
        reads = [i for i in candidate.indices if events[i].reads]
        writes = [
            [w for w in candidate.indices if events[w].writes and candidate.same_location[w] >> read & 1]
            for read in reads
        ]
        for sources in product(*writes):
            execution = Execution(candidate, dict(zip(reads, sources, strict=True)))
            if execution.is_out_of_thin_air():
                continue
            _, registers = execution.values
            if all(execution.went(way, registers) for _, way in combination):
                yield execution, registers


def ask(test: Test) -> Answer:
    """The outcomes that the model allows, of executions that end."""
    if test != test.without_loops():
        answer = ask(test.without_loops())
        allowed = {one for one in answer.allowed if test.is_over(one)}
        return Answer(allowed, allowed & answer.without_load_buffering, answer.has_race)
    answer = Answer()
    unread = dict.fromkeys(test.registers(), NOT_READ)
    for execution, registers in executions(test):
        no_load_buffering = is_acyclic(union(execution.candidate.program_order, execution.reads_from))
        for _, causality in execution.causalities():
            for coherence in execution.coherences(causality):
                if not execution.is_allowed(causality, coherence):
                    continue
                outcomes = {outcome_text(test, unread | registers | last) for last in execution.finals(coherence)}
                answer.allowed |= outcomes
                answer.has_race |= execution.has_race(causality)
                if no_load_buffering:
                    answer.without_load_buffering |= outcomes
    return answer


def interleavings(test: Test) -> set[str]:
    """What sequential consistency allows: a search through all interleavings, apart from all of the above."""
    if test != test.without_loops():
        return {one for one in interleavings(test.without_loops()) if test.is_over(one)}
    outcomes, seen = set(), set()
    start = (tuple(0 for _ in test.threads), tuple((name, 0) for name in test.locations()), ())
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        counters, memory, registers = state[0], dict(state[1]), dict(state[2])
        following = [
            test.threads[t][counter] if counter < len(test.threads[t]) else None for t, counter in enumerate(counters)
        ]
        if not any(following):
            values = dict.fromkeys(test.registers(), NOT_READ) | registers | memory
            outcomes.add(outcome_text(test, values))
        for t, one in enumerate(following):
            if one is None:
                continue
            moving = [t]
            after, read = dict(memory), dict(registers)
            if one.op == "bar":
                moving = [u for u, block in enumerate(test.blocks) if block == test.blocks[t]]
                if any(following[u] is None or following[u].op != "bar" for u in moving):
                    continue
            elif one.op != "fence" and (not one.guard or registers.get(one.guard[0], NOT_READ) == one.guard[1]):
                old = memory[one.location]
                if one.writes() and (one.op != "cas" or old == value_of(one.operands[0], registers)):
                    new = value_of(one.operands[-1], registers)
                    after[one.location] = old + new if one.op in ("add", "red") else new
                if one.register:
                    read[one.register] = old
            moved = tuple(counter + (u in moving) for u, counter in enumerate(counters))
            waiting.append((moved, tuple(after.items()), tuple(sorted(read.items()))))
    return outcomes
