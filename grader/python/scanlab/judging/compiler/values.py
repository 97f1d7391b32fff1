"""Causes of errors about values: arguments that do not fit, pointers and elements, and what is const."""

import re

from scanlab.judging.compiler import elements
from scanlab.judging.compiler.asked import ARGUMENTS, Asked, At, a
from scanlab.judging.compiler.source import (
    WORDS,
    Declaration,
    argument,
    declaration_for,
    definition_of,
    enum_of,
)

ASSIGNS = "`=` assigns, and what is left of it cannot change: write `==` to compare"


def parts_first(asked: Asked, found: re.Match[str]) -> str | None:
    """Return which of CUDA's variables lacks its .x, where an operand has the wrong type."""
    return elements.part_of(asked, found.string)


def operator(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of operands that an operator does not take."""
    if found[1] == "=" and asked.has_fact("object has type qualifiers that prevent a match"):
        return const(asked)
    return elements.operator(asked, found)


def const(asked: Asked) -> str:
    """Return why what is left of a `=` cannot be assigned: it is const, or what it points to is."""
    assigned = re.search(r"\b(\w+) ?((?:\[[^=]{0,120}\])?) ?(?:[-+*/]?=(?!=)|\+\+|--)", asked.code)
    name = assigned[1] if assigned else None
    declared = declaration_for(asked.source.lines, name, asked.number) if name else None
    if declared and declared.type_name.startswith("const "):
        if declared.type_name.endswith("*"):
            instead = "write to d_y or a copy" if name == "d_x" else "declare it without const"
            return f"`{name}` points to const, which can only be read: {instead}"
        return f"`{name}` is const and cannot change: declare it without const, or use another variable"
    return "what is left of the `=` is const and cannot be assigned: declare it without const, or write to another"


def value(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of a value that cannot be assigned, or be what a variable begins with."""
    left, right = found[2], found[1]
    if named := elements.pointer_value(asked, found):
        return named
    if right == "void":
        return "the function called here returns nothing: call it by itself, and use what it writes"
    if right == "void *":
        return (
            "malloc gives memory of the host: on the device it is `cudaMalloc(&d_…, bytes)`"
            if ("malloc" in asked.code)
            else f"the right side is {a(right)}: convert it, as in `static_cast<{left}>(…)`"
        )
    if part := elements.part_of(asked, right):
        return part
    if re.search(r"\*\)\[|\(\*\)|\*\*", right + " " + left) and "&" in asked.code and right != left:
        return "an array's name is the address of its first element: remove the `&`"
    if right.count("*") == 2 and (array := declared_at(asked)) and array.type_name.endswith("*"):
        return At(f"`{name_at(asked)}` is an array of pointers: declare it without `*`", array.line)
    if "**" in left + right or "* *" in left + right:
        return "one side is an array of pointers, or the address of one: declare an array of elements without `*`"
    if "*" in right and "*" not in left:
        return f"the right side is a pointer, the left side {a(left)}: add an index, as in `array[i]`"
    if "*" in left and "*" not in right:
        return f"the right side is {a(right)}, the left side a pointer: write `&array[i]` or `array + i`"
    if right.startswith("const ") and right.removeprefix("const ").strip() == left and "*" in left:
        return "a pointer to const cannot become one to what may change: add `const` to the left side's type"
    return None


def argument_type(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of an argument that the parameter does not take."""
    if found[1].startswith("const ") and found[1].removeprefix("const ") == found[2]:
        return (
            "what is const (such as d_x) is given to a parameter that may change it: give a pointer that is not const"
        )
    if named := elements.given_pointer(asked, name_at(asked)) if "Element" in found[2] else None:
        return named
    if "void *" in found[2] and "*" not in found[1]:
        return f"an address is needed here, and {a(found[1])} is a value: put `&` before it"
    if elements.plain(found[1]).rstrip() + " *" == elements.plain(found[2]):
        return "one element is given where an array is needed: give the array's name, or `&array[i]`"
    if elements.plain(found[1]) == elements.plain(found[2]) + " *":
        return "an array is given where one element is needed: add an index, as in `array[i]`"
    return (
        f"an argument is {a(found[1])} where the parameter is {a(found[2])}: compare the order and the types of the "
        "arguments with the function's parameters"
    )


def name_at(asked: Asked) -> str | None:
    """Return the name that the error points to."""
    found = WORDS.match(asked.at.lstrip("&"))
    return found[0] if found else None


def declared_at(asked: Asked) -> Declaration | None:
    """Return the declaration of the name that the error points to."""
    name = name_at(asked)
    return declaration_for(asked.source.lines, name, asked.number) if name else None


def apparent_call(asked: Asked, _: re.Match[str]) -> str | None:
    """Return the cause of `()` behind what is no function."""
    called = re.match(r"[\w.]{1,80}", asked.at)
    return f"`{called[0]}` is no function: remove the `()`, or correct the name" if called else None


def indexed(asked: Asked) -> str | None:
    """Return that a function is called with the brackets of an index."""
    for name in re.findall(r"\b(\w+) ?\[", asked.code):
        if name in ("keep", "identity") or definition_of(asked.source.lines, name):
            return f"`{name}` is a function: it is called with `( … )`, not with `[ … ]`"
    return None


def not_bool(asked: Asked, _: re.Match[str]) -> str | None:
    """Return the cause of a condition that is none."""
    return ASSIGNS if re.search(r"\w =(?!=) ?[^;=]*\?", asked.code) else None


def no_template(asked: Asked, _: re.Match[str]) -> str | None:
    """Return the cause of `<kind>` behind a function that is no template."""
    name = re.match(r"(\w+) ?< ?(\w+) ?>", asked.at)
    defined = definition_of(asked.source.lines, name[1]) if name else None
    if name is None or defined is None or "template" in asked.source.line(max(1, defined - 1)):
        return None
    return f"`{name[1]}` is no template: remove `<{name[2]}>`"


def macro_arguments(asked: Asked, _: re.Match[str]) -> str | None:
    """Return the cause of a macro's arguments that are too many: of a launch, whose commas count."""
    if "<<<" not in asked.code:
        return None
    return "a launch returns nothing to check: put `SCANLAB_CUDA_CHECK(cudaPeekAtLastError());` behind it"


def no_instance(asked: Asked, found: re.Match[str]) -> str | At | None:
    """Return the cause of a call that fits none of a function's forms."""
    name, types = found[1], asked.fact("argument types are: ")
    called = ARGUMENTS.sub("", name)
    if called.removeprefix("std::") in ("min", "max"):
        return min_max(asked, found)
    if called == "cudaMalloc":
        return (
            "cudaMalloc stores a pointer in its first argument, which is its address: write `cudaMalloc(&d_…, bytes)`"
        )
    if "::" in called or not re.search(r"\b" + re.escape(called) + r"\b", asked.line):
        return None
    if mismatched := elements.given_to(asked, called, types, mismatch(asked)):
        return mismatched
    if called.startswith("atomic"):
        return atomic(asked, called, types)
    if (
        (kind := re.search(rf"{re.escape(called)} ?< ?(\w+) ?>", asked.code))
        and asked.has_fact("substituting explicit template arguments")
        and (scope := enum_of([*asked.source.lines, "enum class Kind { inclusive, exclusive };"], kind[1]))
    ):
        return f"`{kind[1]}` is a member of {scope}: write `<{scope}::{kind[1]}>`"
    if asked.has_fact('explicit template arguments "<Kind>"'):
        return f"`Kind` is a type: write `<kind>` (or `<Kind::inclusive>`) behind `{called}`"
    if asked.has_fact("failed deduction") and not re.search(re.escape(called) + r" ?<(?!<)", asked.line):
        return kind_missing(called)
    if asked.has_fact("number of parameters of function", f'"{called}'):
        given = len(types.strip("() ").split(",")) if types.strip("() ") else 0
        return f"`{called}` is given {given} argument{'s' * (given != 1)}, not one for each parameter: compare the two"
    if number := mismatch(asked):
        return (
            f"argument {number} of `{called}` has another type than the parameter (given are {types}): "
            "compare the order and the types, and const"
        )
    return None


def mismatch(asked: Asked) -> int:
    """Return which argument does not match its parameter, from 1 on, or 0."""
    number = asked.fact("does not match because argument #").split()
    return int(number[0]) if number and number[0].isdigit() else 0


def kind_missing(called: str) -> str:
    """Return that a template is used without its kind."""
    return f"`{called}` is a template and its kind is not given: write `{called}<kind>` (or `<Kind::inclusive>`)"


def atomic(asked: Asked, called: str, types: str) -> str | None:
    """Return the cause of an atomic function's arguments that do not fit."""
    parts = [part.strip() for part in types.strip("() ").split(",")]
    given = argument(asked.code, called, 1)
    if not given or not parts:
        return None
    if parts[0].startswith("const ") and "*" in parts[0]:
        return (
            f"`{called}` changes what it is given, and `{given.lstrip('&')}` is const: use memory that may be written"
        )
    if "*" not in parts[0]:
        return f"`{called}` takes an address, and `{given}` is a value: " + (
            f"remove the `*` from `{given}`" if given.startswith("*") else f"put `&` before it, as in `&{given}`"
        )
    if parts[0].count("*") > 1 and given.startswith("&"):
        return f"`{given[1:]}` is a pointer already: write `{called}({given[1:]}, …)`, or give it an index"
    return f"`{called}` has no form for {types}: the address and the value must be of one type, such as int"


def min_max(asked: Asked, found: re.Match[str]) -> str | None:
    """Return the cause of two arguments of different types."""
    called = ARGUMENTS.sub("", found[1])
    if called.startswith("atomic"):
        return atomic(asked, called, asked.fact("argument types are: "))
    if called.removeprefix("std::") not in ("min", "max"):
        return None
    types = [part.strip() for part in asked.fact("argument types are: ").strip("()").split(",")]
    if len(types) != 2:
        return f"`{called}` takes two arguments of one type: write `{called}(a, b)`"
    if "Element" in types:
        return f"{elements.ONE_ELEMENT}, and has no {called}: use `{called}` on indices only"
    return f"the arguments of `{called}` have different types ({' and '.join(types)}): convert one, as in `int(…)`"


def is_array(asked: Asked) -> bool:
    """Return whether the name that the error points to is declared as an array."""
    name = WORDS.match(asked.at)
    declared = re.compile(rf"\b(?:Element|int|float) [^;]{{0,200}}\b{re.escape(name[0])}\[") if name else None
    return declared is not None and any(declared.search(line) for line in asked.source.lines)


def lvalue(asked: Asked, _: re.Match[str]) -> str:
    """Return the cause of a `=` whose left side cannot be assigned."""
    is_condition = re.match(r" *(?:if|while) ?\([^=<>!]{1,80}=(?!=)", asked.line)
    if is_condition or re.search(r"\w =(?!=) [^;?]{0,200}\?", asked.code):
        return ASSIGNS
    if re.match(r"\w{1,80} *=(?!=)", asked.at) and is_array(asked):
        return "what is left of the `=` cannot be assigned: it is an array without an index"
    return const(asked)
