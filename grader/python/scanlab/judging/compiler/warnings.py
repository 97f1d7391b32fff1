"""nvcc's warnings about a learner's lines, and which of them are mistakes."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from scanlab.judging.compiler.messages import Message, Place, Source, parse
from scanlab.judging.compiler.source import code_of, kept_before
from scanlab.judging.learners_file import lines_in_regions

SWAP = re.compile(r"(\w{1,40}) ?= ?(\w{1,40}) ?; ?\2 ?= ?\1 ?;")
OF_VALUES = (39, 61, 63, 69, 186)
"""nvcc's numbers of warnings about values (divided by 0, out of range, compared with 0), which it repeats for each
instance of a template that has them. Others, such as 177 of what is never used, it gives once for all."""
BOTH = re.compile(r"\[with [^\n]{0,300}=(?:Kind|Task)::")
NAME = re.compile(r"\b(\w{1,80})<")
MISTAKE = ": "
"""Stands between nvcc's words and what is wrong."""


def warnings(texts: Sequence[str], source: Source, name: str, own: Collection[int]) -> tuple[str, ...]:
    """Return the warnings about the learner's own lines, `NAME:13: variable "t" was declared …`, each once.

    `own` are the numbers of these lines. What cannot be meant is followed by what is wrong, wherever it stands. What is
    true of one instance of a template, and not of others that there are, is left out.
    """
    seen = dict.fromkeys(_lost_in_swaps(source))
    said = [message for text in texts for message in parse(text) if message.severity == "warning"]
    instances: defaultdict[tuple[Place, int], set[str]] = defaultdict(set)
    for message in said:
        instances[message.place, message.number].add(message.instance)
    for message in (one for one in said if source.has(one.place)):
        only = instances[message.place, message.number] == {message.instance}
        if only and message.number in OF_VALUES and _has_others(message.instance, source):
            continue
        wrong = _wrong(message, source)
        if wrong or message.place.line in own:
            words = message.text.removesuffix(".")
            seen.setdefault((message.place.line, f"{words}{MISTAKE}{wrong}" if wrong else words))
    return tuple(f"{name}:{line}: {text}" for line, text in sorted(seen))


def _has_others(instance: str, source: Source) -> bool:
    """Return whether a template is used with other arguments, too, than in this instance of it; "" is none.

    Labs ask for functions of each Kind, or Task; else the file names other arguments.
    """
    if not instance:
        return False
    if BOTH.search(instance):
        return True
    name = NAME.search(instance)
    uses = re.compile(rf"\b{name[1]} ?<(?!<)([^<>;(){{}}]{{1,80}})>") if name else re.compile(r"(?!)")
    return len({use for line in source.lines for use in uses.findall(code_of(line))}) > 1


def mistakes(texts: Sequence[str], source: Source, name: str) -> tuple[str, ...]:
    """Return those of the warnings that are followed by what is wrong, without nvcc's words."""
    seen = dict.fromkeys(_lost_in_swaps(source))
    for text in texts:
        for message in parse(text):
            if message.severity == "warning" and source.has(message.place) and (wrong := _wrong(message, source)):
                seen.setdefault((message.place.line, wrong))
    return tuple(f"{name}:{line}: {wrong}" for line, wrong in sorted(seen))


def _lost_in_swaps(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the learner's lines at which `a = b; b = a;` stands, of which nvcc says nothing, and what is wrong."""
    for line in sorted(lines_in_regions(source.lines)):
        codes = [code_of(text).strip() for text in source.lines[line - 1 : line + 1]]
        for code in (codes[0], " ".join(codes)):
            if found := SWAP.fullmatch(code):
                kept = kept_before([code_of(text) for text in source.lines[max(0, line - 4) : line - 1]], found[1])
                cure = f"write `{found[2]} = {kept};`" if kept else "keep it in a third variable first"
                at = line if not kept or code == codes[0] else line + 1  # the statement to be written
                yield at, f"`{found[1]}` is lost before it is copied: {cure}"
                break


def _wrong(message: Message, source: Source) -> str | None:
    """Return what is wrong where a warning cannot be meant so; None where it may."""
    code = code_of(source.line(message.place.line)).strip()
    if found := re.match(r'missing return statement at end of non-void function "([^"]{1,200})"', message.text):
        name = re.sub(r"[(<].*", "", found[1])
        return f"`{name}` ends without a `return`, and what it gives to its caller is undefined: return its value"
    if message.text.startswith("pointless comparison of unsigned integer with zero"):
        compared = re.search(r"\b(\w{1,40}) ?>= ?0\b", code)
        if compared and any(re.search(rf"\b{compared[1]} ?-?= ?[^;]{{0,80}}-", code_of(one)) for one in source.lines):
            return f"always true, for `{compared[1]}` is unsigned and never below 0: compare before the subtraction"
    if message.text.startswith("shift count is too large"):
        return "more bits are shifted than the type has: convert the left side to a wider type first"
    if found := re.match(r'variable "([^"]{1,200})" is used before its value is set', message.text):
        return f"`{found[1]}` has no value here: give it one where it is declared"
    if message.text.startswith("expression has no effect"):
        if named := re.fullmatch(r"(\w+\([^()]*\) ?)?(__\w+);.*", code):
            return f"`{named[2]}` without `()` is not called: write `{named[2]}();`"
        if step := re.search(r"; ?(\w+) ?([-+*/%]|<<|>>) ?(\w+)\)", code):
            return f"`{step[0][1:-1].strip()}` changes nothing: write `{step[1]} {step[2]}= {step[3]}`"
        if compared := re.fullmatch(r"([^=<>!;]{1,80}) == ([^=<>!;]{1,80});", code):
            return f"`==` compares: write `{compared[1]} = {compared[2]};` to assign"
    return None
