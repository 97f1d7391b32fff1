"""What a class's course says that exports need: who sees which check, when a lab is due, who is excused.

`view` is `records.Class.course`, as class.json has it; empty without a course: then everything is visible.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from scanlab.classroom.records import Student
from scanlab.errors import UsageError
from scanlab.gradebooks.model import SHOWN, Shown

View = Mapping[str, Any]


def _tables(view: View, name: str) -> Iterator[Mapping[str, Any]]:
    found = view.get(name)
    yield from (one for one in found if isinstance(one, Mapping)) if isinstance(found, list | tuple) else ()


def visibility(view: View) -> dict[str, Shown]:
    """Return who may see which check, by `LAB/CHECK`. Raises UsageError for a word that means nothing."""
    found: dict[str, Shown] = {}
    for lab in _tables(view, "labs"):
        for check, word in (lab.get("visibility") or {}).items():
            if word not in SHOWN:
                raise UsageError(f"class.json: visibility of {lab.get('name')}/{check}: {word!r} is none of {SHOWN}")
            found[f"{lab.get('name')}/{check}"] = word
    return found


def due(view: View) -> dict[str, datetime]:
    """Return when labs are due, by their names; labs without a due date are not in it."""
    found = {}
    for lab in _tables(view, "labs"):
        at = lab.get("due")
        try:
            found[str(lab.get("name"))] = datetime.fromisoformat(str(at["at"] if isinstance(at, Mapping) else at))
        except (KeyError, ValueError):
            continue
    return found


def excused(view: View, student: Student | None) -> frozenset[str]:
    """Return the labs that a student is excused from."""
    terms = [one for one in _tables(view, "students") if student is not None and one.get("id") == student.id]
    return frozenset(lab for one in terms for lab in one.get("excused") or ())
