"""The platforms whose exports are read, a file each: how they call what is handed in, and by whom.

What a platform writes stands at a name's beginning. What a student can choose (a file's name, a folder inside their
own) comes after it, and decides nothing.
"""

from collections.abc import Mapping

from scanlab.classroom.intake.platforms.blackboard import BLACKBOARD
from scanlab.classroom.intake.platforms.brightspace import BRIGHTSPACE
from scanlab.classroom.intake.platforms.canvas import CANVAS
from scanlab.classroom.intake.platforms.folders import FOLDERS
from scanlab.classroom.intake.platforms.github import GITHUB
from scanlab.classroom.intake.platforms.gradescope import GRADESCOPE
from scanlab.classroom.intake.platforms.ilias import ILIAS
from scanlab.classroom.intake.platforms.moodle import MOODLE
from scanlab.classroom.intake.platforms.platform import Platform
from scanlab.classroom.intake.platforms.sakai import SAKAI

PLATFORMS: Mapping[str, Platform] = {
    one.kind: one
    for one in (
        GRADESCOPE, MOODLE, BLACKBOARD, BRIGHTSPACE, SAKAI, CANVAS, ILIAS, GITHUB, FOLDERS,
    )
}  # fmt: skip
"""By what `--from` calls them; where a name has the form of several, the first one counts."""
