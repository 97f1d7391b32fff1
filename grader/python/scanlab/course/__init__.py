"""What a course says of its labs: course.toml, and the bundle that its students get."""

from scanlab.course.lateness import deductions
from scanlab.course.model import seed_for
from scanlab.course.seen import seen_by_student
from scanlab.course.view import due, excused, is_shown, lab_of, visibilities, visibility, weighted_percent

__all__ = [
    "deductions",
    "due",
    "excused",
    "is_shown",
    "lab_of",
    "seed_for",
    "seen_by_student",
    "visibilities",
    "visibility",
    "weighted_percent",
]
