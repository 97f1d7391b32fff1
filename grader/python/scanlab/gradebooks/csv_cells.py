"""A CSV file whose cells are changed one at a time: every other byte stays what it is."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanlab.classroom.intake.items import composed
from scanlab.errors import UsageError

QUOTE = '"'


@dataclass
class Row:
    """One row: its cells as they stand in the file, with their quotes, and the line end."""

    line: int
    """In the file, from 1."""
    raw: list[str]
    end: str

    def __len__(self) -> int:
        return len(self.raw)

    def text(self, column: int) -> str:
        """Return what a cell says; empty where the row is too short."""
        return _unquoted(self.raw[column]) if column < len(self.raw) else ""

    def texts(self) -> list[str]:
        """Return what all cells say."""
        return [_unquoted(raw) for raw in self.raw]

    def is_empty(self) -> bool:
        """Return whether no cell says anything."""
        return not any(text.strip() for text in self.texts())


@dataclass
class Sheet:
    """A CSV file. Bytes that are not UTF-8 are kept as they are."""

    mark: bytes
    """The byte order mark, if there is one."""
    delimiter: str
    rows: list[Row]

    def encode(self) -> bytes:
        """Return the file."""
        text = "".join(self.delimiter.join(row.raw) + row.end for row in self.rows)
        return self.mark + text.encode("utf-8", "surrogateescape")

    def change(self, row: Row, column: int, text: str) -> None:
        """Put `text` into a cell, with quotes where the cell had some or needs them."""
        needs = any(char in text for char in (self.delimiter, QUOTE, "\n", "\r"))
        quoted = row.raw[column].startswith(QUOTE) or needs
        row.raw[column] = QUOTE + text.replace(QUOTE, QUOTE * 2) + QUOTE if quoted else text

    def column(self, name: str) -> list[int]:
        """Return the columns with this header, spaces around it aside."""
        return [at for at, text in enumerate(self.rows[0].texts()) if composed(text.strip()) == composed(name)]


def _unquoted(raw: str) -> str:
    return raw[1:-1].replace(QUOTE * 2, QUOTE) if raw.startswith(QUOTE) else raw


def read(content: bytes, name: str, delimiters: Sequence[str] = (",", ";")) -> Sheet:
    """Return a CSV file's cells; the delimiter is the one that the header has most of.

    Raises UsageError, with `name` and the line, for what is no CSV text.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        raise UsageError(f"{name}: not UTF-8 text; download it again, and do not save it in a spreadsheet in between")
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    text = content[len(mark) :].decode("utf-8", "surrogateescape")
    if not text.strip():
        raise UsageError(f"{name}: it is empty")
    delimiter = max(delimiters, key=lambda char: _count_outside_quotes(text, char))
    return Sheet(mark, delimiter, list(_rows(text, delimiter, name)))


def _count_outside_quotes(text: str, delimiter: str) -> int:
    count, quoted = 0, False
    for char in text:
        if char == QUOTE:
            quoted = not quoted
        elif not quoted and char in "\r\n":
            break
        elif not quoted and char == delimiter:
            count += 1
    return count


def _rows(text: str, delimiter: str, name: str) -> Iterator[Row]:
    at, line = 0, 1
    while at < len(text):
        raw: list[str] = []
        first = line
        while True:
            stop = _cell_end(text, at, delimiter, name, line)
            raw.append(text[at:stop])
            inside = text[at:stop]
            line += inside.count("\n") + inside.replace("\r\n", "\n").count("\r")
            at = stop
            if not text.startswith(delimiter, at):
                break
            at += 1
        end = next((mark for mark in ("\r\n", "\n", "\r") if text.startswith(mark, at)), "")
        at += len(end)
        line += 1
        yield Row(first, raw, end)


def _cell_end(text: str, at: int, delimiter: str, name: str, line: int) -> int:
    if text.startswith(QUOTE, at):
        stop = at + 1
        while True:
            stop = text.find(QUOTE, stop)
            if stop < 0:
                raise UsageError(f"{name}:{line}: a quoted cell has no end: no CSV file, or a damaged one")
            if not text.startswith(QUOTE, stop + 1):
                break
            stop += 2
        stop += 1
        if stop < len(text) and text[stop] not in (delimiter, "\r", "\n"):
            raise UsageError(f"{name}:{line}: text after a closing quote: no CSV file, or a damaged one")
        return stop
    stop = at
    while stop < len(text) and text[stop] not in (delimiter, "\r", "\n"):
        if text[stop] == QUOTE:
            raise UsageError(f"{name}:{line}: a quote inside a cell that is not quoted: no CSV file, or a damaged one")
        stop += 1
    return stop
