"""The tables of a comparison, as texts: the same for a terminal and for Markdown."""

from dataclasses import dataclass
from datetime import datetime

from scanlab.bench.result import ELEMENT_BYTES, Entry, Point, Result, Row, Status, gb_a_second

CELLS: dict[Status, str] = {
    "ok": "",
    "wrong": "wrong",
    "error": "fails",
    "out_of_memory": "no memory",
    "missing": "missing",
    "no_end": "no end",
    "skipped": "–",
    "not_built": "not built",
}
"""What stands in the place of a figure."""
COUNTERS = ("barriers", "launches", "global_bytes", "global_sectors", "bank_conflict_replays")
"""Of the virtual GPU's counters, those with a column of their own, beside additions and the warps' efficiency."""


@dataclass(frozen=True)
class Table:
    """A title, the columns' heads, and rows of as many texts. The first `names` columns are words, the rest figures."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    names: int = 1


def tables(result: Result) -> list[Table]:
    """Return all tables of a result; a table without any row is left out."""
    if result.subject == "times":
        found = [main_table(result), sizes_table(result)]
    else:
        found = [counts_table(result, n, entry) for n in result.sizes for entry in ("inclusive", "exclusive")]
    return [table for table in found if table.rows]


def main_table(result: Result) -> Table:
    """Return every row at one size: ms, GB/s, and the share of the copy's speed."""
    n = result.n
    copy_ms = result.copy_ms(n)
    columns = ("scan", "of", "ms", "fastest", "GB/s", "of the copy", "exclusive, ms")
    rows = [
        (
            row.name,
            _of(row),
            *_times(row.at(n)),
            _rate(n, row.median_ms(n)),
            _share(copy_ms, row.median_ms(n)),
            _times(row.at(n, "exclusive"))[0],
        )
        for row in result.rows
        if row.at(n)
    ]
    return Table(f"{n:,} floats, inclusive scan, medians", columns, rows, names=2)


def sizes_table(result: Result) -> Table:
    """Return the medians in µs over the sizes; without rows where there is only one size."""
    sizes = result.sizes if len(result.sizes) > 1 else []
    rows = [
        (row.name, *(_microseconds(row.at(n)) for n in sizes)) for row in result.rows if any(row.at(n) for n in sizes)
    ]
    return Table("Medians in µs over the number of floats, inclusive scan", ("scan", *map(size_name, sizes)), rows)


def counts_table(result: Result, n: int, entry: Entry) -> Table:
    """Return what each row counted at n; of the exclusive scans, only those whose counts differ."""
    columns = (
        "scan",
        "of",
        "additions",
        "a float",
        "barriers",
        "launches",
        "global bytes",
        "sectors",
        "replays",
        "warp efficiency",
    )
    rows = [
        (row.name, _of(row), *_counts(point))
        for row in result.rows
        if (point := row.at(n, entry)) and (entry == "inclusive" or _differs(row, point))
    ]
    title = "inclusive scan" if entry == "inclusive" else "exclusive scan, where its counts are others"
    return Table(f"{n:,} floats, {title}", columns, rows, names=2)


def _differs(row: Row, exclusive: Point) -> bool:
    inclusive = row.at(exclusive.n)
    return inclusive is None or (inclusive.status, _counts(inclusive)) != (exclusive.status, _counts(exclusive))


def size_name(n: int) -> str:
    """Return 2^20 or 10^7 for a power, and the digits for other sizes."""
    if n >= 64 and n & (n - 1) == 0:
        return f"2^{n.bit_length() - 1}"
    digits = str(n)
    if n >= 1000 and digits.strip("0") == "1":
        return f"10^{len(digits) - 1}"
    return f"{n:,}"


def _of(row: Row) -> str:
    if row.role == "copy" or (row.role == "file" and all(point.status != "ok" for point in row.points)):
        return ""  # what a file scans is unknown when no result of it is right
    return f"sections of {row.section:,}" if row.section else "the whole array"


def _times(point: Point | None) -> tuple[str, str]:
    if point is None:
        return "", ""
    if point.median_ms is None or point.min_ms is None:
        return CELLS[point.status], ""
    return _ms(point.median_ms), _ms(point.min_ms)


def _ms(ms: float) -> str:
    return f"{ms:.4f}" if ms < 1 else f"{ms:.3f}" if ms < 100 else f"{ms:,.1f}"


def _microseconds(point: Point | None) -> str:
    if point is None:
        return ""
    if point.median_ms is None:
        return CELLS[point.status]
    us = point.median_ms * 1e3
    return f"{us:.1f}" if us < 1000 else f"{us:,.0f}"


def _rate(n: int, ms: float | None) -> str:
    if ms is None:
        return ""
    rate = gb_a_second(n, ms)
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 1 else f"{rate:.2g}"


def _share(copy_ms: float | None, ms: float | None) -> str:
    if copy_ms is None or ms is None:
        return ""
    share = 100 * copy_ms / ms
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %" if share >= 0.1 else f"{share:.1g} %"


def _counts(point: Point) -> tuple[str, ...]:
    if point.counts is None:
        return CELLS[point.status], *([""] * (len(COUNTERS) + 2))

    def whole(name: str) -> str:
        value = (point.counts or {}).get(name)
        return "" if value is None else f"{value:,.0f}"

    additions, efficiency = point.counts.get("additions"), point.counts.get("warp_efficiency")
    return (
        whole("additions"),
        "" if additions is None else f"{additions / point.n:.2f}",
        *map(whole, COUNTERS),
        "" if efficiency is None else f"{100 * efficiency:.1f} %",
    )


# ---- the lines around the tables ------------------------------------------------------------------------------------


def heading(result: Result) -> list[str]:
    """Return what was measured, on what, when and how: a line each."""
    device = result.device
    facts = [device.name]
    facts += [f"{device.multiprocessors} multiprocessors"] if device.multiprocessors else []
    facts += [f"{device.l2_bytes / 2**20:.0f} MiB L2"] if device.l2_bytes else []
    facts += [f"{device.memory_bytes / 2**30:.0f} GiB"] if device.memory_bytes else []
    facts += [f"memory at most {device.peak_gb_s:,.0f} GB/s"] if device.peak_gb_s else []
    versions = [f"CUDA {device.runtime}"] if device.runtime else []
    versions += [f"driver for CUDA {device.driver}"] if device.driver else []
    when = datetime.fromisoformat(result.date).strftime("%Y-%m-%d %H:%M")
    return [", ".join(facts), ", ".join([*versions, f"scanlab {result.kit}", when]), result.command]


def explanations(result: Result) -> list[str]:
    """Return how to read the figures, a sentence each."""
    if result.subject == "counts":
        return [
            "Counted on the virtual GPU, for one call whose result is right; times are measured with --device gpu.",
            f"a float: additions divided by n. The copy's row is the least that can be moved: {2 * ELEMENT_BYTES} bytes"
            " an element, in whole sectors of 32 bytes.",
            "Barriers: once a block each. Replays: extra turns of shared memory that bank conflicts cost.",
        ]
    turns = f"{result.rounds} rounds of at most {result.calls} calls, every program in turn"
    cold = (
        f"cold: {result.device.flush_bytes / 2**20:.0f} MiB are read before each call, twice the L2 cache"
        if result.device.flush_bytes
        else "warm: the caches are not emptied between calls"
    )
    lines = [
        f"Medians of {turns}; {cold}. Every result is verified.",
        f"GB/s: {2 * ELEMENT_BYTES} bytes an element (read once, written once) by the median time; "
        "the share of the copy compares that with cudaMemcpy on the device.",
    ]
    if any(row.section for row in result.rows):
        lines.append("Scans of sections do less: nothing passes from a section to the next.")
    if result.empty_launch_ms is not None:
        lines.append(
            f"An empty kernel takes {result.empty_launch_ms * 1e3:.1f} µs between the same two events: "
            "no shorter time means much."
        )
    return lines


def troubles(result: Result) -> list[str]:
    """Return a line for everything that was not measured, and why."""
    lines = ["The measurement was interrupted: this is not all."] if result.interrupted else []
    lines += result.notes
    for row in result.rows:
        groups: dict[tuple[Status, Entry], list[Point]] = {}
        for point in row.points:
            if point.status != "ok":
                groups.setdefault((point.status, point.entry), []).append(point)
        for (status, entry), points in groups.items():
            if entry == "inclusive" or (status, "inclusive") not in groups:
                lines.append(f"{row.name}{_places(status, points)}: {_why(status, points[0].text)}")
    return lines


def _places(status: Status, points: list[Point]) -> str:
    """Return at which sizes something is amiss: the first, and how many more; nothing for what is amiss everywhere."""
    if status == "not_built":
        return ""
    entry = "" if points[0].entry == "inclusive" else ", exclusive"
    more = f" and {len(points) - 1} larger" if len(points) > 1 else ""
    return f" at n = {points[0].n:,}{more}{entry}"


def _why(status: Status, text: str) -> str:
    if status == "skipped":
        return f"left out, {text}"
    if status == "wrong":
        return f"wrong: {text}"
    return text or CELLS[status]
