"""Which checks a student may see: what the course says of them, check by check."""

from collections.abc import Mapping
from typing import Any, Literal

from scanlab.reports.rubrics import labs_of

Visibility = Literal["visible", "hidden", "after_due_date"]
WORDS: Mapping[str, Visibility] = {"visible": "visible", "hidden": "hidden", "after_due_date": "after_due_date"}


class Sight:
    """What a student's page may show. `is_due` shows those checks that are shown after the due date.

    `course` is `records.Class.course`: each of its labs maps the names of checks to words.
    """

    def __init__(self, course: Mapping[str, Any], is_due: bool = False) -> None:
        self.is_due = is_due
        self._words = {
            (one.get("name"), check): word
            for one in labs_of(course)
            if isinstance(one.get("visibility"), Mapping)
            for check, word in one["visibility"].items()
        }

    def of(self, lab: str, check: str) -> Visibility:
        """Return a check's visibility, visible where the course says nothing of it.

        A word that is not known hides the check: what was meant to be hidden stays so.
        """
        word = self._words.get((lab, check), "visible")
        return WORDS.get(word, "hidden") if isinstance(word, str) else "hidden"

    def shows(self, lab: str, check: str) -> bool:
        """Return whether a student may see this check."""
        seen = self.of(lab, check)
        return seen == "visible" or (seen == "after_due_date" and self.is_due)
