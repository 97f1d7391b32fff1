"""Where in a learner's code something stands that a device cannot see: loops, launches, host code, writes.

It is looked for in the text, so what is said of it is that the lines are there, and nothing more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.tried.slips.program import Mistake, Program

SHOWN = 4
"""At most this many lines are named."""
LOOP = re.compile(r"\b(?:for|while)\s*\(")
DEVICE = re.compile(r"\b__(?:global|device)__\b")
LOCAL_ARRAY = re.compile(r"^\s*(?:const\s+)?Element\s+(s_\w+)\s*\[")
INDEX = re.compile(r"\[([^\[\]]{1,60})\]|\(\s*\w{1,60}\s*\+\s*(\w{1,40})\s*,")
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
LOOP_HEAD = re.compile(r"\bfor\s*\([^;]*;[^;]*;[^{]*")
PLACE_IN_BLOCK = re.compile(r"=\s*(?:threadIdx\.x|blockIdx\.x)\s*[;,]")
MOST_ALLOCATIONS = 64
"""More are not looked at."""
ALLOCATES = re.compile(r"\bcudaMalloc(?:Managed|Async)?\s*\([^&;]{0,60}&\s*([\w.\->]{1,60})")
MEMBER = re.compile(r"^\s+(?:const\s+)?[A-Za-z_]\w{0,40}\s*\*\s*(d_\w{1,40})\s*;")
WAITED = re.compile(r"\b(d_\w{1,40})\s*\[")
KEPT = re.compile(r"\bstatic\s[^;(){}=]{1,80}?\b(\w{1,60})\s*[;=]")
"""What is there in the next call as well."""
BRANCH = re.compile(r"\bif\s*\(")


@dataclass(frozen=True)
class Function:
    """A function of a file, by the numbers of its first and last line."""

    first: int
    last: int
    is_device: bool


class CodePlaces:
    """The functions of a learner's file, and where in their code something stands; lines count from 1."""

    def __init__(self, file: LearnersFile, name: str) -> None:
        """Find the functions. `name` is how messages call the file."""
        self.name = name
        self.lines = file.codes
        self.own = file.own
        self.functions = list(self._functions())
        self._program = Program(file, Mistake(""))

    def _functions(self) -> Iterator[Function]:
        depth, head, first = 0, 1, 0
        for number, line in enumerate(self.lines, 1):
            if depth == 0 and not line.strip():
                head = number + 1
            for character in line:
                if character == "{":
                    depth += 1
                    first = first or head
                elif character == "}":
                    depth -= 1
                    if depth == 0 and first:
                        text = " ".join(self.lines[first - 1 : number])
                        yield Function(first, number, DEVICE.search(text.split("{")[0]) is not None)
                        head, first = number + 1, 0

    def _of(self, *, is_device: bool) -> Iterator[tuple[int, str]]:
        for function in self.functions:
            if function.is_device == is_device:
                for number in range(function.first, function.last + 1):
                    yield number, self.lines[number - 1]

    def loops(self) -> list[int]:
        """Return the loops of device code in which something is added to an element."""
        starts = [number for number, line in self._of(is_device=True) if LOOP.search(line)]
        ends = [*starts[1:], len(self.lines) + 1][: len(starts)]
        return [
            start
            for start, end in zip(starts, ends, strict=True)
            if re.search(r"\]\s*\+|\+\s*\w+\s*\[", " ".join(self._body(start, end)))
        ]

    def _body(self, start: int, end: int) -> Iterator[str]:
        """Return the lines of a loop, up to the next loop or the end of its braces; without its head's brackets."""
        depth = 0
        for number in range(start, min(end, len(self.lines) + 1)):
            line = self.lines[number - 1]
            yield LOOP.split(line)[-1].partition(") ")[2] if number == start else line
            depth += line.count("{") - line.count("}")
            if depth <= 0:
                return

    def writes(self, name: str) -> list[int]:
        """Return the lines of device code that write an element of an array."""
        pattern = re.compile(rf"\b{re.escape(name)}\s*\[.*\]\s*[-+*]?=(?!=)")
        return [number for number, line in self._of(is_device=True) if pattern.search(line)]

    def never_freed(self) -> Iterator[tuple[str, int]]:
        """Yield pointers that a function allocates and that are freed nowhere, each with its line."""
        allocations = list(islice(self._allocations(), MOST_ALLOCATIONS))
        kept = set(KEPT.findall("\n".join(self.lines)))
        for function, number, name in allocations:
            owners = [one for one, _, other in allocations if other == name]
            frees = [one for one in self.functions if self._frees(one, name)]
            if name not in kept and function not in frees and all(one in owners for one in frees):
                yield name, number

    def leaves_before_free(self) -> Iterator[tuple[int, str, int]]:
        """Yield the lines at which a function may return between an allocation and its cudaFree, and the latter."""
        for function, number, name in islice(self._allocations(), MOST_ALLOCATIONS):
            for free in self._frees(function, name)[:1]:
                for line in range(number + 1, free):
                    if re.search(r"\breturn\b", self.lines[line - 1]):
                        yield line, name, free

    def _allocations(self) -> Iterator[tuple[Function, int, str]]:
        """Yield the allocations of device memory: the function, the line, and the pointer that gets it."""
        for function in self.functions:
            for number in range(function.first, function.last + 1):
                for found in ALLOCATES.finditer(self.lines[number - 1]):
                    yield function, number, found[1]

    def _frees(self, function: Function, name: str) -> list[int]:
        """Return the lines of a function that free a pointer."""
        pattern = re.compile(rf"\bcudaFree(?:Async)?\s*\([^;)]*\b{re.split(r'[.>]', name)[-1]}\b")
        return [number for number in range(function.first, function.last + 1) if pattern.search(self.lines[number - 1])]

    def returns(self) -> list[int]:
        """Return the lines of kernels at which some threads may leave."""
        return [number for number, line in self._of(is_device=True) if re.search(r"\bif\b.*\breturn;", line)]

    def leaves(self, numbers: Sequence[int]) -> list[int]:
        """Return the lines of these device functions, before these lines, at which threads may leave them or a loop."""
        return [
            number
            for number, line in self._of(is_device=True)
            if re.search(r"(?:\bif\b.*|^\s*)\b(?:return\b[^;]*|break|continue)\s*;", line)
            and any(one.first <= number < max(numbers) <= one.last for one in self.functions if numbers)
        ]

    def never_launched(self) -> list[tuple[int, str]]:
        """Return kernels whose name stands nowhere but where they are defined, each with its line."""
        whole = re.sub(r"\b__launch_bounds__\s*+\([^()]*+\)", "", "\n".join(self.lines))
        kernels = re.finditer(r"\b__global__\b[^;{}()]*\s(\w+)\s*\(", whole)
        found = [(whole.count("\n", 0, kernel.end()) + 1, kernel[1]) for kernel in kernels]
        return [(line, name) for line, name in found if len(re.findall(rf"\b{name}\b", whole)) == 1]

    def without_memory(self) -> Iterator[tuple[str, int]]:
        """Yield members of structures that are pointers of the device and that nothing sets, each with its line."""
        whole = "\n".join(self.lines)
        is_listed = re.search(r"[\w(,=]\s*\{[^{};]*\bd_\w+[^{};]*\}", whole)  # Chain{d_flags, d_sums}, k<<<…>>>({d_x})
        for number, line in enumerate(self.lines, 1):
            member = MEMBER.match(line)
            if member and not is_listed:
                use = rf"(?:\.|->){member[1]}\b"
                is_set = re.search(rf"{use}\s*=(?!=)|&\s*[\w.\->]*{use}(?!\[)", whole)
                if re.search(use, whole) and not is_set:
                    yield member[1], number

    def waits(self, numbers: Sequence[int]) -> Iterator[str]:
        """Yield, of the arrays that these lines ask for again and again, where device code writes them."""
        for number in dict.fromkeys(numbers):
            for name in dict.fromkeys(WAITED.findall(self.lines[number - 1])):
                pattern = re.compile(rf"\batomic\w+\s*\(\s*&[^,;]*\b{name}\b|\b{name}\s*\[[^;]*\]\s*=(?!=)")
                writes = [at for at, line in self._of(is_device=True) if at != number and pattern.search(line)]
                if writes:
                    yield f"{name} is written in {self.text(writes)}"
                if writes and (leaves := self.leaves(writes)):
                    yield f"some threads may leave before that, in {self.text(leaves)}"

    def launches(self, kernel: str = "") -> list[int]:
        """Return the lines that launch a kernel, or any."""
        return [number for number, line in enumerate(self.lines, 1) if "<<<" in line and kernel in line]

    def sets_of_indices(self, numbers: Iterable[int]) -> Iterator[str]:
        """Yield, of the names in the indices of these lines, where the learner sets them, in lines of their own."""
        for number in dict.fromkeys(numbers):
            function = next((one for one in self.functions if one.first <= number <= one.last), None)
            names = [
                name for index in INDEX.findall(self.lines[number - 1]) for name in NAME.findall(index[0] or index[1])
            ]
            for name in dict.fromkeys(names) if function and function.is_device else ():
                is_set = re.compile(
                    rf"(?<![\w.>]){name}\s*(?:[-+*/]|<<|>>)?=(?!=)|(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--)"
                )
                body = range(function.first, function.last + 1)
                lines = [at for at in body if is_set.search(LOOP_HEAD.sub("", self.lines[at - 1]))]
                declared = [
                    at for at in lines if re.search(rf"\b(?:int|unsigned|size_t|auto)\s+{name}\s*=", self.lines[at - 1])
                ]
                begin = max((at for at in declared if at <= number), default=0)  # of several scopes
                end = min((at for at in declared if at > number), default=function.last + 1)
                lines = [at for at in lines if begin <= at < end]
                is_plain = all(PLACE_IN_BLOCK.search(self.lines[at - 1]) for at in lines)
                if lines and not is_plain and number not in lines and self.own.issuperset(lines):
                    yield f"{name} is set in {self.text(lines)}"

    def branches(self, numbers: Iterable[int]) -> Iterator[str]:
        """Yield, of calls that stand in an `if`, the line of that: not all threads may come there."""
        for number in dict.fromkeys(numbers):
            around = (line for line in self._program.enclosing(number) if BRANCH.search(self.lines[line - 1]))
            if line := next(around, 0):
                place = "in the same line" if line == number else f"of line {line}"
                yield f"only threads with the condition {place} reach the call of line {number}"

    def block_numbers(self, kernel: str) -> list[int]:
        """Return the learner's lines of a kernel that use blockIdx.x."""
        named = re.compile(rf"\b__global__\b[^{{]*\b{kernel}\s*\(")
        found = [one for one in self.functions if named.search(" ".join(self.lines[one.first - 1 : one.last]))]
        numbers = (number for one in found for number in range(one.first, one.last + 1))
        return [number for number in numbers if number in self.own and "blockIdx.x" in self.lines[number - 1]]

    def memory(self, number: int) -> Iterator[str]:
        """Yield where an array of the device is allocated, the one of this number in the file, and what sets it."""
        every = list(islice(self._allocations(), MOST_ALLOCATIONS))
        if not 0 < number <= len(every) or len({function for function, _, _ in every}) > 1:
            return
        _, line, name = every[number - 1]
        short = re.split(r"[.>]", name)[-1]
        zeroed = [
            at
            for at, code in self._of(is_device=False)
            if re.search(rf"\bcudaMem(?:set|cpy)\w*\s*\(\s*{re.escape(name)}\b", code)
        ]
        writes = self.writes(short)
        then = f"set in {self.text(zeroed)}" if zeroed else "no cudaMemset sets it"
        then += f", written in {self.text(writes)} only: which threads come there, and when?" if writes else ""
        yield f"that is {name}: allocated in {self.text([line])}, {then}"

    def sets(self, launches: Sequence[int]) -> Iterator[str]:
        """Yield, of the numbers of blocks and threads of these launches that have names, where they are set."""
        for number in launches:
            numbers = re.search(r"<<<([^;<>]{1,120})>>>", self.lines[number - 1])
            for name in dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*\b", numbers[1] if numbers else "")):
                lines = [at for at, line in self._of(is_device=False) if re.search(rf"\b{name}\s*=(?!=)", line)]
                if lines and lines[0] < number:
                    yield f"{name} is set in {self.text(lines)}"

    def sets_of_sizes(self, allocations: Sequence[int]) -> Iterator[str]:
        """Yield, of the names of sizes in these calls of cudaMalloc, where they are set."""
        for number in allocations:
            size = re.search(
                r"cudaMalloc\w{0,20}\s{0,4}\([^;]{0,200},\s{0,4}([A-Za-z_]\w{0,40})\s{0,4}\)", self.lines[number - 1]
            )
            is_set = re.compile(rf"\b{size[1]}\s*=(?!=)") if size else None
            if is_set and (lines := [at for at, line in enumerate(self.lines, 1) if is_set.search(line)]):
                yield f"{size[1] if size else ''} is set in {self.text(lines)}"

    def allocations(self) -> list[int]:
        """Return the lines that allocate memory of the device."""
        return [number for number, line in enumerate(self.lines, 1) if ALLOCATES.search(line)]

    def calls_around(self, numbers: Sequence[int]) -> list[int]:
        """Return the calls, in kernels, of the device functions that have one of these lines."""
        found: list[int] = []
        for function in self.functions:
            header = self.lines[function.first - 1 : function.last]
            is_called = "__global__" not in " ".join(header).split("{")[0]
            if not is_called or not any(function.first <= number <= function.last for number in numbers):
                continue
            name = re.search(r"\b(\w+)\s*\(", " ".join(header))
            pattern = re.compile(rf"\b{name[1]}\s*\(") if name else None
            found += [
                number
                for number, line in enumerate(self.lines, 1)
                if pattern and pattern.search(line) and not function.first <= number <= function.last
            ]
        return found

    def recursions(self) -> list[int]:
        """Return the lines at which a function of the host calls itself."""
        found: list[int] = []
        for function in self.functions:
            lines = self.lines[function.first - 1 : function.last]
            head, _, body = "\n".join(lines).partition("{")
            name = re.search(r"\b(\w+)\s*\(", head)
            if function.is_device or not name:
                continue
            call = re.compile(rf"\b{name[1]}\b\s*(?:<[^<>;]*>\s*)?\(")
            first = function.first + head.count("\n")
            found += [first + at for at, line in enumerate(body.split("\n")) if call.search(line)]
        return found

    def host_uses(self, name: str) -> list[int]:
        """Return the lines of host code that look at what a pointer points to."""
        uses = re.compile(rf"\b{re.escape(name)}\s*\[|(?:^|[=(,+;]\s*)\*\s*{re.escape(name)}\b")
        return [number for number, line in self._of(is_device=False) if uses.search(line)]

    def local_arrays(self) -> list[tuple[int, str]]:
        """Return arrays of elements in kernels that are each thread's own."""
        found = [(number, LOCAL_ARRAY.match(line)) for number, line in self._of(is_device=True)]
        return [(number, match[1]) for number, match in found if match]

    def text(self, numbers: Iterable[int]) -> str:
        """Return `scan.cu:14, scan.cu:20`."""
        return ", ".join(f"{self.name}:{number}" for number in list(numbers)[:SHOWN])
