"""The notation of litmus tests: what an instruction is, for the oracle (ptx_model.py) and for CUDA C++ (generate.py).

A program is one text for each thread, separated by |, of instructions separated by ;

    st x 1 HOW            x = 1. The value may be a register, or a register + a number: st x r0 HOW, st x r0+1 HOW
    ld r0 x HOW           r0 = x
    xchg r0 x 1 HOW       r0 = x, x = 1, as one
    add r0 x 1 HOW        r0 = x, x += 1, as one
    cas r0 x 0 1 HOW      r0 = x, and x = 1 if r0 was 0, as one
    red x 1 HOW           x += 1; the old value is lost
    fence ORDER.SCOPE     cuda::atomic_thread_fence
    threadfence, threadfence_block, threadfence_system, syncthreads
    ?r0==1 INSTRUCTION    only if r0 is 1
    again r0==1 r0!=r1    the thread begins anew where one of these holds; before it stand only reads and fences

HOW: plain; volatile; ORDER.SCOPE for cuda::atomic_ref; fn.SCOPE for atomicExch, atomicExch_block and their like;
ptx.ORDER.SCOPE for inline PTX. ORDER: rlx acq rel acq_rel sc; SCOPE: cta gpu sys. Memory is 0 at first. A register is
set once, and NOT_READ until then; as a target, _ stands for a register that does not count.
"""

import re
from dataclasses import dataclass, replace

NOT_READ = 9
ORDERS = ("rlx", "acq", "rel", "acq_rel", "sc")
SCOPES = ("cta", "gpu", "sys")
THREADFENCES = {"threadfence": "gpu", "threadfence_block": "cta", "threadfence_system": "sys"}


@dataclass(frozen=True)
class Instruction:
    op: str  # ld st xchg add cas red fence bar again
    order: str = ""  # one of ORDERS; "" for plain accesses
    scope: str = ""
    spelling: str = ""  # plain volatile ref fn ptx; of a fence: threadfence ref
    location: str = ""
    register: str = ""
    operands: tuple[str, ...] = ()
    guard: tuple[str, int] | None = None

    def reads(self) -> bool:
        return self.op in ("ld", "xchg", "add", "cas", "red")

    def writes(self) -> bool:
        return self.op in ("st", "xchg", "add", "cas", "red")

    def loops_while(self) -> tuple[str, ...]:
        return self.operands if self.op == "again" else ()


@dataclass(frozen=True)
class Test:
    """A program, in which block each thread is, and what is asked of it: whether `exists` can be an outcome."""

    name: str
    threads: tuple[tuple[Instruction, ...], ...]
    blocks: tuple[int, ...]  # of each thread
    exists: str  # part of an outcome: "r0=1 x=2"
    verdict: str  # ALLOWED, FORBIDDEN or LOAD_BUFFERING, reasoned, not computed

    def instructions(self) -> list[Instruction]:
        return [one for thread in self.threads for one in thread]

    def registers(self) -> list[str]:
        return sorted({one.register for one in self.instructions()} - {"", "_"}, key=lambda name: int(name[1:]))

    def locations(self) -> list[str]:
        return sorted({one.location for one in self.instructions()} - {""})

    def without_loops(self) -> "Test":
        """The same with one round of each loop.

        What a loop's last round reads, one round alone can read as well: those before it only forbid something.
        """
        threads = tuple(tuple(one for one in thread if one.op != "again") for thread in self.threads)
        return replace(self, threads=threads)

    def is_over(self, outcome: str) -> bool:
        """Whether no loop goes on where registers are as in this outcome."""
        values = dict(part.split("=") for part in outcome.split())
        return not any(goes_on(condition, values) for one in self.instructions() for condition in one.loops_while())

    def observed(self) -> list[str]:
        """What an outcome consists of: registers, and locations that are written more than once."""
        written = [one.location for one in self.instructions() if one.writes()]
        return self.registers() + [location for location in self.locations() if written.count(location) > 1]


def goes_on(condition: str, values: dict[str, str]) -> bool:
    """Whether a loop's condition holds: r0==1, r0!=r1."""
    register, comparison, other = re.fullmatch(r"(r\d+)(==|!=)(r?\d+)", condition).groups()
    return (values[register] == values.get(other, other)) == (comparison == "==")


def outcome_text(test: Test, values: dict[str, int]) -> str:
    return " ".join(f"{name}={values[name]}" for name in test.observed())


def value_of(operand: str, registers: dict[str, int]) -> int:
    return sum(registers.get(part, NOT_READ) if part.startswith("r") else int(part) for part in operand.split("+"))


def _qualifiers(text: str) -> dict[str, str]:
    if text == "plain":
        return {"spelling": "plain"}
    if text == "volatile":
        return {"spelling": "volatile", "order": "rlx", "scope": "sys"}
    *spelling, order, scope = text.split(".")
    if order == "fn":
        spelling, order = ["fn"], "rlx"
    if order not in ORDERS or scope not in SCOPES:
        raise ValueError(text)
    return {"spelling": (spelling or ["ref"])[0], "order": order, "scope": scope}


def parse_instruction(text: str) -> Instruction:
    """Raises ValueError for what is none."""
    first, *words = text.split()
    if first.startswith("?"):
        register, _, value = first[1:].partition("==")
        return Instruction(**{**vars(parse_instruction(" ".join(words))), "guard": (register, int(value))})
    if first == "again":
        return Instruction("again", operands=tuple(words))
    if first == "syncthreads":
        return Instruction("bar")
    if first in THREADFENCES:
        # nvcc makes membar of it, which PTX defines as fence.sc of the scope.
        return Instruction("fence", "sc", THREADFENCES[first], "threadfence")
    if first == "fence":
        return Instruction("fence", **_qualifiers(words[0]))
    register = "" if first in ("st", "red") else words.pop(0)
    location, *operands, how = words
    if len(operands) != {"ld": 0, "cas": 2}.get(first, 1):
        raise ValueError(text)
    return Instruction(first, location=location, register=register, operands=tuple(operands), **_qualifiers(how))


def parse(text: str) -> tuple[tuple[Instruction, ...], ...]:
    threads = [[one for one in thread.split(";") if one.strip()] for thread in text.split("|")]
    return tuple(tuple(parse_instruction(one) for one in thread) for thread in threads)
