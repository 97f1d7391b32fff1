"""Read what compute-sanitizer prints, as the findings that the virtual GPU's checks make.

A finding is the JSON object that grader/vgpu/checks/finding.hpp describes. Addresses mean nothing to a learner, so what
is left of an address is how far it lies outside.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from scanlab.finding import Finding, new_finding

PREFIX = re.compile(r"^=========( |$)")
TOOLKIT = re.compile(r"^(cuda_\w+|sm_\w+|device_atomic_functions|\w+_runtime\w*)\.(h|hpp)$|^cooperative_groups|^cub/")
"""Files of the CUDA Toolkit, as the reports name them: without their folder."""

ACCESS = re.compile(r"^Invalid __(?P<space>\w+)__ (?P<does>\w+) of size (?P<bytes>\d+) bytes?")
UNINITIALISED = re.compile(r"^Uninitialized __(?P<space>\w+)__ memory read of size (?P<bytes>\d+) bytes?")
RACE = re.compile(r"^(?P<level>Error|Warning): Race reported between (?P<does>\w+) access at (?P<place>.+)$")
RACE_WITH = re.compile(r"^\s*and (?P<does>\w+) access at (?P<place>.+?) \[(?P<count>\d+) hazards?\]$")
BARRIER = re.compile(r"^Barrier error detected\. (?P<what>.+)$")
CALL = re.compile(
    r'^Program hit (?P<name>cuda\w+) \(error \d+\) due to "(?P<text>[^"]*)" on CUDA API call to (?P<call>\w+)'
)
PLACE = re.compile(r"^(?P<function>.+?)\+0x[0-9a-f]+(?: in (?P<file>.+):(?P<line>\d+))?$")
AT = re.compile(r"^\s+at (?P<place>.+)$")
INLINED = re.compile(r"^\s+Device Frame: ?(?P<place>.+)$")
THREAD = re.compile(r"^\s+by thread \((?P<thread>[\d,]+)\) in block \((?P<block>[\d,]+)\)")
OUTSIDE = re.compile(
    r"^\s+and is (?P<far>[\d,]+) bytes (?P<side>after|before) the nearest allocation at \S+"
    r" of size (?P<size>[\d,]+) bytes"
)
COPIES = re.compile(r"cp_async|memcpy_async")

OUTSIDE_OF = {"global": "outside every allocation", "shared": "outside the shared arrays"}
ADVICE = {
    "bounds": "compare each index with the number of elements before it is used",
    "misaligned": "an access must lie at a multiple of its size: look for pointer casts and vector types",
    "race.shared": "no barrier separates them: a GPU may do them in either order",
    "warp": "both threads are of one warp, whose lanes need not go in step: only __syncwarp() orders them",
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
    merged: dict[tuple[Any, ...], Finding] = {}
    for record in _split(text):
        finding = _finding(record)
        if not finding:
            continue
        places = tuple((part["does"], part["file"], part["line"]) for part in finding["parts"])
        known = merged.setdefault((finding["id"], finding["kernel"], finding["kind"], places), finding)
        if known is not finding:
            known["count"] += finding["count"]
    for finding in merged.values():
        finding["text"] = _text(finding)
    return list(merged.values())


def _split(text: str) -> list[Record]:
    """Return the reports, a record from its first line to the empty one that ends it."""
    found: list[Record] = []
    is_open = False
    for line in text.splitlines():
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
        finding = _at_place(record, f"uninitialised.{space}", "read", f"UNINITIALISED: {space} memory is read")
        return {**finding, "weight": "advice", "advice": ADVICE["uninitialised"]}
    if match := RACE.match(record.head):
        return _race(record, match)
    if match := BARRIER.match(record.head):
        finding = _at_place(record, "barrier.divergent", "waits", "BARRIER: not all threads of the block reach it")
        return {**finding, "details": [match["what"]], "advice": ADVICE["barrier.divergent"]}
    if match := CALL.match(record.head):
        if match["call"] != "cudaLaunchKernel":
            return None  # what it says was said by the report before
        kernel = _launched(record)
        headline = f"LAUNCH of {kernel or 'a kernel'}: {match['name']} ({match['text']})"
        return {**new_finding("launch.failed", headline, kernel), "advice": ADVICE["launch.failed"]}
    if "trap" in record.head.lower():
        return {**_at_place(record, "trap", "stops", f"TRAP: {record.head}"), "advice": ADVICE["trap"]}
    return None


def _access(record: Record, match: re.Match[str]) -> Finding:
    space, does, size = match["space"], match["does"], match["bytes"]
    is_misaligned = any("is misaligned" in line for line in record.lines)
    what = "at no multiple of its size" if is_misaligned else OUTSIDE_OF.get(space, f"outside {space} memory")
    name = "misaligned" if is_misaligned else f"bounds.{space}"
    finding = _at_place(record, name, does, f"{does.upper()} of {size} bytes {what}")
    for line in record.lines:
        if (outside := OUTSIDE.match(line)) and not is_misaligned:
            far = int(outside["far"].replace(",", ""))
            if far < 1 << 20:  # beyond, it is no neighbour
                unit = "byte" if far == 1 else "bytes"
                finding["details"].append(f"{far} {unit} {outside['side']} an allocation of {outside['size']} bytes")
            else:
                finding["details"].append("no allocation is near: freed memory, a host pointer, or a wild index")
    return {**finding, "advice": ADVICE["misaligned" if is_misaligned else "bounds"]}


def _race(record: Record, match: re.Match[str]) -> Finding:
    """Return the race between two lines. Which of the accesses came first is not told."""
    places = [(match["does"], match["place"])]
    count = 1
    for line in record.lines:
        if other := RACE_WITH.match(line):
            places.append((other["does"], other["place"]))
            count = int(other["count"])
    is_warp = match["level"] == "Warning"
    kernel = _function(next((place for _, place in places if not _is_toolkit(place)), places[0][1]))
    parts = [_part(_does(does, place), place) for does, place in places]
    kind = "warp-synchronous" if is_warp else " and ".join(part["does"] for part in parts)
    finding = new_finding("race.shared", f"RACE ({kind}): shared memory, kernel {kernel}", kernel)
    advice = ADVICE["warp" if is_warp else "race.shared"]
    return {**finding, "kind": kind, "parts": parts, "count": count, "advice": advice}


def _does(access: str, place: str) -> str:
    return "async copy" if COPIES.search(place) else access.lower()


def _at_place(record: Record, name: str, does: str, headline: str) -> Finding:
    """Return the finding with the place and thread that the report names: the learner's own line, not a header's."""
    places = [match["place"] for line in record.lines if (match := AT.match(line) or INLINED.match(line))]
    own = next((place for place in places if not _is_toolkit(place)), places[0] if places else "")
    kernel = _function(places[-1]) if places else ""
    finding = new_finding(name, f"{headline}, kernel {kernel}" if kernel else headline, kernel)
    part = _part(does, own)
    for line in record.lines:
        if who := THREAD.match(line):
            part["thread"] = [int(number) for number in who["thread"].split(",")]
            part["block"] = [int(number) for number in who["block"].split(",")]
    finding["parts"].append(part)
    finding["block"] = part["block"]
    return finding


def _part(does: str, place: str) -> dict[str, Any]:
    match = PLACE.match(place)
    file, line = (match["file"] or "", int(match["line"] or 0)) if match else ("", 0)
    return {"does": does, "file": file, "line": line, "block": None, "thread": None}


def _is_toolkit(place: str) -> bool:
    match = PLACE.match(place)
    return bool(match and match["file"] and TOOLKIT.match(match["file"]))


def _function(place: str) -> str:
    """Return a function's name without its parameters: `void scan<int>(int *)+0x80 in …` is `scan<int>`."""
    match = PLACE.match(place)
    name = match["function"] if match else place
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


def _text(finding: Finding) -> str:
    """Return the finding as people read it, as Finding::text() does."""
    width = max((len(part["does"]) for part in finding["parts"]), default=0)
    lines = [finding["headline"]]
    for part in finding["parts"]:
        who = f" by thread {_index(part['thread'])}" if part["thread"] else ""
        who += f" of block {_index(part['block'])}" if part["block"] else ""
        place = f"{part['file']}:{part['line']}" if part["line"] else "an unknown line"
        lines.append(f"  {part['does']:<{width}}{who}   {place}")
    lines += [f"  {detail}" for detail in finding["details"]]
    if finding["advice"]:
        lines.append(f"  {finding['advice']}")
    if finding["count"] > 1:
        lines.append(f"  and {finding['count'] - 1} more like this")
    return "\n".join(lines)


def _index(index: list[int]) -> str:
    return str(index[0]) if index[1:] == [0, 0] else f"({', '.join(map(str, index))})"
