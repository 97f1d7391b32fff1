"""Read what compute-sanitizer prints, as the findings that the virtual GPU's checks make.

Addresses mean nothing to a learner, so what is left of an address is how far it lies outside.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from scanlab.foreign_text import LONGEST_NAME
from scanlab.judging.result import Finding, Part, index_text

PREFIX = re.compile(r"^=========( |$)")

ACCESS = re.compile(r"^Invalid __(?P<space>\w+)__ (?P<does>\w+) of size (?P<bytes>\d+) bytes?")
UNINITIALISED = re.compile(r"^Uninitialized __(?P<space>\w+)__ memory read of size (?P<bytes>\d+) bytes?")
RACE = re.compile(r"^(?P<level>Error|Warning): Race reported between (?P<does>\w+) access at (?P<place>.+)$")
RACE_WITH = re.compile(r"^\s*and (?P<does>\w+) access at (?P<place>.+?) \[(?P<count>\d+) hazards?\]$")
BARRIER = re.compile(r"^Barrier error detected\. (?P<what>.+)$")
CALL = re.compile(
    r'^Program hit (?P<name>cuda\w+) \(error \d+\) due to "(?P<text>[^"]*)" on CUDA API call to (?P<call>\w+)'
)
AT = re.compile(r"^\s+at (?P<place>.+)$")
INLINED = re.compile(r"^\s+Device Frame: ?(?P<place>.+)$")
THREAD = re.compile(r"^\s+by thread \((?P<thread>[\d,]+)\) in block \((?P<block>[\d,]+)\)")
OUTSIDE = re.compile(
    r"^\s+and is (?P<far>[\d,]+) bytes (?P<side>after|before) the nearest allocation at \S+"
    r" of size (?P<size>[\d,]+) bytes"
)
COPIES = re.compile(r"cp_async|memcpy_async")

OUTSIDE_OF = {"global": "outside every allocation", "shared": "outside the shared arrays"}
WARP = "warp-synchronous"
"""A race within a warp."""
ADVICE = {
    "bounds": "compare each index with the number of elements before it is used",
    "misaligned": "an access must lie at a multiple of its size: look for pointer casts and vector types",
    "race.shared": "no barrier separates them: a GPU may do them in either order",
    WARP: "both threads are of one warp, whose lanes need not go in step: only __syncwarp() or __syncthreads() orders "
    "them",
    "uninitialised": "nothing was written there before: set it first, or make sure that the value goes nowhere",
    "barrier.divergent": "every thread of the block has to reach the same __syncthreads()",
    "launch.failed": "the kernel has not run: look at the grid, the block and the shared memory of this launch",
    "trap": "the kernel stopped itself: a failed assert, or __trap()",
}


@dataclass
class Record:
    """One report: its first line, and the indented ones that follow."""

    head: str
    lines: list[str] = field(default_factory=list)


def findings(text: str) -> list[Finding]:
    """Return the findings in the text output of any of compute-sanitizer's tools, each once, with its count."""
    merged: dict[object, Finding] = {}
    for record in _split(text):
        if not (finding := _finding(record)):
            continue
        places = tuple((part.does, part.file, part.line) for part in finding.parts)
        key = (finding.id, finding.kernel, finding.kind, places)
        count = finding.count + (merged[key].count if key in merged else 0)
        merged[key] = merged.get(key, finding).model_copy(update={"count": count})
    return [finding.model_copy(update={"text": _text(finding)}) for finding in merged.values()]


def _split(text: str) -> list[Record]:
    """Return the reports, a record from its first line to the empty one that ends it."""
    found: list[Record] = []
    is_open = False
    for line in text.splitlines():
        line = line[:LONGEST_NAME]
        if not PREFIX.match(line):
            continue
        rest = line[len("========= ") :]
        if not rest.strip():
            is_open = False
        elif rest.startswith(" ") and is_open:
            found[-1].lines.append(rest)
        else:
            found.append(Record(rest))
            is_open = True
    return found


def _finding(record: Record) -> Finding | None:
    """Return the finding that a report makes, or None for the tool's own lines."""
    if match := ACCESS.match(record.head):
        return _access(record, match)
    if match := UNINITIALISED.match(record.head):
        space = match["space"]
        return _at_place(record, f"uninitialised.{space}", "read", f"UNINITIALISED: {space} memory is read")
    if match := RACE.match(record.head):
        return _race(record, match)
    if match := BARRIER.match(record.head):
        headline = "BARRIER: not all threads of the block reach it"
        return _at_place(record, "barrier.divergent", "waits", headline, [match["what"]])
    if match := CALL.match(record.head):
        if match["call"] != "cudaLaunchKernel":
            return None  # what it says was said by the report before
        kernel = _launched(record)
        headline = f"LAUNCH of {kernel or 'a kernel'}: {match['name']} ({match['text']})"
        return _new("launch.failed", headline, kernel)
    if "trap" in record.head.lower():
        return _at_place(record, "trap", "stops", f"TRAP: {record.head}")
    return None


def _access(record: Record, match: re.Match[str]) -> Finding:
    space, does, size = match["space"], match["does"], match["bytes"]
    is_misaligned = any("is misaligned" in line for line in record.lines)
    what = "at no multiple of its size" if is_misaligned else OUTSIDE_OF.get(space, f"outside {space} memory")
    name = "misaligned" if is_misaligned else f"bounds.{space}"
    details = []
    for line in record.lines:
        if (outside := OUTSIDE.match(line)) and not is_misaligned:
            far = int(outside["far"].replace(",", ""))
            if far < 1 << 20:  # beyond, it is no neighbour
                unit = "byte" if far == 1 else "bytes"
                details.append(f"{far} {unit} {outside['side']} an allocation of {outside['size']} bytes")
            else:
                details.append("no allocation is near: freed memory, a host pointer, or a wild index")
    return _at_place(record, name, does, f"{does.upper()} of {size} bytes {what}", details)


def _race(record: Record, match: re.Match[str]) -> Finding:
    """Return the race between two lines. Which of the accesses came first is not reported."""
    places = [(match["does"], match["place"])]
    count = 1
    for line in record.lines:
        if other := RACE_WITH.match(line):
            places.append((other["does"], other["place"]))
            count = int(other["count"])
    is_warp = match["level"] == "Warning"
    kernel = _function(next((place for _, place in places if not _is_toolkit(place)), places[0][1]))
    parts = [_part(_does(does, place), place) for does, place in places]
    kind = WARP if is_warp else " and ".join(part.does for part in parts)
    return _new("race.shared", f"RACE ({kind}): shared memory, kernel {kernel}", kernel, parts, kind=kind, count=count)


def _does(access: str, place: str) -> str:
    return "async copy" if COPIES.search(place) else access.lower()


def _at_place(record: Record, name: str, does: str, headline: str, details: Sequence[str] = ()) -> Finding:
    """Return the finding with the place and thread that the report names: the learner's own line, not a header's."""
    places = [match["place"] for line in record.lines if (match := AT.match(line) or INLINED.match(line))]
    own = next((place for place in places if not _is_toolkit(place)), places[0] if places else "")
    kernel = _function(places[-1]) if places else ""
    part = _part(does, own)
    for line in record.lines:
        if who := THREAD.match(line):
            part = part.model_copy(update={word: _index(who[word]) for word in ("thread", "block")})
    headline = f"{headline}, kernel {kernel}" if kernel else headline
    return _new(name, headline, kernel, [part], details)


def _new(
    name: str,
    headline: str,
    kernel: str,
    parts: Sequence[Part] = (),
    details: Sequence[str] = (),
    kind: str = "",
    count: int = 1,
) -> Finding:
    """Return a finding without its text, in which its count stands."""
    about = name if name in ADVICE else name.partition(".")[0]
    return Finding(
        id=name,
        weight="advice" if about == "uninitialised" else "mistake",
        headline=headline,
        kernel=kernel,
        variable="",
        element=None,
        kind=kind,
        block=next((part.block for part in parts), None),
        parts=tuple(parts),
        facts=(*_part_texts(parts), *details),
        details=tuple(details),
        advice=ADVICE[WARP if kind == WARP else about],
        count=count,
        text="",
    )


def _part(does: str, place: str) -> Part:
    _, file, line = _parts_of(place)
    return Part(does=does, who="", file=file, line=line, block=None, thread=None)


def _index(numbers: str) -> tuple[int, ...]:
    return tuple(map(int, numbers.split(",")))


def _is_toolkit(place: str) -> bool:
    """Return whether a place is in a file of the CUDA Toolkit, which the reports name without its folder."""
    file = _parts_of(place)[1]
    stem, _, ending = file.rpartition(".")
    begins = stem.startswith(("cuda_", "sm_")) or stem == "device_atomic_functions" or "_runtime" in stem[1:]
    return (begins and ending in ("h", "hpp")) or file.startswith(("cooperative_groups", "cub/"))


def _parts_of(place: str) -> tuple[str, str, int]:
    """Return the function, the file and the line of `scan(int *)+0x80 in scan.cu:14`; the file may be missing."""
    where, _, after = place.rpartition(" in ")
    file, _, line = after.rpartition(":")
    if not where or not line.isascii() or not line.isdecimal():
        where, file, line = place, "", "0"
    function, _, offset = where.rpartition("+0x")
    return (function if function and offset else where), file, int(line[:9])


def _function(place: str) -> str:
    """Return a function's name without its parameters: `void scan<int>(int *)+0x80 in …` is `scan<int>`."""
    name, _, _ = _parts_of(place)
    depth = 0
    for position, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:position]
            break
    return name.rsplit(" ", 1)[-1] if "<" not in name else name.removeprefix("void ")


def _launched(record: Record) -> str:
    """Return the kernel whose launch failed: its host stub's frame comes before the caller's."""
    for line in record.lines:
        if match := re.match(r"^\s+Host Frame: ?(?P<name>.+?)(?: \[0x[0-9a-f]+\])? in \S+$", line):
            return _function(match["name"])
    return ""


def _part_texts(parts: Sequence[Part]) -> list[str]:
    """Return who does what where, a line each, as Finding::facts() does."""
    width = max((len(part.does) for part in parts), default=0)
    found = []
    for part in parts:
        who = f" by thread {index_text(part.thread)}" if part.thread else ""
        who += f" of block {index_text(part.block)}" if part.block else ""
        place = f"{part.file}:{part.line}" if part.line else "an unknown line"
        found.append(f"{part.does:<{width}}{who}   {place}")
    return found


def _text(finding: Finding) -> str:
    """Return the finding as people read it, as Finding::text() does."""
    lines = [finding.headline, *(f"  {fact}" for fact in finding.facts)]
    if finding.advice:
        lines.append(f"  {finding.advice}")
    if finding.count > 1:
        lines.append(f"  and {finding.count - 1} more like this")
    return "\n".join(lines)
