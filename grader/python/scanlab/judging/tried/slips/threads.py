"""Which threads do what: those that leave too early, those that a condition excludes, the first and the last."""

import re
from collections.abc import Iterator

from scanlab.judging.learners_file import without_comments
from scanlab.judging.tried.slips.program import Edit, Program, Rule, compiled, rewrite

ALONE = re.compile(
    r"\b(lane|(?:t|tid|threadIdx\.x)(?:\s*%\s*(?:warp_size|warpSize|32))?)\s*==\s*(0|\w{1,40}(?:\.x)?\s*-\s*1|31)(?=\s*[)&|?])"
)
IF = compiled(r"\bif\s*(<GROUP>)\s*")
RETURNS = re.compile(r"\{?\s*return\s*;\s*\}?")
BEHIND = re.compile(r"__sync|\]\s*[-+*]?=(?!=)|\w\s*\(")
"""What a thread may be missed for."""
COMPARISON = re.compile(r"([^<>=!&|]{1,60})(<=|>=|<|>|==|!=)([^<>=!&|]{1,60})")
OTHERWISE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
STORES = re.compile(r"(\s*)(d_\w{1,40}\s*\[[^;=]{1,60}\]\s*=[^=;][^;]{0,120};.*)")
LOADS = re.compile(r"=\s*(d_\w{1,40}\s*\[[^;\[\]]{1,60}\])\s*;")
TOTAL = re.compile(
    r"\b\w*(?:total|sum|all|aggregate|last)\w*\s*=\s*s_\w{1,40}\s*\[\s*(warp|lane|t|threadIdx\.x)\s*\]", re.IGNORECASE
)
EVERY_LANE_ADDS = re.compile(r"(\s*)(atomicAdd\s*\(\s*&?[\w.\->]{1,60}\s*,[^;]{1,80}\)\s*;.*)")
DEVICE_FUNCTION = re.compile(r"__device__[^;{}()]{1,120}?\b(\w{1,60})\s*\([^;{}]{0,300}\)\s*\{")
LEAVES_A_TURN = compiled(r"(\s*)if\s*(<GROUP>)\s*\{?\s*(?:break|continue)\s*;\s*\}?\s*")
THREAD_31 = re.compile(r"(?<![\w.])(t|tid|threadIdx\.x)\s*==\s*(?:31|warp_size\s*-\s*1|warpSize\s*-\s*1)\b")
SHUFFLE = compiled(r"\b(shuffle_up|shuffle|of_last_lane|__shfl(?:_up|_down|_xor)?_sync)\s*<GROUP>")
SHUFFLED_UP = re.compile(r"\b(?:Element|auto|float|int)\s+(\w{1,40})\s*=\s*(?:shuffle_up|__shfl_up_sync)\s*\(")
BARRIER = re.compile(r"\s*__syncthreads\(\s*\)\s*;\s*")
FEW = re.compile(r"\bif\s*\(\s*(t|tid|threadIdx\.x|lane)\s*<\s*(warps|\w*[wW]arps|[248]|16)\s*\)")
ASSIGNS = re.compile(
    r"(\s*)(?!(?:const|int|auto|Element|for|while)\b)"
    r"([\w.\->]{1,60}\s*(?:\[[^;]{1,60}\])?\s*[-+*]?=(?!=)[^;]{1,120};.*)"
)
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
        is_one_warp = any(re.search(r"\bwarp\s*==", program.code(line)) for line in program.enclosing(number))
        sizes = ("warp_size",) if _is_lane(found[1]) or is_one_warp else ("block_size", "section_size")
        size = next((name for name in sizes if re.search(rf"\b{name}\b", program.whole)), "blockDim.x")
        meant = f"{size} - 1" if found[2] == "0" else "0"
        yield Edit(number, *found.span(2), meant, _other_thread(found))


def _is_lane(name: str) -> bool:
    return name == "lane" or "%" in name


def whose_turn(program: Program) -> Iterator[Edit]:
    """Find a thread that does what another one should do."""
    sizes = ("warp_size", "block_size", "section_size", "warps")
    lasts = [f"{name} - 1" for name in sizes if re.search(rf"\b{name}\b", program.whole)]
    for number, found in program.matches(ALONE):
        for meant in ("0", *lasts):
            if meant != found[2] and (not _is_lane(found[1]) or meant in ("0", "warp_size - 1", "warps - 1")):
                yield Edit(number, *found.span(2), meant, _other_thread(found))


def _own_for_total(program: Program) -> Iterator[Edit]:
    """Find what a thread or a warp has summed up so far where the block's total is meant."""
    for number, found in program.matches(TOTAL):
        sizes = ("warps", "block_size") if found[1] == "warp" else ("warps", "block_size", "warp_size")
        for size in (name for name in sizes if re.search(rf"\b{name}\b", program.whole)):
            because = f"the total is the last of the sums: {found[1]} is this thread's own"
            yield Edit(number, *found.span(1), f"{size} - 1", because)


def _every_lane_adds(program: Program) -> Iterator[Edit]:
    """Find an atomic that each thread makes with what its warp or block has found together."""
    for number, found in program.matches(EVERY_LANE_ADDS):
        if found[0] != program.code(number) or not program.is_of_device(number):
            continue
        is_of_warp = re.search(r"\b(?:scan_row|__shfl\w*|__reduce_\w+)\s*\(", program.code(number - 1)) is not None
        lane = "lane" if re.search(r"\bint\s+lane\b", program.around(number)) else "threadIdx.x % 32"
        because = "each thread does this, with what only one thread of its {} has to add"
        text = program.lines[number - 1].lstrip()
        for condition, of in ((f"{lane} == 31", "warp"), (f"{lane} == 0", "warp"), ("threadIdx.x == 0", "block")):
            meant = f"{found[1]}if ({condition}) {text}"
            is_sure = is_of_warp and condition.endswith("31")
            yield Edit(number, 0, len(program.lines[number - 1]), meant, because.format(of), is_sure=is_sure)


def _thread_of_the_block(program: Program) -> Iterator[Edit]:
    """Find one thread of the block, the last lane of its first warp, where that lane of each warp is meant."""
    for number, found in program.matches(THREAD_31):
        meant = "lane" if re.search(r"\bint\s+lane\b", program.around(number)) else "threadIdx.x % 32"
        because = f"the block has one thread with {found[0]}, and each warp has to do this: the lane is {meant}"
        yield Edit(number, *found.span(1), meant, because)


def _other_thread(found: re.Match[str]) -> str:
    return f"it is not the thread with {found[1]} == {found[2]} that has what is needed here"


def _one_calls_for_all(program: Program) -> Iterator[Edit]:
    """Find a function with barriers that one thread alone calls: the others run ahead."""
    waiting = {
        found[1]
        for found in DEVICE_FUNCTION.finditer(program.whole)
        if "__syncthreads" in re.split(r"^\}", program.whole[found.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    }
    for number in program.numbers:
        for found in IF.finditer(program.code(number)) if waiting else ():
            called = re.match(r"\{?\s*(\w{1,60})\s*(?:<[^<>;]{0,40}>)?\s*\(", program.code(number)[found.end() :])
            if called and called[1] in waiting and ALONE.search(found[1]):
                because = (
                    f"{called[1]} is for all threads of the block, which meet at its barriers: with {found[1][1:-1]} "
                    "one thread alone calls it, and the others run ahead"
                )
                yield Edit(number, *found.span(), "", because)


def _leaves_a_turn(program: Program) -> Iterator[Edit]:
    """Find threads that leave a loop, or a turn of it, before a barrier that the others wait at."""
    for number, found in program.matches(LEAVES_A_TURN):
        guarded, condition = {number: ""}, _opposite(found[2])
        for later in range(number + 1, min(number + 12, len(program.lines) + 1)):
            code = program.code(later)
            if "__sync" in code or (code.strip() == "}" and program.indent(later) < program.indent(number)):
                break
            if assigned := ASSIGNS.fullmatch(code):
                text = program.lines[later - 1]
                guarded[later] = f"{assigned[1]}if ({condition}) {text.lstrip()}"
        if found[0].strip() == program.code(number).strip() and len(guarded) > 1:
            because = (
                "threads that leave here do not come to the barrier of the loop any more, and others wait for them"
            )
            yield program.rewritten(guarded, because)


def _barrier_in_a_branch(program: Program) -> Iterator[Edit]:
    """Find a barrier that only the threads of a condition come to, where it can be before or behind the branch."""
    for number, code in program.each():
        if not BARRIER.fullmatch(code):
            continue
        head = next((line for line in program.enclosing(number) if line < number), number)
        indent = program.indent(head)
        inside = range(number + 1, program.function(number).stop)
        end = next((line for line in inside if program.code(line).strip() and program.indent(line) <= indent), 0)
        if not IF.match(program.code(head).lstrip()) or program.code(end).strip() != "}":
            continue
        barrier = f"{' ' * indent}{code.strip()}"
        because = "only the threads that the condition is true for come to this barrier, and the others run ahead"
        for place, text in (
            (head, f"{barrier}\n{program.lines[head - 1]}"),
            (end, f"{program.lines[end - 1]}\n{barrier}"),
        ):
            where = f"before line {head}" if place == head else f"behind line {end}"
            cure = f"take the __syncthreads() of line {number} out of the branch: put it {where}"
            yield program.rewritten({number: "", place: text}, because, cure)


def _shuffle_in_a_branch(program: Program) -> Iterator[Edit]:
    """Find a shuffle that only the lanes of a condition reach, where it can be in front of that."""
    for number, code in program.each():
        shuffle = SHUFFLE.search(code)
        if not shuffle or not program.is_of_device(number):
            continue
        for head in program.enclosing(number):
            branch = IF.match(program.code(head).lstrip())
            if not branch or head < number - 2:
                continue
            kind = "const Element" if shuffle[1] == "shuffle_up" else "const auto"
            first = f"{' ' * program.indent(head)}{kind} taken = {shuffle[0]};"
            lines = {line: program.lines[line - 1] for line in range(head, number + 1)}
            at = program.lines[number - 1]
            lines[number] = f"{at[: shuffle.start()]}taken{at[shuffle.end() :]}"
            meant = "\n".join([first, *lines.values()])
            because = (
                "the lanes that the condition leaves out do not come to this shuffle, and the others wait for them"
            )
            cure = (
                f"put `{first.strip()}` before line {head}, and write line {number} as "
                f"`{without_comments(lines[number]).strip()}`"
            )
            yield Edit(head, 0, len(program.lines[head - 1]), meant, because, cure, more=number - head)


def _old_value(program: Program) -> Iterator[Edit]:
    """Find a statement that takes what a branch sets, and is not in it: other threads take an old value."""
    for number in program.numbers:
        branch = IF.search(program.code(number))
        if not branch or not program.is_of_device(number):
            continue
        body = program.code(number)[branch.end() :] + program.code(number + 1)
        sets = re.match(r"\s*\{?\s*([A-Za-z_]\w{0,40})\s*=(?!=)", body)
        for later in range(number + 1, number + 7) if sets else ():
            taken = ASSIGNS.fullmatch(program.code(later))
            if sets and taken and re.search(rf"=.*(?<![\w.]){sets[1]}\b", taken[2]) and later in program.numbers:
                text = program.lines[later - 1].lstrip()
                because = f"where {branch[1][1:-1]} is not true, {sets[1]} is what it was before"
                meant = f"{taken[1]}if {branch[1]} {text}"
                yield Edit(later, 0, len(program.lines[later - 1]), meant, because)


def _lane_0_of_a_shuffle(program: Program) -> Iterator[Edit]:
    """Find what a shuffle to higher lanes gives, taken by lane 0 too, which has no lane before it and gets its own."""
    for number, found in program.matches(SHUFFLED_UP):
        lane = "lane" if re.search(r"\bint\s+lane\b", program.whole) else "threadIdx.x % 32"
        for later in range(number + 1, number + 5):
            for use in re.finditer(rf"[=+]\s*({found[1]})\b(?=\s*[;+])", program.code(later)):
                because = f"lane 0 has no lane before it: its {found[1]} is its own value"
                yield Edit(later, *use.span(1), f"({lane} > 0 ? {found[1]} : identity())", because)


def _part_of_a_warp(program: Program) -> Iterator[Edit]:
    """Find a condition that lets a part of the first warp to a function for all of its lanes."""
    for number, found in program.matches(FEW):
        meant = "warp_size" if "warp_size" in program.whole else "32"
        because = f"only {found[2]} lanes of the warp come to what is for all of its lanes"
        yield Edit(number, *found.span(2), meant, because)


PLAIN = (
    Rule(_shuffle_in_a_branch, "deadlock|warp|wrong|endless", is_sure=True),
    Rule(_part_of_a_warp, r"deadlock|warp", is_sure=True),
    Rule(_barrier_in_a_branch, "barrier|deadlock", is_sure=True),
    Rule(_one_calls_for_all, "wrong|race|barrier|deadlock|uninitialised|bounds", is_sure=True),
    Rule(_leaves_a_turn, "race|barrier|deadlock|wrong", is_sure=True),
    Rule(_leaves, "wrong|barrier|deadlock|uninitialised|warp"),
)
RULES = (
    Rule(guards, r"wrong\.(?:unwritten|uninitialised|first_|last_)|uninitialised"),
    Rule(first_or_last, "wrong|uninitialised"),
    Rule(_old_value, "wrong|race"),
    Rule(_lane_0_of_a_shuffle, "wrong"),
    Rule(_thread_of_the_block, "wrong|uninitialised|race|bounds", is_common=True),
    Rule(_every_lane_adds, "wrong"),
    Rule(_own_for_total, "wrong", is_common=True),
    rewrite(
        r"(?<!__popc\()(?<!__clz\()(?<!__ffs\()(\b__ballot_sync\s*<GROUP>)",
        r"__popc(\1)",
        "a ballot has a bit for each lane, and is no number of lanes: __popc counts the bits",
        "wrong|bounds",
    ),
)
