"""What a course means, as tables for a person: the labs in their order, and what differs from the kit's rubrics."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from scanlab.course.model import Course, CourseLab
from scanlab.course.tables import Late
from scanlab.labs.folders import find_lab
from scanlab.labs.rubric import Rubric

ALL_KINDS = ("correctness", "count", "timing")
LONGEST = 60
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Change:
    """One thing in which a lab differs from the kit's."""

    lab: str
    check: str
    key: str
    kit: str
    course: str


def lab_rows(course: Course) -> list[list[str]]:
    """Return for each lab: name, due date, points, weight, what is not visible, and the rule for late work."""
    rows = []
    for lab in course.labs:
        rubric, kit = course.lab(lab.name).rubric, find_lab(lab.name).rubric
        concealed = [f"{name} ({how.replace('_', ' ')})" for name, how in lab.visibility.items() if how != "visible"]
        if len(concealed) == len(lab.visibility):
            concealed = [f"all {len(concealed)}"]
        rows.append(
            [
                lab.name,
                lab.due.at.strftime("%a %Y-%m-%d %H:%M %z") if lab.due else "never",
                _points(rubric, kit),
                f"{lab.weight:g}",
                ", ".join(concealed) or "-",
                late_text(lab.late) if lab.due else "-",
            ]
        )
    return rows


def _points(rubric: Rubric, kit: Rubric) -> str:
    timed, was_timed = rubric.max_points(("timing",)), kit.max_points(("timing",))
    text = f"{rubric.max_points()} + {timed}" if timed else str(rubric.max_points())
    was = f"{kit.max_points()} + {was_timed}" if was_timed else str(kit.max_points())
    return text if text == was else f"{text} (kit: {was})"


def late_text(late: Late | None) -> str:
    """Return a late policy in words."""
    if late is None:
        return "counts in full"
    rate = f"{late.percent:g} %" if late.percent else f"{late.points:g} points" if late.points else ""
    parts = [f"-{rate} a {late.per}"] if rate else ["counts in full"]
    if late.percent and late.of == "earned":
        parts[0] += " of what was won"
    if late.maximum:
        parts.append(f"at most {late.maximum:g}{' %' if late.percent else ''}")
    if late.grace_minutes:
        parts.append(f"{late.grace_minutes} min grace")
    if late.cut_off_hours is not None:
        parts.append(f"none after {late.cut_off_hours:g} h")
    return ", ".join(parts)


def changes(course: Course) -> list[Change]:
    """Return in what the course's rubrics differ from the kit's, lab by lab."""
    return [change for lab in course.labs if lab.rubric is not None for change in _changes(course, lab)]


def _changes(course: Course, lab: CourseLab) -> list[Change]:
    ours, kits = course.lab(lab.name).rubric, find_lab(lab.name).rubric
    found = []
    if ours.title != kits.title:
        found.append(Change(lab.name, "", "title", kits.title, ours.title))
    for key, value in ours.limits.model_dump().items():
        was = getattr(kits.limits, key)
        if was != value:
            found.append(Change(lab.name, "", key, _text(was), _text(value)))
    known = {check.name: check for check in kits.check}
    left = {check.name for check in ours.check}
    found += [Change(lab.name, name, "enabled", "true", "false") for name in known if name not in left]
    for check in ours.check:
        if check.name not in known:
            found.append(Change(lab.name, check.name, check.kind, "", f"{check.title} ({check.points} points)"))
            continue
        before = known[check.name].model_dump()
        for key, value in check.model_dump().items():
            if before[key] != value:
                found.append(Change(lab.name, check.name, key, _text(before[key]), _text(value)))
    return found


def _text(value: Any) -> str:
    text = (
        ", ".join(map(str, value))
        if isinstance(value, list)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def student_lines(course: Course) -> list[str]:
    """Return what holds for single students, a line each."""
    lines = []
    for terms in course.students:
        facts = [f"excused from {', '.join(terms.excused)}"] if terms.excused else []
        facts += [f"{terms.attempts} attempts"] if terms.attempts else []
        for one in terms.extensions:
            until = one.due.at.strftime("until %Y-%m-%d %H:%M %z") if one.due else f"{one.hours:g} h more"
            facts.append(f"{until} for {one.lab or 'all labs'}")
        who = f" ({terms.found[1]})" if terms.found and terms.found[1] != terms.id else ""
        lines.append(f"{terms.id}{who}: {'; '.join(facts) or 'nothing of their own'}")
    return lines


def remarks(course: Course) -> list[str]:
    """Return what is allowed and may not be meant."""
    found = []
    dated = [lab for lab in course.labs if lab.due]
    for before, after in pairwise(dated):
        if before.due and after.due and after.due.at < before.due.at:
            found.append(f"{after.name} is due before {before.name}, on whose work it builds")
    undated = [lab.name for lab in course.labs if not lab.due]
    if dated and undated:
        found.append(f"never due: {', '.join(undated)}")
    if dated and not any(lab.late for lab in course.labs):
        found.append("there is no [late]: late work counts in full")
    if not dated and any(lab.late for lab in course.labs):
        found.append("there is a [late], and no lab has a due date: nothing is ever late")
    for lab in course.labs:
        points = course.lab(lab.name).rubric.max_points()
        if points == 0:
            found.append(f"{lab.name}: no points can be won without a GPU")
        for terms in course.students:
            due, usual = course.due(lab.name, terms.id), lab.due
            given = [one for one in terms.extensions if one.lab == lab.name]
            if given and usual is None:
                found.append(f"{terms.id}: an extension for {lab.name}, which has no due date")
            elif given and due == usual:
                found.append(f"{terms.id}: the extension for {lab.name} is no later than everybody's due date")
    if course.labs and not any(lab.weight for lab in course.labs):
        found.append("all weights are 0: there is no total")
    return found
