"""The formats by their names."""

from scanlab.gradebooks import (
    autolab,
    canvas,
    classroom50,
    gradescope,
    junit,
    moodle,
    nbgrader,
    prairielearn,
    table,
)
from scanlab.gradebooks.model import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (gradescope, classroom50, autolab, prairielearn, canvas, moodle, nbgrader, table, junit)
}
