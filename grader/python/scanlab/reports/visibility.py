"""Which checks a student may see: what course.toml says of them, check by check."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Visibility = Literal["visible", "hidden", "after_due_date"]
WORDS: Mapping[str, Visibility] = {
    "visible": "visible",
    "public": "visible",
    "hidden": "hidden",
    "after_due_date": "after_due_date",
}


@dataclass(frozen=True)
class Sight:
    """What a student's page may show. `is_due` shows those checks that are shown after the due date."""

    course: Mapping[str, Any]
    is_due: bool = False

    def of(self, lab: str, check: str) -> Visibility:
        """Return a check's visibility, visible where the course says nothing of it.

        `visibility` in the course maps a check's name, or a lab's name and below it the check's, to a word. A word that
        is not known hides the check: what was meant to be hidden stays so.
        """
        table = self.course.get("visibility")
        if not isinstance(table, Mapping):
            return "visible"
        own = table.get(lab)
        word = own.get(check) if isinstance(own, Mapping) else None
        for key in (f"{lab}.{check}", check):
            word = table.get(key) if word is None else word
        return "visible" if word is None else WORDS.get(str(word), "hidden")

    def shows(self, lab: str, check: str) -> bool:
        """Return whether a student may see this check."""
        seen = self.of(lab, check)
        return seen == "visible" or (seen == "after_due_date" and self.is_due)
