"""The loop: wait for a save or a key, check, show: in the terminal, and on a page where one was asked for.

A save is noticed by looking at the file ten times a second: that works wherever files do, on shared folders and in
containers too, and costs nothing for one file.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from scanlab.judging.report import Line
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab
from scanlab.learn import progress, screen
from scanlab.learn.keyboard import ENTER, Keyboard
from scanlab.learn.page import Page, has_browser
from scanlab.learn.screen import View
from scanlab.learn.work import Background, News, check
from scanlab.paths import ROOT, shown

LOOK_EVERY = 0.1
"""Seconds."""
SETTLE = 0.02
"""Seconds that an editor gets to finish what it writes."""
CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class Loop:
    """One learner at one terminal; `show` prints lines, and `page` is what a browser shows."""

    def __init__(
        self,
        ladder: Sequence[Lab],
        lab: Lab,
        path: Path,
        show: Callable[[Sequence[Line]], None],
        page: Page | None = None,
    ) -> None:
        self._show = show
        self._page = page
        self._is_terminal = sys.stdout.isatty()
        self._checker = Background(check)
        self._keyboard = Keyboard()
        self._began = 0.0
        self._text: bytes | None = None
        self._shown: list[Line] = []
        self._view = View(lab, path, ladder, progress.read(), page=page.address if page else "")
        self._keys: dict[str, Callable[[], None]] = {
            "h": self._hint,
            "t": self._trace,
            "o": self._handout,
            "l": self._list,
            "n": self._next,
            ENTER: self._next,
            "d": self._difference,
            "r": self._again,
        }

    def run(self) -> None:
        """Go on until the learner quits."""
        try:
            with self._keyboard.raw():
                self._look()
                self._draw()
                if self._page:
                    self._page.open()
                while (key := self._keyboard.key(LOOK_EVERY)) != "q":
                    if action := self._keys.get(key):
                        action()
                    changed = self._page is not None and self._take_of_page(self._page)
                    changed |= self._look()
                    for news in self._checker.news():
                        self._take(news)
                        changed = True
                    if key or changed:
                        self._draw()
        finally:
            self._checker.stop()
            if self._page:
                self._page.close()

    # --- what happens ----------------------------------------------------------------------------------------------

    def _look(self) -> bool:
        """Start a check where the file has changed. Returns whether it has."""
        text = self._read()
        if text == self._text:
            return False
        time.sleep(SETTLE)
        self._text = self._read()
        view = self._view
        view.result, view.note, view.trouble, view.is_whole = None, [], "", True
        self._checker.stop()
        if self._page:
            self._page.saved()
        if self._text is None:
            back = f"`grader/scanlab reset {view.lab.number}` brings the skeleton back"
            view.trouble = f"{shown(view.path)} is not there; {back}"
        elif not skeleton.untouched(self._text.decode(errors="replace")):
            view.is_whole = False
            self._began = time.monotonic()
            self._checker.start(view.lab.name, view.path)
        return True

    def _read(self) -> bytes | None:
        try:
            return self._view.path.read_bytes()
        except OSError:
            return None

    def _take(self, news: News) -> None:
        view = self._view
        view.is_whole = news.kind != "first"
        if news.kind == "fault":
            view.result, view.note, view.trouble = None, [], f"scanlab: {news.text}"
            return
        view.result = news.result
        view.seconds = time.monotonic() - self._began
        if news.kind == "whole" and view.path == view.lab.source and self._text is not None:
            view.progress = progress.record(view.lab, self._text, view.result)
        if news.kind == "whole" and self._page:
            self._page.checked(view)

    def _take_of_page(self, page: Page) -> bool:
        """Do what was pressed there. Returns whether there is anything new to show."""
        is_new = page.news()
        for pressed in page.pressed():
            is_new = True
            {"hint": self._hint, "next": self._next}[pressed]()
        return is_new

    def _go_to(self, lab: Lab) -> None:
        self._view = View(lab, lab.source, self._view.ladder, self._view.progress, page=self._view.page)
        self._text = None

    # --- keys ------------------------------------------------------------------------------------------------------

    def _hint(self) -> None:
        hints = self._view.lab.rubric.hint
        if not hints:
            self._view.note = [(f"no hints here; the handout is {self._view.lab.rubric.handout}", "")]
            return
        self._view.hints = min(self._view.hints + 1, len(hints))
        number = self._view.hints
        self._view.note = screen.hint(hints[number - 1].text)
        more = f"; h again says more (of {len(hints)})" if number < len(hints) else ""
        self._view.note += [("", ""), (f"hint {number}{more}", "dim")]

    def _list(self) -> None:
        if self._view.result is not None:
            self._view.note = screen.all_checks(self._view.result)

    def _difference(self) -> None:
        if self._view.has_passed and self._view.lab.solution.exists():
            self._view.note = screen.difference(self._view.lab, self._view.path)

    def _again(self) -> None:
        self._view.note = []

    def _next(self) -> None:
        self._again()
        if self._view.has_passed and (after := self._view.next_lab):
            self._go_to(after)

    def _trace(self) -> None:
        self._run_scanlab("trace", self._view.lab.number, str(self._view.path))

    def _handout(self) -> None:
        """Show the handout: the site's page where there is a browser, else its text."""
        lab = self._view.lab
        if has_browser():
            self._run_scanlab("handouts", "--open", lab.name)
            return
        try:
            self._view.note = [
                (line, "") for line in (ROOT / lab.rubric.handout).read_text(encoding="utf-8").splitlines()
            ]
        except OSError:
            self._view.note = [(f"there is no {lab.rubric.handout}", "")]

    def _run_scanlab(self, *words: str) -> None:
        command = [str(ROOT / "grader/scanlab"), *words]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False
        )
        self._view.note = [(line, "") for line in (done.stdout + done.stderr).splitlines()]

    # --- the screen ------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        view = self._view
        if self._page:
            self._page.show(view, self._text)
        lines = [*screen.head(view), *screen.body(view), ("", ""), screen.state(view), screen.keys(view)]
        if not self._is_terminal:
            if lines != self._shown:
                self._show(lines)
            self._shown = lines
            return
        height = shutil.get_terminal_size().lines
        if len(lines) > height and not view.note:  # what was asked for may scroll
            end = lines[-3:]
            lines = [*lines[: max(4, height - len(end) - 2)], ("…  (l shows all)", "dim"), *end]
        sys.stdout.write(CLEAR)
        sys.stdout.flush()
        self._show(lines)
