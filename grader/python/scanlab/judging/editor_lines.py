"""What is wrong for editors, `FILE:LINE:1: error: what`: the problem matcher of `.vscode/tasks.json` reads it."""

from pathlib import Path

from scanlab.foreign_text import plain
from scanlab.judging import placed
from scanlab.judging.placed import Level, Place, Placed
from scanlab.judging.result import LabResult
from scanlab.labs.skeleton import OPEN
from scanlab.paths import shown

LONGEST = 400
"""Characters of a message."""
SEVERITY: dict[Level, Level] = {"error": "error", "warning": "warning", "note": "warning"}
"""Of a mistake, a warning of nvcc's, and advice; the other places of each are notes."""


def lines(result: LabResult, file: Path) -> list[str]:
    """Return a line for each place of what is wrong with `file`; each thing is said once of a place."""
    found: dict[tuple[str, int, str], str] = {}
    named: set[tuple[str, int, str]] = set()
    for one in placed.of_results([result], {result.lab: file}):
        own, *others = one.places
        if (own.file, own.line, one.lines[0]) in named:
            continue  # advice that a count which misses its limits has named already
        named |= {(place.file, place.line, place.who) for place in one.places}
        said = [(own, SEVERITY[one.level], one.rule, _text(one))]
        said += [(other, "note", f"{one.rule}, note", f"{other.who} ({one.lines[0]})") for other in others]
        for place, severity, what, text in said:
            name, line = _where(place, file)
            found.setdefault((name, line, what), f"{name}:{line}:1: {severity}: {plain(text, LONGEST)}")
    return list(found.values())


def _text(one: Placed) -> str:
    facts = [one.places[0].who, one.why.partition("\n")[0]]
    text = "; ".join(dict.fromkeys(fact for fact in facts if fact and fact not in one.lines[0]))
    return ": ".join(filter(None, (one.lines[0], text))) + (f" (fix: {one.cure})" if one.cure else "")


def _where(place: Place, file: Path) -> tuple[str, int]:
    """Return how an editor calls the file, and the line: where a learner begins to write, if it is not known."""
    path = placed.path_of(place.file)
    if place.line > 0:
        return shown(path), place.line
    try:
        text = (path if path.is_file() else file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return shown(path), 1
    marked = (number for number, line in enumerate(text.split("\n"), 1) if line.strip() == OPEN)
    return shown(path), next(marked, 1)
