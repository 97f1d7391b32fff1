"""Programs that are written as edits of others: what is replaced by what, whatever comments stand there.

    // expect: fail inclusive race.shared | the barrier after the load is missing
    @@
       s_xy[t] = i < n ? d_x[i] : identity();
    -  __syncthreads();
    @@
    …

What is edited is the solution of the lab that the file's name begins with, or whose folder the file is in, or what a
line `// of: PATH` before the first place names. After a line `@@` come the lines of one place: those that begin with a
space or `-` stand there, one after the other and nowhere else in the program; they are replaced by those that begin
with a space or `+`. Comments, empty lines and spaces count for nothing when the place is looked for, so that a program
still fits when comments and layout of the other change.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".diff"
OF = "// of: "
PLACE = "@@"
ENTRIES = """
void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
"""
"""What a whole program need not repeat: a `launch_scan<kind>` without an entry gets those of the solutions."""
COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//.*""")
SPACES = re.compile(r"\s+")


class EditError(ValueError):
    """An edit that cannot be made; the message says which and why."""


@dataclass(frozen=True)
class Edit:
    """One place of a program: the code before what is replaced, that itself, what follows, and what comes there."""

    before: tuple[str, ...]
    old: tuple[str, ...]
    after: tuple[str, ...]
    new: tuple[str, ...]


def code_of(line: str) -> str:
    """Return what a line of a program says to the compiler: without comment and spaces."""
    return SPACES.sub("", COMMENT.sub(lambda found: found[1] or "", line))


def parse(text: str) -> tuple[str, list[Edit]]:
    """Return the path of the program that is edited, empty where no line names it, and the edits. Raises EditError."""
    head, *places = re.split(rf"^{PLACE}\n", text, flags=re.MULTILINE)
    of = next((line.removeprefix(OF).strip() for line in head.splitlines() if line.startswith(OF)), "")
    return of, [_edit(place.splitlines()) for place in places]


def _edit(lines: Sequence[str]) -> Edit:
    if wrong := [line for line in lines if line[:1] not in (" ", "-", "+", "")]:
        raise EditError(f"a line begins neither with a space nor with - or +: {wrong[0]}")
    changed = [at for at, line in enumerate(lines) if line[:1] in ("-", "+")]
    if not changed:
        raise EditError(f"a place without a line that begins with - or +: {' '.join(lines)}")
    first, end = changed[0], changed[-1] + 1
    between = lines[first:end]
    old = [line[1:] for line in between if line[:1] != "+"]
    new = [line[1:] for line in between if line[:1] != "-"]
    return Edit(_codes(lines[:first]), _codes(old), _codes(lines[end:]), tuple(new))


def _codes(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(code for line in lines if (code := code_of(line)))


def apply(program: str, edits: Sequence[Edit]) -> str:
    """Return a program after `edits`, each of them made in what the ones before have left. Raises EditError."""
    lines = program.splitlines()
    for edit in edits:
        wanted = (*edit.before, *edit.old, *edit.after)
        if not wanted:
            raise EditError(f"edits of no place: nothing stands around {' '.join(edit.new)}")
        numbers = [number for number, line in enumerate(lines) if code_of(line)]
        codes = [code_of(lines[number]) for number in numbers]
        found = [at for at in range(len(codes)) if tuple(codes[at : at + len(wanted)]) == wanted]
        if len(found) != 1:
            raise EditError(f"{len(found)} places, not one, where this stands: {' '.join(wanted)[:200]}")
        at = found[0] + len(edit.before)
        if edit.old:
            first, end = numbers[at], numbers[at + len(edit.old) - 1] + 1
        else:
            first = end = numbers[at - 1] + 1 if edit.before else numbers[at]
        lines[first:end] = edit.new
    return "\n".join(lines) + "\n"


def expand(path: Path, root: Path) -> str:
    """Return the whole program of the file at `path`, or of its edits under `root`. Raises EditError, OSError."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != SUFFIX:
        return text if "inclusive_scan(" in text or " launch_scan(" not in text else text + ENTRIES
    of, edits = parse(text)
    lab = path.name.split("__")[0] if "__" in path.name else path.parent.name
    of = of or f"solutions/{lab}/scan.cu"
    base = expand(root / of, root)
    try:
        return apply(base, edits)
    except EditError as error:
        raise EditError(f"{path}: in {of} there are {error}") from error
