"""How compiling a file can fail by the file's own doing, or be refused."""

from pathlib import Path

from scanlab.errors import WorkError
from scanlab.paths import shown


class CompileError(WorkError):
    """The learner's file does not compile; the text is nvcc's own."""

    what = "does not compile"
    check = "the file compiles"
    """What has failed, as a check is called."""

    def __init__(self, text: str, doubtful: str | None = None) -> None:
        """Make one; where it may be the machine's fault (machine.py), `doubtful` has what the compiler said."""
        super().__init__(text)
        self.doubtful = doubtful

    def with_text(self, text: str) -> "CompileError":
        """Return the same error with another text."""
        return type(self)(text, self.doubtful)


class CompileTimeoutError(CompileError):
    """Compiling it takes longer than it may."""

    what = "does not compile in time"


class RefusedError(CompileError):
    """It has what no file may have, whether or not it compiles: in this line, or 0 where that is not known."""

    what = "is refused"
    check = "the file has nothing that the grader refuses"

    def __init__(self, path: Path, line: int, sentence: str) -> None:
        """Make one whose text has the place and why."""
        super().__init__(f"{shown(path)}:{line}: {sentence}" if line else f"{shown(path)}: {sentence}")
        self.line, self.sentence = line, sentence


class ForbiddenHeaderError(RefusedError):
    """It uses a library that does what the lab asks for."""

    what = "uses a ready-made scan"
    check = "the scan is not a library's"


class TooLargeError(RefusedError):
    """It becomes more code than the virtual GPU takes."""

    what = "becomes too much code"
    check = "the code fits into the virtual GPU"


class LinkError(CompileError):
    """It compiles, and uses something that is nowhere defined; the text is the linker's."""

    what = "does not link"
