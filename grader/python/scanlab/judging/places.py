"""Places in a learner's file that a cause is about and a device cannot see: loops, launches, host code, writes.

They are looked for in the text, so what is said of them is that the lines are there, and nothing more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from scanlab.judging.compiler.messages import lines_text, own_lines, runs_of
from scanlab.judging.report import HEADLINE
from scanlab.judging.result import Cause, CheckResult, Finding, LabResult, SeenFinding, Where
from scanlab.judging.tried.slips import program as slip_program
from scanlab.judging.tried.statements import WRONG_LINES, without_comments

SHOWN = 4
"""At most this many lines are named."""
LOOP = re.compile(r"\b(?:for|while)\s*\(")
DEVICE = re.compile(r"\b__(?:global|device)__\b")
LOCAL_ARRAY = re.compile(r"^\s*(?:const\s+)?Element\s+(s_\w+)\s*\[")
USED_BEFORE = re.compile(r'variable "(?P<name>\w+)" is used before its value is set')
USED_ON_HOST = re.compile(r"host code used byte \d+ of (\w+)")
ABOUT_LOOPS = (
    "wrong.steps_missing",
    "wrong.strides",
    "wrong.places",
    "wrong.first_twice",
    "wrong.direction",
)
INDEX = re.compile(r"\[([^\[\]]{1,60})\]|\(\s*\w{1,60}\s*\+\s*(\w{1,40})\s*,")
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
LOOP_HEAD = re.compile(r"\bfor\s*\([^;]*;[^;]*;[^{]*")
PLACE_IN_BLOCK = re.compile(r"=\s*(?:threadIdx\.x|blockIdx\.x)\s*[;,]")
OF_AN_INDEX = ("bounds.", "wrong.other", "wrong.order", "wrong.overwritten", "wrong.nothing_added")
"""How ids begin of which an index may be the cause, and of which nothing better is known."""
OF_OWN_ARRAYS = ("bounds.local", "wrong.", "uninitialised.")
"""How ids begin of which an array may be the cause that each thread has for itself."""
MOST_ALLOCATIONS = 64
"""More are not looked at."""
PRINTED = "the program printed:"
SINCE_FAULT = "the program printed, since calls after a fault fail:"
AFTER_FAULT = re.compile(
    r": (?:an illegal memory access was encountered|misaligned address|unspecified launch failure)"
)
"""What is in a line in which a call says what a kernel before it has done."""
ALLOCATES = re.compile(r"\bcudaMalloc(?:Managed|Async)?\s*\([^&;]{0,60}&\s*([\w.\->]{1,60})")
MEMBER = re.compile(r"^\s+(?:const\s+)?[A-Za-z_]\w{0,40}\s*\*\s*(d_\w{1,40})\s*;")
WAITED = re.compile(r"\b(d_\w{1,40})\s*\[")
KEPT = re.compile(r"\bstatic\s[^;(){}=]{1,80}?\b(\w{1,60})\s*[;=]")
"""What is there in the next call as well."""
REFUSED = re.compile(
    r"\s{1,8}[^\s:]{1,200}:(?P<line>\d{1,7}): (?P<call>cuda\w{1,40}\([^:]{0,160}\)): [^()]{1,120} "
    r"\((?P<error>cudaError\w{1,40})\)"
)
"""What SCANLAB_CUDA_CHECK prints."""
WHY = re.compile(r"\s+scanlab: (?:\w+: )?(?P<why>.+)")
WRAP_THE_CALLS = "wrap the calls of the entry"
PRINTED_ERROR = re.compile(r"cuda(?:Peek|Get)[A-Za-z]*LastError\(\): ")
NEVER_ASKED = "never asked for the error"
FIRST_WRONG = "is the addition where it first went wrong"
LAUNCH_MEANT = re.compile(r"which array was meant|third launch parameter")
ONE_THREAD_MEANT = "several threads of a block write to the same place"
MORE_SUMS = "more sums of sections than"
NOT_THE_BLOCK = "not from blockIdx.x"
ALL_LANES = "must reach that call"
CALLED_FROM = " is called from "
BRANCH = re.compile(r"\bif\s*\(")
NUMBERED = re.compile(r"cudaMalloc #(\d{1,3})\b")
COUNTS_BYTES = "cudaMalloc counts bytes"
ABOUT_LAUNCHES = ("launch.failed", "cost.threads")


@dataclass(frozen=True)
class Function:
    """A function of a file, by the numbers of its first and last line."""

    first: int
    last: int
    is_device: bool


class Program:
    """The lines of a learner's file, without comments."""

    def __init__(self, text: str, name: str, given: frozenset[str] = frozenset()) -> None:
        """Find the functions. Lines count from 1; `name` is how messages call the file, `given` as in `own_lines`."""
        self.name = name
        self.lines = without_comments(text).split("\n")
        self.own = own_lines(text.split("\n"), given)
        self.functions = list(self._functions())
        self._blocks = slip_program.Program(text, slip_program.Mistake(""))

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
            around = (line for line in self._blocks.enclosing(number) if BRANCH.search(self.lines[line - 1]))
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
            size = re.search(r"cudaMalloc\w*\s*\([^;]*,\s*([A-Za-z_]\w{0,40})\s*\)", self.lines[number - 1])
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


def with_places(result: LabResult, text: str, name: str, given: frozenset[str] = frozenset()) -> LabResult:
    """Return the result with places that help to find the causes of what failed.

    `text` is the learner's file, `name` how messages call it, `given` the lines of the lab's file outside of its
    regions.
    """
    program = Program(text, name, given)
    result = result.model_copy(update={"findings": tuple(_with_facts(one, program) for one in result.findings)})
    if result.verdict == "pass":
        return result
    fence = next((one for one in result.findings if one.id == "fence.missing" and one.weight == "advice"), None)
    unset = [found for found in map(_unset, result.warnings) if found]
    checks = tuple(_with_fence(_with_places(check, program, unset), fence) for check in result.checks)
    renamed = {
        (check.name, old.cause.id): check.cause.id
        for old, check in zip(result.checks, checks, strict=True)
        if old.cause and check.cause and old.cause.id != check.cause.id
    }
    findings = tuple(_renamed(finding, renamed) for finding in result.findings)
    checks = tuple(_with_its_id(check) for check in checks)
    return result.model_copy(update={"checks": checks, "findings": findings})


def _with_facts(finding: SeenFinding, program: Program) -> SeenFinding:
    """Return advice with the lines that it is about: where threads may have returned, what is not freed."""
    facts = []
    if finding.id == "barrier.exited" and (lines := program.returns()):
        facts = [f"some threads may return in {program.text(lines)}"]
    if finding.id == "leak":
        facts = [f"{name} of {program.text([line])} is never freed" for name, line in program.never_freed()] or [
            f"{program.text([line])} may return before cudaFree({name}) in {program.text([free])}"
            for line, name, free in program.leaves_before_free()
        ]
    return finding.model_copy(update={"facts": (*finding.facts, *facts[:SHOWN])})


def _with_fence(check: CheckResult, fence: Finding | None) -> CheckResult:
    """Return a check whose count of fences fails with the place of the one that is missing."""
    if not fence or not check.cause or check.cause.id != "cost.fences":
        return check
    details = (*check.cause.details, *fence.facts, fence.advice)
    return check.model_copy(update={"cause": check.cause.model_copy(update={"details": details})})


def _unset(warning: str) -> tuple[int, str] | None:
    """Return the line and the name of a variable that is used before it has a value."""
    found = USED_BEFORE.search(warning)
    place = re.search(r":(\d+): ", warning)
    return (int(place[1]), found["name"]) if found and place else None


def _with_its_id(check: CheckResult) -> CheckResult:
    """Return a check whose first finding, if it is a wrong output, is called as its cause is now."""
    if not check.cause or not check.findings or not check.findings[0].id.startswith("wrong."):
        return check
    first = check.findings[0].model_copy(update={"id": check.cause.id})
    return check.model_copy(update={"findings": (first, *check.findings[1:])})


def _renamed(finding: SeenFinding, renamed: dict[tuple[str, str], str]) -> SeenFinding:
    other = next((new for (check, old), new in renamed.items() if check in finding.checks and old == finding.id), None)
    return finding.model_copy(update={"id": other}) if other else finding


def _with_places(check: CheckResult, program: Program, unset: Sequence[tuple[int, str]]) -> CheckResult:
    cause = check.cause
    if cause is None or check.verdict in ("pass", "skipped"):
        return check
    changed = _cause_in_source(cause, program, unset) or cause
    if any(one.headline.startswith("FAULT") for one in check.findings[:1]):
        changed = _with_what_follows(changed)
    check = _refused(_without_what_is_printed(check.model_copy(update={"cause": changed})), program)
    changed = _with_given_code(check.cause or changed, program)
    first = check.findings[0] if check.findings else None
    if first and first.cure:  # the place is known
        return check.model_copy(update={"cause": changed})
    more = [text for text in _facts(changed, program, first) if text]
    if first and HEADLINE.fullmatch(first.headline):  # the report has the finding's advice before these
        changed = changed.model_copy(update={"details": (*changed.details, *more)})
    else:
        changed = changed.model_copy(update={"rationale": "\n".join([changed.rationale, *more])})
    return check.model_copy(update={"cause": changed})


def _with_given_code(cause: Cause, program: Program) -> Cause:
    """Return it with a word on the line where a sum first went wrong, where that is no line of the learner's."""
    where = cause.where
    if where is None or Path(where.file).name != Path(program.name).name or where.line in program.own:
        return cause
    is_known = any(text.startswith(WRONG_LINES) for text in cause.details)
    is_long = len(runs_of(program.own)) > SHOWN
    yours = "yours" if is_long else f"yours, {lines_text(program.own)}"
    whose = "given code" if is_known else f"given code: what it adds comes from {yours}"
    given = f"{FIRST_WRONG} ({whose})"
    details = tuple(text.replace(FIRST_WRONG, given) for text in cause.details)
    return cause.model_copy(update={"details": details})


def _without_what_is_printed(check: CheckResult) -> CheckResult:
    """Return it without the reproach that no call has asked for an error which the program has printed itself."""
    cause = check.cause
    if cause is None or not any(PRINTED_ERROR.search(text) for text in cause.details):
        return check

    def kept(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if NEVER_ASKED not in text)

    findings = tuple(
        one.model_copy(update={"facts": kept(one.facts), "details": kept(one.details)}) for one in check.findings
    )
    cause = cause.model_copy(update={"details": kept(cause.details)})
    return check.model_copy(update={"cause": cause, "findings": findings})


def _refused(check: CheckResult, program: Program) -> CheckResult:
    """Return it with the call that the program has printed an error of, which is where it happened."""
    cause = check.cause
    if cause is None or cause.id != "cuda.error" or PRINTED not in cause.details:
        return check
    printed = list(cause.details[cause.details.index(PRINTED) + 1 :])
    at, call = next(((at, one) for at, line in enumerate(printed) if (one := REFUSED.fullmatch(line))), (0, None))
    if call is None or PRINTED_ERROR.match(f"{call['call']}: ") or call["error"] not in cause.actual:
        return check
    why = WHY.fullmatch(printed[at - 1]) if at else None
    said = f"{call['call']} was refused"
    said = f"{said}: {why['why']}" if why else f"{said}; {cause.rationale}"
    details = tuple(text for text in cause.details if not text.startswith(WRAP_THE_CALLS))
    where = Where(file=program.name, line=int(call["line"]), kernel="", block=None, thread=None)
    cause = cause.model_copy(update={"rationale": said, "details": details, "where": where})
    update = {"advice": said, "facts": (), "details": ()}
    findings = tuple(one.model_copy(update=update) if one.id == cause.id else one for one in check.findings)
    return check.model_copy(update={"cause": cause, "findings": findings})


def _with_what_follows(cause: Cause) -> Cause:
    """Return it with what the program has printed as what it is, where that only repeats a fault."""
    details = list(cause.details)
    if PRINTED not in details:
        return cause
    begin = details.index(PRINTED)
    printed = list(takewhile(lambda line: line.startswith("  "), details[begin + 1 :]))
    if all(AFTER_FAULT.search(line) for line in printed):
        details[begin : begin + 1 + len(printed)] = [SINCE_FAULT, printed[0]] if printed else []
    return cause.model_copy(update={"details": tuple(details)})


def _cause_in_source(cause: Cause, program: Program, unset: Sequence[tuple[int, str]]) -> Cause | None:
    """Return a wrong output's cause where the text shows it; None where it does not."""
    if not cause.id.startswith("wrong."):
        return None
    at = cause.where or Where(file="", line=0, kernel="", block=None, thread=None)

    def because(line: int, rationale: str) -> Cause:
        where = at.model_copy(update={"file": program.name, "line": line})
        return cause.model_copy(update={"id": "wrong.uninitialised", "rationale": rationale, "where": where})

    if unset:
        line, name = unset[0]
        return because(line, f'variable "{name}" is used before it has a value: give it one where it is declared')
    if cause.id == "wrong.uninitialised" and (arrays := program.local_arrays()):
        line, name = arrays[0]
        return because(
            line,
            f"{name} is not __shared__: each thread has an array of its own, and reads elements there that no thread "
            "has written",
        )
    return None


def _lines_of(cause: Cause, finding: Finding | None, program: Program) -> Iterator[int]:
    """Yield the lines of a file in which a mistake was seen, and of the addition that first went wrong."""
    name = Path(program.name).name
    for part in finding.parts if finding else ():
        if Path(part.file).name == name and 0 < part.line <= len(program.lines):
            yield part.line
    if cause.where and Path(cause.where.file).name == name and 0 < cause.where.line <= len(program.lines):
        yield cause.where.line
    for text in cause.details:
        if FIRST_WRONG in text and (place := re.search(r":(\d{1,7}) is the addition", text)):
            yield min(int(place[1]), len(program.lines))


def _facts(cause: Cause, program: Program, finding: Finding | None) -> Iterator[str]:
    """Return sentences that name places, a line each."""
    kernel, variable = (finding.kernel, finding.variable) if finding else ("", "")
    if cause.id in ABOUT_LOOPS and (loops := program.loops()):
        which = "loops that begin" if len(loops) > 1 else "loop that begins"
        yield f"look at the {which} in {program.text(loops)}"
    if cause.id in ("wrong.unwritten", "wrong.last_section") or "d_y is written" in cause.rationale:
        yield f"d_y is written in {program.text(program.writes('d_y'))}" if program.writes("d_y") else ""
        yield f"some threads may return in {program.text(program.returns())}" if program.returns() else ""
    if cause.id == "input.changed":
        writes, launches = program.writes("d_x"), program.launches()
        yield f"d_x is written in {program.text(writes)}" if writes else f"launched in {program.text(launches)}"
    if cause.id.startswith("uninitialised.") and variable and (writes := program.writes(variable)):
        yield f"{variable} is written in {program.text(writes)}"
    if cause.id == "crash.host" and (calls := program.recursions()):
        yield f"a function that calls itself without end crashes like this: {program.text(calls)}"
    if cause.id.startswith(OF_OWN_ARRAYS) and cause.id != "wrong.uninitialised":  # its cause has it
        for line, name in program.local_arrays():
            yield f"{name} in {program.text([line])} is an array of each thread's own: is __shared__ missing?"
    is_about_launch = (
        cause.id in ABOUT_LAUNCHES
        or (cause.id.startswith("cost.") and "launch one" in cause.rationale)
        or MORE_SUMS in cause.rationale
        or (finding is not None and LAUNCH_MEANT.search(finding.advice) is not None)
        or (
            finding is not None and ONE_THREAD_MEANT in finding.advice and len({one.line for one in finding.parts}) == 1
        )
    )
    if is_about_launch and (launches := program.launches(kernel)):
        yield f"launched in {program.text(launches)}"
        yield from program.sets(launches)
    if finding and COUNTS_BYTES in finding.advice and (lines := program.allocations()):
        yield f"allocated in {program.text(lines)}"
        yield from program.sets_of_sizes(lines)
    if cause.id.startswith(OF_AN_INDEX):
        yield from islice(program.sets_of_indices(_lines_of(cause, finding, program)), SHOWN)
    if finding and NOT_THE_BLOCK in finding.advice and (lines := program.block_numbers(kernel)):
        yield f"blockIdx.x is used in {program.text(lines)}"
    if finding and ALL_LANES in finding.advice:
        calls = [
            int(one) for text in finding.facts for one in re.findall(r"(?<=:)\d{1,7}", text.partition(CALLED_FROM)[2])
        ]
        yield from islice(program.branches(one for one in calls if one in program.own), SHOWN)
    if cause.id.startswith("uninitialised.") and (number := NUMBERED.match(variable)):
        yield from program.memory(int(number[1]))
    seen = [part.line for part in finding.parts] if finding and cause.id == "barrier.divergent" else []
    for line in seen:
        if leaves := program.leaves([line]):
            yield f"some threads may leave before the barrier of line {line}, in {program.text(leaves)}"
            break
    if cause.id.startswith("deadlock.") and finding:
        yield from program.waits([part.line for part in finding.parts if 0 < part.line <= len(program.lines)])
    if cause.id.startswith("bounds.") or cause.id in ("host_pointer", "uninitialised.pointer"):
        for name, line in program.without_memory():
            yield f"{name} of {program.text([line])} never gets memory of the device"
    for line, name in program.never_launched() if cause.id.startswith(("wrong.", "uninitialised.global")) else ():
        yield f"the kernel {name} of {program.text([line])} is never launched"
    if cause.id.startswith("wrong.") and cause.where:
        seen.append(cause.where.line)
    if calls := program.calls_around(seen):
        yield f"called in {program.text(calls)}"
    for text in (*cause.details, cause.rationale, cause.actual):
        if (used := USED_ON_HOST.search(text)) and (uses := program.host_uses(used[1])):
            yield f"host code uses {used[1]} in {program.text(uses)}"
