"""The loop: wait for a save or a key, check, show: in the terminal, and on a page where one was asked for.

A save is noticed by looking at the file ten times a second: that works wherever files do, on shared folders and in
containers too, and costs nothing for one file.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from scanlab.judging.report import Line
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab
from scanlab.learn import pager, progress, screen
from scanlab.learn.keyboard import ENTER, Keyboard
from scanlab.learn.page import Page, has_browser
from scanlab.learn.screen import View
from scanlab.learn.work import Background, News, check
from scanlab.paths import ROOT, shown
from scanlab.terminal import console

LOOK_EVERY = 0.1
"""Seconds."""
SETTLE = 0.02
"""Seconds that an editor gets to finish what it writes."""
LONG = 5
"""Seconds, after which a check says for how long it has been going on."""


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
            ENTER: self._enter,
            "d": self._difference,
            "b": self._back,
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
                    action = self._keys.get(key)
                    if action:
                        action()
                    changed = action is not None or self._waits()
                    changed |= self._page is not None and self._take_of_page(self._page)
                    changed |= self._look()
                    for news in self._checker.news():
                        self._take(news)
                        changed = True
                    if changed:
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
        is_first, self._text = self._text is None, self._read()
        view = self._view
        view.before = view.result or view.before
        view.result, view.note, view.trouble, view.is_whole, view.waited = None, [], "", True, 0
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
        elif not is_first:
            view.note = [*screen.task(view.lab, view.path), ("", "")]
            view.note += [("not checked: between the marked lines there are only comments", "yellow")]
        return True

    def _waits(self) -> bool:
        """Return whether a check has gone on for another second, and it shows how long."""
        waited = 0 if self._view.is_whole else int(time.monotonic() - self._began)
        if waited < LONG or waited == self._view.waited:
            return False
        self._view.waited = waited
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
            self._view.note = [(f"no hints here; the handout is {self._view.lab.handout or 'not written yet'}", "")]
            return
        self._view.hints = min(self._view.hints + 1, len(hints))
        number = self._view.hints
        self._view.note = screen.hint(hints[number - 1].text)
        more = f", h again says more (of {len(hints)})" if number < len(hints) else ", the last"
        self._view.note += [("", ""), (f"hint {number}{more}", "dim")]

    def _list(self) -> None:
        result = self._view.result
        self._view.note = screen.all_checks(result) if result else [("nothing is checked yet", "")]

    def _difference(self) -> None:
        view = self._view
        if not view.has_passed:
            view.note = [("pass first: then d compares your file with the solution", "")]
        elif view.lab.solution.exists():
            view.note = screen.difference(view.lab, view.path)
        else:
            view.note = [("this copy of the kit has no solutions", "")]

    def _back(self) -> None:
        self._view.note = []

    def _enter(self) -> None:
        if self._view.note:
            self._back()
        elif self._view.has_passed:
            self._next()

    def _next(self) -> None:
        self._back()
        if not self._view.has_passed:
            self._view.note = [
                ("pass first: then n goes on to the next lab; `grader/scanlab learn 05` goes to any", "")
            ]
        elif after := self._view.next_lab:
            self._go_to(after)

    def _trace(self) -> None:
        self._run_scanlab("tracing your kernel …", "trace", self._view.lab.number, str(self._view.path))

    def _handout(self) -> None:
        """Show the handout: the site's page where there is a browser, else its text."""
        lab = self._view.lab
        if not lab.handout:
            self._view.note = [("this lab has no handout yet", "")]
        elif has_browser():
            self._run_scanlab("making the site …", "handouts", "--open", lab.name)
        elif not self._is_terminal or not pager.show(pager.handout(ROOT / lab.handout)):
            self._view.note = [(f"the handout is {lab.handout}", "")]

    def _run_scanlab(self, meanwhile: str, *words: str) -> None:
        if self._is_terminal:
            self._view.note = [(meanwhile, "cyan")]
            self._draw()
        columns = {"COLUMNS": str(shutil.get_terminal_size().columns)}
        done = subprocess.run(
            [str(ROOT / "grader/scanlab"), *words],
            env={**os.environ, **columns},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        self._view.note = [(line, "") for line in done.stdout.decode(errors="replace").splitlines()]
        self._keyboard.forget()

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
        width, height = shutil.get_terminal_size()
        if len(screen.fitted(lines, width)) >= height and view.note and pager.show(pager.text(view.note, width)):
            view.note = []
            lines = [*screen.head(view), *screen.body(view), ("", ""), screen.state(view), screen.keys(view)]
        end = screen.fitted(lines[-2:], width)
        lines = screen.fitted(lines[:-2], width)
        if len(lines) + len(end) >= height and not view.note:
            lines = [*lines[: max(4, height - len(end) - 2)], ("…  (l shows all)", "dim")]
        console().clear()
        self._show([*lines, *end])
