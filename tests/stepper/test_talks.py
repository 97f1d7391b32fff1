"""Blocks that talk to each other: what is written before another block reads it, of one clock."""

import pytest

from pages import traced
from scanlab.trace.accesses import Access, Accesses, TracedArray, TracedLaunch, TracedPlace
from scanlab.trace.floats import Floats
from scanlab.trace.model import Talk
from scanlab.trace.talks import blocks_around, talks_of


@pytest.mark.parametrize(
    ("block", "count", "expected"),
    [(0, 2, [0, 1]), (0, 9, [0, 1, 2, 3]), (5, 9, [4, 5, 6, 7]), (8, 9, [5, 6, 7, 8]), (1, 3, [0, 1, 2])],
)
def test_neighbours_are_followed(block: int, count: int, expected: list[int]) -> None:
    assert list(blocks_around(block, count)) == expected


def call(*accesses: Access) -> Accesses:
    arrays = (TracedArray(name="flags", space="global", bytes=64), TracedArray(name="s_x", space="shared", bytes=64))
    launch = TracedLaunch(
        kernel="k",
        grid=(2, 1, 1),
        block=(32, 1, 1),
        has_block=True,
        has_shuffles=False,
        arrays=arrays,
        places=(TracedPlace(file="a.cu", line=7),),
        barriers=(),
        accesses=accesses,
        left_out=0,
    )
    return Accesses(launches=(launch,), elements=None, races=(), failure=None, printed="")


def access(does: str, time: int, offset: int = 0, value: int = 0, array: int = 0) -> Access:
    return Access(does, 0, 0, 0, array, offset, 4, 0, (value,), time)


def test_places_of_several_blocks_are_told_in_the_order_of_one_clock() -> None:
    waits = [access("read", time) for time in (1, 2, 5)]
    own = access("write", 3, 32)  # a place that no other block touches
    shared = access("write", 4, 0, array=1)
    runs = {0: call(own, shared, access("write", 6, 0, 1)), 1: call(*waits, access("read", 7, 0, 1))}
    sums = dict.fromkeys(runs, Floats(2))
    shown = [(talk.block, talk.does, talk.text, talk.times) for talk in talks_of(runs, 0, sums, "a.cu")]
    assert shown == [(1, "read", "id", 3), (0, "write", "1", 1), (1, "read", "1", 1)]


def test_a_section_reads_what_the_one_before_has_written() -> None:
    trace, _ = traced("07_domino", 3000)
    talks: list[Talk] = trace.launches[0].talks
    prefixes = [(talk.block, talk.does, talk.text) for talk in talks if talk.does != "atomic"]
    assert prefixes == [
        (0, "write", "0…1023"),
        (1, "read", "0…1023"),
        (1, "write", "0…2047"),
        (2, "read", "0…2047"),
    ]


def test_sections_on_their_own_do_not_talk() -> None:
    trace, _ = traced("02_kogge_stone", 3000)
    assert trace.launches[0].talks == []
