"""Bring back a lab's skeleton.

The skeleton is kept nowhere twice. It is the oldest committed version of the lab's file that agrees, outside the marked
regions, with the solution as it is now: later versions that agree are the learner's own commits. Without git's history
it is the solution with its regions emptied, so that only the skeleton's TODO comments are lost. A student's copy of the
kit, which has neither, brings its skeletons along.
"""

import shutil
import subprocess
import time
from io import StringIO
from pathlib import Path

from scanlab import files
from scanlab.bundle import SKELETONS
from scanlab.errors import KitError
from scanlab.labs.folders import Lab
from scanlab.paths import ROOT, SOLUTIONS, shown

OPEN, CLOSE = "// >>> your code", "// <<< your code"
GIT_TIMEOUT = 30.0


def _with_regions(text: str, filled: str) -> tuple[str, list[str]]:
    """Return a file with `filled` in the place of what is inside its marked regions, and what was there.

    What has no end is no region.
    """
    kept: list[str] = []
    regions: list[str] = []
    region: list[str] | None = None
    for line in StringIO(text, newline="\n"):
        if region is not None and line.lstrip(" \t").startswith(CLOSE):
            regions.append("".join(region))
            kept += [filled, line]
            region = None
        elif region is not None:
            region.append(line)
        else:
            kept.append(line)
        if region is None and line.endswith(f"{OPEN}\n"):
            region = []
    return "".join([*kept, *(region or [])]), regions


def outside(text: str) -> str:
    """Return a file without what is inside its marked regions."""
    return _with_regions(text, "")[0]


def given_lines(lab: Lab) -> frozenset[str]:
    """Return the lines of a lab's file outside of its marked regions, without their indents.

    They are those of its solution, or of the skeleton in a student's copy of the kit; none where there is neither.
    """
    packed = SKELETONS / f"{lab.name}.cu"
    text = solution_of(lab) or (packed.read_text(encoding="utf-8") if packed.is_file() else "")
    return frozenset(line.strip() for line in outside(text).splitlines())


def solution_of(lab: Lab) -> str:
    """Return the text of a lab's reference solution; nothing where it is not here."""
    return lab.solution.read_text(encoding="utf-8") if lab.solution.is_file() else ""


def regions(text: str) -> list[str]:
    """Return what is inside a file's marked regions."""
    return _with_regions(text, "")[1]


def untouched(text: str) -> bool:
    """Return whether a lab's file holds nothing but comments in its marked regions: it is as it was handed out."""
    found = regions(text)
    lines = [line.strip() for region in found for line in region.splitlines()]
    return bool(found) and all(not line or line.startswith("//") for line in lines)


def pristine(lab: Lab) -> tuple[str, str]:
    """Return the skeleton's text and where it is from.

    Raises KitError when neither the history nor a solution holds it.
    """
    packed = SKELETONS / f"{lab.name}.cu"
    if packed.is_file():
        return packed.read_text(encoding="utf-8"), shown(packed)
    solution_file = SOLUTIONS / lab.name / "scan.cu"
    solution = solution_file.read_text(encoding="utf-8") if solution_file.is_file() else None
    for commit in _commits(lab.source):
        text = _git("show", f"{commit}:{lab.source.relative_to(ROOT)}")
        if text is not None and (solution is None or outside(text) == outside(solution)):
            return text, f"commit {commit[:10]}"
    if solution is None:
        raise KitError(f"no skeleton of {lab.name} in git's history, and no {shown(solution_file)} to make it from")
    emptied, _ = _with_regions(solution, "  // TODO: see the handout, and grader/scanlab hint\n")
    return emptied, f"{shown(solution_file)}, its regions emptied (this copy has no git history)"


def _commits(path: Path) -> list[str]:
    """Return the commits that changed `path`, the oldest first."""
    listed = _git("log", "--reverse", "--format=%H", "--", str(path.relative_to(ROOT)))
    return listed.split() if listed else []


def committed(root: Path, name: str) -> str | None:
    """Return a file of the kit in `root` as it is in git's last commit, empty where it has none; None without git."""
    if root != ROOT or _git("rev-parse", "--verify", "HEAD") is None:
        return None
    return _git("show", f"HEAD:{name}") or ""


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=GIT_TIMEOUT
        )
        return done.stdout.decode("utf-8") if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None


def reset(lab: Lab) -> tuple[Path | None, str]:
    """Write the skeleton over the learner's file, which is kept beside it first.

    Returns the kept copy's path (None where there was nothing to keep) and where the skeleton is from.
    """
    text, origin = pristine(lab)
    try:
        kept = None
        if lab.source.exists() and lab.source.read_bytes() != text.encode():
            stem = f"{lab.source.name}.bak-{time.strftime('%Y%m%d-%H%M%S')}"
            kept = next(path for path in _names(lab.source.with_name(stem)) if not path.exists())
            shutil.copy2(lab.source, kept)
        files.replace(lab.source, text)
    except OSError as error:
        raise KitError(f"cannot write {shown(Path(error.filename or lab.source))}: {error.strerror}") from error
    return kept, origin


def _names(path: Path) -> list[Path]:
    return [path, *(path.with_name(f"{path.name}-{i}") for i in range(2, 1000))]
