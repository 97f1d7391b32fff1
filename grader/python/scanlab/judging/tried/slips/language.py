"""What C++ reads in another way than it looks."""

import re
from collections.abc import Iterator

from scanlab.judging.compiler.source import kept_before
from scanlab.judging.tried.slips.program import LONGEST, NAME, TYPE, Edit, Program, Rule, arguments, compiled, rewrite

DECLARED = re.compile(rf"^(\s*)({TYPE})({NAME})\s*(?==[^=]|;)")
NO_TYPES = ("return", "goto", "using", "delete", "else", "struct", "typename")
SWAP = re.compile(r"\s*([A-Za-z_]\w{0,40})\s*=\s*([A-Za-z_]\w{0,40})\s*;\s*\2\s*=\s*\1\s*;\s*")
HEAD = compiled(r"^\s*(?:(?:if|for|while)\s*<GROUP>|else)\s*$")
ONLY_A_HEAD = compiled(r"^\s*(if|for|while)\s*<GROUP>\s*(;)\s*$")
LOOP = re.compile(r"\b(?:for|while|do)\b")
MACRO = re.compile(r"\s*#\s*define\s+(\w{1,40})\(([\w\s,]{1,80})\)\s+(.*\S)")
PROCEDURE = re.compile(r"\bvoid\s+(\w{1,60})\s*\(([^(){};\n]{1,200})\)\s*\{")


def _hidden(program: Program) -> Iterator[Edit]:
    """Find a variable that hides another of the same name: what is assigned to it is lost at the brace."""
    scopes: list[set[str]] = [set()]
    for number, whole in enumerate(program.codes, 1):
        code = program.code(number)
        found = DECLARED.match(code)
        if found and found[2].split()[0] not in NO_TYPES:
            if len(scopes) > 2 and any(found[3] in scope for scope in scopes[1:-1]):
                because = (
                    f"this is another {found[3]}, which hides the outer one and ends with its block: what is assigned "
                    "here is lost"
                )
                is_all = code[found.end() :].strip() == ";"
                yield Edit(number, found.start(2), len(code) if is_all else found.start(3), "", because)
            scopes[-1].add(found[3])
        for character in whole:
            if character == "{":
                scopes.append(set())
            elif character == "}" and len(scopes) > 1:
                scopes.pop()


def _lost_in_a_swap(program: Program) -> Iterator[Edit]:
    """Find `a = b; b = a;`, which leaves b in both."""
    for number in program.numbers:
        whole = f"{program.code(number)} {program.code(number + 1)}"
        found = SWAP.fullmatch(whole) or SWAP.fullmatch(program.code(number))
        if found:
            a, b = found[1], found[2]
            kept = kept_before(program.codes[max(0, number - 4) : number - 1], a)
            if kept and (last := re.search(rf"(?<=\b{b} = ){a}(?=\s*;)", program.code(number + 1))):
                yield Edit(number + 1, *last.span(), kept, f"{a} is lost before it is copied: {kept} has kept it")
                continue
            is_one_line = SWAP.fullmatch(program.code(number)) is not None
            meant = f"{' ' * program.indent(number)}auto* const kept = {a}; {a} = {b}; {b} = kept;"
            lines = f"line {number}" if is_one_line else f"lines {number} and {number + 1}"
            because = f"{a} is lost before it is copied: after that both are what {b} was"
            cure = f"write `{meant.strip()}` in the place of {lines}"
            yield Edit(number, 0, len(program.lines[number - 1]), meant, because, cure, more=0 if is_one_line else 1)


def _empty_statement(program: Program) -> Iterator[Edit]:
    """Find a semicolon that is all that an `if` or a loop does."""
    for number, found in program.matches(ONLY_A_HEAD):
        follows = next((code for code in program.codes[number:] if code.strip()), "")
        if follows.lstrip().startswith("{") or len(follows) - len(follows.lstrip()) > program.indent(number):
            because = f"the `;` is all that the `{found[1]}` is about: what follows is always done, once"
            yield Edit(number, *found.span(2), "", because)


def _left_outside(program: Program) -> Iterator[Edit]:
    """Find a statement that is indented like one that an `if` or a loop is about, and is not: braces are missing."""
    for number, found in program.matches(HEAD):
        body = [program.code(number + 1), program.code(number + 2)]
        is_deeper = min(program.indent(number + 1), program.indent(number + 2)) > program.indent(number)
        if is_deeper and all(code.rstrip().endswith(";") for code in body):
            lines = [f"{found[0].rstrip()} {{", *program.lines[number : number + 2], " " * program.indent(number) + "}"]
            because = f"without braces only line {number + 1} belongs to it, and line {number + 2} is always done"
            cure = f"put {{ and }} around lines {number + 1} and {number + 2}"
            yield Edit(number, 0, len(program.lines[number - 1]), "\n".join(lines), because, cure, more=2)


def _left_too_far(program: Program) -> Iterator[Edit]:
    """Find a thread that ends where it should leave a loop, or one turn of it."""
    opened: list[str] = []
    head = ""
    for number, whole in enumerate(program.codes, 1):
        code = program.code(number)
        leaves = re.search(r"\breturn\s*;", code)
        if leaves and any(LOOP.search(one) for one in (*opened, code[: leaves.start()])):
            for meant in ("break;", "continue;"):
                because = f"`return` ends the thread, and `{meant[:-1]}` only the loop or its turn"
                yield Edit(number, *leaves.span(), meant, because)
        for character in whole:
            if character == "{":
                opened.append(head)
            elif character == "}" and opened:
                opened.pop()
            head = "" if character in "{};" and head.count("(") == head.count(")") else head + character


def _macros(program: Program) -> Iterator[Edit]:
    """Find a macro whose parameters have no parentheses, so that an operator takes a part of what it is given."""
    for number in program.numbers:
        found = MACRO.match(program.codes[number - 1][:LONGEST])
        for name in re.findall(r"\w+", found[2]) if found else ():
            bare = rf"(?<![\w.(\[#])(?P<before>[*/%+\-<>&|]\s*)?\b{name}\b(?![\w(])(?P<after>\s*[*/%+\-<>&|])?"
            if found and any(one["before"] or one["after"] for one in re.finditer(bare, found[3])):
                body = found[3]
                for parameter in re.findall(r"\w+", found[2]):
                    body = re.sub(rf"(?<![\w.#])(?<!\(){parameter}\b|\b{parameter}\b(?!\))", f"({parameter})", body)
                because = f"{found[1]} is replaced as text: given `1 - a` for {name}, an operator takes a part of it"
                yield Edit(number, *found.span(3), body, because)
                break


def _copied_parameters(program: Program) -> Iterator[Edit]:
    """Find a function that assigns to its parameters, which are copies of what it was given."""
    for found in PROCEDURE.finditer(program.whole):
        before = re.split(r"[;{}]", program.whole[max(0, found.start() - 120) : found.start()])[-1]
        end, depth = found.end(), 1
        while end < len(program.whole) and depth:
            depth += (program.whole[end] == "{") - (program.whole[end] == "}")
            end += 1
        meant, names = [], []
        for _, parameter in arguments(found[2]):
            name = re.search(r"(\w+)\s*$", parameter)
            sets = rf"(?<![\w.*\]>])\b{name[1] if name else ''}\s*[-+*/]?=(?!=)"
            is_set = name is not None and re.search(sets, program.whole[found.end() : end])
            if name and is_set and "&" not in parameter and "const" not in parameter.split("*")[-1]:
                names.append(name[1])
                meant.append(f"{parameter[: name.start(1)].rstrip()}& {name[1]}")
            else:
                meant.append(parameter)
        if names and "__global__" not in before:
            line = program.whole.count("\n", 0, found.start(2)) + 1
            begin = found.start(2) - program.whole.rfind("\n", 0, found.start(2)) - 1
            because = f"{found[1]} changes copies: {', '.join(names)} of whoever calls it stays as it was"
            yield Edit(line, begin, begin + len(found[2]), ", ".join(meant), because)


RULES = (
    rewrite(
        r"\b(__sync(?:threads|warp)|__threadfence(?:_block|_system)?)\s*;",
        r"\1();",
        r"without `()` the function is named and not called: there is no \1() here",
    ),
    rewrite(
        r"(<OPERAND>)\s*(<=?|>=?)\s*(<OPERAND>)\s*(<=?|>=?)\s*(<OPERAND>)(?!\s*[>(])",
        r"\1 \2 \3 && \3 \4 \5",
        r"`\1 \2 \3 \4 \5` compares the truth value of `\1 \2 \3`, 0 or 1, with \5",
    ),
    rewrite(
        r"\b(?:std::)?ceilf?\s*\(\s*(\w{1,40})\s*/\s*(\w{1,40})\s*\)",
        r"(\1 + \2 - 1) / \2",
        r"\1 / \2 is a division of integers, rounded down before ceil sees it",
    ),
    rewrite(r"(?<![\w.])2\s*\^\s*(<OPERAND>)", r"(1 << \1)", "`^` is no power in C++ but the exclusive or of bits"),
    rewrite(
        r"(<OPERAND>)\s*([&|^])\s*(<OPERAND>)\s*([=!]=)\s*(<OPERAND>)",
        r"(\1 \2 \3) \4 \5",
        r"`\4` binds tighter than `\2`: this is \1 \2 (\3 \4 \5)",
    ),
    rewrite(
        r"%\s*(<OPERAND>)\s*\*\s*(<OPERAND>)",
        r"% (\1 * \2)",
        r"`%` and `*` bind alike, from left to right: what is left of the `*` is the remainder by \1",
    ),
    rewrite(
        r"(<OPERAND>)\s*(<<|>>)\s*(<OPERAND>)\s*([+-])\s*(<OPERAND>)",
        r"(\1 \2 \3) \4 \5",
        r"`\4` binds tighter than `\2`: this is \1 \2 (\3 \4 \5)",
    ),
    rewrite(
        r"(<OPERAND>)\s*([+-])\s*(<OPERAND>)\s*(<<|>>)\s*(<OPERAND>)",
        r"\1 \2 (\3 \4 \5)",
        r"`\2` binds tighter than `\4`: this is (\1 \2 \3) \4 \5",
    ),
    rewrite(
        r"&\s*(warp_size|warpSize|32)\b(?!\s*-)",
        r"& (\1 - 1)",
        r"`& \1` keeps one bit: the remainder by \1 is `& (\1 - 1)`",
    ),
    rewrite(r"([%/])\s*31\b", r"\1 32", "a warp has 32 lanes"),
    rewrite(
        r"(\bfor\s*\([^;]{1,80};\s*\w{1,40}\s*)>=(?=\s*0\s*;[^;]{1,60}(?:/=|>>=))",
        r"\1>",
        "0 halved stays 0, so that this never ends",
    ),
    rewrite(
        r"(<OPERAND>)\s*([+-])\s*1\s*\*\s*(<OPERAND>)",
        r"(\1 \2 1) * \3",
        r"`*` binds tighter than `\2`: this is \1 \2 (1 * \3)",
    ),
    rewrite(
        r"=\s*(<OPERAND>)\s*\+\s*(<OPERAND>)\s*\?\s*(<OPERAND>)\s*:\s*(<OPERAND>)",
        r"= \1 + (\2 ? \3 : \4)",
        r"`+` binds tighter than `?:`: the condition is the whole sum \1 + \2",
    ),
    rewrite(
        r"(\+\s*\w{1,40}\s*)\(([^()?]{1,60}(?:\([^()]{0,60}\)){0,2})\)\s*\?\s*(<OPERAND>)\s*:\s*(<OPERAND>)",
        r"\1(\2 ? \3 : \4)",
        "the condition of the `?:` is all that stands left of the `?`",
    ),
    rewrite(r"(?<![!=<>+\-*/%&|^])=([+\-])(?= )", r"\1=", r"`=\1` is an assignment of what has a sign, not `\1=`"),
    rewrite(
        r"\bif\s*\(\s*(<OPERAND>)\s*=\s*(<OPERAND>)\s*\)",
        r"if (\1 == \2)",
        "`=` assigns, and the condition is what was assigned: `==` compares",
    ),
    rewrite(
        r"([;)]\s*)(<NAME>)\s*(\*|/|\+|-|<<|>>)\s*(\w{1,40})\s*\)(?=\s*(?:\{|$|\w))",
        r"\1\2 \3= \4)",
        r"the step of the loop computes \2 \3 \4 and does not assign it",
    ),
    Rule(_lost_in_a_swap),
    Rule(_hidden),
    Rule(_empty_statement),
    Rule(_left_outside),
    Rule(_copied_parameters),
    Rule(_macros),
    Rule(_left_too_far, "wrong|barrier|warp|deadlock|uninitialised"),
    rewrite(
        r"\*\s*(\w{1,60})(\+\+|--)\s*(?==[^=])",
        r"*\2\1 ",
        r"`*\1\2` stores where \1 points, and moves it after that: `*\2\1` moves it first",
        "wrong",
    ),
    rewrite(
        r"\*\s*(\+\+|--)(\w{1,60})\s*(?==[^=])",
        r"*\2\1 ",
        r"`*\1\2` moves \2 before it stores there: `*\2\1` moves it after that",
        "wrong",
    ),
    rewrite(
        r"(?<!\w)(?:std::)?(?:u?int(?:8|16)_t|(?:unsigned\s+|signed\s+)?(?:char|short))\b(?=\s+\w)",
        "int",
        "so small a type does not hold every number that comes up, such as 256",
        "wrong|bounds|race|misaligned",
    ),
    rewrite(
        r"\bint(?=\s+\w{0,20}(?:word|bits|tag|status)\w{0,20}\s*[\[;=])",
        "unsigned",
        "an int whose highest bit is set is negative, and its upper bits are all ones when it is widened",
        "wrong|endless|deadlock",
    ),
    rewrite(
        r"\bfor\s*\(\s*(?:unsigned(?:\s+int)?|(?:std::)?size_t)(\s+\w{1,40}\s*=[^;]{1,60};\s*\w{1,40}\s*[<>]=?\s*)"
        r"((?:blockIdx|threadIdx)\.x)(?=;[^;]{1,60}-)",
        r"for (int\1static_cast<int>(\2)",
        "an unsigned number is never below 0: below it, it is very large",
        "bounds|endless|wrong",
    ),
    rewrite(
        r"(<OPERAND>)(\s*[<>]=?\s*)((?:blockIdx|threadIdx|gridDim|blockDim)\.[xyz])\b",
        r"\1\2static_cast<int>(\3)",
        r"\3 is unsigned, so that a \1 below 0 counts as a very large number",
        "bounds",
    ),
)
