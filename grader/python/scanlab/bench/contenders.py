"""What is compared: the labs' solutions, variants of them, the learner's own files, CUB, and the copy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab.bench.result import Role
from scanlab.errors import UsageError
from scanlab.judging.compiler.recipe import read_source
from scanlab.labs.corpora import whole
from scanlab.labs.folders import Lab, all_labs, find_lab
from scanlab.labs.skeleton import untouched
from scanlab.paths import ROOT, SOLUTIONS, shown

FOLDER = ROOT / "grader/bench"
TIMER = FOLDER / "timer.cu"
CUB = FOLDER / "cub_scan.cu"
VARIANTS = FOLDER / "variants"
ENTRIES = {"inclusive_scan", "exclusive_scan"}


@dataclass(frozen=True)
class Contender:
    """One program of the comparison.

    `path` is its scan.cu (None: the copy). `section` says how many elements it scans on their own, 0 the whole array;
    None: a trial has to find out.
    """

    name: str
    role: Role
    path: Path | None = None
    section: int | None = 0

    @property
    def source(self) -> str:
        """Return the file as a learner would type it; empty for the copy."""
        return shown(self.path) if self.path else ""


def choose(words: Sequence[str]) -> tuple[list[Contender], list[str]]:
    """Return what the words of the command line ask for (none: every lab), and notes on what is left out.

    A word names a lab or a file (*.cu). CUB and the copy are always there.

    Raises UsageError or WorkError for a word that names nothing that can be measured.
    """
    found: list[Contender] = []
    notes: list[str] = []
    for word in words or [lab.name for lab in all_labs()]:
        if word.endswith(".cu"):
            read_source(Path(word))
            found.append(Contender(shown(Path(word)), "file", Path(word), None))
            continue
        lab = find_lab(word)
        if not ENTRIES.intersection(lab.rubric.entries):
            if words:
                raise UsageError(f"{lab.name} is no scan of a whole array or of sections; bench cannot compare it")
            notes.append(f"{lab.name} is not in the table: it is no scan")
            continue
        of_lab = _of_lab(lab)
        if not of_lab:
            notes.append(f"{lab.name} is not in the table: its skeleton is untouched, and there is no solution here")
        found += of_lab
    references = [Contender("CUB DeviceScan", "cub", CUB), Contender("copy", "copy")]
    return list({(each.path, each.role): each for each in [*found, *references]}.values()), notes


def _of_lab(lab: Lab) -> list[Contender]:
    """Return the lab's solution, its variants, and the learner's own file once it is begun."""
    section = lab.rubric.section
    solution = SOLUTIONS / lab.name / "scan.cu"
    found = [Contender(lab.name, "solution", solution, section)] if solution.is_file() else []
    found += [Contender(path.stem, "variant", whole(path), section) for path in sorted(VARIANTS.glob(f"{lab.name}_*"))]
    try:
        begun = not untouched(lab.source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        begun = lab.source.exists()
    return [*found, Contender(f"{lab.name} (yours)", "yours", lab.source, section)] if begun else found
