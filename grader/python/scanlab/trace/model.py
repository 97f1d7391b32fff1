"""A trace, as `--json` writes it: schema `scanlab-trace`, version 1; the version grows when a key changes its meaning.

Positions, threads, blocks and barriers are counted from 0, launches and lines of a file from 1.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scanlab.contract import CheckVerdict
from scanlab.judging.result import Cause, Finding, Model

SCHEMA = "scanlab-trace"
VERSION = 1
Does = Literal["read", "write", "atomic"]


class Part(BaseModel):
    """An object of the trace: a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Place(Model):
    """A line of the learner's; 0: unknown."""

    file: str
    line: int


class Array(Part):
    """A shared variable, or an allocation of global memory.

    `size` counts elements. `first` and `last` are the positions that the trace shows, those whose values reach the
    output; both are None where there are none. `holds`: elements of the scan, or numbers such as counts and flags.
    """

    name: str
    space: Literal["shared", "global"]
    holds: Literal["elements", "numbers"]
    size: int
    first: int | None
    last: int | None


class Read(Part):
    """A thread has read a position; `write` is the id of the write that it saw, None: what stood there before.

    `text` says what it found, as a write's does; `order` is the number of the warp's instruction, in the order in which
    they happened: its lanes have the same.
    """

    thread: int
    array: str
    element: int
    line: int
    order: int
    text: str
    write: int | None
    race: bool = False


class Source(Part):
    """A position whose value went into a write; `race` is that of the read."""

    array: str
    element: int
    write: int | None
    race: bool = False


class Write(Part):
    """A thread has written a position.

    `runs` are the inputs that the value sums up, as pairs of the first and the last, in their order (of floats in that
    of the inputs): [] is the identity, None no sum of inputs. Of a long sum they are the first 32. `text` says the
    same, or the number. `sources` are in the order of the addition; they are empty when the value has come by
    registers alone (a constant, a shuffle).
    `adds` is true where the value is not one of those that were read. `order` is as a read's. `odd` says what is
    remarkable about a sum of elements, as `x1 counts twice`; mostly it is empty.
    """

    id: int
    thread: int
    array: str
    element: int
    line: int
    order: int
    text: str
    runs: list[tuple[int, int]] | None
    adds: bool
    sources: list[Source]
    odd: str = ""
    race: bool = False


class Row(Part):
    """What the shown positions of an array hold, from `first` on; None: not written yet."""

    array: str
    first: int
    cells: list[str | None]


class Instruction(Part):
    """What neighbouring warps did alike by one instruction each, whether or not the positions are shown.

    `orders` are the numbers of the instructions, of the warps from `first_warp` on. `lanes` is a mask, lane 0 the
    lowest bit: the others of the warp did not take part, or do not exist. Of shared memory it has the `replays` by bank
    conflicts, of global memory the `sectors` that were touched, and `least_sectors` in which as many bytes would fit;
    all of them a warp. They are counted for accesses of `bytes` a lane: elements as floats, which are what is graded.
    """

    line: int
    does: Does
    array: str
    first_warp: int
    orders: list[int]
    lanes: int
    bytes: int
    replays: int
    sectors: int
    least_sectors: int


class Interval(Part):
    """What happens between two barriers of the block; synchronisations of a warp divide it further.

    `barriers` and `warp_syncs` say how many came before, `begins` the line of the barrier that opened it.
    """

    barriers: int
    warp_syncs: int
    begins: Place | None
    reads: list[Read]
    writes: list[Write]
    holds: list[Row]
    instructions: list[Instruction]


class Talk(Part):
    """What a thread does to a place of global memory that several blocks touch and one of them writes.

    `text` is the value, empty where it is not known, as that of an atomic; `times` counts what the block did so often
    without anything else of this kind between, as while it waits.
    """

    block: int
    thread: int
    line: int
    does: Does
    array: str
    element: int
    text: str
    times: int


class Launch(Part):
    """A kernel launch. Without `traced` the block is not one of its grid's, or has not begun.

    `before` is what the block found where it read first. `idle_threads` of its threads write none of the shown
    positions. `replays`, `sectors` and `least_sectors` are those of all instructions of the block, counted as an
    instruction's. `talks`, in their order, are of this block and its neighbours, where they were followed.
    """

    number: int
    kernel: str
    grid: tuple[int, int, int]
    block_size: tuple[int, int, int]
    traced: bool
    arrays: list[Array]
    before: list[Row]
    intervals: list[Interval]
    idle_threads: int
    notes: list[str]
    replays: int = 0
    sectors: int = 0
    least_sectors: int = 0
    talks: list[Talk] = Field(default_factory=list)


class Failure(Model):
    """How the call ended when it did not end well: a verdict and a cause, as in a check's result."""

    verdict: CheckVerdict
    cause: Cause


class Trace(Part):
    """The trace of one call of an entry; `lab` is empty for a file of no lab, `races` are the race check's findings."""

    schema_: Literal["scanlab-trace"] = Field(default=SCHEMA, alias="schema")
    version: Literal[1] = VERSION
    lab: str
    source: str
    entry: str
    element: Literal["affine", "float"]
    n: int
    block: int
    schedule: str
    launches: list[Launch]
    races: tuple[Finding, ...]
    failure: Failure | None
    printed: str
    notes: list[str]
