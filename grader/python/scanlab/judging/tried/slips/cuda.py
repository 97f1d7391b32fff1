"""CUDA's names, numbers and arguments: those that are taken for one another."""

import re
from collections.abc import Iterator

from scanlab.judging.tried.slips.program import Edit, Program, Rule, arguments, compiled, rewrite

KIND = re.compile(r"<\s*(Kind::(?:inclusive|exclusive))\s*>(?=\s*(?:<<<|\())")
CALL = compiled(
    r"\b(\w{1,60})\s*(?:<[^<>;(){}]{0,60}>\s*)?(<<<[^;{}]{1,120}?>>>\s*)?\(((?:[^(){};]|\([^(){};]{0,60}\)){1,160})\)"
)
DEFINED = re.compile(r"\b(?:void|Element|int|float|auto)\s+(\w{1,60})\s*\(([^(){};]{1,300})\)\s*\{")
RECURSION = re.compile(r"\b(\w{1,60})\s*<\s*(kind|Kind::exclusive)\s*>\s*\((?!\s*const\b)")
BYTES = re.compile(r"\b(\w{0,30}[bB]ytes\w{0,30})\s*=\s*([^;=]{1,80});")
LAUNCH = re.compile(r"<<<([^;{}<>]{1,120})>>>")
THREADS = re.compile(r"\b(?:block_size|section_size|threads\w*|blockDim|THREADS|BLOCK_SIZE|32|64|128|256|512|1024)\b")
SIZED = compiled(r"\b(cuda(?:Memcpy|Memset|Malloc)(?:Async)?)\s*\(((?:[^(){};]|<GROUP>){1,160}+)\)")
SIZE_OF_POINTER = re.compile(r"sizeof\s*\(\s*(?:[\w.\->]{1,40}|Element\s*\*)\s*\)")
TYPE_SIZE = re.compile(r"sizeof\s*\(\s*(?:int|unsigned|float|Element)\s*\)")
COPIES = ("cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice")
QUOTIENT = re.compile(r"\bint\s+(\w{1,40})\s*=\s*(\w{1,40})\s*/\s*(\w{1,40}(?:\.x)?)\s*;")
BLOCKS = re.compile(r"(<<<)\s*(\w{1,40})\s*/\s*(\w{1,40})\s*(?=,)")
SHARED = re.compile(r"__shared__\s+(?!.*\[)([^;]{1,120});")
ROWS = re.compile(r"\b(\w{1,60})(\[[^\[\]]{1,60}\])(\[[^\[\]]{1,60}\])\s*(?=[;,])")
MASK = re.compile(
    r"\b__(?:shfl|ballot|all|any|match|reduce|activemask|syncwarp)\w*\s*\(\s*((?:0x[0-9a-fA-F]{1,7}|[0-9]{1,9})u?|"
    r"__activemask\(\)|1u?\s*<<\s*\w{1,20})\s*[,)]"
)


def _kind(program: Program) -> Iterator[Edit]:
    """Find one kind of scan where the template's parameter was meant."""
    for number, found in program.matches(KIND):
        if "Kind kind" in program.around(number):
            because = f"this names {found[1]}, whichever scan was asked for"
            yield Edit(number, *found.span(1), "kind", because)


def _kind_of_the_sums(program: Program) -> Iterator[Edit]:
    """Find a function that scans sums, by calling itself, as whatever was asked for."""
    for number, found in program.matches(RECURSION):
        if re.search(rf"\bvoid\s+{found[1]}\s*\(", program.around(number)):
            because = "the sums are scanned inclusively, whatever was asked for: each is of all sections up to one"
            yield Edit(number, *found.span(2), "Kind::inclusive", because)


def _bytes_without_sizeof(program: Program) -> Iterator[Edit]:
    """Find a number of bytes that is one of elements."""
    for number, found in program.matches(BYTES):
        used = rf"\bcuda(?:Malloc|Memset|Memcpy)\w*\s*\([^;]*\b{found[1]}\b"
        if "sizeof" not in found[2] and re.search(used, program.around(number)):
            size = found[2].strip()
            meant = f"({size}) * sizeof(Element)" if re.search(r"\W", size) else f"{size} * sizeof(Element)"
            yield Edit(
                number, *found.span(2), meant, f"{found[1]} is used as a number of bytes, and {size} is one of elements"
            )


def _swapped_arguments(program: Program) -> Iterator[Edit]:
    """Find arguments that are called as each other's parameters."""
    parameters: dict[str, list[str]] = {}
    for found in DEFINED.finditer(program.whole):
        names = [re.search(r"(\w+)\s*$", one) for _, one in arguments(found[2])]
        parameters[found[1]] = [name[1] if name else "" for name in names]
    for number, found in program.matches(CALL):
        names = parameters.get(found[1], [])
        given = arguments(found[3])
        if len(given) != len(names) or DEFINED.search(program.code(number)):
            continue
        plain = [(re.findall(r"\w+", one) or [""])[-1] for _, one in given]
        pairs = list(zip(names, plain, strict=True))
        wrong = [k for k, (name, own) in enumerate(pairs) if name != own and name in plain and own in names]
        if wrong and sorted(plain[k] for k in wrong) == sorted(names[k] for k in wrong):
            named = {
                own: one if re.fullmatch(r"[\w.\->]+", one) else own for own, (_, one) in zip(plain, given, strict=True)
            }
            meant = [named[names[k]] if k in wrong else one for k, (_, one) in enumerate(given)]
            because = f"the parameters of {found[1]} are {', '.join(names)}, in this order"
            yield Edit(number, *found.span(3), ", ".join(meant), because)


def _launches(program: Program) -> Iterator[Edit]:
    """Find blocks and threads the wrong way round, and a size of shared memory in elements."""
    for number, found in program.matches(LAUNCH):
        given = arguments(found[1])
        if len(given) >= 2 and THREADS.search(given[0][1]) and not THREADS.search(given[1][1]):
            meant = ", ".join([given[1][1], given[0][1], *(one for _, one in given[2:])])
            yield Edit(number, *found.span(1), meant, "a launch is <<<blocks, threads of a block>>>")
        if len(given) >= 3 and given[2][1] != "0" and not re.search(r"sizeof|bytes", given[2][1]):
            begin, size = found.start(1) + given[2][0], given[2][1]
            because = f"the third number of a launch, the size of dynamic shared memory, is in bytes: {size} is less"
            meant = f"({size}) * sizeof(Element)" if re.search(r"\W", size) else f"{size} * sizeof(Element)"
            yield Edit(number, begin, begin + len(size), meant, because)


def _no_blocks(program: Program) -> Iterator[Edit]:
    """Find a launch that may have no blocks: with a number that something is taken from."""
    for number, found in program.matches(LAUNCH):
        blocks = arguments(found[1])[0][1]
        code = program.code(number)
        if re.search(r"\w\s*-\s*\w", blocks) and not re.search(r"\bif\b", code):
            indent = program.indent(number)
            text = program.lines[number - 1]
            because = f"{blocks} is 0 here, and a launch needs a block"
            yield Edit(number, 0, len(text), f"{text[:indent]}if ({blocks} > 0) {text[indent:]}", because)


def _size_of_pointer(program: Program) -> Iterator[Edit]:
    """Find the size of a pointer where that of what it points to is meant: as much as was allocated there."""
    for number, found in program.matches(SIZED):
        given = arguments(found[2])
        name = re.sub(r"^(?:\(void\s*\*\*\)|&|\s)+", "", given[0][1])
        to = rf"\bcudaMalloc\w*\s*\([^;]{{0,40}}&\s*{re.escape(name)}\s*,"
        allocated = re.search(rf"{to}((?:[^();]|\([^();]*\)){{1,120}})\)", program.whole)
        if "Malloc" not in found[1] and len(given) > 2 and allocated and SIZE_OF_POINTER.fullmatch(given[2][1]):
            begin = found.start(2) + given[2][0]
            is_of_type = TYPE_SIZE.fullmatch(given[2][1])
            because = (
                "less than was allocated" if is_of_type else "the size of a pointer is 8 bytes, whatever it points to"
            )
            yield Edit(number, begin, begin + len(given[2][1]), allocated[1].strip(), because)


def _elements_for_bytes(program: Program) -> Iterator[Edit]:
    """Find a size in elements where a function counts in bytes."""
    for number, found in program.matches(SIZED):
        given = arguments(found[2])
        at = 1 if "Malloc" in found[1] else 2
        if len(given) > at and not re.search(r"(?i)sizeof|bytes|size_of", given[at][1]):
            begin, size = found.start(2) + given[at][0], given[at][1]
            array = re.sub(r"^(?:\(void\s*\*\*\)|&|\s)+", "", given[0][1])
            is_of_elements = re.search(rf"\bElement\s*\*\s*(?:const\s+)?{re.escape(array)}\b", program.whole)
            factor = "sizeof(Element)" if is_of_elements else f"sizeof(*{array})"
            meant = f"({size}) * {factor}" if re.search(r"\W", size) else f"{size} * {factor}"
            yield Edit(number, begin, begin + len(size), meant, f"{found[1]} counts in bytes, {size} in elements")


def _blocks_rounded_down(program: Program) -> Iterator[Edit]:
    """Find a number of blocks that is none for few elements."""
    blocks = {arguments(found[1])[0][1] for _, found in program.matches(LAUNCH)}
    quotients = [(number, found) for number, found in program.matches(QUOTIENT) if found[1] in blocks]
    for number, found in (*quotients, *program.matches(BLOCKS)):
        because = f"{found[2]} / {found[3]} is rounded down, and what is left over has no block"
        yield Edit(number, found.start(2), found.end(3), f"({found[2]} + {found[3]} - 1) / {found[3]}", because)


def _copies(program: Program) -> Iterator[Edit]:
    """Find a copy that goes the wrong way: in its arguments, or in what it says."""
    for number, found in program.matches(SIZED):
        given = arguments(found[2])
        if "Memcpy" not in found[1] or len(given) < 4:
            continue
        begin, end = found.start(2) + given[0][0], found.start(2) + given[1][0] + len(given[1][1])
        because = "cudaMemcpy's first argument is where to, the second where from"
        yield Edit(number, begin, end, f"{given[1][1]}, {given[0][1]}", because)
        begin = found.start(2) + given[3][0]
        for other in COPIES:
            if given[3][1] in COPIES and other != given[3][1]:
                because = f"{given[3][1]} is not the way that this copy has to go"
                yield Edit(number, begin, begin + len(given[3][1]), other, because)


def _one_for_all(program: Program) -> Iterator[Edit]:
    """Find one shared variable where each thread needs one of its own."""
    for number, found in program.matches(SHARED):
        names = re.findall(r"(\w+)\s*(?:,|$|=)", found[1])
        if program.mistake.variable.partition("[")[0] in names:
            because = f"__shared__ makes {', '.join(names)} one for all threads of the block, and each needs its own"
            yield Edit(number, found.start(), found.start(1), "", because)


def _rows(program: Program) -> Iterator[Edit]:
    """Find the two sizes of an array the wrong way round."""
    for number, found in program.matches(ROWS):
        if found[2] != found[3] and re.match(r"\s*(?:__shared__|Element|int|float|extern)", program.code(number)):
            because = f"{found[1]}[a][b] is element b of row a, and this is an array of {found[2][1:-1]} rows"
            yield Edit(number, found.start(2), found.end(3), found[3] + found[2], because)


def _pointers(program: Program) -> Iterator[Edit]:
    """Find a pointer that is moved by bytes."""
    for number, found in program.matches(re.compile(r"\s*\*\s*sizeof\s*\(\s*\w{1,40}\s*\)")):
        if not re.search(r"\bcuda\w+|<<<|bytes|size_t", program.code(number)):
            because = "adding to a pointer moves it by whole elements: sizeof multiplies once more"
            yield Edit(number, *found.span(), "", because)


def _masks(program: Program) -> Iterator[Edit]:
    """Find a mask that does not name all lanes."""
    for number, found in program.matches(MASK):
        because = f"the mask {found[1]} does not name all lanes that take part"
        yield Edit(number, *found.span(1), "0xffffffffu", because)


def _beyond(program: Program) -> Iterator[Edit]:
    """Find a shared array that is read by threads for which it has no place."""
    name = program.mistake.variable.partition("[")[0]
    size = re.search(rf"\b{re.escape(name)}\s*\[([^\[\]]{{1,60}})\]\s*[;,]", program.whole) if name else None
    for number, code in program.involved():
        for found in re.finditer(rf"\b{re.escape(name)}\s*\[([^\[\]]{{1,60}})\](?!\s*=[^=])", code) if size else ():
            if size:
                because = f"{name} has {size[1]} places, and not every {found[1]} is one of them"
                yield Edit(number, *found.span(), f"({found[1]} < {size[1]} ? {found[0]} : identity())", because)


RULES = (
    Rule(_kind_of_the_sums, "wrong"),
    Rule(_kind),
    rewrite(
        r"\b((?:threadIdx|blockIdx|blockDim|gridDim)\.)[yz]\b",
        r"\1x",
        r"blocks and grid have one dimension here: along y and z the index is 0 and the size is 1",
    ),
    rewrite(
        r"\bblockIdx\.x\s*\*\s*(gridDim)\.x",
        "blockDim",
        "gridDim.x is the number of blocks: a block's first thread is blockIdx.x * blockDim.x",
        group=1,
        is_sure=True,
    ),
    Rule(_bytes_without_sizeof, is_sure=True),
    Rule(_swapped_arguments, is_sure=True),
    Rule(_no_blocks, "launch", is_sure=True),
    rewrite(
        r"\bif\s*\(\s*\w{1,40}\s*(>=)\s*0\s*\)",
        ">",
        "with 0 there is nothing to launch, and a grid of no blocks is refused",
        "launch",
        group=1,
        is_sure=True,
    ),
    Rule(_blocks_rounded_down, "launch", is_sure=True),
    Rule(_size_of_pointer, is_sure=True),
    rewrite(
        r"\bcuda(?:Free|Memset)(?:Async)?\s*\(\s*(&)\s*\w",
        "",
        "this call takes the pointer that cudaMalloc has set, not the pointer's own address",
        group=1,
        is_sure=True,
    ),
    rewrite(
        r"\bint\s+\w{0,20}[lL]ane\w{0,20}\s*=\s*(threadIdx\.x|tid|t)\s*;",
        r"\1 % warp_size",
        "a lane is a thread's place in its warp, not in its block",
        group=1,
        is_sure=True,
    ),
    rewrite(
        r"\b(?:lane\w{0,20}|in_warp)\s*=\s*[\w.]{1,20}\s*(/)\s*(?:warp_size|warpSize|32)\s*[;,]",
        "%",
        "divided by the size of a warp this is the number of the warp: the lane is the remainder",
        group=1,
        is_sure=True,
    ),
    rewrite(
        r"\bwarp(?!_size|Size)\w{0,20}\s*=\s*[\w.]{1,20}\s*(%)\s*(?:warp_size|warpSize|32)\s*[;,]",
        "/",
        "the remainder is the lane: the number of the warp is the quotient",
        group=1,
        is_sure=True,
    ),
    Rule(_launches),
    Rule(_elements_for_bytes, is_sure=True),
    rewrite(
        r"\bsizeof\s*\(\s*(?:d_\w{1,40}|Element\s*\*)\s*\)",
        "sizeof(Element)",
        "the size of a pointer is 8 bytes, whatever it points to",
    ),
    Rule(_copies, "cuda|wrong|uninitialised|host|launch|input"),
    Rule(_one_for_all, r"race\.shared"),
    Rule(_rows),
    Rule(_pointers),
    rewrite(
        r"(?<=[(,])\s*&(s_\w{1,40})\s*\[\s*(?:t|tid|threadIdx\.x)\s*\](?=\s*[,)])",
        r"\1",
        "the function is for the whole block, and takes the whole array: this is one of its own for each thread",
        "bounds|wrong|race|misaligned",
    ),
    rewrite(
        r"__syncwarp\s*\([^()]{0,20}\)",
        "__syncthreads()",
        "__syncwarp() waits for the lanes of one warp, and other warps take part here",
        r"race\.shared|wrong|uninitialised",
        is_sure=True,
    ),
    rewrite(
        r"__threadfence(?:_block)?\s*\(\)",
        "__syncthreads()",
        "a fence orders a thread's own accesses and waits for no thread: it is no barrier",
        r"race\.shared",
        is_sure=True,
    ),
    rewrite(
        r"__threadfence_block\s*\(\)",
        "__threadfence()",
        "__threadfence_block() is for the threads of one block, and other blocks take part here",
        r"race\.global|fence|wrong",
    ),
    rewrite(
        r"\batomic(\w{1,20})_block\b",
        r"atomic\1",
        r"atomic\1_block() is atomic for the threads of one block, and other blocks take part here",
        r"race\.global|fence|wrong",
    ),
    rewrite(
        r"\bthread_scope_block\b",
        "thread_scope_device",
        "this scope is the threads of one block, and other blocks take part here",
        r"race\.global|fence|wrong|deadlock",
    ),
    Rule(_masks, "wrong|warp|deadlock|race"),
    rewrite(r"\b__shfl_down_sync\b", "__shfl_up_sync", "`down` takes from the lanes to the right", "wrong"),
    rewrite(
        r"\b__shfl_sync\s*\(\s*<OPERAND>\s*,\s*<OPERAND>\s*,\s*(warp_size|32|warpSize)\s*[,)]",
        r"\1 - 1",
        r"lanes are numbered from 0: lane \1 is lane 0 again",
        group=1,
    ),
    rewrite(
        r"\blane\w{0,20}\s*=\s*(threadIdx\.x)\s*;",
        "threadIdx.x % 32",
        "this is the thread's number in its block: from the second warp on it is 32 and more",
        group=1,
    ),
    Rule(_beyond, r"bounds\.shared"),
)
OTHERS = (
    rewrite(
        r"\bsizeof\s*\(\s*(?:int|unsigned|float)\s*\)",
        "sizeof(Element)",
        "elements may be larger than this",
        "bounds|wrong|misaligned|uninitialised",
    ),
    rewrite(
        r"\b__any_sync\b",
        "__all_sync",
        "__any_sync is true where a single lane's value is, and __all_sync where each lane's is",
        "wrong|race|uninitialised|deadlock|endless",
    ),
    rewrite(
        r"\b__all_sync\b",
        "__any_sync",
        "__all_sync is true where each lane's value is, and __any_sync where a single one is",
        "wrong|race|uninitialised|deadlock|endless",
    ),
)
