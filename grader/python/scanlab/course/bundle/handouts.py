"""The handouts of a student's copy: excerpts in place of references to solutions that are not there.

An excerpt of what the skeleton gives stays. One of what a learner has to write is left out, unless the course hands out
the full handouts. Links to files that the copy does not have become their texts.
"""

import os
import posixpath
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scanlab.course.tables import Handouts
from scanlab.errors import KitError
from scanlab.labs.skeleton import CLOSE, OPEN

FENCE = re.compile(
    r"^```\{literalinclude\} +\.\./(?P<path>solutions/\S+)\n(?P<options>(?::[\w-]+:.*\n)*)```$", re.MULTILINE
)
OPTION = re.compile(r'^:(?P<name>[\w-]+): *"?(?P<value>.*?)"?$', re.MULTILINE)
LINK = re.compile(r"\[(?P<text>(?:[^\]\[]|\[[^\]]*\])*)\]\((?P<target>\.\./[^)\s]*)\)")
LEFT_OUT = "*Here stands a part of the solution, which this copy does not have: try it yourself first.*"
NOTE = """\
```{note}
This copy has no solutions. Where the text shows, names or compares one, that is for later.
```
"""


@dataclass(frozen=True)
class Copy:
    """The student's copy that handouts are made for."""

    how: Handouts
    root: Path
    """The kit's folder, with the solutions."""
    has: Callable[[str], bool]
    """Whether the copy has a file of the kit."""
    is_secret: Callable[[str], bool]
    """Whether a text has something that a learner of any lab has to write."""


def handout(text: str, name: str, copy: Copy) -> str:
    """Return the text of the handout `name` for a student's copy.

    Raises KitError where an excerpt is no part of its solution.
    """
    left_out = 0

    def excerpt(found: re.Match[str]) -> str:
        nonlocal left_out
        lines, is_asked_for = _excerpt(copy.root / found["path"], found["options"], name)
        if copy.how != "full" and (is_asked_for or copy.is_secret("\n".join(lines))):
            left_out += 1
            return LEFT_OUT
        code = textwrap.dedent("\n".join(lines)).strip("\n")
        return f"```cuda\n{code}\n```"

    def link(found: re.Match[str]) -> str:
        target = found["target"].partition("#")[0]
        path = os.path.normpath(posixpath.join(posixpath.dirname(name), target))
        return found[0] if copy.has(path) else found["text"]

    made = LINK.sub(link, FENCE.sub(excerpt, text))
    if left_out or "solutions/" in made:
        title, _, rest = made.partition("\n")
        made = f"{title}\n\n{NOTE}{rest}"
    return made


def _excerpt(path: Path, options: str, name: str) -> tuple[list[str], bool]:
    """Return an excerpt's lines, and whether any of them is what a learner has to write."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise KitError(f"{name}: an excerpt of {path.name}: {error.strerror}") from error
    asked = {found["name"]: found["value"] for found in OPTION.finditer(options)}
    first, last = 0, len(lines)
    if begin := asked.get("start-at") or asked.get("start-after"):
        first = _find(lines, begin, 0, name) + ("start-after" in asked)
    if end := asked.get("end-at") or asked.get("end-before"):
        last = _find(lines, end, first, name) + ("end-at" in asked)
    inside, secret = False, set()
    for i, line in enumerate(lines):
        inside = (inside or OPEN in line) and CLOSE not in line
        if inside and OPEN not in line and line.strip():
            secret.add(i)
    return lines[first:last], any(first <= i < last for i in secret)


def _find(lines: list[str], wanted: str, start: int, name: str) -> int:
    found = next((i for i in range(start, len(lines)) if wanted in lines[i]), None)
    if found is None:
        raise KitError(f"{name}: no line of the solution has {wanted!r}")
    return found
