"""TOML as people write it: its values, and the line of each key, which tomllib does not give."""

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

Place = tuple[str | int, ...]
"""Keys and, of arrays and arrays of tables, positions from 0: ("lab", 2, "check", 0, "points")."""

BLANK = " \t"
SPACE = " \t\r\n"
AFTER_A_WORD = " \t\r\n=.,[]{}#\"'"


class TomlError(ValueError):
    """A text is not TOML; `line`, from 1, is where."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


def read_toml(text: str) -> dict[str, Any]:
    """Return what a text of TOML says. Raises TomlError for anything that cannot be read."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said, _, where = str(error).rpartition(" (at ")
        at = re.match(r"line (\d+),", where)
        raise TomlError(f"{said[0].lower()}{said[1:]}", int(at[1]) if at else text.count("\n") + 1) from error
    except (ValueError, RecursionError) as error:
        said = "brackets within brackets, too deep" if isinstance(error, RecursionError) else "a number is too long"
        far = re.search(r"[\[{]{64}|[0-9_]{4000}", text)
        raise TomlError(said, text.count("\n", 0, far.start() if far else 0) + 1) from error


def places(text: str) -> dict[Place, int]:
    """Return the line (from 1) of every table, key and array element of `text`, which tomllib has accepted."""
    found = _Scanner(text)
    found.document()
    return found.lines


def line_of(found: dict[Place, int], path: Place) -> int | None:
    """Return the line of `path`, or of the nearest table around it; None when nothing of it is there."""
    return next((found[path[:end]] for end in range(len(path), 0, -1) if path[:end] in found), None)


@dataclass
class _Scanner:
    """Walks over a valid text once; what it does not need to understand (numbers, dates) it skips."""

    text: str
    at: int = 0
    lines: dict[Place, int] = field(default_factory=dict)
    counts: dict[Place, int] = field(default_factory=dict)
    """How many tables an array of tables has so far."""

    def document(self) -> None:
        table: Place = ()
        while self._skip(SPACE):
            if self.text.startswith("[[", self.at):
                table = self._array_of_tables()
            elif self._next() == "[":
                self.at += 1
                table = self._in_last(self._key())
                self._note(table)
                self.at += 1  # ]
            else:
                self._pair(table)

    def _array_of_tables(self) -> Place:
        self.at += 2
        *before, last = self._key()
        self.at += 2  # ]]
        array = (*self._in_last(tuple(before)), last)
        position = self.counts.get(array, 0)
        self.counts[array] = position + 1
        table = (*array, position)
        self.lines.setdefault(array, self._line())
        self._note(table)
        return table

    def _in_last(self, key: Place) -> Place:
        """Return `key` with the position of the last table of each array of tables in it."""
        path: Place = ()
        for part in key:
            path = (*path, part)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def _pair(self, table: Place) -> None:
        start = self._line()
        path = table
        for part in self._key():
            path = (*path, part)
            self.lines.setdefault(path, start)
        self.at += 1  # =
        self._value(path)

    def _key(self) -> Place:
        """Return a dotted key; afterwards comes its `=` or `]`."""
        parts: list[str] = []
        while True:
            self._skip(BLANK)
            parts.append(self._string() if self._next() in "\"'" else self._word())
            self._skip(BLANK)
            if self._next() != ".":
                return tuple(parts)
            self.at += 1

    def _value(self, path: Place) -> None:
        self._skip(BLANK)
        start = self._next()
        if start in "\"'":
            self._string()
        elif start == "[":
            self._array(path)
        elif start == "{":
            self._inline_table(path)
        else:
            self._word(AFTER_A_WORD.replace(".", ""))  # 1.5 is one word
            if self.text[self.at : self.at + 1] == " " and self.text[self.at + 1 : self.at + 2].isdecimal():
                self.at += 1  # a date, a blank, a time
                self._word(AFTER_A_WORD.replace(".", ""))

    def _array(self, path: Place) -> None:
        self.at += 1
        position = 0
        while self._skip(SPACE) and self._next() != "]":
            if self._next() == ",":
                self.at += 1
                continue
            self._note((*path, position))
            self._value((*path, position))
            position += 1
        self.at += 1

    def _inline_table(self, path: Place) -> None:
        self.at += 1
        while self._skip(SPACE) and self._next() != "}":
            if self._next() == ",":
                self.at += 1
                continue
            self._pair(path)
        self.at += 1

    def _string(self) -> str:
        """Return what stands in quotes, escapes as they are written: enough for a key."""
        quote = self._next()
        wide = self.text.startswith(quote * 3, self.at) and not self._is_empty_string(quote)
        closing = quote * 3 if wide else quote
        self.at += len(closing)
        start = self.at
        while not self.text.startswith(closing, self.at):
            self.at += 2 if quote == '"' and self._next() == "\\" else 1
        end = self.at
        self.at += len(closing)
        while wide and self._next() == quote:  # up to two quotes may stand right before the closing ones
            self.at += 1
        return self.text[start:end]

    def _is_empty_string(self, quote: str) -> bool:
        return self.text.startswith(quote * 2, self.at) and not self.text.startswith(quote * 3, self.at)

    def _word(self, end: str = AFTER_A_WORD) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in end:
            self.at += 1
        return self.text[start : self.at]

    def _skip(self, blanks: str) -> bool:
        """Go to the next character that is neither blank nor comment, and return whether there is one."""
        while self.at < len(self.text):
            if self.text[self.at] == "#" and "\n" in blanks:
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at] in blanks:
                self.at += 1
            else:
                return True
        return False

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _note(self, path: Place) -> None:
        self.lines.setdefault(path, self._line())
