"""A student's file as a page shows it: numbered lines, coloured, with notes under those that a finding names."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup

from scanlab.foreign_text import spelled_out
from scanlab.reports import tokens
from scanlab.reports.findings import MergedFinding, Role
from scanlab.reports.text import LINE

WHOLE = 600
"""A file of at most this many lines is shown whole; of a longer one, its beginning and what is around marked lines."""
HEAD = 120
AROUND = 8
NOTES = 6
"""At most this many notes stand under one line; the others are counted."""
MARKED = 60
"""At most this many marked lines of a long file are shown."""
LARGEST_COLOURED = 200_000
"""Characters; what is longer is shown without colours."""
LONGEST_COLOURED = 2000
"""Characters of the longest line of what is coloured."""
ODD_SHARE = 0.02
"""A file with more than this share of bytes that are no text is not shown."""


@dataclass(frozen=True)
class Note:
    """What stands under a line: which findings name it, and who does what there."""

    numbers: tuple[int, ...]
    role: Role
    labels: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Row:
    """A line of the file, or a gap of `left_out` lines."""

    number: int = 0
    code: Markup = field(default_factory=Markup)
    notes: tuple[Note, ...] = ()
    more_notes: int = 0
    left_out: int = 0

    @property
    def role(self) -> str:
        """Return how the line is marked: empty, `read`, `write`, `both` or `other`."""
        roles = {note.role for note in self.notes}
        if {"read", "write"} <= roles:
            return "both"
        return next((role for role in ("write", "read", "other") if role in roles), "")


@dataclass(frozen=True)
class Listing:
    """A file; without `rows`, `trouble` says why."""

    rows: Sequence[Row]
    lines: int
    size: int
    """In bytes."""
    trouble: str = ""

    @property
    def is_marked(self) -> bool:
        """Return whether a finding names a line of it."""
        return any(row.notes for row in self.rows)


def read_text(path: Path) -> tuple[str, int, str]:
    """Return a file's text, its size in bytes, and why it cannot be shown, which is empty where it can."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return "", 0, f"it cannot be read: {error.strerror}"
    text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
    odd = text.count("\ufffd") + data.count(b"\0")
    if odd > ODD_SHARE * max(len(text), 1):
        return "", len(data), "it is not text"
    return text, len(data), "" if text.strip() else "it is empty"


def listing(path: Path, findings: Iterable[MergedFinding]) -> Listing:
    """Return the file at `path`, with a note for each mark of the findings about it."""
    text, size, trouble = read_text(path)
    if trouble:
        return Listing((), 0, size, trouble)
    lines = coloured(text)
    notes = notes_by_line(findings, len(lines))
    rows: list[Row] = []
    last = 0
    for number in shown_numbers(len(lines), notes):
        if number > last + 1:
            rows.append(Row(left_out=number - last - 1))
        own = notes.get(number, [])
        rows.append(Row(number, lines[number - 1], tuple(own[:NOTES]), max(0, len(own) - NOTES)))
        last = number
    if last < len(lines):
        rows.append(Row(left_out=len(lines) - last))
    return Listing(rows, len(lines), size)


def notes_by_line(findings: Iterable[MergedFinding], lines: int) -> dict[int, list[Note]]:
    """Return the notes of each line that the file has; findings of one kind share a note."""
    gathered: dict[int, dict[tuple[Role, str], tuple[dict[int, None], dict[str, None]]]] = {}
    for one in findings:
        for mark in one.marks:
            if 1 <= mark.line <= lines:
                name = one.name if one.id != "compile" else ""
                numbers, labels = gathered.setdefault(mark.line, {}).setdefault((mark.role, name), ({}, {}))
                numbers[one.number] = None
                labels[mark.label] = None
    return {
        line: [Note(tuple(numbers), role, tuple(labels), name) for (role, name), (numbers, labels) in own.items()]
        for line, own in gathered.items()
    }


def shown_numbers(lines: int, marked: Iterable[int]) -> list[int]:
    """Return the numbers of the lines that are shown of a file with that many, in rising order."""
    if lines <= WHOLE:
        return list(range(1, lines + 1))
    shown = set(range(1, HEAD + 1))
    for line in sorted(marked)[:MARKED]:
        shown.update(range(max(1, line - AROUND), min(lines, line + AROUND) + 1))
    return sorted(shown)


def split(text: str) -> list[str]:
    """Return the lines as a compiler counts them: at line feeds, and at nothing else."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@lru_cache(maxsize=512)
def coloured(text: str) -> tuple[Markup, ...]:
    """Return the text's lines as HTML, cut where they are too long, without line feeds."""
    text = spelled_out(text)
    lines = split(text)
    if len(text) > LARGEST_COLOURED or max(map(len, lines), default=0) > LONGEST_COLOURED:
        return tuple(_html([("", line[:LINE])], len(line)) for line in lines)
    return tuple(_html(pieces, sum(len(piece) for _, piece in pieces)) for pieces in _pieces(text, len(lines)))


def _pieces(text: str, count: int) -> list[list[tuple[str, str]]]:
    """Return each line's pieces, (class, text)."""
    lines: list[list[tuple[str, str]]] = [[]]
    for cls, value in tokens.coloured(text):
        for at, piece in enumerate(value.split("\n")):
            if at:
                lines.append([])
            if piece and lines[-1] and lines[-1][-1][0] == cls:
                lines[-1][-1] = (cls, lines[-1][-1][1] + piece)
            elif piece:
                lines[-1].append((cls, piece))
    return lines[:count] + [[] for _ in range(count - len(lines))]


def _html(pieces: list[tuple[str, str]], length: int) -> Markup:
    room = LINE
    parts = []
    for cls, piece in pieces:
        shown = html.escape(piece[:room])
        room -= len(piece)
        parts.append(f'<span class="{cls}">{shown}</span>' if cls else shown)
        if room <= 0:
            break
    if length > LINE:
        parts.append(f'<span class="more">… {length - LINE} more characters</span>')
    return Markup("".join(parts))
