"""What a learner's text says by itself, where a compiler's message does not: declarations, blocks and calls.

None of it parses C++. Each function returns None where the text is not as plain as learners write it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

NOT_CODE = re.compile(r"//.*|\"(?:\\.|[^\"\\])*+\"?|(?<![0-9])'(?:\\.|[^'\\])*+'?|/\*.*?(?:\*/|(?=\n)|\Z)")
WORDS = re.compile(r"[^\W\d]\w{0,80}")
KEYWORDS = frozenset(
    ("return", "else", "case", "goto", "new", "delete", "throw", "typename", "using", "template", "if", "while", "do")
)
"""Words that stand before a name without declaring it."""
STRUCT = re.compile(r"\b(?:struct|class|enum|union)\b")
TYPE = re.compile(
    r"(?P<type>(?:(?:const|unsigned|long|volatile|static|constexpr|__device__|__global__|inline) )*[A-Za-z_][\w:]*"
    r"(?:<[^<>]*>)?(?: const)?) ?(?P<stars>[*&]* ?(?:const )?)(?<=[ *&>])"
)
LONGEST = 400
"""As much of a line is looked at: no line is longer, and a file may be made to take time."""
HEAD = re.compile(r"[A-Za-z_][^(]{0,300}\(")
"""How a function's head begins, in the first column."""


def code_of(line: str) -> str:
    """Return a line without comments, its texts as blanks."""
    return NOT_CODE.sub(lambda found: "" if found[0].startswith("//") else " " * len(found[0]), line[:LONGEST])


def kept_before(codes: Sequence[str], name: str) -> str:
    """Return the variable to which some lines have copied another one; empty if they have not."""
    found = (re.search(rf"\b([A-Za-z_]\w{{0,40}})\s*=\s*{name}\s*;", code) for code in reversed(codes))
    return next((one[1] for one in found if one), "")


def line_before(lines: Sequence[str], number: int) -> int | None:
    """Return the number of the last line with code before a line; None where that is not certain."""
    for before in range(number - 1, 0, -1):
        line = lines[before - 1]
        if '"' in line or "/*" in line or "*/" in line:
            return None
        if line.partition("//")[0].strip():
            return before
    return None


# ---- declarations -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Declaration:
    """Where a name is declared, and as what."""

    line: int
    type_name: str
    """`const float*`, as written, of one space each; without `*` where the name has none."""
    is_function: bool


def declarations(lines: Sequence[str], name: str) -> list[Declaration]:
    """Return the declarations of a name, from the top on."""
    named = re.compile(rf"\b{re.escape(name)}\b ?(?=(?P<after>$|[=;,\[(){{:]))")
    found = []
    for number, line in enumerate(lines, 1):
        if name not in line:
            continue
        code = " ".join(code_of(line).replace("__shared__", "").split())
        for match in named.finditer(code):
            is_function = match["after"] == "(" and bool(HEAD.match(line)) and not code.endswith(";")
            declared = _type_before(code[: match.start()])
            if declared and (is_function or match["after"] != "("):
                found.append(Declaration(number, declared, is_function))
    return found


def _type_before(text: str) -> str | None:
    """Return the type that a name behind this text is declared with; None where it is not declared there."""
    statement = re.split(r"[;(){}]", text)[-1].strip(" ") + " "
    first, *_, own = [*statement.split(","), statement.split(",")[-1]]
    declared = TYPE.match(own.lstrip()) or (TYPE.match(first) if "," in statement and not own.strip(" *&") else None)
    if declared is None or declared["type"].removeprefix("const ").split()[0] in KEYWORDS:
        return None
    is_own = declared.string == own.lstrip()
    if is_own and own.lstrip()[declared.end() :].strip():
        return None
    return declared["type"] + ("*" if "*" in (declared["stars"] if is_own else own) else "")


def declaration_for(lines: Sequence[str], name: str, line: int) -> Declaration | None:
    """Return the last declaration of a name up to a line, in the function that the line is in or outside of all."""
    head = head_of(lines, line) or 0
    above = [one for one in declarations(lines, name) if one.line <= line]
    within = [one for one in above if one.line >= head]
    return (within or [one for one in above if not lines[one.line - 1].startswith(" ")] or [None])[-1]


def head_of(lines: Sequence[str], line: int) -> int | None:
    """Return the line on which the function begins that a line is in: the last one that begins in the first column."""
    for number in range(line, 0, -1):
        text = lines[number - 1]
        if text.startswith("}") and number != line:
            return None
        if HEAD.match(text) and not code_of(text).rstrip().endswith(";"):
            return number
    return None


def definition_of(lines: Sequence[str], name: str) -> int | None:
    """Return the line on which a function begins; None where there is none, or more than one."""
    found = [one.line for one in declarations(lines, name) if one.is_function]
    return found[0] if len(found) == 1 else None


# ---- blocks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Brace:
    """A brace without its counterpart."""

    line: int
    column: int
    is_open: bool


def odd_brace(lines: Sequence[str]) -> Brace | None:
    """Return the only brace that has no counterpart where the indentation has one; None where nothing is certain."""
    codes = [code_of(line) for line in lines]
    both = "".join(codes)
    if both.count("{") == both.count("}") or any(code.lstrip().startswith("#if") for code in codes):
        return None
    odd: list[Brace] = []
    opened: list[tuple[int, Brace]] = []
    indent = depth = 0
    for number, code in enumerate(codes, 1):
        if not code.strip():
            continue
        if depth == 0:
            indent = len(code) - len(code.lstrip())  # else the line continues the one that has opened a bracket
        for column, sign in enumerate(code):
            depth = max(0, depth + (sign == "(") - (sign == ")"))
            if sign == "{":
                is_first = not code[:column].strip()
                while opened and indent <= opened[-1][0] and not is_first and "}" not in code[:column]:
                    odd.append(opened.pop()[1])
                is_flat = re.match(r"\s*(?:namespace|extern)\b", code)
                opened.append((-1 if is_flat else indent, Brace(number, column, is_open=True)))
            elif sign == "}":
                depth = 0
                is_first = not code[:column].strip()
                while is_first and opened and opened[-1][0] > indent:
                    odd.append(opened.pop()[1])
                if not opened or (is_first and -1 < opened[-1][0] < indent):
                    odd.append(Brace(number, column, is_open=False))
                else:
                    opened.pop()
    odd += [brace for _, brace in opened]
    return odd[0] if len(odd) == 1 else None


def struct_without_semicolon(lines: Sequence[str], line: int) -> int | None:
    """Return the line of the `}` that ends a struct right before a line, and has no `;`."""
    before = line_before(lines, line)
    if before is None or code_of(lines[before - 1]).strip() != "}":
        return None
    for number in range(before - 1, 0, -1):
        code = code_of(lines[number - 1])
        if "{" in code:
            return before if STRUCT.search(code) else None
        if "}" in code:
            return None
    return None


def enum_of(lines: Sequence[str], member: str) -> str | None:
    """Return the enumeration that has a member, where it stands on one line."""
    declared = re.compile(rf"enum (?:class )?(\w+) ?\{{[^{{}}]*\b{re.escape(member)}\b[^{{}}]*\}}")
    return next((found[1] for line in lines if (found := declared.search(code_of(line)))), None)


def argument(code: str, called: str, number: int) -> str | None:
    """Return an argument of the only call of a function on a line, from 1 on, without spaces around it."""
    begun = [match.end() for match in re.finditer(rf"\b{re.escape(called)}(?: ?<[^;()]*>+)? ?\(", code)]
    if len(begun) != 1:
        return None
    depth, parts = 0, [""]
    for sign in code[begun[0] :]:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return parts[number - 1].strip() if number <= len(parts) else None
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return None
