"""What can be read of a course.toml some of whose values are wrong, so that one run reports all mistakes."""

import copy
from typing import Any

from pydantic import ValidationError

from scanlab.course.tables import CourseTable

MISSING = "\0"
"""Stands for a text that the file lacks, or has something else for: nobody can have written it."""
ROUNDS = 100
IN_ARRAYS: dict[str, Any] = {"lab": {"name": MISSING}, "student": {"id": MISSING}, "extension": {"hours": 1.0}}
"""What stands for a wrong element of an array of tables: its number, by which its line is known, stays taken."""
SEEDS = ("seed", "secret_seed", "secret_seed_file")


def salvaged(data: dict[str, Any]) -> CourseTable:
    """Return the tables of `data`, which pydantic refuses, without what is wrong with them.

    What is left out has its default then; a text that may not be left out is MISSING.
    """
    left = copy.deepcopy(data)
    for _ in range(ROUNDS):
        try:
            return CourseTable.model_validate(left)
        except ValidationError as error:
            for problem in error.errors():
                _take_out(left, problem["loc"], is_missing=problem["type"] == "missing")
    return CourseTable(title=MISSING)


def _take_out(data: Any, loc: tuple[int | str, ...], *, is_missing: bool) -> None:
    if not loc:  # only the file as a whole has rules of this kind: it gives several seeds
        for key in SEEDS:
            data.pop(key, None)
        return
    parent, last = data, loc[0]
    for part in loc[1:]:
        inner = parent[last] if isinstance(parent, list) else parent.get(last)
        if not isinstance(inner, dict | list):
            is_missing = False
            break  # the rest of `loc` is what pydantic has tried for the value
        parent, last = inner, part
    if isinstance(parent, list):
        array = next((part for part in reversed(loc) if isinstance(part, str)), "")
        parent[int(last)] = copy.deepcopy(IN_ARRAYS.get(array, MISSING))
    elif is_missing:
        parent[last] = MISSING
    else:
        parent.pop(last, None)
