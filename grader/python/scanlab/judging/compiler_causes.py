"""The commonest mistakes that a compiler reports, in a learner's words: one sentence of cause with one next step.

A sentence stands here only where it is certain from the message. What no row knows is shown as the compiler says it.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from scanlab.judging.compiler_messages import Message, Place, Source, column_of, learners_place, parse

NAME = r"([^\"\n]{1,300})"
"""What stands in quotes."""
ARGUMENTS = re.compile(r"\([^\n]{0,300}$")
WORDS = re.compile(r"[^\W\d]\w{0,80}")
HEADERS = {
    "vector": "vector",
    "string": "string",
    "min": "algorithm",
    "max": "algorithm",
    "swap": "utility",
    "printf": "cstdio",
    "uint32_t": "cstdint",
    "uint64_t": "cstdint",
    "numeric_limits": "limits",
}
"""Where some of std's names are declared."""
GIVEN = frozenset({"Element", "Kind", "section_size", "identity", "SCANLAB_CUDA_CHECK"})
SCALARS = frozenset({"float", "double", "int", "unsigned int", "long", "unsigned long", "bool"})
ONE_ELEMENT = "an Element is not always a float"
DEVICE_NAMES = frozenset({"__syncthreads", "__syncwarp", "__threadfence", "__threadfence_block"})


@dataclass(frozen=True)
class Explained:
    """A mistake in the learner's words."""

    place: Place | None
    column: int | None
    """From 0 on; None where it is not certain."""
    sentence: str


@dataclass(frozen=True)
class Asked:
    """An error, and what else a row may look at."""

    error: Message
    source: Source
    place: Place | None
    is_affine_only: bool
    """The file compiles for float elements."""
    given: frozenset[str]
    """The names that scanlab.cuh declares."""

    @property
    def line(self) -> str:
        """Return the learner's line, or an empty text."""
        return self.source.line(self.place.line) if self.place else ""

    @property
    def at(self) -> str:
        """Return the learner's line from where the error points on; empty where that is not certain."""
        column = column_of(self.error, self.line) if self.place == self.error.place else None
        return "" if column is None else self.line[column:]

    def has_fact(self, *words: str) -> bool:
        """Return whether one of the message's further lines, or of its notes, has these words."""
        return any(all(word in fact for word in words) for fact in self.error.facts)

    def fact(self, before: str) -> str:
        """Return what follows `before` in the message's further lines; empty where nothing does."""
        return next((fact.partition(before)[2] for fact in self.error.facts if before in fact), "")


Sentence = str | Callable[[Asked, re.Match[str]], str | None]
"""May have {0} in it, the pattern's first group; None where the message may have another cause."""


def _missing_semicolon(asked: Asked, _: re.Match[str]) -> str | None:
    if asked.at.startswith("{"):
        return "a function cannot be defined within another: a `}` is missing further up, or this `{` is one too many"
    if not asked.at or WORDS.search(asked.line[: len(asked.line) - len(asked.at)].strip()) is None:
        return "a `;` is missing at the end of this statement"  # the place is moved there
    return "before the place marked a `;` is missing, or the word before it is misspelt"


def _expression(asked: Asked, _: re.Match[str]) -> str | None:
    is_closing = asked.at.startswith(")") and asked.line.count(")") > asked.line.count("(")
    return "this `)` is one too many: remove it, or give it its `(`" if is_closing else None


def _statement(asked: Asked, _: re.Match[str]) -> str | None:
    if not re.match(r"else\b", asked.at):
        return None
    return "this `else` follows no `if`: put both branches in `{ … }`, with nothing between them"


def _two_angles(asked: Asked, _: re.Match[str]) -> str | None:
    is_launch = "<<" in asked.line and ">>(" in asked.line and "<<<" not in asked.line
    return "a kernel is launched with three signs on each side: write `<<<blocks, threads>>>`" if is_launch else None


def _operator(asked: Asked, found: re.Match[str]) -> str | None:
    operator, types = found[1], asked.fact("operand types are: ")
    if "Element" not in types:
        return None
    sides = [side.strip().removeprefix("const ") for side in types.split(f" {operator} ")]
    if operator == "=" and asked.has_fact("object has type qualifiers that prevent a match"):
        return _CONST
    if not asked.is_affine_only:
        return None
    if types.startswith(f"{operator} "):
        return f"`{operator}` stands here before one Element: remove it (`=+` and `=-` are no operators)"
    if operator == "+=":
        return "an Element has `+` only: write `x = earlier + x` instead of `x += …`, with the earlier element left"
    if operator == "+" and len(sides) == 2:
        other = next((side for side in sides if side != "Element"), "")
        return f"`+` adds two Elements, and one side here is {_a(other)}: declare it as Element" if other else None
    if operator == "=" and len(sides) == 2 and sides[1] in SCALARS:
        return (
            f"{ONE_ELEMENT}, and {_a(sides[1])} cannot be assigned to one: use an Element, or identity() for no value"
        )
    if operator == "[]":
        return "an Element is one value, not an array: remove the index, or use the array's name"
    if operator == "=":
        return (
            f"an Element and {_a(sides[-1])} are different things: assign an Element (of an array, one with its index)"
        )
    if operator in ("==", "!=", "<", ">", "<=", ">="):
        return f"Elements cannot be compared: {ONE_ELEMENT}; compare indices instead of `{operator}` between Elements"
    return f"an Element has `+` only, no `{operator}`: {ONE_ELEMENT}; write the scan with `+` and identity()"


def _a(type_name: str) -> str:
    return f"{'an' if type_name[:1] in 'aeiouE' else 'a'} `{type_name}`"


def _from_element(asked: Asked, found: re.Match[str]) -> str | None:
    if found[1].removeprefix("const ") != "Element":
        return None
    if "*" in found[2]:
        return "the right side is one Element and the left side a pointer: write `&array[i]` or `array + i`"
    return (
        f"{ONE_ELEMENT}, and cannot become {_a(found[2])}: declare what holds it as Element"
        if (asked.is_affine_only and found[2] in SCALARS)
        else None
    )


def _to_element(asked: Asked, found: re.Match[str]) -> str | None:
    if found[2].removeprefix("const ") != "Element":
        return None
    if "*" in found[1] or "[" in found[1]:
        return "the right side is an array or a pointer, the left side one Element: add an index, as in `array[i]`"
    if not asked.is_affine_only or found[1] not in SCALARS:
        return None
    return f"{ONE_ELEMENT}, and {_a(found[1])} cannot become one: use Element, and identity() for no value"


def _incompatible(asked: Asked, found: re.Match[str]) -> str | None:
    types = {found[1].removeprefix("const "), found[2].removeprefix("const ")}
    if any("(*)()" in one for one in types):
        return "a function is called with `()`: write `identity()`" if "identity" in asked.line else None
    if "Element" in types and types & SCALARS and asked.is_affine_only:
        other = next(iter(types & SCALARS))
        return f"{ONE_ELEMENT}, and stands here beside {_a(other)}: use an Element, or identity() for no value"
    return None


def _value(_: Asked, found: re.Match[str]) -> str | None:
    left, right = found[2], found[1]
    if "*" in right and "*" not in left:
        return f"the right side is a pointer, the left side {_a(left)}: add an index, as in `array[i]`"
    if "*" in left and "*" not in right:
        return f"the right side is {_a(right)}, the left side a pointer: write `&array[i]` or `array + i`"
    if right.startswith("const ") and right.removeprefix("const ").strip() == left and "*" in left:
        return "a pointer to const cannot become one to what may change: add `const` to the left side's type"
    return None


def _argument(_: Asked, found: re.Match[str]) -> str | None:
    if found[1].startswith("const ") and found[1].removeprefix("const ") == found[2]:
        return (
            "what is const (such as d_x) is given to a parameter that may change it: give a pointer that is not const"
        )
    return (
        f"an argument is {_a(found[1])} where the parameter is {_a(found[2])}: compare the order and the types of the "
        "arguments with the function's parameters"
    )


def _no_instance(asked: Asked, found: re.Match[str]) -> str | None:
    name, types = found[1], asked.fact("argument types are: ")
    called = ARGUMENTS.sub("", name)
    if called.removeprefix("std::") in ("min", "max"):
        return _min_max(asked, found)
    if called == "cudaMalloc":
        return (
            "cudaMalloc stores a pointer in its first argument, which is its address: write `cudaMalloc(&d_…, bytes)`"
        )
    if "::" in called or not re.search(r"\b" + re.escape(called) + r"\b", asked.line):
        return None
    if asked.has_fact("failed deduction") and not re.search(re.escape(called) + r" ?<(?!<)", asked.line):
        return f"`{called}` is a template and its kind is not given: write `{called}<kind>` (or `<Kind::inclusive>`)"
    if called.startswith("__shfl") and "Element" in types and asked.is_affine_only:
        return f"{ONE_ELEMENT}, and `{called}` moves numbers only: move an Element with the function that the lab gives"
    if called.startswith("atomic") and "Element" in types and asked.is_affine_only:
        return f"{ONE_ELEMENT}, and `{called}` works for numbers only: combine Elements with `+`"
    if asked.has_fact("number of parameters of function", f'"{called}'):
        given = len(types.strip("() ").split(",")) if types.strip("() ") else 0
        return f"`{called}` is given {given} argument{'s' * (given != 1)}, not one for each parameter: compare the two"
    if mismatch := asked.fact("does not match because argument #"):
        if asked.is_affine_only and ("float" in types or "int *" in types):
            return f"argument {mismatch.split()[0]} of `{called}` has another type than the parameter: use Element"
        return (
            f"argument {mismatch.split()[0]} of `{called}` has another type than the parameter (given are {types}): "
            "compare the order and the types, and const"
        )
    return None


def _min_max(asked: Asked, found: re.Match[str]) -> str | None:
    called = ARGUMENTS.sub("", found[1])
    if called.removeprefix("std::") not in ("min", "max"):
        return None
    types = [part.strip() for part in asked.fact("argument types are: ").strip("()").split(",")]
    if len(types) != 2:
        return f"`{called}` takes two arguments of one type: write `{called}(a, b)`"
    if "Element" in types:
        return f"{ONE_ELEMENT}, and has no {called}: use `{called}` on indices only"
    return f"the arguments of `{called}` have different types ({' and '.join(types)}): convert one, as in `int(…)`"


def _undeclared(asked: Asked, found: re.Match[str]) -> str | None:
    name = found[1]
    if name in GIVEN and not any(
        line.replace(" ", "").startswith('#include"scanlab.cuh"') for line in asked.source.lines
    ):
        return f'`{name}` is declared in scanlab.cuh: begin the file with `#include "scanlab.cuh"`'
    signs = [chr(int(code, 16)) for code in re.findall(r"\\[uU]([0-9a-f]{4,6})", name)]
    if any(not sign.isalnum() for sign in [*signs, *(one for one in name if not one.isascii())]):
        return "this line has a character that only looks like one of C++'s (a `；`, a quote, a space): type it again"
    if name in ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__ballot", "__any", "__all"):
        return f"`{name}` is no more: write `{name}_sync(0xffffffff, …)`, first the mask of the lanes that take part"
    if name in ("inclusive", "exclusive"):
        return f"`{name}` is a member of Kind: write `Kind::{name}`"
    if name == "kind":
        return "`kind` is known only in a template: put `template <Kind kind>` above the function"
    known = {word for line in asked.source.lines for word in WORDS.findall(line.partition("//")[0])} | asked.given
    known |= {"__syncthreads", "__syncwarp", "threadIdx", "blockIdx", "blockDim", "gridDim", "__shared__", "__device__"}
    known |= {"__global__", "for", "while", "return", "else", "cudaMalloc", "cudaFree", "cudaMemcpy", "cudaMemset"}
    if same := [word for word in sorted(known - {name}) if word.lower() == name.lower()]:
        return f"`{name}` is not declared here: is `{same[0]}` meant?"
    near = difflib.get_close_matches(name, sorted(known - {name}), 1, 0.75)
    if near:
        return f"`{name}` is not declared here: is `{near[0]}` meant?"
    return f"`{name}` is not declared here: declare it first, in this block or one around it, or correct its name"


def _no_member(_: Asked, found: re.Match[str]) -> str:
    header = HEADERS.get(found[2]) if found[1] == "std" else None
    if header:
        return f"`std::{found[2]}` needs its header: add `#include <{header}>` at the top"
    return f"`{found[1]}::{found[2]}` is not declared: correct the name, or include its header"


def _host_calls_device(asked: Asked, found: re.Match[str]) -> str:
    name, caller = ARGUMENTS.sub("", found[1]), ARGUMENTS.sub("", found[2])
    if re.search(r"<<<", asked.line):
        return _NO_KERNEL
    if name in DEVICE_NAMES:
        return f"`{name}` is for kernels, and `{caller}` runs on the host: move it into a kernel, or make this a kernel"
    return (
        f"`{caller}` runs on the host and cannot call `{name}`, which is __device__: call it in a kernel, or "
        f"declare it `__host__ __device__`"
    )


def _device_calls_host(_: Asked, found: re.Match[str]) -> str:
    name = ARGUMENTS.sub("", found[1])
    return f"`{name}` is a host function and is called on the device: put `__device__` before its return type"


def _is_array(asked: Asked) -> bool:
    """Return whether the name that the error points to is declared as an array."""
    name = WORDS.match(asked.at)
    declared = re.compile(rf"\b(?:Element|int|float) [^;]{{0,200}}\b{re.escape(name[0])}\[") if name else None
    return declared is not None and any(declared.search(line) for line in asked.source.lines)


def _lvalue(asked: Asked, _: re.Match[str]) -> str:
    if re.match(r" *(?:if|while) ?\([^=<>!]{1,80}=(?!=)", asked.line):
        return "`=` assigns, and what is left of it cannot change: write `==` to compare"
    if re.match(r"\w{1,80} *=(?!=)", asked.at) and _is_array(asked):
        return "what is left of the `=` cannot be assigned: it is const, or an array without an index"
    return _CONST


_CONST = "what is left of the `=` is const and cannot be assigned (d_x is read only): write to d_y or a copy"
_LAUNCH = "a kernel is launched with `<<<blocks, threads>>>` between its name and its arguments"
_NO_KERNEL = "only a kernel is launched with `<<<…>>>`: put `__global__` before the function's `void`"

UNTERMINATED = re.compile('unterminated argument list invoking macro "' + NAME + '"')

ROWS: Sequence[tuple[str, Sentence]] = (
    (r'expected a "?;"?', _missing_semicolon),
    (r"closing brace of template definition not found", "a `}` of this function is missing: give each `{` its `}`"),
    (r'expected a "?\}"?', "a `}` is missing: the `{` here, or one within its block, is never closed"),
    (r"expected an expression", _expression),
    (r"expected a statement", _statement),
    (r"expression must have integral or unscoped enum type", _two_angles),
    (r"expected a declaration", "this stands outside of every function: a `}` further up is one too many"),
    (r'expected a "?\)"?', "a `)` or a `,` is missing before the place marked: give each `(` its `)`"),
    (r'expected a "?\]"?', "a `]` is missing before the place marked: give each `[` its `]`"),
    (UNTERMINATED.pattern, "a `)` of `{0}(…)` is missing: close it"),
    (r"unterminated comment", "a comment begins here and never ends: write `*/` where it ends, or begin it with `//`"),
    (r"missing closing quote", "a text begins here and never ends: write the closing quote"),
    (r"unrecognized token", "this character is none of C++'s here: remove it or type it again"),
    (r"no operator \"" + NAME + '" matches these operands', _operator),
    (r"no suitable conversion function from \"" + NAME + r'" to "' + NAME + '" exists', _from_element),
    (r"no suitable constructor exists to convert from \"" + NAME + r'" to "' + NAME + '"', _to_element),
    (r"operand types are incompatible \(\"" + NAME + r"\"(?: \(aka [^)]{1,200}\))? and \"" + NAME + '"', _incompatible),
    (
        r"a value of type \"" + NAME + r'"(?: \(aka "[^"]{1,200}"\))? cannot be (?:assigned to|used to initialize) an '
        r'entity of type "' + NAME + '"',
        _value,
    ),
    (
        r"argument of type \"" + NAME + r'"(?: \(aka "[^"]{1,200}"\))? is incompatible with parameter of type "' + NAME,
        _argument,
    ),
    (r"no instance of (?:overloaded function|function template) \"" + NAME + '" matches', _no_instance),
    (r"more than one instance of overloaded function \"" + NAME + '" matches', _min_max),
    (
        r"argument list for (?:variable|function|class) template \"" + NAME + '" is missing',
        "`{0}` is a template and its kind is not given: write `{0}<kind>`",
    ),
    (
        r"identifier \"" + NAME + '" is undefined in device code',
        "`{0}` belongs to the host and is used on the device: make it constexpr, or a parameter of the kernel",
    ),
    (r"identifier \"" + NAME + '" is undefined', _undeclared),
    (r"namespace \"" + NAME + r'" has no member "' + NAME + '"', _no_member),
    (r"calling a __host__ function ?\(\"" + NAME + r"\"\) from a __(?:global|device)__ ", _device_calls_host),
    (
        r"calling a __device__ function ?\(\"" + NAME + r"\"\) from a __host__ function ?\(\"" + NAME + '"',
        _host_calls_device,
    ),
    (
        r"a variable length array cannot have static storage",
        "the size of a __shared__ array must be known when compiling: use a constant, such as section_size",
    ),
    (
        r"expression must have a constant value",
        "a constant is needed here, such as section_size: n is known later only",
    ),
    (
        r"initializer not allowed for __shared__ variable",
        "a __shared__ array cannot be initialised where it is declared: let each thread write its own element",
    ),
    (
        r"a static \"__shared__\" variable declaration is not allowed inside a host function",
        "__shared__ is for kernels, and this function runs on the host: put `__global__` or `__device__` before it",
    ),
    (r"too few arguments in function call", "an argument is missing: give one for each of the function's parameters"),
    (r"too many arguments in function call", "there are more arguments than the function has parameters: remove one"),
    (r"a __global__ function call must be configured", _LAUNCH),
    (r"a (?:host|__device__) function call cannot be configured", _NO_KERNEL),
    (r"a __global__ function must have a void return type", "a kernel returns nothing: declare it `__global__ void`"),
    (
        r"return value type does not match the function type",
        "the value returned is not of the function's type; a void function, such as a kernel, only has `return;`",
    ),
    (r"expression must be a modifiable lvalue", _lvalue),
    (NAME[:-1] + r"): No such file or directory", "there is no file `{0}`: labs include `scanlab.cuh`"),
    (
        r"\"" + NAME + r'" has already been declared in the current scope',
        "`{0}` is declared twice: rename one, or drop it",
    ),
    (
        r"function \"" + NAME + '" has already been defined',
        "`{0}` is defined twice: rename one, or remove it",
    ),
    (
        r"cannot overload functions distinguished by return type alone",
        "this function is declared with another return type (scanlab.cuh declares the entries `void`): write that one",
    ),
    (r"explicit type is missing", "the return type is missing before the function's name: write `void`, or its type"),
    (
        r"this declaration has no storage class or type specifier",
        "a type is missing, or the first word is misspelt (a kernel begins with `__global__ void`)",
    ),
    (
        r"expression must have pointer-to-object type but it has type",
        "what is indexed here is one value, not an array or a pointer: remove the index, or use the array's name",
    ),
    (
        r"(?:class \"Element\" has no member|expression must have class type but it has type \"Element\")",
        "an Element has no parts that a scan may use: write it with `+` and identity()",
    ),
    (r"a (?:continue|break) statement may only be used", "this stands in no loop: a `}` before it closes it too early"),
    (r".{1,300} was declared .extern. and later .static.", "an entry must be visible to the grader: remove `static`"),
)
_COMPILED = [(re.compile(pattern), sentence) for pattern, sentence in ROWS]


def explain(said: Mapping[str, str], passed: Sequence[str], source: Source, given: str = "") -> Explained | None:
    """Return the cause of a file's first error, or None where no row knows it.

    `said` has the compiler's text for each element with which the file does not compile, `passed` those with which it
    does; `given` is the text of scanlab.cuh.
    """
    is_affine_only = "float" in passed
    names = frozenset(WORDS.findall(given))
    for element in sorted(said, key=lambda one: one != "float"):
        errors = [message for message in parse(said[element]) if message.severity == "error"]
        # A brace that is never closed is found at the end only, and makes lines before it look wrong.
        errors.sort(key=lambda one: not (one.place.line == 0 and "}" in one.text))
        if errors and (found := _explained(_placed(errors[0], said[element]), source, names, is_affine_only)):
            return found
    return None


def _placed(error: Message, text: str) -> Message:
    """Return an error, which may stand at the end of the source, at the `{` that its note names."""
    if error.place.line:
        return error
    note = text.partition("At end of source: error: ")[2].partition("\n")[2].lstrip("\n").partition("\n")[0]
    if "to match this" not in note:
        return error
    noted = parse(note.replace(": note", ": error", 1))
    return replace(error, place=noted[0].place, caret=None, printed="") if noted else error


def _explained(error: Message, source: Source, given: frozenset[str], is_affine_only: bool) -> Explained | None:
    place = learners_place(error, source)
    if macro := UNTERMINATED.match(error.text):  # g++ names the end of the file
        place = _unclosed(source, macro[1]) or place
    asked = Asked(error, source, place, is_affine_only, given)
    for pattern, sentence in _COMPILED:
        if found := pattern.match(error.text):
            said = sentence.replace("{0}", found[1]) if isinstance(sentence, str) and found.re.groups else sentence
            said = said if isinstance(said, str) else said(asked, found)
            break
    else:
        return None
    if said is None or place is None:
        return None
    column = column_of(error, asked.line) if place == error.place else None
    if sentence is _missing_semicolon and column is not None and not asked.line[:column].strip():
        if (moved := _end_before(source, place)) is None:
            return Explained(place, column, said)
        place, column = moved
    return Explained(place, column, said)


def _unclosed(source: Source, macro: str) -> Place | None:
    """Return the only line that uses a macro and closes fewer brackets than it opens; None where there are others."""
    used = [number for number, line in enumerate(source.lines, 1) if f"{macro}(" in line.partition("//")[0]]
    unclosed = [number for number in used if source.line(number).count("(") > source.line(number).count(")")]
    return Place(source.names[0], unclosed[0]) if len(unclosed) == 1 else None


def _end_before(source: Source, place: Place) -> tuple[Place, int] | None:
    """Return where the code ends that stands before a line; None where that is not certain."""
    for number in range(place.line - 1, 0, -1):
        line = source.line(number)
        if '"' in line or "/*" in line or "*/" in line:
            return None
        if code := line.partition("//")[0].rstrip():
            return Place(place.file, number), len(code)
    return None


def shown_lines(explained: Explained, source: Source) -> list[str]:
    """Return the learner's line with its number, and a caret below where its column is certain."""
    if not explained.place:
        return []
    number = str(explained.place.line)
    line = source.line(explained.place.line).rstrip()
    lines = [f"{number} | {line}"]
    if explained.column is not None:
        space = "".join("\t" if character == "\t" else " " for character in line[: explained.column])
        lines.append(f"{' ' * len(number)} | {space.ljust(explained.column)}^")
    return lines
