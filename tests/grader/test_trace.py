"""`trace` without a build: the accesses of textbook algorithms, made here, and what is said and drawn of them."""

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Scanlab
from made_results import cause, finding, part
from scanlab.judging.result import Finding
from scanlab.trace import floats, sums
from scanlab.trace.accesses import Access, Accesses, Addition, Elements, TracedArray, TracedLaunch, TracedPlace, Value
from scanlab.trace.floats import Floats
from scanlab.trace.model import Failure, Launch, Place, Trace
from scanlab.trace.record import Options, make_trace
from scanlab.trace.rows import MOST_ROWS, drawing_of
from scanlab.trace.sums import Names, Sum
from scanlab.trace.svg import svg
from scanlab.trace.terminal import lines, plain

SECTION = 64
"""Positions of the arrays here; the inputs are fewer."""


class Maker:
    """Makes the names of sums, as the engine does."""

    bytes = 8
    identity: Value = (0, 1)

    def __init__(self, n: int) -> None:
        self.inputs: list[Value] = [(i, 2) for i in range(n)]
        self.made: dict[tuple[Value, Value], Value] = {}

    def add(self, earlier: Value, later: Value) -> Value:
        if (earlier, later) not in self.made:
            self.made[earlier, later] = (len(self.made), 3)
        return self.made[earlier, later]

    def written(self) -> Elements:
        names = (self.identity, *self.inputs, *self.made.values())
        numbers = {name: number for number, name in enumerate(names)}
        sums = tuple(Addition(numbers.get(a), numbers.get(b), 1, 0, 0, 0) for a, b in self.made)
        return Elements(names=names, sums=sums, places=(Place(file="scan.cu", line=0),), looked_at=None)


class FloatMaker:
    """Adds floats."""

    bytes = 4
    identity: Value = (0,)

    def __init__(self, n: int) -> None:
        self.inputs = floats.inputs(n)

    def add(self, earlier: Value, later: Value) -> Value:
        numbers = [struct.unpack("<f", struct.pack("<I", value[0]))[0] for value in (earlier, later)]
        return struct.unpack("<I", struct.pack("<f", sum(numbers)))

    def written(self) -> None:
        return None


class Block:
    """A block that scans in shared memory, and reports what the tracer would."""

    def __init__(self, n: int, element: str = "affine") -> None:
        self.n = n
        self.elements = Maker(n) if element == "affine" else FloatMaker(n)
        self.inputs = self.elements.inputs
        self.memory: dict[tuple[int, int], Value] = {(0, i): x for i, x in enumerate(self.inputs)}
        self.barriers: list[int] = []
        self.accesses: list[Access] = []
        self.races: list[Finding] = []
        self.failure: Failure | None = None
        self.arrays = ["d_x, the input", "s_xy", "d_y, the output", "s_other"]

    def access(self, does: str, thread: int, array: int, element: int, line: int) -> None:
        size = self.elements.bytes
        value = self.memory[array, element]
        self.accesses.append(Access(does, len(self.barriers), 0, thread, array, element * size, size, line, value))

    def read(self, thread: int, array: int, element: int, line: int) -> Value:
        self.access("read", thread, array, element, line)
        return self.memory[array, element]

    def write(self, thread: int, array: int, element: int, line: int, value: Value) -> None:
        self.memory[array, element] = value
        self.access("write", thread, array, element, line)

    def barrier(self, line: int) -> None:
        self.barriers.append(line)

    def load(self) -> None:
        for t in range(SECTION):
            self.write(t, 1, t, 10, self.read(t, 0, t, 10) if t < self.n else self.elements.identity)

    def store(self) -> None:
        for t in range(self.n):
            self.write(t, 2, t, 90, self.read(t, 1, t, 90))

    def trace(self) -> Trace:
        size = self.elements.bytes
        counts = [self.n, SECTION, self.n, SECTION]
        arrays = tuple(
            TracedArray(name=name, space="shared" if name.startswith("s_") else "global", bytes=count * size)
            for name, count in zip(self.arrays, counts, strict=True)
        )
        launch = TracedLaunch(
            kernel="scan_kernel",
            grid=(1, 1, 1),
            block=(SECTION, 1, 1),
            has_block=True,
            has_shuffles=False,
            arrays=arrays,
            places=tuple(TracedPlace(file="scan.cu", line=line) for line in range(100)),
            barriers=tuple(self.barriers),
            accesses=tuple(self.accesses),
            left_out=0,
        )
        accesses = Accesses(
            launches=(launch,),
            elements=self.elements.written(),
            races=tuple(self.races),
            failure=self.failure,
            printed="",
        )
        return make_trace(accesses, Path("scan.cu"), None, Options(n=self.n))


def kogge_stone(block: Block, add: Callable[[Any, Any], Any] | None = None) -> Block:
    add = add or block.elements.add
    block.load()
    stride = 1
    while stride < SECTION:
        block.barrier(20)
        kept = {}
        for t in range(SECTION):
            own = block.read(t, 1, t, 21)
            kept[t] = add(block.read(t, 1, t - stride, 22), own) if t >= stride else own
        block.barrier(23)
        for t in range(SECTION):
            block.write(t, 1, t, 24, kept[t])
        stride *= 2
    block.store()
    return block


def brent_kung(block: Block) -> Block:
    block.load()
    strides = [2**k for k in range(SECTION.bit_length() - 1)]
    for stride in strides:
        block.barrier(20)
        for thread, p in enumerate(range(2 * stride - 1, SECTION, 2 * stride)):
            left, own = block.read(thread, 1, p - stride, 21), block.read(thread, 1, p, 21)
            block.write(thread, 1, p, 21, block.elements.add(left, own))
    for stride in reversed(strides[:-1]):
        block.barrier(30)
        for thread, p in enumerate(range(2 * stride - 1, SECTION - stride, 2 * stride)):
            left, own = block.read(thread, 1, p, 31), block.read(thread, 1, p + stride, 31)
            block.write(thread, 1, p + stride, 31, block.elements.add(left, own))
    block.barrier(40)
    block.store()
    return block


def drawn(trace: Trace) -> list[list[str]]:
    """What the positions hold in each row that is drawn."""
    return [[row.cells[p].text for p in sorted(row.cells)] for row in drawing_of(trace.launches[0]).rows]


def span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}…{last}"


# By the algorithms' definitions alone: no values, and nothing of the code above.


def kogge_stone_ranges(n: int) -> list[list[str]]:
    """After k steps a position has the 2^k inputs that end with its own, or all there are."""
    steps = range((n - 1).bit_length() + 1)
    return [[span(max(0, p - 2**k + 1), p) for p in range(n)] for k in steps]


def brent_kung_ranges(n: int) -> list[list[str]]:
    """Going up, p + 1 = odd * 2^k holds 2^min(k, level) inputs; going down, whoever ends a part of 2^level has all."""
    rows = []
    levels = n.bit_length() - 1
    for level in range(levels + 1):
        size = [min((p + 1) & -(p + 1), 2**level) for p in range(n)]
        rows.append([span(p - size[p] + 1, p) for p in range(n)])
    for level in range(levels - 2, -1, -1):
        rows.append(
            [
                span(0, p) if (p + 1) % 2**level == 0 or (p + 1) & p == 0 else span(p + 1 - ((p + 1) & -(p + 1)), p)
                for p in range(n)
            ]
        )
    return rows


@pytest.mark.parametrize("n", [1, 2, 8, 13, 16])
def test_the_ranges_of_kogge_stone(n: int) -> None:
    assert drawn(kogge_stone(Block(n)).trace()) == kogge_stone_ranges(n)


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_the_ranges_of_brent_kung(n: int) -> None:
    assert drawn(brent_kung(Block(n)).trace()) == brent_kung_ranges(n)


@pytest.mark.parametrize("n", [8, 16])
def test_floats_show_the_same_ranges(n: int) -> None:
    trace = kogge_stone(Block(n, "float")).trace()
    assert drawn(trace) == kogge_stone_ranges(n)
    assert trace.notes == ["floats: in which order they were added cannot be seen"]


def test_a_wire_leads_from_every_position_that_was_added() -> None:
    drawing = drawing_of(kogge_stone(Block(8)).trace().launches[0])
    adding = {(w.to_row, w.to_position, w.from_row, w.from_position) for w in drawing.wires if w.adds}
    expected = {(k + 1, p, k, q) for k in range(3) for p in range(2**k, 8) for q in (p, p - 2**k)}
    assert adding == expected
    assert [row.additions for row in drawing.rows] == [0, 7, 6, 4]
    assert drawing.stored == "s_xy"


def test_wires_of_a_position_that_rests_begin_at_the_last_row_before() -> None:
    drawing = drawing_of(brent_kung(Block(8)).trace().launches[0])
    assert all(wire.to_row == wire.from_row + 1 for wire in drawing.wires)
    assert sum(row.additions for row in drawing.rows) == 2 * 8 - 2 - 3


def test_positions_and_threads_without_inputs_are_left_out_and_counted() -> None:
    launch = brent_kung(Block(8)).trace().launches[0]
    assert [(array.name, array.first, array.last) for array in launch.arrays][1] == ("s_xy", 0, 7)
    assert f"{SECTION - 8} more positions of s_xy: not drawn" in launch.notes
    assert launch.idle_threads == SECTION - 8
    assert all(write.element < 8 for interval in launch.intervals for write in interval.writes)


def held(block: Block) -> tuple[dict[str, Sum | None], list[str]]:
    trace = block.trace()
    writes = [write for interval in trace.launches[0].intervals for write in interval.writes]
    return {f"{write.array}[{write.element}]": write.runs for write in writes}, trace.launches[0].notes


def test_an_input_that_counts_twice_is_noted() -> None:
    block = Block(4)
    kogge_stone(block, lambda left, own: block.elements.add(block.elements.add(left, own), own))
    trace = block.trace()
    assert drawn(trace)[1] == ["0", "0…1+1", "1…2+2", "2…3+3"]
    assert "s_xy[1], line 24, thread 1: x0…x1 + x1: x1 counts twice" in trace.launches[0].notes


def test_swapped_operands_are_noted() -> None:
    block = Block(2)
    kogge_stone(block, lambda left, own: block.elements.add(own, left))
    found, notes = held(block)
    assert found["s_xy[1]"] == [(1, 1), (0, 0)]
    assert "s_xy[1], line 24, thread 1: x1 + x0: x0 comes after x1: out of order" in notes


def test_a_gap_is_noted() -> None:
    block = Block(3)
    block.load()
    block.write(2, 1, 2, 20, block.elements.add(block.read(2, 1, 0, 20), block.read(2, 1, 2, 20)))
    block.store()
    found, notes = held(block)
    assert found["d_y[2]"] == [(0, 0), (2, 2)]
    assert "s_xy[2], line 20, thread 2: x0 + x2: x1 is missing" in notes


def test_what_is_no_sum_of_inputs_is_noted() -> None:
    block = Block(3)
    block.load()
    block.barrier(19)
    block.write(1, 1, 1, 20, (12345, 678))
    block.store()
    found, notes = held(block)
    assert found["s_xy[1]"] is None
    assert "s_xy[1], line 20, thread 1: no sum of inputs" in notes
    assert drawn(block.trace())[1] == ["0", "?", "2"]


def test_a_sum_that_came_by_registers_has_no_wire() -> None:
    block = Block(3)
    block.load()
    block.barrier(19)
    block.write(2, 1, 2, 20, block.elements.add(block.inputs[0], block.inputs[1]))
    block.store()
    trace = block.trace()
    assert drawn(trace)[1] == ["0", "1", "0…1"]
    assert "1 value came by registers: no wire leads there" in trace.launches[0].notes


def race(*steps: tuple[str, int]) -> Finding:
    parts = [part(does, line) for does, line in steps]
    text = "RACE (write-after-read): s_xy[0]"
    seen = finding("race.shared", parts, kernel="scan_kernel", variable="s_xy", text=text)
    return Finding(**{name: value for name, value in seen if name != "checks"})


def racing(n: int = 4) -> Trace:
    """One step in which thread t reads its left neighbour's position, which that thread writes."""
    block = Block(n)
    block.load()
    block.barrier(20)
    kept = {t: block.elements.add(block.read(t, 1, t - 1, 22), block.read(t, 1, t, 21)) for t in range(1, n)}
    for t in range(1, n):
        block.write(t, 1, t, 24, kept[t])
    block.store()
    block.races = [race(("read", 22), ("write", 24))]
    return block.trace()


def test_a_race_is_marked_where_it_is_and_nowhere_else() -> None:
    trace = racing()
    interval = trace.launches[0].intervals[1]
    # Position 3 is read by its own thread only, and position 0 is not written.
    assert [write.element for write in interval.writes if write.race] == [1, 2]
    assert [(read.thread, read.element) for read in interval.reads if read.race] == [(2, 1), (3, 2)]
    assert {(w.from_position, w.to_position) for w in drawing_of(trace.launches[0]).wires if w.race} == {(1, 2), (2, 3)}


def test_races_are_seen_without_colour_and_are_red_in_the_picture() -> None:
    trace = racing()
    text = plain(lines(trace, 80))
    assert re.search(r"^race +! ! !$", re.sub(r" +", " ", text), re.MULTILINE)
    assert "RACE (write-after-read)" in text
    assert svg(trace).count("stroke='#c62828'") >= 5
    assert "#c62828" not in svg(kogge_stone(Block(4)).trace())


def test_a_call_that_ends_badly_is_drawn_as_far_as_it_came() -> None:
    block = Block(4)
    block.load()
    why = cause("inclusive scan", actual="read of 8 bytes outside shared array s_xy")
    block.failure = Failure(verdict="fail", cause=why)
    trace = block.trace()
    assert drawn(trace) == [["0", "1", "2", "3"]]
    for text in (plain(lines(trace, 80)), svg(trace)):
        assert "read of 8 bytes outside shared array s_xy" in text


def test_a_loop_without_end_is_cut_off() -> None:
    block = Block(2)
    block.load()
    for _ in range(100):
        block.barrier(20)
        block.write(1, 1, 1, 21, block.elements.add(block.read(1, 1, 0, 21), block.read(1, 1, 1, 21)))
    block.store()
    trace = block.trace()
    drawing = drawing_of(trace.launches[0])
    assert (len(drawing.rows), drawing.cut_off) == (MOST_ROWS, 101 - MOST_ROWS)
    assert f"… {drawing.cut_off} more steps …" in plain(lines(trace, 80))
    assert all(len(write.runs or []) <= sums.KEPT_RUNS for i in trace.launches[0].intervals for write in i.writes)


def test_numbers_are_shown_as_numbers() -> None:
    block = Block(2)
    block.load()
    for thread, count in ((0, 3), (1, -4)):
        block.accesses.append(Access("write", 0, 0, thread, 3, 4 * thread, 4, 50, (count & 0xFFFF_FFFF,)))
    block.store()
    rows = {row.array.name: row for row in drawing_of(block.trace().launches[0]).rows}
    assert [cell.text for cell in rows["s_other"].cells.values()] == ["3", "-4"]
    assert rows["s_other"].array.holds == "numbers"


def test_memory_that_no_thread_has_written_is_called_old() -> None:
    block = Block(2)
    block.load()
    block.barrier(19)
    block.memory[3, 0] = (0xFEFEFEFE, 0xFEFEFEFE)
    block.write(1, 1, 1, 20, block.read(1, 3, 0, 20))
    block.store()
    trace = block.trace()
    assert drawn(trace)[1][1] == "old"
    assert "s_xy[1], line 20, thread 1: memory that no thread has written" in trace.launches[0].notes


# ---- sums -----------------------------------------------------------------------------------------------------------


runs = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)).map(lambda pair: (min(pair), max(pair))), max_size=3)


def added(maker: Maker | FloatMaker, wanted: list[tuple[int, int]]) -> Value:
    value = maker.identity
    for first, last in wanted:
        for i in range(first, last + 1):
            value = maker.add(value, maker.inputs[i])
    return value


@settings(max_examples=40)
@given(runs)
def test_a_name_says_what_it_is_the_sum_of(wanted: list[tuple[int, int]]) -> None:
    maker = Maker(16)
    value = added(maker, wanted)
    assert Names(maker.written()).total(value) == sums.joined([tuple(wanted)])


def test_what_is_no_name_is_no_sum_nor_what_is_made_of_it() -> None:
    maker = Maker(4)
    half = (maker.inputs[1][0], maker.identity[1])
    mixed, whole = maker.add(half, maker.inputs[2]), maker.add(maker.inputs[0], maker.inputs[1])
    names = Names(maker.written())
    for value in (half, mixed, maker.inputs[0][:1]):
        assert names.total(value) is None
    assert [names.is_element(value) for value in (half, (7, 7), mixed, whole)] == [True, False, True, True]
    assert names.parts(half, [half], []) == [half]
    assert names.parts(half, [], [mixed]) == []
    assert names.parts(mixed, [maker.inputs[2], half], []) == [half, maker.inputs[2]]
    assert names.parts(mixed, [maker.inputs[2]], []) == []


def test_the_parts_of_a_sum_are_what_the_thread_has_read() -> None:
    maker = Maker(5)
    x0, x1, x2, x3, _ = maker.inputs
    pair = maker.add(x0, x1)
    whole = maker.add(maker.add(maker.identity, pair), maker.add(x2, x3))
    names = Names(maker.written())
    assert names.parts(whole, [x3, x2, x1, x0], []) == [x0, x1, x2, x3]
    assert names.parts(whole, [x3, x2], [pair, x1, x0]) == [pair, x2, x3]
    assert names.parts(whole, [x3], [whole, x2, pair]) == [pair, x2, x3]  # what is fresh was used,
    assert names.parts(whole, [maker.inputs[4]], [whole, x3, x2, pair]) == [whole]  # and this was not
    assert names.parts(whole, [x3, x2], [x1]) == []  # x0 has come by a register
    assert names.parts(maker.identity, [], []) == []


def test_adding_the_identity_changes_nothing() -> None:
    maker = Maker(2)
    none, (x0, x1) = maker.identity, maker.inputs
    same, nothing = maker.add(none, maker.add(x0, none)), maker.add(none, none)
    whole = maker.add(same, maker.add(x1, nothing))
    names = Names(maker.written())
    assert [names.total(value) for value in (same, nothing, whole)] == [((0, 0),), (), ((0, 1),)]
    assert names.parts(same, [x0], []) == [x0]
    assert names.parts(same, [x0, none], []) == [none, x0]  # here it was read, and above a constant
    assert names.parts(whole, [x1, x0], []) == [x0, x1]
    assert names.parts(nothing, [], []) == []


def test_a_long_sum_in_a_register_is_not_taken_apart() -> None:
    maker = Maker(1000)
    value = added(maker, [(0, 999)])
    names = Names(maker.written())
    assert names.parts(value, maker.inputs, []) == []
    assert names.total(value) == ((0, 999),)


@settings(max_examples=20)
@given(st.integers(0, 15), st.integers(0, 15))
def test_the_sums_of_floats_are_found_by_their_values(first: int, last: int) -> None:
    maker, first, last = FloatMaker(16), min(first, last), max(first, last)
    once, twice = added(maker, [(first, last)]), added(maker, [(first, last), (last, last)])
    assert Floats(16).total(once) == ((first, last),)
    assert Floats(16).total(twice) == ((first, last), (last, last))
    assert Floats(16).parts(twice, [once], [maker.inputs[last]]) in ([once, maker.inputs[last]], [once, once])


def test_runs_of_many_floats_are_found() -> None:
    maker = FloatMaker(1000)
    value = added(maker, [(17, 799)])
    assert Floats(1000).total(value) == ((17, 799),)
    assert Floats(1000).total(maker.add(value, maker.inputs[3])) is None


def test_a_sum_of_floats_that_was_read_in_parts_is_known() -> None:
    maker = FloatMaker(1000)
    parts = [added(maker, [run]) for run in ((5, 9), (2, 3), (3, 7))]
    value = maker.add(maker.add(parts[0], parts[1]), parts[2])
    known = Floats(1000)
    assert known.parts(value, parts, []) == parts
    assert known.total(value) == ((2, 9), (3, 3), (5, 7))


def test_sums_as_text() -> None:
    assert sums.text(((3, 5), (5, 5))) == "x3…x5 + x5"
    assert sums.text(()) == "identity"
    assert sums.short(((0, 0), (2, 3), (9, 9))) == "0+2…3+…"
    assert sums.joined([((5, 5),), ((6, 7),), ((7, 7),)]) == ((5, 7), (7, 7))


# ---- text and picture -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 40, 80, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    for block in (kogge_stone(Block(16)), brent_kung(Block(16))):
        text = plain(lines(block.trace(), width))
        drawn_lines = [line for line in text.splitlines() if re.match(r"(reads|holds|thread) ", line)]
        assert drawn_lines
        assert max(map(len, drawn_lines)) <= max(width, 40)
        assert ("more positions to the right" in text) == (width < 80)


def test_the_terminal_shows_who_read_what() -> None:
    text = plain(lines(brent_kung(Block(8)).trace(), 80))
    step = text[text.index("s_xy, after barrier 2") :].splitlines()
    assert step[0] == "s_xy, after barrier 2, line 21, 2 additions"
    assert step[1].split() == ["thread", "0", "1"]
    assert step[2].split() == ["reads", "1+3", "5+7"]
    assert step[3].split() == ["holds", "0", "0…1", "2", "0…3", "4", "4…5", "6", "4…7"]


def test_the_picture_is_well_formed_and_says_all_in_words_too() -> None:
    trace = brent_kung(Block(16)).trace()
    picture = svg(trace)
    assert picture == svg(trace)
    root = ElementTree.fromstring(picture)
    name = "{http://www.w3.org/2000/svg}"
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    assert len(root.findall(f"{name}circle")) >= 2 * 16 - 2 - 4
    for line in root.findall(f"{name}line"):
        assert all(0 <= float(line.get(key, "-1")) <= width for key in ("x1", "x2"))
        assert all(0 <= float(line.get(key, "-1")) <= height for key in ("y1", "y2"))
    assert "14: 0…14" in (root.findtext(f"{name}desc") or "")


def test_names_cannot_break_the_picture() -> None:
    block = Block(2)
    block.arrays[1] = "s_<b>&'"
    ElementTree.fromstring(svg(kogge_stone(block).trace()))


def test_the_json_can_be_read_back() -> None:
    trace = racing()
    written = trace.model_dump(by_alias=True)
    assert (written["schema"], written["version"]) == ("scanlab-trace", 1)
    assert Trace.model_validate(written) == trace
    interval = written["launches"][0]["intervals"][1]
    assert interval["begins"] == {"file": "scan.cu", "line": 20}
    assert interval["holds"][0] == {"array": "s_xy", "first": 0, "cells": ["0", "0…1", "1…2", "2…3"]}
    assert interval["writes"][0]["sources"] == [
        {"array": "s_xy", "element": 0, "write": 0, "race": False},
        {"array": "s_xy", "element": 1, "write": 1, "race": False},
    ]


def test_a_launch_without_the_block_says_so() -> None:
    shape = {"grid": (1, 1, 1), "block_size": (32, 1, 1)}
    launch = Launch(
        number=1, kernel="k", traced=False, arrays=[], before=[], intervals=[], idle_threads=0, notes=[], **shape
    )
    trace = kogge_stone(Block(2)).trace().model_copy(update={"launches": [launch], "block": 4})
    assert "the launch has no such block" in plain(lines(trace, 80))
    ElementTree.fromstring(svg(trace))


# ---- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["99"], "no lab is called '99'"),
        (["no/such/file.cu"], "does not exist"),
        (["02", "--entry", "compact"], "02_kogge_stone has inclusive_scan and exclusive_scan"),
        (["02", "--svg", "no/such/folder/a.svg"], "its folder does not exist"),
        (["02", "--html", "no/such/folder/a.html"], "its folder does not exist"),
        (["a.cu", "b.cu"], "name a lab and a file, or one file"),
        (["02", "--n", "40001"], "--n"),
        (["02", "--launch", "0"], "--launch"),
    ],
)
def test_wrong_words_are_usage_errors(scanlab: Scanlab, words: list[str], said: str) -> None:
    done = scanlab("trace", *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_that_does_not_compile_shows_the_compilers_words(scanlab: Scanlab, tmp_path: Path) -> None:
    (tmp_path / "scan.cu").write_text("SYNTAX ERROR\n")
    done = scanlab("trace", tmp_path / "scan.cu")
    assert done.returncode == 1
    assert 'identifier "oops" is undefined' in done.stderr


def test_what_is_not_a_number_is_a_float_all_the_same() -> None:
    block = Block(4, "float")
    nan: Value = (0x7FC00000,)
    block.memory[0, 1] = nan
    block.load()
    block.barrier(20)
    block.write(1, 1, 1, 24, block.read(1, 1, 1, 21))
    block.store()
    cells = [row.cells for interval in block.trace().launches[0].intervals for row in interval.holds]
    assert cells
