"""Traces of real kernels: the solutions', and those with a typical mistake."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scanlab.labs.folders import all_labs, find_lab
from scanlab.trace.model import Trace
from scanlab.trace.record import Options, record, shown_call
from scanlab.trace.rows import drawing_of
from scanlab.trace.svg import svg
from scanlab.trace.terminal import lines, plain


def trace_of(lab: str, n: int = 8, entry: str = "", **options: int) -> Trace:
    found = find_lab(lab)
    return record(found, found.solution, Options(entry or found.rubric.entries[0], n, **options))


def wrong(folder: Path, lab: str, *changes: tuple[str, str], n: int = 8) -> Trace:
    """The trace of a solution with `changes`, each a line's text and what replaces it."""
    found = find_lab(lab)
    text = found.solution.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "scan.cu"
    path.write_text(text, encoding="utf-8")
    return record(found, path, Options(n=n))


def drawn(trace: Trace) -> list[list[str]]:
    return [[row.cells[p].text for p in sorted(row.cells)] for row in drawing_of(trace.launches[0]).rows]


def span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}…{last}"


@pytest.mark.parametrize("n", [8, 16])
@pytest.mark.parametrize("lab", ["02", "03"])
def test_kogge_stone(lab: str, n: int) -> None:
    """After k steps a position has the 2^k inputs that end with its own, or all there are."""
    steps = range(n.bit_length())
    assert drawn(trace_of(lab, n)) == [[span(max(0, p - 2**k + 1), p) for p in range(n)] for k in steps]


@pytest.mark.parametrize("n", [8, 16])
def test_brent_kung(n: int) -> None:
    """A level of stride s adds where (p + 1) % (2s) == 0, going up; and a stride to the right of these, going down."""
    first = list(range(n))  # a position has all inputs from here on, up to its own
    rows = [[span(first[p], p) for p in range(n)]]
    up = [2**k for k in range(n.bit_length() - 1)]
    for stride in up:
        first = [first[p - stride] if (p + 1) % (2 * stride) == 0 else first[p] for p in range(n)]
        rows.append([span(first[p], p) for p in range(n)])
    for stride in reversed(up[:-1]):
        given = [p >= stride and (p - stride + 1) % (2 * stride) == 0 for p in range(n)]
        first = [0 if given[p] else first[p] for p in range(n)]
        rows.append([span(first[p], p) for p in range(n)])
    assert drawn(trace_of("04", n)) == rows


def test_threads_and_lines_are_those_of_the_source() -> None:
    trace = trace_of("04", 8)
    source = find_lab("04").solution.read_text(encoding="utf-8").splitlines()
    interval = trace.launches[0].intervals[1]
    assert [(write.thread, write.element) for write in interval.writes] == [(0, 1), (1, 3), (2, 5), (3, 7)]
    assert all("s_xy[p] = s_xy[p - stride] + s_xy[p];" in source[write.line - 1] for write in interval.writes)
    assert interval.begins is not None
    assert "__syncthreads();" in source[interval.begins.line - 1]


def test_an_exclusive_scan_begins_with_the_identity() -> None:
    trace = trace_of("02", 4, "exclusive_scan")
    assert drawn(trace)[0] == ["0", "1", "2"]  # d_x, since it is taken from another position
    assert drawn(trace)[1] == ["id", "0", "1", "2"]
    assert drawn(trace)[-1] == ["id", "0", "0…1", "0…2"]


@pytest.mark.parametrize("entry", ["inclusive_scan", "exclusive_scan", "compact", "split"])
@pytest.mark.parametrize("lab", [lab.name for lab in all_labs()])
def test_every_solution_gives_a_trace_without_a_fault(lab: str, entry: str) -> None:
    if entry not in find_lab(lab).rubric.entries:
        return
    for n in (0, 1, 16):
        trace = trace_of(lab, n, entry)
        assert trace.failure is None
        assert trace.races == ()
        assert plain(lines(trace, 80))
        assert svg(trace).endswith("</svg>\n")
        last = {
            w.element: w.runs
            for launch in trace.launches
            for i in launch.intervals
            for w in i.writes
            if w.array == "d_y"
        }
        if "scan" in entry and n:
            ends = range(n) if entry == "inclusive_scan" else range(-1, n - 1)
            assert last == {p: [(0, end)] if end >= 0 else [] for p, end in enumerate(ends)}


def test_several_kernels_and_other_blocks() -> None:
    trace = trace_of("06", 2500, block=1)
    assert [(launch.kernel, launch.traced) for launch in trace.launches] == [
        ("section_kernel", True),
        ("section_kernel", False),
        ("add_kernel", True),
    ]
    add = drawing_of(trace.launches[2])
    assert add.rows[-1].cells[2048].text == "0…2048"
    assert len(trace_of("06", 2500, launch=3).launches) == 1


def test_what_shuffles_pass_is_said_to_be_missing() -> None:
    notes = trace_of("08", 16).launches[0].notes
    assert any(
        re.match(r"\d+ values came by shuffles, or were added up in registers: no wires lead there", n) for n in notes
    )


def test_a_missing_barrier_is_drawn_as_a_race(tmp_path: Path) -> None:
    barrier = "__syncthreads();  // write-after-read"
    trace = wrong(tmp_path, "02", (barrier, "// write-after-read"))
    assert "write-after-read" in {race.kind for race in trace.races}
    step = drawing_of(trace.launches[0]).rows[1]
    assert all(step.cells[p].race for p in range(8))
    assert any(wire.race for wire in drawing_of(trace.launches[0]).wires)
    assert "RACE" in svg(trace)


def test_adding_twice_is_noted(tmp_path: Path) -> None:
    trace = wrong(tmp_path, "02", ("s_xy[t - stride] + sum;", "s_xy[t - stride] + sum + sum;"))
    assert drawn(trace)[1][1] == "0…1+1"
    assert any(note.endswith("x0…x1 + x1: x1 counts twice") for note in trace.launches[0].notes)


def test_a_wrong_stride_leaves_gaps(tmp_path: Path) -> None:
    trace = wrong(tmp_path, "02", ("stride *= 2", "stride *= 3"))
    assert drawn(trace)[2][3] == "0+2…3"
    assert any(note.endswith("x0 + x2…x3: x1 is missing") for note in trace.launches[0].notes)


def test_swapped_operands_are_noted(tmp_path: Path) -> None:
    trace = wrong(tmp_path, "02", ("s_xy[t - stride] + sum;", "sum + s_xy[t - stride];"))
    assert drawn(trace)[1][1] == "1+0"


def test_a_fault_stands_below_what_came_before(tmp_path: Path) -> None:
    trace = wrong(tmp_path, "02", ("if (t >= stride) sum", "sum"))
    assert drawn(trace) == [[str(p) for p in range(8)]]
    assert trace.failure is not None
    assert "read of 8 bytes outside shared array s_xy" in trace.failure.cause.actual
    assert trace.failure.cause.id == "bounds.shared"
    printed = plain(lines(trace, 80)).splitlines()
    assert any(line.startswith("FAIL 02_kogge_stone: inclusive scan of affine maps") for line in printed[-8:])


def test_a_loop_without_end_is_drawn_as_far_as_it_came(tmp_path: Path) -> None:
    trace = wrong(tmp_path, "02", ("stride *= 2", "stride *= 1"))
    assert trace.failure is not None
    assert trace.failure.verdict == "timeout"
    assert drawn(trace)[1][1] == "0…1"
    assert any(note.startswith("it goes on: ") for note in trace.launches[0].notes)


def test_what_the_compiler_drops_is_not_there(tmp_path: Path) -> None:
    """A skeleton stores into shared memory what no thread reads."""
    text = find_lab("02").solution.read_text(encoding="utf-8")
    steps = text[text.index("  // >>> your code") : text.index("  // <<< your code")]
    trace = wrong(tmp_path, "02", (steps, ""))
    assert drawn(trace) == []
    assert "nothing was written that can be drawn: the compiler drops what is never read" in plain(lines(trace, 80))


def test_a_sum_in_a_register_leads_back_to_all_that_was_read(tmp_path: Path) -> None:
    """One thread reads and adds five elements, and stores nothing before the sum is complete."""
    path = tmp_path / "scan.cu"
    path.write_text(
        """#include "scanlab.cuh"
__global__ void scan_kernel(const Element* d_x, Element* d_y, int n) {
  Element sum = identity();
  for (int i = 0; i < n; ++i) sum = sum + d_x[i];
  d_y[0] = sum;
}
void inclusive_scan(const Element* d_x, Element* d_y, int n) { scan_kernel<<<1, 1>>>(d_x, d_y, n); }
void exclusive_scan(const Element*, Element*, int) {}
"""
    )
    (write,) = [w for i in record(None, path, Options(n=5)).launches[0].intervals for w in i.writes]
    assert [(source.array, source.element) for source in write.sources] == [("d_x", i) for i in range(5)]
    assert (write.runs, write.adds) == ([(0, 4)], True)


def test_halves_of_two_elements_are_no_element(tmp_path: Path) -> None:
    trace = wrong(tmp_path, "02", ("d_y[i] = s_xy[t];", "d_y[i] = Element{s_xy[t].a, d_x[(i + 1) % n].b};"))
    assert [row.cells[1].text for row in drawing_of(trace.launches[0]).rows if row.array.name == "d_y"] == ["?"]
    assert any(re.match(r"d_y\[0\], line \d+, thread 0: no sum of inputs", n) for n in trace.launches[0].notes)
    assert drawn(trace)[2][1] == "0…1"  # though halves of it are read


def test_a_program_that_looks_at_elements_is_told_so(tmp_path: Path) -> None:
    own = "{s_xy[t - stride].a * sum.a, sum.a * s_xy[t - stride].b + sum.b};"
    trace = wrong(tmp_path, "02", ("s_xy[t - stride] + sum;", own))
    assert drawn(trace)[1][1] == "?"
    (note,) = trace.notes
    assert re.match(r".*scan\.cu:\d+ looks at what an element is: here it is a name without a meaning", note)


def test_an_odd_sum_is_noted_with_the_line_of_its_addition(tmp_path: Path) -> None:
    trace = wrong(tmp_path, "02", ("s_xy[t - stride] + sum;", "s_xy[t - stride] + sum + sum;"))
    source = (tmp_path / "scan.cu").read_text(encoding="utf-8").splitlines()
    note = next(n for n in trace.launches[0].notes if n.startswith("s_xy[1]"))
    found = re.match(r"s_xy\[1\], line (\d+) \(added in line (\d+)\), thread 1: ", note)
    assert found
    assert "s_xy[t] = sum;" in source[int(found[1]) - 1]
    assert "+ sum + sum;" in source[int(found[2]) - 1]


def test_the_look_back_is_seen_between_blocks_and_elements_among_the_other_data_of_a_structure() -> None:
    lab = find_lab("11")
    trace = record(lab, lab.solution, replace(shown_call(lab, "inclusive_scan"), with_neighbours=True))
    (launch,) = trace.launches
    tile, block = 4608, 2
    source = lab.solution.read_text(encoding="utf-8").splitlines()

    # The block has tile 2. What it loads and stores by the course's header has the learner's line that asks for it.
    (shared,) = [one for one in launch.arrays if one.space == "shared"]
    assert (shared.holds, shared.first) == ("elements", 0)
    stores = [write for interval in launch.intervals for write in interval.writes if write.array == "d_y"]
    assert [write.element for write in stores] == list(range(2 * tile, 2 * tile + 32))
    assert [write.runs for write in stores] == [[(0, write.element)] for write in stores]
    assert all("scanlab::store_tile(" in source[write.line - 1] for write in stores)
    loaded, *_, stored = launch.intervals
    assert all(write.text == str(write.element + 2 * tile) for write in loaded.writes)
    assert {write.array for write in stored.writes} == {"d_y"}

    # Of each tile the aggregate is published (tag 2, of the first call) and then the prefix (3), each in two halves.
    talks = [talk for talk in launch.talks if talk.text.startswith("half of")]
    written = [talk.text for talk in talks if talk.does == "write" and talk.block == block]
    assert written == [f"half of {tile * 2}…{tile * 3 - 1} and 2"] * 2 + [f"half of 0…{tile * 3 - 1} and 3"] * 2
    for at, talk in enumerate(talks):
        if talk.does == "read":
            place = (talk.array, talk.element)
            latest = [one.text for one in talks[:at] if one.does == "write" and (one.array, one.element) == place][-1]
            assert talk.text == latest
            assert "status[tile].words[k]" in source[talk.line - 2]
    assert {talk.block for talk in talks if talk.does == "read"} >= {1, block}


def test_a_line_of_another_file_is_no_line_of_the_traced_one(tmp_path: Path) -> None:
    (tmp_path / "own.cuh").write_text(
        "#pragma once\n\n\n\n__device__ void put(int* p, int v) { *p = v; }\n"
        "__global__ void alone(int* p) { p[threadIdx.x] = 1; }\n"
    )
    path = tmp_path / "scan.cu"
    path.write_text(
        '#include "scanlab.cuh"\n#include "own.cuh"\n'
        "__global__ void here(int* p) {\n  put(p + threadIdx.x, 7);\n}\n"
        "void inclusive_scan(const Element* d_x, Element* d_y, int n) {\n"
        "  here<<<1, 4>>>(reinterpret_cast<int*>(d_y));\n  alone<<<1, 4>>>(reinterpret_cast<int*>(d_y));\n}\n"
    )
    here, alone = record(None, path, Options(n=4)).launches
    assert {write.line for interval in here.intervals for write in interval.writes} == {4}
    assert {write.line for interval in alone.intervals for write in interval.writes} == {0}
