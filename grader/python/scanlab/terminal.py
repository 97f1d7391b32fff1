"""The one way to a terminal: whatever a name or a text holds, it cannot command it.

All that is printed goes through `harmless_output`; what the kit itself draws in colours through `console`.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from scanlab.foreign_text import HARMFUL, LOST

if TYPE_CHECKING:
    from rich.console import Console


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


def console(*, stderr: bool = False, **options: Any) -> "Console":
    """Return rich's console on stdout or stderr: its own colours and movements reach a terminal, no text's do."""
    from rich.console import Console, RenderableType
    from rich.segment import Segment

    class HarmlessConsole(Console):
        def render(self, renderable: RenderableType, *given: Any, **more: Any) -> Iterable[Segment]:
            for segment in super().render(renderable, *given, **more):
                own = bool(segment.control)
                yield segment if own else Segment(HARMFUL.sub(LOST, segment.text), segment.style)

    stream: Any = sys.stderr if stderr else sys.stdout
    return HarmlessConsole(file=stream.own if isinstance(stream, Harmless) else stream, **options)


def print_styled(lines: Sequence[tuple[str, str]]) -> None:
    """Print lines, each with its style (rich's name of it, or an empty text), which only a terminal shows."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        print("\n".join(text for text, _ in lines), flush=True)
        return
    from rich.text import Text

    styled = console(highlight=False, soft_wrap=True)
    for text, style in lines:
        styled.print(Text(text, style=style))
