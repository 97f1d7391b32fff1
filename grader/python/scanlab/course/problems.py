"""What is wrong with a course.toml, reported with its line and key, and with what is allowed."""

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from scanlab.course.tables import TABLES
from scanlab.errors import UsageError
from scanlab.paths import shown
from scanlab.toml_text import Place, line_of

KINDS = ("correctness", "count", "timing")
ARRAYS = ("lab", "check", "student", "extension")
"""Arrays of tables: written with [[ ]]."""
WORDS = re.compile(r"'([^']*)'")


class Problems:
    """Collects what is wrong with one file."""

    def __init__(self, path: Path, lines: Mapping[Place, int]) -> None:
        self.path = path
        self.lines = lines
        self._found: list[tuple[int, str]] = []
        self._places: list[Place] = []

    def note(self, place: Place, said: str, beside: Place = ()) -> None:
        """Note a problem at `place`, whose last part names the key; `beside` is where the line is, if elsewhere."""
        line = line_of(self.lines, beside or place) or 1
        name = ""
        if place and not (len(place) > 1 and isinstance(place[-1], int) and place[-2] in ARRAYS):
            position = f"[{place[-1] + 1}]" if isinstance(place[-1], int) else ""
            keys = [part for part in place if isinstance(part, str)]
            name = f"{keys[-1]}{position}: " if keys else ""
        self._places.append(place)
        self._found.append((line, f"{shown(self.path)}:{line}: {name}{said}"))

    def has_some_in(self, table: Place) -> bool:
        """Return whether a problem was noted at one of the table's keys."""
        return any(place[: len(table)] == table for place in self._places)

    def finish(self) -> None:
        """Raise UsageError with all problems in the order of their lines, if there are any."""
        if self._found:
            raise UsageError(
                "\n".join(dict.fromkeys(text for _, text in sorted(self._found, key=lambda found: found[0])))
            )

    def explain(self, error: ValidationError, at: Place, models: Iterable[type[BaseModel]] | None = None) -> None:
        """Note what pydantic found below `at`; `models` know its keys, where the place does not show it."""
        for problem in error.errors():
            self.explain_one(problem, (*at, *problem["loc"]), models)

    def explain_one(self, problem: Any, where: Place, models: Iterable[type[BaseModel]] | None) -> None:
        """Note one of pydantic's problems."""
        place = tuple(part for part in where if part not in KINDS)
        kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
        if kind == "extra_forbidden":
            self.note(place, unknown(place, models))
        elif kind == "missing":
            self.note(place[:-1], f"{place[-1]} is missing")
        elif kind in ("literal_error", "union_tag_invalid"):
            if kind == "union_tag_invalid":
                place, value = (*place, "kind"), context["tag"]
            self.note(place, choice(value, WORDS.findall(context.get("expected") or context["expected_tags"])))
        elif kind == "value_error":
            said = problem["msg"].removeprefix("Value error, ")
            key, _, rest = said.partition(": ")
            if (*place, key) in self.lines:
                place, said = (*place, key), rest
            first = (*place, said.split()[0])
            self.note(place, said, first if first in self.lines else ())
        elif kind == "list_type" and place[-1] in ARRAYS:
            self.note(place, f"has to be a list of tables, written [[{place[-1]}]], not {toml(value)}")
        elif kind == "string_pattern_mismatch":
            self.note(place, f"has to be lower-case letters, digits and _, a letter first, not {toml(value)}")
        else:
            said = problem["msg"].replace("Input should", "has to").replace("a valid dictionary or", "a table, no")
            said = said.replace("a valid ", "a ").replace("a integer", "a whole number")
            said = re.sub(r" instance of \w+", "", said).replace("a table, no", "a table")
            self.note(place, f"{said[0].lower()}{said[1:]}, not {toml(value)}")


def unknown(place: Place, models: Iterable[type[BaseModel]] | None) -> str:
    """Return what to say of a key that a table does not know."""
    names = tuple(part for part in place[:-1] if isinstance(part, str))
    allowed = [name for model in models or [TABLES[names]] for name in model.model_fields]
    if not names:
        where = "at the top of the file"
    else:
        where = f"in [[{'.'.join(names)}]]" if names[-1] in ARRAYS else f"in [{'.'.join(names)}]"
    longer = [name for name in allowed if name.startswith(str(place[-1]))]
    near = longer or difflib.get_close_matches(str(place[-1]), allowed, n=1, cutoff=0.6)
    guess = f"; did you mean {near[0]}?" if near else ""
    return f"there is no such key {where}{guess} (allowed are {', '.join(dict.fromkeys(allowed))})"


def choice(value: Any, allowed: Iterable[str]) -> str:
    """Return what to say of a word that is not one of those allowed."""
    words = list(allowed)
    near = difflib.get_close_matches(str(value), words, n=1, cutoff=0.5)
    guess = f"; did you mean {near[0]}?" if near else ""
    return f"{toml(value)} is not allowed{guess} (allowed are {', '.join(words)})"


def toml(value: Any) -> str:
    """Return a value as it is written in TOML, shortened."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 60 else f'"{value[:57]}…"'
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return "a table"
    return f"a list of {len(value)}" if isinstance(value, list) and len(value) > 4 else repr(value)
