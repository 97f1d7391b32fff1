"""What a warp's instruction costs, against values by hand, and against the numbers of the handouts."""

import re

import pytest

from pages import traced
from scanlab.paths import ROOT
from scanlab.trace.accesses import Access
from scanlab.trace.costs import as_floats, instructions, replays, sectors


def warp(stride: int, size: int = 4, lanes: range = range(32), first: int = 0) -> dict[int, tuple[int, int]]:
    """What lanes touch that lie `stride` bytes apart."""
    return {lane: (first + lane * stride, size) for lane in lanes}


@pytest.mark.parametrize(
    ("touched", "expected"),
    [
        (warp(4), 0),  # neighbours: a word a bank
        (warp(0), 0),  # one word for all
        (warp(8), 1),  # every second word: 16 banks with two words each
        (warp(16), 3),
        (warp(32), 7),
        (warp(128), 31),  # all in one bank
        (warp(132), 0),  # a word of padding a row
        (warp(12), 0),  # odd strides meet in no bank
        (warp(128, lanes=range(3)), 2),
        (warp(8, size=8), 0),  # 8 bytes a lane are taken by halves of the warp
        (warp(16, size=8), 2),  # in each half, lanes 8 apart meet in a bank
        (warp(16, size=16), 0),
    ],
)
def test_replays(touched: dict[int, tuple[int, int]], expected: int) -> None:
    assert replays(touched) == expected


@pytest.mark.parametrize(
    ("touched", "expected"),
    [
        (warp(4), (4, 4)),
        (warp(4, first=4), (5, 4)),  # 128 bytes that begin within a sector
        (warp(8), (8, 4)),
        (warp(32), (32, 4)),
        (warp(0), (1, 1)),
        (warp(4, lanes=range(9)), (2, 2)),
        (warp(16, size=16), (16, 16)),
    ],
)
def test_sectors(touched: dict[int, tuple[int, int]], expected: tuple[int, int]) -> None:
    assert sectors(touched.values()) == expected


def test_elements_count_as_floats() -> None:
    """A map of 8 bytes lies where a float of 4 would at the same position."""
    assert as_floats(warp(16, size=8), 8) == warp(8)


def test_lanes_of_one_instruction_are_told_from_the_next() -> None:
    def access(thread: int, does: str = "read", place: int = 0) -> Access:
        return Access(does, 0, 0, thread, 0, 8 * thread, 8, place, None)

    rows = [access(0), access(1), access(0), access(33), access(34, "write"), access(35, "write", 1)]
    found, numbers = instructions(rows)
    assert numbers == [0, 0, 1, 2, 3, 4]
    assert [one.lanes for one in found] == [0b11, 0b1, 0b10, 0b100, 0b1000]
    assert [one.warp for one in found] == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("lab", ["02_kogge_stone", "04_brent_kung", "05_coarsening"])
def test_a_whole_section_costs_what_the_handout_says(lab: str) -> None:
    trace, _ = traced(lab, 1024)
    (launch,) = trace.launches
    text = (ROOT / f"handouts/{lab}.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| (bank-conflict replays|global sectors) \| ([\d,]+) \|", text, re.MULTILINE))
    assert launch.replays == int(said["bank-conflict replays"])
    assert launch.sectors == int(said["global sectors"]) == launch.least_sectors


def test_lanes_that_take_part_are_known() -> None:
    """In the step of stride 1 of Kogge-Stone, lane 0 of warp 0 alone has nothing to add."""
    trace, text = traced("02_kogge_stone")
    line = next(at for at, line in enumerate(text.splitlines(), 1) if "if (t >= stride)" in line)
    interval = trace.launches[0].intervals[1]
    adding = [one for one in interval.instructions if one.line == line]
    shown = [(one.first_warp, len(one.orders), one.lanes) for one in adding]
    assert shown == [(0, 1, 0xFFFF_FFFE), (1, 31, 0xFFFF_FFFF)]
