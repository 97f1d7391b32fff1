"""The one way to a terminal: whatever a name or a text holds, it cannot command it.

All that is printed goes through `harmless_output`; what the kit itself draws in colours through `console`.
"""

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from scanlab.foreign_text import HARMFUL, LOST

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

Line = "tuple[str, str] | Text"
"""A line and its style (rich's name of it, or an empty text), or a line of which every part has its own."""


class Harmless:
    """A text stream that writes `LOST` for whatever a terminal would obey; bytes (`buffer`) are written as they are."""

    def __init__(self, stream: TextIO) -> None:
        self.own = stream

    def write(self, text: str) -> int:
        """Write a text. Returns the number of its characters."""
        self.own.write(HARMFUL.sub(LOST, text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


@contextmanager
def harmless_output() -> Iterator[None]:
    """Make stdout and stderr harmless until the block ends."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (Harmless(stream) for stream in before)  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def console(stream: TextIO | None = None, **options: Any) -> "Console":
    """Return rich's console on a stream (stdout): its own colours and movements reach a terminal, no text's do."""
    from rich.console import Console, RenderableType
    from rich.segment import Segment

    class HarmlessConsole(Console):
        def render(self, renderable: RenderableType, *given: Any, **more: Any) -> Iterable[Segment]:
            for segment in super().render(renderable, *given, **more):
                own = bool(segment.control)
                yield segment if own else Segment(HARMFUL.sub(LOST, segment.text), segment.style)

    stream = stream or sys.stdout
    return HarmlessConsole(file=stream.own if isinstance(stream, Harmless) else stream, **options)


def rendered(parts: Iterable["RenderableType"], width: int) -> str:
    """Return what a terminal of so many columns gets to show the parts, one below the other."""
    sink = io.StringIO()
    made = console(sink, force_terminal=True, width=width, highlight=False)
    for part in parts:
        made.print(part)
    return sink.getvalue()


def text_of(line: Line) -> "Text":
    """Return a line as rich has it."""
    from rich.text import Text

    return Text(line[0], style=line[1]) if isinstance(line, tuple) else line


def print_styled(lines: Sequence[Line]) -> None:
    """Print lines, whose styles only a terminal shows."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        print("\n".join(line[0] if isinstance(line, tuple) else line.plain.rstrip() for line in lines), flush=True)
        return
    styled = console(highlight=False, soft_wrap=True)
    for line in lines:
        styled.print(text_of(line))
