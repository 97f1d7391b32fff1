"""The page beside the terminal: publishes what the loop shows, and has made in the background what it needs besides."""

import json
import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from scanlab.handouts.site import DEFAULT as SITE
from scanlab.handouts.site import MARK, SOURCE
from scanlab.learn import work
from scanlab.learn.screen import View
from scanlab.learn.server import Pressed, Server
from scanlab.learn.snapshot import Aside, snapshot
from scanlab.learn.work import Background
from scanlab.on_demand import HANDOUTS
from scanlab.paths import ROOT

COMPILE = "compile"
"""The cause of a file that does not compile."""


class Page:
    """What the loop has of it; all is called by the loop's own thread."""

    def __init__(self) -> None:
        self._site = SITE
        self._has_site = (self._site / MARK).is_file()
        self._server = Server(self._site)
        self._tracer = Background(work.trace)
        self._builder = Background(work.site)
        self._aside = Aside()
        self._steps = 0
        self._shown: bytes = b""
        if not _is_new(self._site) and HANDOUTS.is_here():
            self._builder.start("", self._site)

    @property
    def address(self) -> str:
        """Return where it is."""
        return self._server.address

    def open(self) -> None:
        """Show it in a browser, where there is one that needs no terminal."""
        if has_browser():  # in a thread: some of them return only when they are closed
            threading.Thread(target=webbrowser.open, args=(self.address,), daemon=True).start()

    def pressed(self) -> Iterator[Pressed]:
        """Yield what was pressed on it."""
        while not self._server.pressed.empty():
            yield self._server.pressed.get()

    def saved(self) -> None:
        """End what is made of a version of the file that is no longer there."""
        self._tracer.stop()
        self._aside = replace(self._aside, steps=0, is_tracing=False, why_no_steps="")

    def checked(self, view: View) -> None:
        """Begin to trace a version of the file that was checked."""
        result = view.result
        if result and any(check.failure and check.failure.id == COMPILE for check in result.checks):
            self._aside = replace(
                self._aside, why_no_steps="It does not compile yet: there is nothing to step through."
            )
            return
        self._tracer.start(view.lab.name, view.path)
        self._aside = replace(self._aside, is_tracing=True)

    def news(self) -> bool:
        """Take what has been made. Returns whether anything has."""
        is_new = False
        for news in self._tracer.news():
            is_new = True
            if news.kind == "whole":
                self._steps += 1
                self._server.publish_steps(self._steps, news.text.encode())
                self._aside = replace(self._aside, steps=self._steps, is_tracing=False)
            else:
                why = (news.text.strip().splitlines() or ["nothing was traced"])[0]
                self._aside = replace(self._aside, is_tracing=False, why_no_steps=f"No steps can be shown: {why}")
        for _ in self._builder.news():  # where it has failed, what was there is shown on
            is_new, self._has_site = True, (self._site / MARK).is_file()
        return is_new

    def show(self, view: View, text: bytes | None) -> None:
        """Publish what is to be seen, where that has changed."""
        name = f"{view.lab.name}.html"
        has_page = self._has_site and (self._site / name).is_file()
        aside = replace(
            self._aside,
            handout=f"handouts/{name}" if has_page else "",
            handout_text="" if has_page or not view.lab.handout else _text(ROOT / view.lab.handout),
        )
        data = json.dumps(snapshot(view, text, aside), ensure_ascii=False, separators=(",", ":")).encode(
            errors="replace"
        )
        if data != self._shown:
            self._shown = data
            self._server.publish(data)

    def close(self) -> None:
        """End it, and all that it has started."""
        self._server.close()
        self._tracer.stop()
        self._builder.stop()


def has_browser() -> bool:
    """Return whether a browser can be opened beside this terminal, not in it."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _is_new(site: Path) -> bool:
    """Return whether the site has been built since a handout was changed last."""
    try:
        built = (site / MARK).stat().st_mtime
        return all(path.stat().st_mtime <= built for path in SOURCE.glob("*.md"))
    except OSError:
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
