"""What is longer than the screen goes through `less`, where that is there; so does a handout, as text."""

import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scanlab.terminal import Line, rendered, text_of

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
    return rendered(map(text_of, lines), width)


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
    return rendered([Markdown(plain, hyperlinks=False)], min(WIDEST, shutil.get_terminal_size().columns))
