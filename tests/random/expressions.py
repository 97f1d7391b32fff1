"""Random expressions over the variables of a scope, without side effects."""

import re
from dataclasses import dataclass, field

from operations import ALTERNATIVES, EXPRESSION_LINES, INSTRUCTION_LINES, SEQUENCE_LINES
from prng import Random

C_TYPES = {"f16": "u16", "bf16": "u16", "h2": "u32", "b2": "u32", "lane": "u32", "amount": "u32", "place": "u32"}
CONSTRAINTS = {"u16": "h", "u32": "r", "u64": "l", "f32": "f", "f64": "d"}
# What makes a result of packed or short floats plain, where a NaN's payload would show.
PLAIN = {"f16": "plain_f16", "bf16": "plain_bf16", "h2": "plain_h2", "b2": "plain_b2"}
# Types whose results serve as another's.
ALSO = {"u16": ("f16", "bf16"), "u32": ("h2", "b2")}
CONSTANTS = {
    "u16": ["0", "1", "0x7fff", "0x8000", "0xffff", "255", "0x3c00", "0x7c00"],
    "u32": [
        "0u",
        "1u",
        "31u",
        "32u",
        "255u",
        "0x7fffffffu",
        "0x80000000u",
        "0xffffffffu",
        "0x12345678u",
        "0x00800000u",
    ],
    "u64": ["0ull", "1ull", "63ull", "0x7fffffffffffffffull", "0x8000000000000000ull", "~0ull", "0x100000000ull"],
    "f32": ["0.0f", "(-0.0f)", "1.0f", "(-1.5f)", "3.0e38f", "1.0e-40f", "16777217.0f", "0.5f", "2147483648.0f"],
    "f64": ["0.0", "(-0.0)", "1.0", "(-2.5)", "1.0e308", "4.9e-324", "9007199254740993.0", "0.1", "1.0e-310"],
}


@dataclass
class Scope:
    """Names of variables by type; `readable` may be read only."""

    writable: dict[str, list[str]]
    readable: dict[str, list[str]] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)  # templates of calls with a u32 as result
    has_input: bool = False  # the array `in` is here

    def names(self, kind: str) -> list[str]:
        return self.writable.get(kind, []) + self.readable.get(kind, [])


class Wrappers:
    """Functions of inline PTX that a file needs, each once."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self.texts: list[str] = []

    def name(self, result: str, code: str, operands: tuple[str, ...]) -> str:
        key = (result, code, operands)
        if key not in self.names:
            self.names[key] = name = f"ptx_{len(self.names)}"
            kind = C_TYPES.get(result, result)
            types = [C_TYPES.get(operand, operand) for operand in operands]
            arguments = ", ".join(f"{type_} a{i}" for i, type_ in enumerate(types))
            inputs = ", ".join(f'"{CONSTRAINTS[type_]}"(a{i})' for i, type_ in enumerate(types))
            plain = PLAIN.get(result, "")
            self.texts.append(
                f"__device__ inline {kind} {name}({arguments}) {{\n  {kind} r;\n"
                f'  asm("{code}" : "={CONSTRAINTS[kind]}"(r) : {inputs});\n  return {plain}(r);\n}}\n'
            )
        return self.names[key]


def of_type(table: list[tuple[str, str]], wanted: str) -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in table if kind == wanted or kind in ALSO.get(wanted, ())]


TYPES = ("p", "u16", "u32", "u64", "f16", "bf16", "h2", "b2", "f32", "f64")
EXPRESSIONS = {kind: of_type(EXPRESSION_LINES, kind) for kind in TYPES}
WITHOUT_INPUT = {kind: [line for line in EXPRESSIONS[kind] if not re.search(r"\bin\b", line[1])] for kind in TYPES}
INSTRUCTIONS = {kind: of_type(INSTRUCTION_LINES, kind) for kind in TYPES}
SEQUENCES = {kind: of_type(SEQUENCE_LINES, kind) for kind in TYPES}


class Expressions:
    def __init__(self, random: Random, wrappers: Wrappers, scope: Scope):
        self.random, self.wrappers, self.scope = random, wrappers, scope

    def resolve(self, template: str) -> str:
        """Each `a,b,c` replaced by one of a, b and c."""
        return ALTERNATIVES.sub(lambda found: self.random.choice(found[1].split(",")), template)

    def fill(self, template: str, depth: int) -> str:
        """Each {type} replaced by an expression."""
        pieces = self.resolve(template).split("{")
        text = pieces[0]
        for piece in pieces[1:]:
            kind, rest = piece.split("}", 1)
            text += self.expression(kind, depth) + rest
        return text

    def leaf(self, kind: str) -> str:
        if kind == "p":
            return self.fill("(({u32} & 1) != 0)", 0)
        names = self.scope.names(kind)
        if kind == "u16" and (not names or self.random.one_in(4)):
            return f"(u16){self.leaf('u32')}"
        if names and not self.random.one_in(5):
            return self.random.choice(names)
        return self.random.choice(CONSTANTS[kind])

    def expression(self, kind: str, depth: int) -> str:
        random = self.random
        if kind == "lane":
            return f"({self.expression('u32', depth)} & 31u)"
        if kind == "place":
            return f"({self.expression('amount', depth)} & 255u)"
        if kind == "amount":
            inner = self.expression("u32", depth)
            return inner if random.one_in(4) else f"({inner} % 70u)"
        if depth <= 0:
            return self.leaf(C_TYPES.get(kind, kind))
        draw = random.below(16)
        if draw < 2 and kind not in PLAIN:
            return self.leaf(kind)
        if kind == "u32" and draw == 2 and self.scope.functions:
            return self.fill(random.choice(self.scope.functions), depth - 1)
        if draw == 3 and SEQUENCES[kind]:
            return self.sequence(*random.choice(SEQUENCES[kind]), depth - 1)
        if INSTRUCTIONS[kind] and (draw < 8 or not EXPRESSIONS[kind]):
            return self.instruction(*random.choice(INSTRUCTIONS[kind]), depth - 1)
        _, template = random.choice(EXPRESSIONS[kind] if self.scope.has_input else WITHOUT_INPUT[kind])
        return f"({self.fill(template, depth - 1)})"

    def call(self, result: str, code: str, operands: tuple[str, ...], depth: int) -> str:
        name = self.wrappers.name(result, code, operands)
        return f"{name}({', '.join(self.expression(operand, depth) for operand in operands)})"

    def instruction(self, result: str, line: str, depth: int) -> str:
        name, *operands = self.resolve(line).split()
        places, kinds = ["%0"], []
        for operand in operands:
            if operand.startswith("#"):
                places.append(str(self.random.below(int(operand[1:]))))
            else:
                kinds.append(operand)
                places.append(f"%{len(kinds)}")
        return self.call(result, f"{name} {', '.join(places)};", tuple(kinds), depth)

    def sequence(self, result: str, line: str, depth: int) -> str:
        code, operands = self.resolve(line).split(" /")
        # The result is written last: until then it might share a register with an operand.
        width = {"u32": "b32", "u64": "b64"}[result]
        code = f"{{.reg .{width} result; {code.strip().replace('%0', 'result')} mov.{width} %0, result;}}"
        return self.call(result, code, tuple(operands.split()), depth)
