"""Courses for tests, whole as `class.json` has them: the kit's own code reads them from the text of a course.toml."""

import tempfile
from pathlib import Path
from typing import Any

from scanlab.course.read import read_course


def made_course(tables: str) -> dict[str, Any]:
    """Return what class.json keeps of the course with these tables; its title is there already."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "course.toml"
        path.write_text(f'title = "Parallel scan"\n{tables}', encoding="utf-8")
        return read_course(path).course.public_view()


def showing(lab: str, due: str = "", **visibility: str) -> dict[str, Any]:
    """Return a course of one lab in which some of its checks are seen by some only."""
    checks = "".join(f'[[lab.check]]\nname = "{name}"\nvisibility = "{word}"\n' for name, word in visibility.items())
    return made_course(f'[[lab]]\nname = "{lab}"\n{f"due = {due}" if due else ""}\n{checks}')
