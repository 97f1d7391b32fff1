"""What the checks of the texts share: the texts, their code, commands and tables, and where in the file each stands."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

REPOSITORY = Path(__file__).resolve().parents[2]
HANDOUTS = sorted((REPOSITORY / "handouts").rglob("*.md"))
LABS = [path for path in HANDOUTS if re.fullmatch(r"\d\d_\w+", path.stem)]
TEXTS = [*HANDOUTS, REPOSITORY / "README.md"]
PROGRAMS = sorted(
    path for pattern in ("labs/*.cuh", "labs/*/scan.cu", "solutions/*/scan.cu") for path in REPOSITORY.glob(pattern)
)
PARSER = MarkdownIt("commonmark").enable("table")


def name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else path.name


@dataclass(frozen=True)
class Code:
    """A code block, or code within a line: its text, its line in the file (from 1), and what its fence says."""

    text: str
    line: int
    info: str = ""
    inline: bool = False


def codes(text: str) -> Iterator[Code]:
    for token in PARSER.parse(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type in ("fence", "code_block"):
            yield Code(token.content, line, token.info)
        for child in token.children or ():
            if child.type == "code_inline":
                yield Code(child.content, line, inline=True)


def links(text: str) -> Iterator[tuple[str, int]]:
    for token in PARSER.parse(text):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                yield str(target), token.map[0] + 1 if token.map else 0


def tables(text: str) -> Iterator[list[list[Token]]]:
    """The tables as rows of cells, the first of which are the headings."""
    rows: list[list[Token]] = []
    for token in PARSER.parse(text):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token)
        elif token.type == "table_close":
            yield rows
            rows = []


def commands(text: str) -> Iterator[tuple[list[str], Code]]:
    """The words behind each `grader/scanlab`, and where they stand."""
    for code in codes(text):
        if code.info.startswith("{"):
            continue
        for said in re.sub(r"\\\n\s*", "", code.text).splitlines():
            # In `source <(…)` it stands between parentheses.
            found = re.search(r"(?<![\w./-])grader/scanlab(?: (.*))?$", re.sub(r"<\(([^()]*)\)", r"\1", said.strip()))
            if found:
                # A remark follows behind #, or behind two spaces.
                words = re.split(r"\s#|\s{2,}", found.group(1) or "")[0]
                if words.split("--")[0].strip():
                    yield shlex.split(words), code
