"""What a course says of its labs: course.toml, and the bundle that its students get."""

from scanlab.course.lateness import deductions
from scanlab.course.model import NO_COURSE, Course, lab_of, seed_for
from scanlab.course.seen import Sight

__all__ = ["NO_COURSE", "Course", "Sight", "deductions", "lab_of", "seed_for"]
