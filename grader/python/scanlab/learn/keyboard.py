"""Keys as they are pressed, on a terminal; elsewhere the first letter of each line."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import termios
    import tty
except ImportError:  # a system without them has no such terminal
    termios = None  # type: ignore[assignment]

ENTER = "\n"
END = "q"
"""What the end of the input means."""


class Keyboard:
    """Reads stdin, of which nothing else reads meanwhile."""

    def __init__(self) -> None:
        self._is_terminal = termios is not None and sys.stdin.isatty()
        self._left = b""

    @contextmanager
    def raw(self) -> Iterator[None]:
        """Take single keys, which the terminal does not show, until the block ends."""
        if not self._is_terminal:
            yield
            return
        before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        try:
            yield
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)

    def key(self, seconds: float) -> str:
        """Return a key that is pressed within these seconds, in lower case; an empty text where none is."""
        if not self._left:
            if not select.select([sys.stdin], [], [], seconds)[0]:
                return ""
            self._left = os.read(sys.stdin.fileno(), 1024)
            if not self._left:
                return END
        if self._is_terminal:
            pressed, self._left = self._left, b""
            return pressed.decode(errors="replace")[:1].lower().replace("\r", ENTER)
        line, _, self._left = self._left.partition(b"\n")
        return line.decode(errors="replace").strip()[:1].lower() or ENTER

    def forget(self) -> None:
        """Forget what was pressed while nothing read it."""
        if self._is_terminal:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
