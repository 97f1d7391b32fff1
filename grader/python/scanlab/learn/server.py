"""The page's server: for this machine alone, at an address with a secret in it, and with nothing but what a page needs.

Its threads see bytes that were published, and leave in a queue what was pressed; the loop's state is the loop's own.
"""

import queue
import re
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal, cast
from urllib.parse import unquote

from scanlab.paths import ROOT

HOST = "127.0.0.1"
ALIVE_EVERY = 10.0
"""Seconds; a page that hears nothing for longer connects anew, as after the machine slept."""
PATIENCE = 30.0
"""Seconds for a request, and for a page to take what it is sent."""
GOODBYE = 1.0
"""Seconds for the pages to hear that it is over."""
Pressed = Literal["next", "hint"]
PRESSED: dict[str, Pressed] = {"next": "next", "hint": "hint"}
PAGE = ROOT / "grader/learn_page"
FILES = {
    "": (PAGE / "index.html", "text/html"),
    "learn_page.js": (PAGE / "learn_page.js", "text/javascript"),
    "learn_page.css": (PAGE / "learn_page.css", "text/css"),
    "stepper.js": (ROOT / "grader/stepper/stepper.js", "text/javascript"),
    "stepper.css": (ROOT / "grader/stepper/stepper.css", "text/css"),
}
OF_THE_SITE = {
    ".html": "text/html",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
SCRIPT = re.compile(rb"<script\b.*?(?:</script\s*>|\Z)", re.DOTALL | re.IGNORECASE)
"""A handout is read without its theme's scripts, so that none at all may run in its frame. One that does not end takes
all that follows, as in a browser."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SITE_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)


class Server:
    """Serves one page until `close`."""

    def __init__(self, site: Path) -> None:
        """Listen on a free port. `site` is the folder of the handouts' site, built or not."""
        self.token = secrets.token_urlsafe(16)
        self.site = site
        self.pressed: queue.SimpleQueue[Pressed] = queue.SimpleQueue()
        self._news = threading.Condition()
        self._snapshot = (0, b"")
        self._steps = (0, b"")
        self._listeners = 0
        self._is_over = False
        self._http = _Http((HOST, 0), _Handler)
        self._http.page = self
        self.port: int = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.1,), name="page", daemon=True).start()

    @property
    def address(self) -> str:
        """Return where the page is."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def publish(self, snapshot: bytes) -> None:
        """Send JSON on one line to all pages, and to those that come later."""
        with self._news:
            self._snapshot = (self._snapshot[0] + 1, snapshot)
            self._news.notify_all()

    def publish_steps(self, number: int, steps: bytes) -> None:
        """Keep the stepper's data, which pages ask for by its number; the data before it goes."""
        with self._news:
            self._steps = (number, steps)

    def steps(self, number: str) -> bytes | None:
        """Return the stepper's data of that number; None when there is none, or none any more."""
        with self._news:
            return self._steps[1] if number == str(self._steps[0]) and self._steps[1] else None

    def events(self) -> Iterator[bytes]:
        """Yield server-sent events: the snapshot, each new one, signs of life, and the end."""
        with self._news:
            self._listeners += 1
        try:
            seen = 0
            while True:
                with self._news:
                    self._news.wait_for(lambda: self._is_over or self._snapshot[0] > seen, ALIVE_EVERY)  # noqa: B023
                    is_over, (newest, snapshot) = self._is_over, self._snapshot
                if newest > seen:
                    seen = newest
                    yield b"data: " + snapshot + b"\n\n"
                elif not is_over:
                    yield b"event: alive\ndata:\n\n"
                if is_over:
                    yield b"event: over\ndata:\n\n"
                    return
        finally:
            with self._news:
                self._listeners -= 1
                self._news.notify_all()

    def close(self) -> None:
        """Say goodbye to the pages, and end."""
        with self._news:
            self._is_over = True
            self._news.notify_all()
            self._news.wait_for(lambda: not self._listeners, GOODBYE)
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    page: Server

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a page that goes in the middle of an answer is no fault, and the terminal is the loop's."""


class _Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE

    @property
    def _page(self) -> Server:
        return cast(_Http, self.server).page

    def do_GET(self) -> None:
        name = self._name()
        if name is None:
            return
        if name in PRESSED:
            self.send_error(405)
        elif name == "events":
            self._events()
        elif name in FILES:
            path, kind = FILES[name]
            self._answer(200, kind, path.read_bytes())
        elif name.startswith("steps/") and (steps := self._page.steps(name.removeprefix("steps/"))):
            self._answer(200, "application/json", steps)
        elif name.startswith("handouts/") and (found := self._of_the_site(name.removeprefix("handouts/"))):
            self._answer(200, *found, SITE_POLICY)
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        name = self._name()
        if name is None:
            return
        # Browsers say with every such request which page sends it, and no page can change that.
        is_own = self.headers.get_all("Origin") == [f"http://{self.headers['Host']}"]
        if not is_own or self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            self.send_error(403)
        elif name not in PRESSED:
            self.send_error(404)
        else:
            self._page.pressed.put(PRESSED[name])
            self._answer(204, "text/plain", b"")

    def _refuse(self) -> None:
        if self._name() is not None:
            self.send_error(405)

    do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse  # noqa: N815

    def _name(self) -> str | None:
        """Return what is asked for, below the token; None when the request was refused."""
        token, slash, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(errors="replace"), self._page.token.encode()) or not slash:
            self.send_error(404)
            return None
        # A page of another machine may have its name lead here (DNS rebinding); its name is still in the request.
        if self.headers.get_all("Host") not in [[f"{host}:{self._page.port}"] for host in (HOST, "localhost")]:
            self.send_error(403)
            return None
        return unquote(name)

    def _of_the_site(self, name: str) -> tuple[str, bytes] | None:
        site = self._page.site.resolve()
        try:
            path = (site / name).resolve()
            kind = OF_THE_SITE.get(path.suffix)
            if kind is None or not path.is_relative_to(site):
                return None
            content = path.read_bytes()
        except (OSError, ValueError):  # ValueError: no path at all, such as one with a null character
            return None
        return kind, SCRIPT.sub(b"", content) if kind == "text/html" else content

    def _events(self) -> None:
        self._head(200, "text/event-stream", POLICY)
        for event in self._page.events():
            self.wfile.write(event)

    def _answer(self, status: int, kind: str, content: bytes, policy: str = POLICY) -> None:
        self._head(status, kind, policy, len(content))
        if self.command != "HEAD":
            self.wfile.write(content)

    def _head(self, status: int, kind: str, policy: str, length: int | None = None) -> None:
        self.send_response(status)
        is_text = kind.startswith("text/") or kind.endswith(("json", "xml"))
        headers = {
            "Content-Type": f"{kind}; charset=utf-8" if is_text else kind,
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        if length is not None:
            headers["Content-Length"] = str(length)
        for header, value in headers.items():
            self.send_header(header, value)
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer with a number and nothing else."""
        self.close_connection = True
        self._answer(code, "text/plain", b"" if code == 204 else f"{code}\n".encode())

    def version_string(self) -> str:
        """Return nothing of this Python."""
        return "scanlab"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing: the terminal is the loop's."""
