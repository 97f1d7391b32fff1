"""What a course says of its labs: course.toml, and the bundle that its students get."""

from scanlab.course.view import due, excused, is_shown, lab_of, visibilities, visibility, weighted_percent

__all__ = ["due", "excused", "is_shown", "lab_of", "visibilities", "visibility", "weighted_percent"]
