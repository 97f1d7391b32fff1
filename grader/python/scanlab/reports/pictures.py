"""The picture of what a student's kernel does, where it is asked for: it costs a compile and a run.

`run_untrusted` is the one place where a report starts a student's program.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from scanlab.errors import ScanlabError
from scanlab.labs.folders import Lab
from scanlab.paths import shown
from scanlab.reports.rubrics import Rubrics
from scanlab.reports.text import field as one_line

SECONDS = 900.0
"""For all pictures of a class together: none is begun later."""
LARGEST = 300_000
"""Bytes of a picture that still goes into a page."""
ELEMENTS = 16


@dataclass(frozen=True)
class Picture:
    """A drawing, or the reason why there is none."""

    svg: Markup = field(default_factory=Markup)
    trouble: str = ""


def run_untrusted(lab: Lab, path: Path) -> str:
    """Compile and run a student's file under the tracer, both in the sandbox, and return the picture."""
    from scanlab.trace.record import Options, record
    from scanlab.trace.svg import svg

    traced = record(lab, path, Options(entry=lab.rubric.entries[0], n=ELEMENTS, is_sandboxed=True))
    drawn = svg(traced) if any(launch.traced for launch in traced.launches) else ""
    return drawn.replace(str(path), shown(lab.source))


class Pictures:
    """Draws each file once, as long as there is time; a failure is a reason, and never an error."""

    def __init__(self, source: Callable[[str], Path], seconds: float = SECONDS) -> None:
        self.source = source
        self.rubrics = Rubrics()
        self.ends = time.monotonic() + seconds
        self.made: dict[tuple[str, str], Picture] = {}

    def draw(self, lab: str, sha256: str) -> Picture:
        """Return the picture of a file as a lab."""
        if (lab, sha256) not in self.made:
            self.made[lab, sha256] = self._draw(lab, sha256)
        return self.made[lab, sha256]

    def _draw(self, name: str, sha256: str) -> Picture:
        lab = self.rubrics.lab(name)
        if lab is None:
            return Picture(trouble="this kit has no such lab")
        if time.monotonic() > self.ends:
            return Picture(trouble="there was no time left for it")
        path = Path("scan.cu")
        try:
            with tempfile.TemporaryDirectory(prefix="scanlab-") as scratch:
                path = Path(scratch) / name / "scan.cu"
                path.parent.mkdir()
                shutil.copyfile(self.source(sha256), path)
                drawn = run_untrusted(lab, path)
        except (ScanlabError, OSError, ValueError, KeyError) as error:
            return Picture(trouble=one_line(_first_line(error).replace(str(path), path.name), 200))
        if not drawn:
            return Picture(trouble="no kernel of it can be drawn")
        if len(drawn) > LARGEST:
            return Picture(trouble="it is too large")
        return Picture(svg=Markup(drawn))


def _first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return next(iter(str(error).splitlines()), "the tracer failed")
