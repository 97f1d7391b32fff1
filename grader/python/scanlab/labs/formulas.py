"""Formulas of a lab's limits, such as `n * log2(n) - (n - 1)`, evaluated without running code."""

import ast
import math
import operator
from collections.abc import Callable, Mapping

BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
}
NAMES = ("n", "section", "sections")
USUAL_SECTION = 1024
"""Elements of a section in labs whose scan is one of the whole array."""
LARGEST_POWER = 1024
LONGEST = 500


class FormulaError(ValueError):
    """The formula cannot be read or has no value; the text says where."""


def names_at(n: int, section: int) -> dict[str, float]:
    """Return what the names of a limit stand for at `n` elements; `section` is the rubric's, 0 where it has none."""
    size = section or USUAL_SECTION
    return {"n": n, "section": size, "sections": math.ceil(n / size)}


def evaluate(formula: str, names: Mapping[str, float]) -> float:
    """Return the value of `formula`, with `names` (n, section, sections) standing for numbers.

    Allowed are numbers, the names, + - * / // % **, parentheses and log2, ceil, floor, min, max.

    Raises FormulaError for anything else, and where there is no finite value (log2(0), 1 / 0).
    """
    if len(formula) > LONGEST:
        raise FormulaError(f"longer than {LONGEST} characters")
    try:
        tree = ast.parse(formula.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f"cannot read {formula!r}") from error
    try:
        value = _value(tree.body, names)
        finite = math.isfinite(value)
    except FormulaError:
        raise
    except (ArithmeticError, ValueError, TypeError, RecursionError) as error:
        raise FormulaError(f"{formula!r} has no value at {_at(names)}: {error}") from error
    if not finite:
        raise FormulaError(f"{formula!r} is not finite at {_at(names)}")
    return value


def _at(names: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in names.items())


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=bool() | complex() | str() | bytes() | None):
            raise FormulaError(f"{node.value!r} is not a number")
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name in names:
                return names[name]
            raise FormulaError(f"unknown name {name!r}; known are {', '.join(names)}")
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return UNARY[type(op)](_value(operand, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            base, other = _value(left, names), _value(right, names)
            if isinstance(op, ast.Pow) and (abs(other) > LARGEST_POWER or abs(base) > 1e9):
                raise FormulaError("a power this large is not needed")
            result = BINARY[type(op)](base, other)
            if isinstance(result, complex):
                raise FormulaError("not a real number")
            return result
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
        case ast.Call(func=ast.Name(id=name)):
            raise FormulaError(f"unknown function {name!r}; known are {', '.join(FUNCTIONS)}")
    raise FormulaError(f"{ast.unparse(node)!r} is not allowed in a formula")
