"""Memory that nobody has asked for, or too little of it: dynamic shared arrays, pointers without a cudaMalloc."""

import re
from collections.abc import Iterator

from scanlab.judging.tried.slips.cuda import LAUNCH
from scanlab.judging.tried.slips.program import Edit, Program, Rule, arguments, compiled, rewrite

DYNAMIC = re.compile(r"\bextern\s+__shared__\s+([^;=\[]{1,80})\[\s*\]")
BYTES = ("char", "byte", "uint8_t")
"""Types of memory in which elements are put."""
OF_A_THREAD = compiled(
    r"^(\s+)(?:unsigned\s+)?(?:Element|int|float|bool)\s+(\w{1,40})\s*((?:\[[^\[\]]{1,60}\]){0,3})\s*;"
)
"""A variable or an array that a line declares without a value."""
SIZE_IN_BYTES = re.compile(
    r"(?:cudaMalloc\w*\s*\([^;]{1,80},|\b\w*[bB]ytes\w*\s*=)\s*(\w{1,40})\s*\*\s*sizeof\s*\(\s*(?!Element)[\w*]{1,20}\s*\)"
)
FOR_ONE = re.compile(r"\bif\s*\(.*==")
ATTRIBUTES = re.compile(r"\b__launch_bounds__\s*\([^()]{0,60}\)")
KERNEL = re.compile(r"[^(){};]{1,100}?\b(\w{1,60})\s*\(")
POINTER = re.compile(
    r"^\s{1,40}([A-Za-z_]\w{0,40})\s*\*\s*([A-Za-z_]\w{0,40})\s*(?:\{\s*\}|=\s*(?:nullptr|NULL|0)|=([^=;][^;]{0,120}))?;"
)
ON_HOST = compiled(
    r"^\s*(?:<GROUP>|static_cast\s*<[^<>;]{1,40}>\s*\()?\s*"
    r"(?:(?:std::)?malloc\s*(<GROUP>)\s*\)?|new\s+\w{1,40}\s*\[([^\[\]]{1,80})\]\s*(?:\(\s*\)|\{\s*\})?)\s*$"
)
"""An array on the host: its size in bytes, or its number of elements."""
GIVEN_ADDRESS = re.compile(r"<<<[^;<>]{1,120}>>>\s*\([^;]{0,120}?(&\s*(\w{1,40}))\s*[,)]")
ALLOCATED = compiled(
    r"\bcudaMalloc\s*\(\s*(?:\(\s*void\s*\*\*\s*\)\s*)?&\s*([\w.\->]{1,60})\s*,((?:[^(){};,]|<GROUP>){1,80}+)\)"
)
ZEROED = compiled(r"\bcudaMemset(?:Async)?\s*\(\s*([\w.\->]{1,60})\s*,\s*0\s*,((?:[^(){};,]|<GROUP>){1,80}+)[,)]")
NULL_IS_PASSED = re.compile(r"\b(\w{1,60})\s*(?:<[^<>;]{0,40}>\s*)?<<<[^;<>]{1,120}>>>\s*\([^;]*\b(?:nullptr|NULL)\b")


def _launches(program: Program, number: int) -> dict[int, re.Match[str]]:
    """Return the lines that launch the kernel in which a line stands; all launches, if that is another function."""
    before = "\n".join(program.codes[program.function(number)[0] - 1 : number])
    named = KERNEL.match(ATTRIBUTES.sub("", before.rpartition("__global__")[2])) if "__global__" in before else None
    launch = re.compile(rf"\b{named[1] if named else ''}\b[^;]*<<<")
    codes = ((line, program.code(line)) for line in range(1, len(program.lines) + 1))
    found = {line: LAUNCH.search(code) for line, code in codes if launch.search(code)}
    return {line: one for line, one in found.items() if one}


def _sizes(program: Program, number: int, threads: str) -> Iterator[str]:
    """Yield what the array of a line may have to have in elements, the smallest first."""
    section = "section_size" if "section_size" in program.whole else threads
    another = threads if threads != section and re.fullmatch(r"\w+", threads) else ""
    if not re.search(rf"\+\s*{re.escape(section)}\s*;", program.around(number)):  # else another array begins there
        yield from filter(None, (another, section))
    if another:
        yield f"({section} + {another})"
    yield from (f"{times} * {section}" for times in (2, 3))


def _dynamic(program: Program) -> Iterator[Edit]:
    """Find a dynamic shared array for which a launch asks for nothing, or for too little."""
    for number in range(1, len(program.lines) + 1):
        found = DYNAMIC.search(program.code(number))
        words = re.findall(r"\w+", found[1]) if found else []
        launches = _launches(program, number) if words[1:] else {}
        given = {line: [one for _, one in arguments(launch[1])] for line, launch in launches.items()}
        if not given or not all(len(one) >= 2 for one in given.values()):
            continue
        element = "Element" if words[-2] in BYTES else words[-2]
        is_said = any(len(one) > 2 and one[2] != "0" for one in given.values())
        because = f"{words[-1]} has as many bytes as the third number of the launch says, and " + (
            "those are too few" if is_said else "this one says none"
        )
        for size in _sizes(program, number, next(iter(given.values()))[1]):
            lines = {}
            for line, launch in launches.items():
                meant = ", ".join([*given[line][:2], f"{size} * sizeof({element})", *given[line][3:]])
                text = program.lines[line - 1]
                lines[line] = text[: launch.start(1)] + meant + text[launch.end(1) :]
            yield program.rewritten(lines, because)


def _never_allocated(program: Program) -> Iterator[Edit]:
    """Find a pointer of host code that is passed to a kernel and points to no memory of the device."""
    for number, found in ((at, POINTER.match(program.code(at))) for at in range(1, len(program.lines) + 1)):
        if not found:
            continue
        element, name, value = found.groups()
        function = program.around(number)
        launch = re.search(rf"<<<([^;<>]{{1,120}})>>>\s*\([^;]{{0,160}}?(?<![\w.&]){name}\b", function)
        if program.is_of_device(number) or not launch or re.search(rf"&\s*{name}\b", function):
            continue
        sets = [(number, value)] if value else []
        for line in program.function(number):
            assigned = re.match(rf"\s*{name}\s*=([^=;][^;]*);", program.code(line))
            sets += [(line, assigned[1])] if assigned else []
        if not sets:
            because = f"{name} points to no memory of the device: no cudaMalloc sets it"
            blocks = arguments(launch[1])[0][1]
            for size in dict.fromkeys(one for one in (blocks, "n") if one.isidentifier()):
                call = _allocation(name, f"{size} * sizeof({element})")
                text = program.lines[number - 1]
                meant = f"{text}\n{' ' * program.indent(number)}{call}"
                yield Edit(number, 0, len(text), meant, because, f"put `{call}` behind line {number}")
        elif len(sets) == 1 and (host := ON_HOST.match(sets[0][1])):
            number_of = host[2] if re.fullmatch(r"\w+", host[2] or "") else f"({host[2]})"
            size = host[1][1:-1] if host[1] else f"{number_of} * sizeof({element})"
            yield _on_the_device(program, sets[0][0], name, element if value else "", size)


def _address_of_a_variable(program: Program) -> Iterator[Edit]:
    """Find the address of a variable of the host that is passed to a kernel, where a pointer of the device is there."""
    for number, found in program.matches(GIVEN_ADDRESS):
        function = program.around(number)
        name = found[2]
        kind = re.search(rf"^\s+(?:const\s+|unsigned\s+)*(\w{{1,40}})\s+{name}\s*(?:[=;{{])", function, re.MULTILINE)
        pointers = re.findall(rf"\b{kind[1]}\s*\*\s*(?:const\s+)?(d_\w{{1,40}})\b", function) if kind else []
        for pointer in dict.fromkeys(pointers):
            because = f"&{name} is an address of the host, where kernels cannot read or write"
            yield Edit(number, *found.span(1), pointer, because)


def _member_without_memory(program: Program) -> Iterator[Edit]:
    """Find a pointer that is set to zero and that nothing has allocated: the size is that of the zeros."""
    for number, found in program.matches(ZEROED):
        pointer, size = found[1], found[2].strip()
        function = program.around(number)
        is_set = re.search(rf"&\s*{re.escape(pointer)}\s*[,)]|(?<![\w.>]){re.escape(pointer)}\s*=(?!=)", function)
        is_given = re.search(rf"\*\s*(?:const\s+)?{re.escape(pointer)}\b", function)  # as a parameter
        if not is_set and not is_given and not program.is_of_device(number):
            call = _allocation(pointer, size)
            text = program.lines[number - 1]
            because = f"{pointer} points to no memory of the device: no cudaMalloc sets it"
            meant = f"{' ' * program.indent(number)}{call}\n{text}"
            yield Edit(number, 0, len(text), meant, because, f"put `{call}` before line {number}")


def _null_is_passed(program: Program) -> Iterator[Edit]:
    """Find a store through a parameter for which a launch passes nullptr."""
    for launch, found in program.matches(NULL_IS_PASSED):
        kernel = re.compile(rf"__global__[^;{{}}]*\b{found[1]}\s*\(")
        for number, code in program.involved():
            store = re.match(r"\s*(?:\{\s*)?((\w{1,40})\s*\[[^;=]{1,60}\]\s*=(?!=))", code)
            if store and kernel.search(program.around(number)):
                because = f"line {launch} passes nullptr: there {store[2]} has no elements"
                yield Edit(number, store.start(1), store.start(1), f"if ({store[2]} != nullptr) ", because)


def _allocation(name: str, size: str) -> str:
    return f"SCANLAB_CUDA_CHECK(cudaMalloc(&{name}, {size}));"


def _on_the_device(program: Program, line: int, name: str, declared: str, size: str) -> Edit:
    """Return an edit that allocates an array on the device which a line allocates on the host, and frees it there."""
    declaration = f"{declared}* {name}; " if declared else ""
    lines = {line: f"{' ' * program.indent(line)}{declaration}{_allocation(name, size)}"}
    frees = re.compile(rf"\b(?:delete\s*\[\s*\]\s*{name}|(?:std::)?free\s*\(\s*{name}\s*\))\s*;")
    for number in program.function(line):
        if freed := frees.search(program.code(number)):
            text = program.lines[number - 1]
            call = f"SCANLAB_CUDA_CHECK(cudaFree({name}));"
            lines[number] = text[: freed.start()] + call + text[freed.end() :]
    return program.rewritten(lines, f"line {line} allocates memory of the host, and kernels need memory of the device")


def _too_few(program: Program) -> Iterator[Edit]:
    """Find a shared array with fewer elements than the block scans or has threads."""
    name = program.mistake.variable.partition("[")[0]
    if not name.isidentifier():
        return
    declared = re.compile(rf"__shared__[^;()]*?[\s,]{name}\s*\[([^\[\]]{{1,60}})\]")
    for number, found in program.matches(declared):
        size = found[1].strip()
        is_part = re.search(r"/|-\s*\d|^\d{1,3}$|>>", size) is not None
        rows = re.search(rf"\b{name}\s*\[[^\[\]]*\*\s*{re.escape(size)}\b", program.whole)  # in_half * section_size + t
        if rows and size.isidentifier():
            because = f"{name} has {size} elements, and indices go further: there are two halves of so many"
            yield Edit(number, *found.span(1), f"2 * {size}", because, is_sure=True)
        for meant in ("section_size", "block_size"):
            if re.search(rf"\b{meant}\b", program.whole) and meant != size:
                because = f"{name} has {size} elements, and indices go further"
                yield Edit(number, *found.span(1), meant, because, is_sure=is_part)


def _not_zeroed(program: Program) -> Iterator[Edit]:
    """Find memory of the device of which a part is set to zero, or nothing is."""
    for number, found in program.matches(ALLOCATED):
        pointer, size = found[1], found[2].strip()
        zeroed = [
            (line, one)
            for line in program.function(number)
            for one in ZEROED.finditer(program.code(line))
            if one[1] == pointer
        ]
        for line, one in zeroed:
            if "".join(one[2].split()) != "".join(size.split()) and line in program.numbers:
                because = f"{pointer} has {size} bytes, and not all of them are set to zero"
                yield Edit(line, *one.span(2), f" {size}", because, is_sure=True)
        if not zeroed:
            call = f"SCANLAB_CUDA_CHECK(cudaMemset({pointer}, 0, {size}));"
            text = program.lines[number - 1]
            because = f"{pointer} holds whatever was in its memory before: nothing sets it"
            meant = f"{text}\n{' ' * program.indent(number)}{call}"
            yield Edit(number, 0, len(text), meant, because, f"put `{call}` behind line {number}")


def _one_more(program: Program) -> Iterator[Edit]:
    """Find memory of the device that lacks one place, as that of a counter beside the flags."""
    for number, found in program.matches(SIZE_IN_BYTES):
        because = "one place more is used than is allocated here"
        yield Edit(number, *found.span(1), f"({found[1]} + 1)", because)


def _not_shared(program: Program) -> Iterator[Edit]:
    """Find what each thread has of its own where one of them sets it, before a barrier, and others read it."""
    for number, found in program.matches(OF_A_THREAD):
        name, sizes = found[2], found[3]
        if not program.is_of_device(number) or not (sizes or _is_set_by_one(program, number, name)):
            continue
        if sizes and not name.startswith("s_") and not _is_of_threads(program, number, name):
            continue
        because = f"{name} is not __shared__: each thread has {'an array' if sizes else 'a variable'} of its own"
        yield Edit(number, found.end(1), found.end(1), "__shared__ ", because)


def _is_set_by_one(program: Program, number: int, name: str) -> bool:
    """Return whether one thread alone sets a variable that a line declares, and it is read after a barrier."""
    later = [line for line in program.function(number) if line > number]
    is_set = re.compile(rf"(?<![\w.>]){name}\s*=(?!=)")
    sets = [line for line in later if is_set.search(program.code(line))]
    after = [program.code(line) for line in later if sets and line > sets[-1]]
    barrier = next((at for at, code in enumerate(after) if "__syncthreads" in code), len(after))
    is_read = any(re.search(rf"\b{name}\b", code) for code in after[barrier:])
    return is_read and all(
        any(FOR_ONE.search(program.code(guard)) for guard in program.enclosing(line)) for line in sets
    )


def _is_of_threads(program: Program, number: int, name: str) -> bool:
    """Return whether threads set one element each of an array, and read others after a barrier."""
    function = program.around(number)
    places = re.findall(rf"\b{name}\s*\[([^\[\]]{{1,60}})\](\s*=(?!=))?", function.partition(f" {name}[")[2])
    sets = {place for place, is_set in places if is_set}
    is_own = any(re.fullmatch(r"t|tid|\w{0,20}(?:lane|warp)\w{0,20}|threadIdx\.x", place) for place in sets)
    return is_own and "__syncthreads" in function and any(place not in sets for place, _ in places)


RULES = (
    rewrite(
        r"\bsizeof\s*\(\s*(float|double)\s*\)",
        "Element",
        r"an Element is no \1: with affine maps it is larger",
        r"bounds\.global|cuda|wrong",
        group=1,
        is_sure=True,
    ),
    Rule(_not_zeroed, r"uninitialised\.(?:global|memory)|deadlock|endless"),
    Rule(_not_shared, r"wrong|bounds\.local|uninitialised|race"),
    Rule(_dynamic, r"bounds\.shared"),
    Rule(_one_more, r"bounds\.global"),
    Rule(_too_few, r"bounds\.shared"),
    Rule(_address_of_a_variable, r"bounds|host_pointer", is_sure=True),
    Rule(_member_without_memory, r"bounds|host_pointer|uninitialised\.pointer|cuda|crash", is_sure=True),
    Rule(_null_is_passed, r"bounds|host_pointer", is_sure=True),
    Rule(
        _never_allocated,
        r"bounds|host_pointer|uninitialised\.pointer|misaligned|use_after_free|cuda|launch|crash",
        is_sure=True,
    ),
)
