"""Which threads do what: those that leave too early, those that a condition excludes, the first and the last."""

import re
from collections.abc import Iterator

from scanlab.judging.tried.slips.program import Edit, Program, Rule, compiled

ALONE = re.compile(r"\b(lane|t|tid|threadIdx\.x)\s*==\s*(0|\w{1,40}(?:\.x)?\s*-\s*1|31)(?=\s*[)&|?])")
IF = compiled(r"\bif\s*(<GROUP>)\s*")
RETURNS = re.compile(r"\{?\s*return\s*;\s*\}?")
BEHIND = re.compile(r"__sync|\]\s*[-+*]?=(?!=)|\w\s*\(")
"""What a thread may be missed for."""
COMPARISON = re.compile(r"([^<>=!&|]{1,60})(<=|>=|<|>|==|!=)([^<>=!&|]{1,60})")
OTHERWISE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
STORES = re.compile(r"(\s*)(d_\w{1,40}\s*\[[^;=]{1,60}\]\s*=[^=;][^;]{0,120};.*)")
LOADS = re.compile(r"=\s*(d_\w{1,40}\s*\[[^;\[\]]{1,60}\])\s*;")
WRITES = re.compile(r"\s*\{?\s*([\w.\->]{1,60})\s*\[([^;=]{1,60})\]\s*=(?!=)")


def _without_if(program: Program, first: int) -> tuple[str, int] | None:
    """Return the condition under which threads return in a line, or in those after it, and the last of these lines."""
    found = IF.match(program.code(first).lstrip())
    if not found:
        return None
    code = program.code(first).lstrip()[found.end() :]
    for last in range(first, first + 3):
        if RETURNS.fullmatch(code.strip()) and code.count("{") == code.count("}"):
            return found[1], last
        code += program.code(last + 1)
    return None


def _leaves(program: Program) -> Iterator[Edit]:
    """Find threads that leave a kernel before others need what they would have done."""
    for number in program.numbers:
        found = _without_if(program, number) if program.is_of_device(number) else None
        if found is None:
            continue
        condition, last = found
        later = {line: program.code(line) for line in program.function(number) if line > last}
        if not BEHIND.search("\n".join(later.values())) or re.match(r"\s*else\b", later.get(last + 1, "")):
            continue
        because = "threads that leave here write nothing any more, and no barrier waits for them"
        gone = dict.fromkeys(range(number, last + 1), "")
        cure = f"leave out line {number}" if last == number else f"leave out lines {number} to {last}"
        yield program.rewritten(gone, because, cure)
        guarded = dict(_guarded(program, later, _opposite(condition)))
        if guarded:
            yield program.rewritten(gone | guarded, because)


def _guarded(program: Program, later: dict[int, str], condition: str) -> Iterator[tuple[int, str]]:
    """Yield lines that read or write memory of the device, each for the threads of a condition alone."""
    for number, code in later.items():
        stores, loads, text = STORES.fullmatch(code), LOADS.search(code), program.lines[number - 1]
        if stores:
            yield number, f"{stores[1]}if ({condition}) {text.lstrip()}"
        elif loads and not re.search(r"\bif\b", code):
            yield number, f"{text[: loads.start(1)]}{condition} ? {loads[1]} : identity(){text[loads.end(1) :]}"


def _opposite(condition: str) -> str:
    """Return the condition that is true where this one, in its parentheses, is not."""
    compared = COMPARISON.fullmatch(condition[1:-1])
    if compared:
        return f"{compared[1].strip()} {OTHERWISE[compared[2]]} {compared[3].strip()}"
    return f"!{condition}"


def guards(program: Program) -> Iterator[Edit]:
    """Find a condition that keeps threads from writing an element that is needed."""
    variable = program.mistake.variable.partition("[")[0] or "d_y"
    array = re.compile(variable if variable.isidentifier() else r"d_\w{1,40}")  # else it is "cudaMalloc #1 (8 bytes)"
    for number in program.numbers:
        for found in IF.finditer(program.code(number)):
            behind = program.code(number)[found.end() :]
            is_alone = behind.strip() in ("", "{")
            writes = WRITES.match(f"{behind}{program.code(number + 1)}" if is_alone else behind)
            if not writes or not array.fullmatch(re.split(r"\W", writes[1])[-1]):
                continue
            parts = [part.strip() for part in found[1][1:-1].split("&&")]
            for part in parts:
                others = " && ".join(one for one in parts if one is not part)
                meant = f"if ({others}) " if others else ""
                because = f"only threads with {part} write {writes[1]}"
                cure = f"leave out `{found[0].strip()}` in line {number}" if is_alone and not others else ""
                is_bound = re.search(r"<\s*n$", part) or re.match(rf"{re.escape(writes[2])}\s*<", part)
                if not is_bound:
                    yield Edit(number, *found.span(), meant, because, cure)


def first_or_last(program: Program) -> Iterator[Edit]:
    """Find the first thread in the place of the last, and the other way round."""
    for number, found in program.matches(ALONE):
        sizes = ("warp_size",) if found[1] == "lane" else ("block_size", "section_size")
        size = next((name for name in sizes if re.search(rf"\b{name}\b", program.whole)), "blockDim.x")
        meant = f"{size} - 1" if found[2] == "0" else "0"
        yield Edit(number, *found.span(2), meant, _other_thread(found))


def whose_turn(program: Program) -> Iterator[Edit]:
    """Find a thread that does what another one should do."""
    sizes = ("warp_size", "block_size", "section_size", "warps")
    lasts = [f"{name} - 1" for name in sizes if re.search(rf"\b{name}\b", program.whole)]
    for number, found in program.matches(ALONE):
        for meant in ("0", *lasts):
            if meant != found[2] and (found[1] != "lane" or meant in ("0", "warp_size - 1", "warps - 1")):
                yield Edit(number, *found.span(2), meant, _other_thread(found))


def _other_thread(found: re.Match[str]) -> str:
    return f"it is not the thread with {found[1]} == {found[2]} that has what is needed here"


PLAIN = (Rule(_leaves, "wrong|barrier|deadlock|uninitialised|warp"),)
RULES = (
    Rule(guards, r"wrong\.(?:unwritten|uninitialised|first_|last_)|uninitialised"),
    Rule(first_or_last, "wrong|uninitialised"),
)
