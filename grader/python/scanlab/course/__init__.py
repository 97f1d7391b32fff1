"""What a course says of its labs: course.toml, and the bundle that its students get."""

from scanlab.course.lateness import deductions
from scanlab.course.model import seed_for
from scanlab.course.view import due, excused, is_shown, lab_of, visibilities, visibility, weighted_percent

__all__ = [
    "deductions",
    "due",
    "excused",
    "is_shown",
    "lab_of",
    "seed_for",
    "visibilities",
    "visibility",
    "weighted_percent",
]
