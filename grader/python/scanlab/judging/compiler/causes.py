"""The commonest mistakes that a compiler reports, in a learner's words: one sentence of cause with one next step.

A sentence stands here only where it is certain from the message. What no row knows is shown as the compiler says it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scanlab.judging.compiler import elements, launches, names, values
from scanlab.judging.compiler.asked import Asked, At, Sentence
from scanlab.judging.compiler.habits import LAUNCH, habit
from scanlab.judging.compiler.messages import Message, Place, Source, learners_place, parse
from scanlab.judging.compiler.source import (
    WORDS,
    code_of,
    line_before,
    odd_brace,
)

NAME = r"([^\"\n]{1,300})"
"""What stands in quotes."""


@dataclass(frozen=True)
class Explained:
    """A mistake in the learner's words."""

    place: Place | None
    column: int | None
    """From 0 on; None where it is not certain."""
    sentence: str


def _missing_semicolon(asked: Asked, _: re.Match[str]) -> str | At | None:
    if asked.at.startswith("{"):
        return "a function cannot be defined within another: a `}` is missing further up, or this `{` is one too many"
    if (misspelt := names.misspelt_word(asked)) is not None:
        return misspelt
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


UNTERMINATED = re.compile('unterminated argument list invoking macro "' + NAME + '"')

ROWS: Sequence[tuple[str, Sentence]] = (
    (r'expected a "?;"?', _missing_semicolon),
    (r"closing brace of template definition not found", "a `}` of this function is missing: give each `{` its `}`"),
    (r'expected a "?\}"?', "a `}` is missing: the `{` here, or one within its block, is never closed"),
    (r"expected an expression", _expression),
    (r"expected a statement", _statement),
    (r"type name is not allowed", names.type_name),
    (r"expression must have (?:integral|arithmetic|pointer)", values.parts_first),
    (r"expected a declaration", "this stands outside of every function: a `}` further up is one too many"),
    (r'expected a "?\)"?', "a `)` or a `,` is missing before the place marked: give each `(` its `)`"),
    (r'expected a "?\]"?', "a `]` is missing before the place marked: give each `[` its `]`"),
    (UNTERMINATED.pattern, "a `)` of `{0}(…)` is missing: close it"),
    (r"unterminated comment", "a comment begins here and never ends: write `*/` where it ends, or begin it with `//`"),
    (r"missing closing quote", "a text begins here and never ends: write the closing quote"),
    (r"unrecognized token", "this character is none of C++'s here: remove it or type it again"),
    (r"no operator \"" + NAME + '" matches these operands', values.operator),
    (r"no suitable conversion function from \"" + NAME + r'" to "' + NAME + '" exists', elements.from_element),
    (r"no suitable constructor exists to convert from \"" + NAME + r'" to "' + NAME + '"', elements.to_element),
    (
        r"operand types are incompatible \(\"" + NAME + r"\"(?: \(aka [^)]{1,200}\))? and \"" + NAME + '"',
        elements.incompatible,
    ),
    (
        r"a value of type \"" + NAME + r'"(?: \(aka "[^"]{1,200}"\))? cannot be (?:assigned to|used to initialize) an '
        r'entity of type "' + NAME + '"',
        values.value,
    ),
    (
        r"argument of type \"" + NAME + r'"(?: \(aka "[^"]{1,200}"\))? is incompatible with parameter of type "' + NAME,
        values.argument_type,
    ),
    (r"no instance of (?:overloaded function|function template) \"" + NAME + '" matches', values.no_instance),
    (r"more than one instance of overloaded function \"" + NAME + '" matches', values.min_max),
    (
        r"argument list for (?:variable|function|class) template \"" + NAME + '" is missing',
        "`{0}` is a template and its kind is not given: write `{0}<kind>`",
    ),
    (
        r"identifier \"" + NAME + '" is undefined in device code',
        "`{0}` belongs to the host and is used on the device: make it constexpr, or a parameter of the kernel",
    ),
    (r"identifier \"" + NAME + '" is undefined', names.undeclared),
    (r"namespace \"" + NAME + r'" has no member "' + NAME + '"', names.no_member),
    (r"(?:class|struct) \"" + NAME + r'" has no member "' + NAME + '"', names.of_class),
    (r"enum \"" + NAME + r'" has no member "' + NAME + '"', names.enumerator),
    (r'name followed by "::" must be a class or namespace name', names.qualified),
    (
        r"calling a (?:constexpr )?__host__ function ?\(\"" + NAME + r"\"\) from a __(?:global|device)__ ",
        launches.device_calls_host,
    ),
    (
        r"calling a __device__ function ?\(\"" + NAME + r"\"\) from a __host__ function ?\(\"" + NAME + '"',
        launches.host_calls_device,
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
    (r"a static \"__shared__\" variable declaration is not allowed inside a host function", launches.shared_on_host),
    (r"too few arguments in function call", "an argument is missing: give one for each of the function's parameters"),
    (r"too many arguments in function call", "there are more arguments than the function has parameters: remove one"),
    (r"a __global__ function call must be configured", LAUNCH),
    (r"a (?:host|__device__) function call cannot be configured", launches.not_launched),
    (r"a __global__ function must have a void return type", "a kernel returns nothing: declare it `__global__ void`"),
    (
        r"return value type does not match the function type",
        "the value returned is not of the function's type; a void function, such as a kernel, only has `return;`",
    ),
    (r"expression must be a modifiable lvalue", values.lvalue),
    (NAME[:-1] + r"): No such file or directory", "there is no file `{0}`: labs include `scanlab.cuh`"),
    (r"\"" + NAME + r'" has already been declared in the current scope', names.twice),
    (
        r"function \"" + NAME + '" has already been defined',
        "`{0}` is defined twice: rename one, or remove it",
    ),
    (
        r"cannot overload functions distinguished by return type alone",
        "this function is declared with another return type (scanlab.cuh declares the entries `void`): write that one",
    ),
    (r"explicit type is missing", "the return type is missing before the function's name: write `void`, or its type"),
    (r"this declaration has no storage class or type specifier", names.no_type),
    (
        r"expression must have pointer-to-object type but it has type",
        "what is indexed here is one value, not an array or a pointer: remove the index, or use the array's name",
    ),
    (r"expression must have class type but it has type \"" + NAME + '"', elements.of_class),
    (r"expression preceding parentheses of apparent call must have", values.apparent_call),
    (r"operator -> or ->\* applied to", "what is left of `->` is no pointer: write `.` instead"),
    (r"a built-in binary operator applied to a scoped enumeration", values.no_template),
    (r'macro "' + NAME + '" passed', values.macro_arguments),
    (r"expression must have bool type", values.not_bool),
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
    known = frozenset(WORDS.findall(given))
    for element in sorted(said, key=lambda one: one != "float"):
        errors = [message for message in parse(said[element]) if message.severity == "error"]
        meant = _habit_of(errors[0], source) if errors else None
        if meant or (
            any(source.has(error.place) or not error.place.line for error in errors) and (meant := _odd(source))
        ):
            return meant
        # A brace that is never closed is found at the end only, and makes lines before it look wrong.
        errors.sort(key=lambda one: not (one.place.line == 0 and "}" in one.text))
        if not errors:
            continue
        first = _placed(errors[0], said[element])
        if found := _explained(first, tuple(errors[1:]), source, known, is_affine_only):
            return found
    return None


def _habit_of(error: Message, source: Source) -> Explained | None:
    place = learners_place(error, source)
    said = habit(code_of(source.line(place.line)), source.line(place.line)) if place else None
    return Explained(place, None, said) if said else None


def _odd(source: Source) -> Explained | None:
    """Return the only brace of the file that has no counterpart, whatever the compiler makes of what follows it."""
    odd = odd_brace(source.lines)
    if odd is None:
        return None
    sentence = (
        "the `{` here is never closed: a `}` is missing where its block ends"
        if odd.is_open
        else "this `}` is one too many, or the `{` that it should close is missing further up"
    )
    return Explained(Place(source.names[0], odd.line), odd.column, sentence)


def _placed(error: Message, text: str) -> Message:
    """Return an error, which may stand at the end of the source, at the `{` that its note names."""
    if error.place.line:
        return error
    note = text.partition("At end of source: error: ")[2].partition("\n")[2].lstrip("\n").partition("\n")[0]
    if "to match this" not in note:
        return error
    noted = parse(note.replace(": note", ": error", 1))
    return replace(error, place=noted[0].place, caret=None, printed="") if noted else error


def _explained(
    error: Message, others: tuple[Message, ...], source: Source, given: frozenset[str], is_affine_only: bool
) -> Explained | None:
    place = learners_place(error, source)
    if macro := UNTERMINATED.match(error.text):  # g++ names the end of the file
        place = _unclosed(source, macro[1]) or place
    if place is None:
        return None
    asked = Asked(error, source, place, is_affine_only, given, others)
    sentence, said = _said(asked)
    if said is None:
        return None
    if isinstance(said, At):
        return Explained(Place(place.file, said.line), said.column, said.sentence)
    column = asked.column
    if sentence is _missing_semicolon and column is not None and not asked.line[:column].strip():
        if (moved := _end_before(source, place)) is None:
            return Explained(place, column, said)
        place, column = moved
    return Explained(place, column, said)


def _said(asked: Asked) -> tuple[Sentence | None, str | At | None]:
    """Return the row that knows an error, None where the line itself says enough, and what it says."""
    if meant := habit(asked.code, asked.line) or values.indexed(asked):
        return None, meant
    for pattern, sentence in _COMPILED:
        if found := pattern.match(asked.error.text):
            if isinstance(sentence, str):
                return sentence, sentence.replace("{0}", found[1]) if found.re.groups else sentence
            if said := sentence(asked, found):
                return sentence, said
    return None, None


def _unclosed(source: Source, macro: str) -> Place | None:
    """Return the only line that uses a macro and closes fewer brackets than it opens; None where there are others."""
    used = [number for number, line in enumerate(source.lines, 1) if f"{macro}(" in line.partition("//")[0]]
    unclosed = [number for number in used if source.line(number).count("(") > source.line(number).count(")")]
    return Place(source.names[0], unclosed[0]) if len(unclosed) == 1 else None


def _end_before(source: Source, place: Place) -> tuple[Place, int] | None:
    """Return where the code ends that stands before a line; None where that is not certain."""
    number = line_before(source.lines, place.line)
    if number is None:
        return None
    return Place(place.file, number), len(source.line(number).partition("//")[0].rstrip())


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
