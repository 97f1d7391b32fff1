"""The labs: their folders and names."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from scanlab.contract import Device
from scanlab.errors import KitError, UsageError
from scanlab.labs.rubric import Rubric
from scanlab.labs.rubric_file import read_rubric
from scanlab.paths import LABS, ROOT, SOLUTIONS, shown

FOLDER = re.compile(r"(\d\d)_([a-z][a-z0-9_]*)")


class Lab:
    """A lab's folder; its rubric is read when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rubric: Rubric | None = None

    @property
    def name(self) -> str:
        """Return the folder's name, `02_kogge_stone`."""
        return self.folder.name

    @property
    def number(self) -> str:
        """Return the two digits, which are also the order of the labs."""
        return self.name[:2]

    @property
    def source(self) -> Path:
        """Return the path of the file that a learner edits."""
        return self.folder / "scan.cu"

    @property
    def solution(self) -> Path:
        """Return the path of the reference solution, which a learner's copy of the kit may lack."""
        return SOLUTIONS / self.name / "scan.cu"

    @property
    def handout(self) -> str:
        """Return the handout as people type it, `handouts/02_kogge_stone.md`; an empty text where none is written."""
        return handout_of(self.name)

    def max_points(self, device: Device) -> int:
        """Return the points to be won on this device: work is counted on the one, time is measured on the other."""
        if device == "vgpu":
            return self.rubric.max_points(("correctness", "count"))
        return self.rubric.max_points(("correctness", "timing") if self.solution.exists() else ("correctness",))

    def not_run_points(self, device: Device) -> int:
        """Return the points of the checks that are not run on this device."""
        return self.rubric.max_points(("correctness", "count", "timing")) - self.max_points(device)

    def broken(self) -> str:
        """Return what is wrong with lab.toml, a line each with file and line; empty for a lab that can be graded."""
        try:
            _ = self.rubric
        except KitError as error:
            return str(error)
        return ""

    @property
    def rubric(self) -> Rubric:
        """Return the rubric. Raises KitError, with the line or field, when lab.toml is broken."""
        if self._rubric is None:
            self._rubric = read_rubric(self.folder / "lab.toml")
        return self._rubric

    def with_rubric(self, rubric: Rubric) -> "Lab":
        """Return the same lab with another rubric, such as a course's."""
        made = Lab(self.folder)
        made._rubric = rubric
        return made


def handout_of(lab: str) -> str:
    """Return the handout of the lab of this name, as above."""
    name = f"handouts/{lab}.md"
    return name if (ROOT / name).is_file() else ""


def all_labs() -> list[Lab]:
    """Return the kit's labs in the order of their numbers."""
    folders = (
        [path for path in LABS.iterdir() if FOLDER.fullmatch(path.name) and path.is_dir()] if LABS.is_dir() else []
    )
    if not folders:
        raise KitError(f"no labs under {shown(LABS)}")
    return [Lab(folder) for folder in sorted(folders)]


def base_of(lab: Lab, ladder: Sequence[Lab]) -> Lab | None:
    """Return the lab of `ladder`, which stands in its order, that `lab` builds on; None for the first.

    Raises KitError when the rubric's `builds_on` is no lab before it.
    """
    earlier = {other.name: other for other in ladder if other.name < lab.name}
    wanted = lab.rubric.builds_on
    if wanted is None:
        return next(reversed(earlier.values()), None)
    if wanted in earlier:
        return earlier[wanted]
    if wanted == lab.name:
        fault = "is the lab itself"
    elif any(other.name == wanted for other in ladder):
        fault = f"comes after {lab.name}"
    else:
        fault = "is the name of no lab"
    before = f"; before it there are {', '.join(earlier)}" if earlier else "; there is none before it"
    raise KitError(f"{shown(lab.folder / 'lab.toml')}: builds_on: {wanted!r} {fault}{before}")


def find_lab(wanted: str) -> Lab:
    """Return the lab called `02`, `2`, `kogge_stone`, `02_kogge_stone`, or by a path in its folder.

    Raises UsageError, with the nearest name, when there is none.
    """
    labs = all_labs()
    name = wanted.strip()
    if "/" in name or name in (".", ".."):
        try:
            parts = Path(name).resolve().parts
        except (OSError, ValueError):  # no path at all: a null character, a name too long
            parts = ()
        name = next((part for part in reversed(parts) if FOLDER.fullmatch(part)), name)
    name = name.lower().replace("-", "_")
    for lab in labs:
        slug = lab.name[3:]
        if name in (lab.name, slug) or (name.isdecimal() and name.isascii() and int(name) == int(lab.number)):
            return lab
    spellings = {spelling: lab for lab in labs for spelling in (lab.name, lab.name[3:], lab.number)}
    near = difflib.get_close_matches(name, spellings, n=1, cutoff=0.5)
    suggestion = (
        f"did you mean {spellings[near[0]].name}?" if near else f"there are {', '.join(lab.name for lab in labs)}"
    )
    raise UsageError(f"no lab is called {wanted!r}; {suggestion}")
