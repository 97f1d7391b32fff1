"""What may stand at a place of a command line, from the commands' own declarations.

Typer's machinery finds out whose turn it is. Its scripts are not used: they ask the program by a fixed name, and know
no files.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import typer.main
from typer._click.shell_completion import _resolve_context, _resolve_incomplete
from typer.core import TyperArgument, TyperOption

from scanlab.cli import app
from scanlab.paths import LABS

PROGRAM = "grader/scanlab"
LAB_PARAMETERS = ("lab", "labs")
"""What parameters are called that name labs …"""
MIXED_PARAMETERS = ("what",)
"""… and those that name labs or files."""
LAB = re.compile(r"\d\d_(\w+)")
HELP = 60
"""Characters of what is said of a word."""


def answer(shell: str, number: int, words: Sequence[str]) -> list[str]:
    """Return a line for each word that may be `words[number]`, `word`, the word, its help; and `file` for any file."""
    before, incomplete = list(words[1:number]), words[number] if number < len(words) else ""
    kept = ""
    if shell == "bash":  # to it, --device=vg is three words
        before = [word for at, word in enumerate(before) if word != "=" or not before[at - 1].startswith("--")]
        incomplete = incomplete.removeprefix("=")
    elif incomplete.startswith("--") and "=" in incomplete:
        kept = incomplete.partition("=")[0] + "="
    return [_line(kept + word, about) for word, about in _words(before, incomplete)]


def _line(word: str, about: str) -> str:
    return "\t".join(("word", word, about)) if word else "file"


def _words(before: list[str], incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the words and their help; an empty word stands for files."""
    if before[:1] == ["run"] and "--" in before:
        yield "", ""  # the program's own arguments
        return
    command: Any = typer.main.get_command(app)
    context = _resolve_context(command, {}, PROGRAM, before)
    if context.parent is None and any(not word.startswith("-") for word in before):
        return  # there is no such command
    asked: Any
    asked, incomplete = _resolve_incomplete(context, before, incomplete)
    found = [(item.value, _short(item.help or "")) for item in asked.shell_complete(context, incomplete)]
    yield from found
    if found or not isinstance(asked, (TyperArgument, TyperOption)):
        return
    if asked.name in (*LAB_PARAMETERS, *MIXED_PARAMETERS):
        yield from ((lab, "") for lab in labs(incomplete))
    kind = asked.type_descriptor.annotation
    if asked.name in MIXED_PARAMETERS or Path in (kind, *get_args(kind)):
        yield "", ""


def _short(text: str) -> str:
    first = " ".join(text.split()).partition(". ")[0]
    if len(first) > HELP or first.endswith(".."):  # as Typer cuts a command's help
        return f"{first.removesuffix('..')[:HELP].rpartition(' ')[0]} …"
    return first.removesuffix(".")


def labs(incomplete: str) -> list[str]:
    """Return the labs' names that begin so, 02_kogge_stone; or without the number, where it is left out."""
    names = sorted(path.name for path in LABS.iterdir() if LAB.fullmatch(path.name) and path.is_dir())
    if not incomplete or incomplete[0].isdigit():
        return [name for name in names if name.startswith(incomplete)]
    return [name[3:] for name in names if name[3:].startswith(incomplete)]
