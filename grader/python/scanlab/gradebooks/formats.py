"""The formats by their names."""

from scanlab.gradebooks import table
from scanlab.gradebooks.model import Format
from scanlab.gradebooks.systems import autolab, canvas, classroom50, gradescope, junit, moodle, nbgrader, prairielearn

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (gradescope, classroom50, autolab, prairielearn, canvas, moodle, nbgrader, table, junit)
}
