"""What the rubrics say, for pages: the course's where it has its own, else the kit's.

A results folder may name a lab that this kit does not have any more; its pages are made nevertheless.
"""

from scanlab.course.model import NO_COURSE, Course
from scanlab.errors import ScanlabError
from scanlab.labs.folders import Lab, find_lab
from scanlab.labs.rubric import Check, Rubric
from scanlab.paths import shown


class Rubrics:
    """The labs of one class, by its course."""

    def __init__(self, course: Course = NO_COURSE) -> None:
        self.course = course
        self._labs: dict[str, Lab | None] = {}

    def lab(self, name: str) -> Lab | None:
        """Return the kit's lab of this whole name, None where it has none that can be read."""
        if name not in self._labs:
            try:
                found = find_lab(name)
                self._labs[name] = found if found.name == name and found.rubric else None
            except ScanlabError:
                self._labs[name] = None
        return self._labs[name]

    def rubric(self, name: str) -> Rubric | None:
        """Return a lab's rubric, None where there is none that can be read."""
        own, kits = self.course.find(name), self.lab(name)
        return own.rubric if own and own.rubric else kits.rubric if kits else None

    def source(self, name: str) -> str:
        """Return what a grade of a class calls the student's file for this lab."""
        lab = self.lab(name)
        return shown(lab.source) if lab else f"labs/{name}/scan.cu"

    def title(self, name: str) -> str:
        """Return a lab's title for a heading: `02 Kogge-Stone scan, one buffer`."""
        rubric = self.rubric(name)
        return f"{name[:2]} {rubric.title}" if rubric else name

    def check(self, lab: str, check: str) -> Check | None:
        """Return a check of a lab's rubric."""
        rubric = self.rubric(lab)
        return next((one for one in rubric.check if one.name == check), None) if rubric else None
