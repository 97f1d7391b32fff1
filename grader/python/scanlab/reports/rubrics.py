"""What the labs' rubrics say, for pages: a results folder may name a lab that this kit does not have any more."""

import math
from functools import lru_cache

from scanlab import formulas
from scanlab.errors import ScanlabError
from scanlab.labs import Check, CountCheck, Lab, Rubric, find_lab
from scanlab.paths import shown


@lru_cache(maxsize=64)
def lab_of(name: str) -> Lab | None:
    """Return the kit's lab of this whole name, None where it has none that can be read."""
    try:
        lab = find_lab(name)
        return lab if lab.name == name and lab.rubric else None
    except ScanlabError:
        return None


def rubric_of(name: str) -> Rubric | None:
    """Return a lab's rubric, None where the kit has none."""
    lab = lab_of(name)
    return lab.rubric if lab else None


def source_of(name: str) -> str:
    """Return what a grade of a class calls the student's file for this lab."""
    lab = lab_of(name)
    return shown(lab.source) if lab else f"labs/{name}/scan.cu"


def check_of(lab: str, check: str) -> Check | None:
    """Return a check of a lab's rubric."""
    rubric = rubric_of(lab)
    return next((one for one in rubric.check if one.name == check), None) if rubric else None


def title_of(lab: str) -> str:
    """Return a lab's title for a heading: `02 Kogge-Stone scan, one buffer`."""
    rubric = rubric_of(lab)
    return f"{lab[:2]} {rubric.title}" if rubric else lab


def limits_of(lab: str, check: CountCheck) -> tuple[float | None, float | None]:
    """Return the least and the most that a count may be; None: no such limit."""
    rubric = rubric_of(lab)
    sections = math.ceil(check.n / rubric.section) if rubric and rubric.section else 1
    names = {"n": check.n, "sections": sections}
    low, high = (
        formulas.evaluate(formula, names) if formula is not None else None
        for formula in (check.at_least, check.at_most)
    )
    return low, high
