"""What `learn` shows: a line of progress, what matters now, and the keys."""

import difflib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scanlab.judging import report
from scanlab.judging.report import Line
from scanlab.judging.result import LabResult
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab
from scanlab.learn.progress import Progress
from scanlab.paths import ROOT, shown

WIDTH = 80


@dataclass
class View:
    """What is known about the lab that is shown."""

    lab: Lab
    path: Path
    ladder: Sequence[Lab]
    progress: Progress
    result: LabResult | None = None
    before: LabResult | None = None
    """Of the version before, while this one is checked."""
    is_whole: bool = True
    """Nothing more will be known about this version of the file."""
    trouble: str = ""
    """Why there is no result."""
    note: list[Line] = field(default_factory=list)
    """What a key has asked for."""
    hints: int = 0
    """How many were asked for."""
    seconds: float = 0
    waited: int = 0
    """Seconds that a check has taken which takes long."""
    page: str = ""
    """The address of the page that shows the same."""

    @property
    def has_passed(self) -> bool:
        """Return whether this version of the file passes."""
        return self.result is not None and self.result.verdict == "pass"

    @property
    def next_lab(self) -> Lab | None:
        """Return the lab after this one that is not passed, else the first of all that is not; None: all are passed."""
        after = [lab for lab in self.ladder if lab.name > self.lab.name]
        before = [lab for lab in self.ladder if lab.name < self.lab.name]
        return self.progress.next_lab([*after, *before])


def head(view: View) -> list[Line]:
    """Return which lab it is, and how far its learner has come."""
    lab = view.lab
    return [
        (f"scanlab learn   {view.progress.bar(view.ladder)}", "dim"),
        (f"{lab.number} {lab.rubric.title}   {shown(view.path)}", "bold"),
        *([(f"page: {view.page}", "dim")] if view.page else []),
        ("", ""),
    ]


def keys(view: View) -> Line:
    """Return the keys that mean something now."""
    known = ["[b]ack"] if view.note else []
    if view.has_passed:
        known += ["[n]ext lab"] if view.next_lab else []
        known += ["[d]iff with the solution"] if view.lab.solution.exists() else []
    else:
        known += ["[h]int"]
    return "  ".join([*known, "[t]race", "hand[o]ut", "[l]ist", "[q]uit"]), "dim"


def state(view: View) -> Line:
    """Return what is awaited: the check's end, or a save."""
    if not view.is_whole:
        if view.result is not None:
            return (
                "looking for what cures it …" if not view.has_passed else "looking for what it does not need …",
                "cyan",
            )
        return f"checking …{f' {view.waited} s; what does not end is stopped' if view.waited else ''}", "cyan"
    if view.result is None:
        return f"save {shown(view.path)} to check it", "cyan"
    verdict = f": {view.result.verdict}" if view.note else ""
    return f"checked in {view.seconds:.1f} s{verdict}; save {shown(view.path)} to check it again", "cyan"


def body(view: View) -> list[Line]:
    """Return what matters: what a key has asked for, else the task, the first failure, or what a pass means."""
    if view.note:
        return view.note
    if view.trouble:
        return [(line, "") for line in view.trouble.splitlines()]
    if view.result is None:
        return _as_before(view) or task(view.lab, view.path)
    if not view.has_passed:
        return [*report.first_failure(view.result), *_points(view.result)]
    lines = report.result_lines(view.result, checks=False)
    after = view.next_lab
    lines.append(("", ""))
    if after is None:
        lines += wrapped("All labs are passed: see how fast yours is, `grader/scanlab bench 11`", "green")
    else:
        lines += wrapped(f"next: lab {after.number}, {after.rubric.title}: {after.rubric.summary}", "green")
    return lines


def _as_before(view: View) -> list[Line]:
    """Return what was wrong before this save, so that it can be read until there is more to say."""
    if view.is_whole or view.before is None:
        return []
    lines = report.first_failure(view.before) or [("it passed", "")]
    return [("before this save:", "dim"), *((text, "dim") for text, _ in lines)]


def task(lab: Lab, path: Path) -> list[Line]:
    """Return what is to be done in a lab that was not begun."""
    where = f"{shown(path)}, between the lines `{skeleton.OPEN}` and `{skeleton.CLOSE}`"
    lines = wrapped(f"{lab.rubric.title}: {lab.rubric.summary}.")
    lines += [("", "")]
    if lab.handout:
        lines += wrapped(f"read   {lab.handout} (key o)")
    lines += wrapped(f"write  {where}", indent=7)
    return [*lines, ("save   the file: it is checked at once", "")]


def hint(text: str) -> list[Line]:
    """Return a hint: sentences in lines of a terminal's width, code as it is."""
    lines = []
    for line in text.strip().splitlines():
        lines += [(line, "")] if line.startswith(" ") or not line else wrapped(line)
    return lines


def all_checks(result: LabResult) -> list[Line]:
    """Return the list of checks with their points, and all that went wrong."""
    return report.result_lines(result, checks=True)


def difference(lab: Lab, path: Path) -> list[Line]:
    """Return the learner's file beside the solution, as `diff -u` shows it."""
    mine, solution = (file.read_text(encoding="utf-8", errors="replace").splitlines() for file in (path, lab.solution))
    styles = {"+": "green", "-": "red", "@": "cyan"}
    found = list(difflib.unified_diff(mine, solution, shown(path), str(lab.solution.relative_to(ROOT)), lineterm=""))
    return [(line, styles.get(line[:1], "")) for line in found] or [("yours is the solution, word for word", "")]


def _points(result: LabResult) -> list[Line]:
    asked = [check for check in result.checks if not check.is_not_run]
    waiting = sum(check.verdict == "skipped" for check in asked)
    done = sum(check.verdict == "pass" for check in asked)
    parts = [f"{len(asked) - waiting - done} of {len(asked)} checks fail"]
    parts += [f"{waiting} wait for them"] if waiting else []
    parts += [f"{report.points(result.points)} of {report.points(result.max_points)} points"]
    return [("", ""), (", ".join(parts), "")]


def wrapped(text: str, style: str = "", indent: int = 0) -> list[Line]:
    """Return a sentence or more in lines of a terminal's width."""
    lines = textwrap.wrap(
        text, WIDTH - 1, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return [(line, style) for line in lines]


def fitted(lines: Sequence[Line], width: int) -> list[Line]:
    """Return lines of at most that width, broken between words; what follows a break stands further right."""
    found: list[Line] = []
    for text, style in lines:
        indent = " " * (len(text) - len(text.lstrip()) + 2)
        parts = (
            textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False)
            if len(text) > width
            else [text]
        )
        found += [(part, style) for part in parts]
    return found
