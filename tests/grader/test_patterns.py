"""No regular expression of the kit takes long over a text that was written to make it take long.

All patterns of the package are found in its sources, with the methods that they are used by. From a pattern's own parts
texts are made that go on for ever without a match, and each has to be read in about linear time.
"""

import ast
import importlib
import multiprocessing
import pkgutil
import re
import signal
import time
import types
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

import scanlab
from scanlab.foreign_text import LONGEST_NAME, LONGEST_TEXT
from scanlab.judging.tried.slips.program import LONGEST

METHODS = ("match", "fullmatch", "search", "sub", "findall", "finditer", "split")
LENGTH = LONGEST_TEXT // 4
SECONDS = 0.3
"""For one text; a linear pattern takes milliseconds, and tens of them on a busy machine."""
SHORTER, SUSPECT = 8, 0.0003
"""What backtracks is slow over a text that is shorter by this factor as well, which then takes 1/64 of the seconds, or
1/512 where it is cubic. Only where that is at least so much, all of the text is read."""
NAMES_ONLY = ("scanlab.classroom.intake.", "scanlab.gradebooks.systems.canvas.ASSIGNMENT")
"""These meet the parts of paths, and headers of tables, none of which is longer than LONGEST_NAME."""
LINES_ONLY = "scanlab.judging.tried.slips."
WHOLE = tuple(f"{LINES_ONLY}{name}" for name in ("cuda.DEFINED", "language.PROCEDURE", "program.IN"))
"""Slips are looked for in lines of up to LONGEST characters, but for these."""
OWN_TEXTS = (
    "scanlab.bench.", "scanlab.bootstrap.", "scanlab.course.", "scanlab.labs.corpora", "scanlab.labs.edits",
    "scanlab.learn.pager",
)  # fmt: skip
"""These meet what the kit, the machine or the course's own teacher has written, and are not looked at."""
OPTIONAL = ("docutils", "jinja2", "markupsafe", "matplotlib", "pydantic", "sphinx", "submitit")
"""What some modules need and is installed with their first use: their patterns are read from their sources."""

Node = tuple[object, object]


def sources() -> Iterator[tuple[str, Path]]:
    for module in pkgutil.walk_packages(scanlab.__path__, "scanlab."):
        file = module.module_finder.find_spec(module.name).origin  # type: ignore[union-attr]
        yield module.name, Path(file)


def patterns() -> dict[str, tuple[str | bytes, int, frozenset[str]]]:
    """Return each pattern by its place, with its flags and the methods that are used with it."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in sources()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    used: dict[str, set[str]] = {}
    found: dict[str, tuple[str | bytes, int, frozenset[str]]] = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner, method = node.func.value, node.func.attr
            if method not in METHODS:
                continue
            if isinstance(owner, ast.Name) and owner.id != "re":
                used.setdefault(owner.id, set()).add(method)
            elif isinstance(owner, ast.Name) and (pattern := _constant(node.args[0])) is not None:
                found[f"{name}:{node.lineno}"] = (pattern, _flags(node), frozenset({method}))
    for name, tree in trees.items():
        module = _imported(name)
        for node in tree.body:
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            if ast.unparse(node.value.func) != "re.compile":
                continue
            called = node.targets[0].id  # type: ignore[attr-defined]
            if module is not None:
                compiled = getattr(module, called)
                pattern, flags = compiled.pattern, compiled.flags
            else:
                pattern, flags = _constant(node.value.args[0]), _flags(node.value)  # type: ignore[assignment]
                assert pattern is not None, f"{name}.{called}: cannot be read without importing it"
            methods = frozenset(used.get(called, ())) or frozenset({"search"})
            found[f"{name}.{called}"] = (pattern, flags, methods)
    return found


def _imported(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in OPTIONAL:
            return None
        raise


def _constant(node: ast.expr) -> str | bytes | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, str | bytes) else None


def _flags(call: ast.Call) -> int:
    words = {
        word for node in [*call.args[1:], *call.keywords] for word in re.findall(r"re\.([A-Z]+)", ast.unparse(node))
    }
    return sum(int(getattr(re, word)) for word in words)


# ---- texts that a pattern has to read to their ends -----------------------------------------------------------------


def sample(nodes: Sequence[Node]) -> str:
    """Return a short text that these parts of a pattern fit."""
    return "".join(_sample(*node) for node in nodes)


def _sample(kind: object, value: object) -> str:
    if kind is constants.LITERAL:
        return chr(value)  # type: ignore[arg-type]
    if kind is constants.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    if kind is constants.ANY:
        return "a"
    if kind is constants.IN:
        return next((char for char in _candidates(value) if _is_in(value, char)), "a")  # type: ignore[arg-type]
    if kind in REPEATS:
        least, _, parts = value  # type: ignore[misc]
        return sample(parts) * max(least, 1)
    return sample(_alternatives(kind, value)[0]) if _alternatives(kind, value) else ""


REPEATS = (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT)


def _alternatives(kind: object, value: object) -> list[Sequence[Node]]:
    """Return what is inside a part of a pattern."""
    if kind in REPEATS:
        return [value[2]]  # type: ignore[index]
    if kind is constants.SUBPATTERN:
        return [value[3]]  # type: ignore[index]
    if kind is constants.ATOMIC_GROUP:
        return [value]  # type: ignore[list-item]
    if kind is constants.BRANCH:
        return list(value[1])  # type: ignore[index]
    return []


def _candidates(items: Sequence[Node]) -> Iterator[str]:
    yield from "a0 A_/*-.<,\t\n(\"'\\"
    for kind, value in items:
        if kind in (constants.LITERAL, constants.RANGE):
            yield chr(value if kind is constants.LITERAL else value[0])  # type: ignore[arg-type, index]


def _is_in(items: Sequence[Node], char: str) -> bool:
    return re.fullmatch(_set(items), char, re.DOTALL) is not None


def _set(items: Sequence[Node]) -> str:
    categories = {
        "DIGIT": r"\d",
        "SPACE": r"\s",
        "WORD": r"\w",
        "NOT_DIGIT": r"\D",
        "NOT_SPACE": r"\S",
        "NOT_WORD": r"\W",
    }
    parts = []
    for kind, value in items:
        if kind is constants.NEGATE:
            parts.append("^")
        elif kind is constants.LITERAL:
            parts.append(re.escape(chr(value)))  # type: ignore[arg-type]
        elif kind is constants.RANGE:
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")  # type: ignore[index]
        else:
            parts.append(categories[str(value).removeprefix("CATEGORY_")])
    return f"[{''.join(parts)}]"


def expanded(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return the parts of a pattern without groups and choices: a list for each alternative, up to a number."""
    made: list[list[Node]] = [[]]
    for kind, value in nodes:
        inner = [value[1]] if kind is constants.ASSERT else [] if kind in REPEATS else _alternatives(kind, value)
        tails = [tail for one in inner for tail in expanded(one)] or [[(kind, value)]]
        made = [[*begun, *tail] for begun in made for tail in tails][:32]
    return made


def pumps(nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """Yield a beginning and what may be repeated after it, for each run of parts, at each depth."""
    nodes = list(nodes)
    for first in range(len(nodes)):
        for last in range(first + 1, len(nodes) + 1):
            yield sample(nodes[:first]), sample(nodes[first:last])
    for node in nodes:
        for inner in _alternatives(*node):
            yield from pumps(inner)


def hostile(pattern: str, flags: int, length: int) -> Iterator[str]:
    """Yield texts of about `length` characters that a pattern fits for long, and then does not."""
    tree = parser.parse(pattern, flags)
    made = {pair for nodes in expanded(tree) for pair in pumps(nodes) if pair[1]}
    chars = sorted({*sample(tree)[:12], *" \n/*_a0\"'\\"})
    made |= {("", one + other) for one in chars for other in chars}
    for before, pump in sorted(made):
        for begin in {"", before}:
            for end in ("\x01", "\n\x01\n"):
                yield begin + pump * (length // len(pump)) + end


def _read(pattern: str | bytes, flags: int, methods: frozenset[str], length: int, sender: Connection) -> None:
    """Let a pattern read all hostile texts; the kernel ends this process at the first that takes too long."""
    text_flags = flags & ~re.UNICODE
    compiled = re.compile(pattern, text_flags)
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    for short, one in zip(hostile(text, text_flags, length // SHORTER), hostile(text, text_flags, length), strict=True):
        sender.send(ascii(one[:60]))
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        if _seconds(compiled, methods, short) >= SUSPECT:
            _seconds(compiled, methods, one)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _seconds(compiled: re.Pattern[str] | re.Pattern[bytes], methods: frozenset[str], text: str) -> float:
    """Return the processor time in seconds that all methods of a pattern take over a text."""
    empty, given = ("", text) if isinstance(compiled.pattern, str) else (b"", text.encode("latin-1", "replace"))
    began = time.thread_time()
    for method in methods:
        if method == "sub":
            compiled.sub(empty, given)  # type: ignore[arg-type]
        elif method == "finditer":
            deque(compiled.finditer(given), maxlen=0)  # type: ignore[arg-type]
        else:
            getattr(compiled, method)(given)
    return time.thread_time() - began


def slow(pattern: str | bytes, flags: int, methods: frozenset[str], length: int) -> str:
    """Return the beginning of a text over which the pattern takes too long, five times; empty where there is none.

    On a busy machine processor time is charged in large steps, and a quick pattern may get another's, over any text.
    """
    found = {_slow_once(pattern, flags, methods, length)}
    for _ in range(4):
        if "" in found or len(found) > 1:
            return ""
        found.add(_slow_once(pattern, flags, methods, length))
    return found.pop() if len(found) == 1 else ""


def _slow_once(pattern: str | bytes, flags: int, methods: frozenset[str], length: int) -> str:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_read, args=(pattern, flags, methods, length, sender))
    process.start()
    sender.close()
    last = "nothing"
    with suppress(EOFError):
        while True:
            last = receiver.recv()
    process.join()
    assert process.exitcode in (0, -signal.SIGVTALRM), f"{process.exitcode} over {last}"
    return last if process.exitcode else ""


PATTERNS = patterns()


def test_the_patterns_are_found() -> None:
    assert len(PATTERNS) > 60
    assert "scanlab.foreign_text.ESCAPES" in PATTERNS
    assert "sub" in PATTERNS["scanlab.foreign_text.ESCAPES"][2]


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+b",
        r"/[^ ]*/x",
        r"a.*b",
        r"\w+_x\w*y",
        r"/\*.*?\*/",
        r"//[^\n]*|/\*.*?\*/",
        r'"(?:[^"\\]|\\.)*"',
        r"(?<=OPEN\n).*?(?=^CLOSE)",
    ],
)
def test_what_backtracks_is_found(pattern: str) -> None:
    assert slow(pattern, re.DOTALL, frozenset({"sub"}), 4 * LENGTH)  # also where the machine is quick


@pytest.mark.parametrize("place", sorted(place for place in PATTERNS if not place.startswith(OWN_TEXTS)))
def test_no_pattern_takes_long(place: str) -> None:
    pattern, flags, methods = PATTERNS[place]
    is_of_lines = place.startswith(LINES_ONLY) and not place.startswith(WHOLE)
    length = LONGEST if is_of_lines else LONGEST_NAME if place.startswith(NAMES_ONLY) else LENGTH
    assert not (text := slow(pattern, flags, methods, length)), f"{place}: slow over {text} …, {length} characters"
