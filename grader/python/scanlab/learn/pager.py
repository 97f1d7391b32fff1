"""What is longer than the screen goes through `less`, where that is there; so does a handout, as text."""

import io
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scanlab.foreign_text import HARMFUL, LOST
from scanlab.judging.report import Line

LESS = "less"
WIDEST = 100
"""Columns of a handout: longer lines are hard to read."""
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ANSWER = re.compile(r"<details>.*?</details>", re.DOTALL)
DIRECTIVE = re.compile(r"^```\{(?P<name>[a-z]+)\} ?(?P<of>[^\n]*)\n.*?^```$", re.DOTALL | re.MULTILINE)
CLOSED = "*(an answer: it opens in the browser, `grader/scanlab handouts --open`)*"


def show(text: str) -> bool:
    """Show a text until the learner has read it. Returns whether there is a pager for it."""
    less = shutil.which(LESS)
    if less is None or not text:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # less has a use for it
    try:
        subprocess.run([less, "-R", "-P", "q: back"], input=text.encode(), check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    return True


def text(lines: Sequence[Line], width: int) -> str:
    """Return lines as a terminal shows them, with their styles; nothing in them can command it."""
    from rich.text import Text

    styled = [Text(HARMFUL.sub(LOST, line), style=style) for line, style in lines]
    return _rendered(styled, width)


def handout(path: Path) -> str:
    """Return a handout as text: without its answers, and with the names of its programs and pictures in their places.

    An empty text where there is none.
    """
    from rich.markdown import Markdown

    try:
        source = path.read_text(encoding="utf-8")
    except OSError:
        return ""
    plain = DIRECTIVE.sub(r"*(\g<name>: \g<of>)*", ANSWER.sub(CLOSED, COMMENT.sub("", source)))
    return _rendered([Markdown(plain, hyperlinks=False)], min(WIDEST, shutil.get_terminal_size().columns))


def _rendered(parts: Sequence[object], width: int) -> str:
    from rich.console import Console

    sink = io.StringIO()
    made = Console(file=sink, force_terminal=True, width=width, highlight=False)
    for part in parts:
        made.print(part)
    return sink.getvalue()
