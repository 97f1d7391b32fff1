"""Causes of errors that come from what an Element is: a number in one build, and a map in another."""

import re

from scanlab.judging.compiler.asked import Asked, At, a
from scanlab.judging.compiler.source import WORDS, argument, declaration_for, definition_of

SCALARS = frozenset({"float", "double", "int", "unsigned int", "long", "unsigned long", "bool"})
ONE_ELEMENT = "an Element is not always a float"
NO_VALUE = "identity() for no value"
ASSIGNED = re.compile(r"\b(\w+) ?(?:\[[^=]{0,120}\])? ?=(?!=)")
"""A name, with an index or not, that something is assigned to."""
NAMED = re.compile(r"(\w+)(?: ?\[|[^\w(]|$)")
CASTS = re.compile(r"\((?:float|double|int|unsigned)\) ?$")
PARTS = {"uint3": ("threadIdx", "blockIdx"), "dim3": ("blockDim", "gridDim")}
"""CUDA's own variables, by their types."""


def plain(type_name: str) -> str:
    """Return a type without const."""
    return re.sub(r"(?:^| )(?:const|volatile)\b ?", "", type_name).strip()


def declared_as(asked: Asked, name: str | None, kinds: frozenset[str] = SCALARS) -> At | None:
    """Return where a name is declared as a number, or as a pointer to one, that has to be declared as Element."""
    declared = declaration_for(asked.source.lines, name, asked.number) if name else None
    if declared is None or declared.is_function or plain(declared.type_name).rstrip("* ") not in kinds:
        return None
    stars = "*" if declared.type_name.endswith("*") else ""
    const = "const " if stars and declared.type_name.startswith("const ") else ""
    return At(f"declare `{name}` as {const}Element{stars}: {ONE_ELEMENT}", declared.line)


def _name_in(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.match(text.strip())
    return found[1] if found else None


def _assigned(asked: Asked) -> str | None:
    """Return the name that the line assigns to."""
    found = [match[1] for match in ASSIGNED.finditer(asked.code)]
    return found[-1] if found else None


def part_of(asked: Asked, types: str) -> str | None:
    """Return which of CUDA's variables stands here without its .x, if one does."""
    for type_name, names in PARTS.items():
        if type_name not in types:
            continue
        bare = [name for name in names if re.search(rf"\b{name}\b(?!\s*\.)", asked.code)]
        if len(bare) == 1:
            return f"`{bare[0]}` has three parts: write `{bare[0]}.x`"
    return None


def operator(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of `no operator matches these operands`."""
    sign, types = found[1], asked.fact("operand types are: ")
    if part := part_of(asked, types):
        return part
    if "Element" not in types or not asked.is_affine_only:
        return None
    if types.startswith(f"{sign} ") or types.endswith(f" {sign}"):
        if re.search(rf"=\{sign[0]}", asked.code):
            return f"`{sign}` stands here before one Element: remove it (`=+` and `=-` are no operators)"
        return f"an Element has `+` only, no `{sign}`: {ONE_ELEMENT}; write the scan with `+` and identity()"
    sides = [plain(side) for side in types.split(f" {sign} ")]
    other = next((side for side in sides if side != "Element"), "")
    if sign == "+=":
        return "an Element has `+` only: write `x = a + b` instead of `x += …`, with what comes earlier left of the `+`"
    if sign == "[]":
        return "an Element is one value, not an array: remove the index, or use the array's name"
    if sign == "=" and sides[0] == "Element" and sides[-1] in SCALARS:
        right = _name_in(NAMED, asked.at.removeprefix("="))
        return declared_as(asked, right) or (
            f"{ONE_ELEMENT}, and {a(sides[1])} cannot be assigned to one: use an Element, or {NO_VALUE}"
        )
    if sign == "=" and "volatile" in types:
        return "a volatile Element cannot be copied: read it as an Element, after the flag and a fence"
    if sign == "=":
        other = other or sides[-1]
        return f"an Element and {a(other)} are different things: assign an Element (of an array, one with its index)"
    if sign in ("==", "!=", "<", ">", "<=", ">="):
        if other in SCALARS and any("keep(" in line.partition("//")[0] for line in asked.source.lines):
            return f"{ONE_ELEMENT}: ask `keep(element)` instead of comparing it with a number"
        return f"Elements cannot be compared: {ONE_ELEMENT}; compare indices instead of `{sign}` between Elements"
    if sign == "+" and other:
        left = re.search(r"\b(\w+) ?(?:\[[^\[\]]{0,120}\])? ?$", asked.before)
        right = _name_in(NAMED, asked.at.removeprefix("+"))
        named = declared_as(asked, left[1] if left else None) or declared_as(asked, right)
        return named or f"`+` adds two Elements, and one side here is {a(other)}: declare it as Element"
    return f"an Element has `+` only, no `{sign}`: {ONE_ELEMENT}; write the scan with `+` and identity()"


def from_element(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of `no suitable conversion function from …`."""
    if part := part_of(asked, found[1]):
        return part
    if plain(found[1]) != "Element":
        return None
    if "*" in found[2]:
        return "the right side is one Element and the left side a pointer: write `&array[i]` or `array + i`"
    if not asked.is_affine_only or found[2] not in SCALARS:
        return None
    if CASTS.search(asked.before):
        return f"{ONE_ELEMENT}, and cannot become {a(found[2])}: remove the cast"
    return declared_as(asked, _assigned(asked), frozenset({found[2]})) or (
        f"{ONE_ELEMENT}, and cannot become {a(found[2])}: declare what holds it as Element"
    )


def to_element(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of `no suitable constructor exists to convert from …`."""
    if plain(found[2]) != "Element":
        return None
    if "*" in found[1] or "[" in found[1]:
        return "the right side is an array or a pointer, the left side one Element: add an index, as in `array[i]`"
    if not asked.is_affine_only or plain(found[1]) not in SCALARS:
        return None
    return declared_as(asked, _name_in(NAMED, asked.at), frozenset({plain(found[1])})) or (
        f"{ONE_ELEMENT}, and {a(plain(found[1]))} cannot become one: use an Element, or {NO_VALUE}"
    )


def incompatible(asked: Asked, found: re.Match[str]) -> str | None:
    """Return the cause of `operand types are incompatible`."""
    types = {plain(found[1]), plain(found[2])}
    if any("(*)()" in one for one in types):
        return "a function is called with `()`: write `identity()`" if "identity" in asked.line else None
    if "Element" in types and types & SCALARS and asked.is_affine_only:
        other = next(iter(types & SCALARS))
        return f"{ONE_ELEMENT}, and stands here beside {a(other)}: use an Element, or {NO_VALUE}"
    return None


def of_class(asked: Asked, found: re.Match[str]) -> str | None:
    """Return the cause of a `.` behind an Element, or behind a pointer to some."""
    if found[1].endswith("*"):
        name = WORDS.match(asked.at)
        return f"`{name[0]}` is a pointer and has no members: write to `{name[0]}[i]`" if name else None
    if found[1] != "Element":
        return None
    if re.match(r"[^;]{0,80}\. ?keep ?\(", asked.at or asked.code):
        return "keep is a function, not a member: write `keep(element)`"
    return "an Element has no parts that a scan may use: write it with `+` and identity()"


def given_to(asked: Asked, called: str, types: str, number: int) -> str | At | None:
    """Return the cause where an argument of a call is no Element, or is one where a number is needed."""
    if asked.is_affine_only and re.search(r"\bElement\b", types):
        if called.startswith("__shfl"):
            own = next(
                (name for name in ("shuffle_up", "of_last_lane") if name + "(" in "".join(asked.source.lines)), ""
            )
            how = f"use the lab's `{own}`" if own else "move an Element with the function that the lab gives"
            return f"{ONE_ELEMENT}, and `{called}` moves numbers only: {how}"
        if called.startswith("atomic"):
            return f"{ONE_ELEMENT}, and `{called}` works for numbers only: combine Elements with `+`"
        if not definition_of(asked.source.lines, called):
            return (
                f"the kit compiles the file for floats and for affine maps, and `{called}` takes no structs: "
                "read and write Elements as they are, with `=`"
            )
    return given_pointer(asked, argument(asked.code, called, number)) if number else None


def given_pointer(asked: Asked, given: str | None) -> At | None:
    """Return where a pointer that an array of Elements is needed for is declared as one to numbers, or to const."""
    name = _name_in(NAMED, given.lstrip("& ")) if given else None
    declared = declaration_for(asked.source.lines, name, asked.number) if name else None
    if name is None or declared is None or not declared.type_name.endswith("*"):
        return None
    if declared.type_name.startswith("const Element") and not re.match(r"\S", asked.source.line(declared.line)):
        return At(
            f"`{name}` points to const, and line {asked.number} gives it to what writes there: declare it without "
            "const",
            declared.line,
        )
    return declared_as(asked, name)


def pointer_value(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of a value that cannot be used to initialize or be assigned to something."""
    left, right = found[2], found[1]
    if "*" in left and "Element" in right and plain(left).rstrip("* ") in SCALARS:
        return declared_as(asked, _assigned(asked))
    if "*" in right and "Element" in left and plain(right).rstrip("* ") in SCALARS:
        return declared_as(asked, _name_in(NAMED, asked.at.lstrip("=& ")))
    return None
