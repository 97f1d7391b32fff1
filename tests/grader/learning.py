"""`watch 02 FILE --browser` over the stand-ins, and pages of made-up results without it."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from conftest import REPOSITORY, environment
from scanlab.handouts.site import MARK
from scanlab.judging.result import LabResult
from scanlab.labs.folders import all_labs
from scanlab.learn.progress import Progress
from scanlab.learn.screen import View
from scanlab.learn.server import Server
from scanlab.learn.snapshot import Aside, snapshot

PATIENCE = 30.0
LADDER = all_labs()
JUDGED = json.loads(Path(__file__).with_name("judged.json").read_text())
START = (
    "import sys; from pathlib import Path; from scanlab.learn import page; page.SITE = Path(sys.argv.pop(1)); "
    "from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
)
HANDOUT = "<!doctype html><html lang=en><title>Lab 02</title><h1>The handout</h1><script>alert(1)</script>"


def make_site(folder: Path) -> Path:
    """A site that was built just now: nothing has to be built while a test runs."""
    folder.mkdir()
    (folder / MARK).touch()
    (folder / "02_kogge_stone.html").write_text(HANDOUT)
    return folder


class Learning:
    """The loop in a process of its own, with pipes for a terminal."""

    def __init__(self, build: Path, folder: Path, text: str, **changes: str) -> None:
        self.file = folder / "mine.cu"
        self.file.write_text(text)
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, make_site(folder / "site"), "watch", "02", self.file, "--browser"],
            cwd=REPOSITORY,
            env=environment(build, DISPLAY="", WAYLAND_DISPLAY="", **changes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.shown = ""
        threading.Thread(target=self._read, daemon=True).start()
        self.address = self.until(r"page: (http://127\.0\.0\.1:\d+/[\w-]{20,}/)\n")

    def _read(self) -> None:
        assert self.process.stdout
        while text := self.process.stdout.readline():
            self.shown += text

    def until(self, pattern: str) -> str:
        """Wait until the terminal shows it, and return its first group, or all of it."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.shown)):
            assert time.monotonic() < end, f"{pattern!r} is not in:\n{self.shown}"
            assert self.process.poll() is None, self.shown
            time.sleep(0.02)
        return found[found.lastindex or 0]

    def quit(self) -> int:
        assert self.process.stdin
        self.process.stdin.write("q\n")
        self.process.stdin.flush()
        return self.process.wait(PATIENCE)

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


class Shown:
    """A page whose snapshots a test publishes itself."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(make_site(folder / "site"))
        self.file = folder / "mine.cu"
        self.text = "".join(f"// line {number}\n" for number in range(1, 61))
        self.aside = Aside(handout="handouts/02_kogge_stone.html")

    def show(self, **changes: Any) -> dict[str, Any]:
        """Publish lab 02 with changes to its view, which are the keywords."""
        self.file.write_text(self.text)
        lab = changes.pop("lab", LADDER[1])
        view = View(lab, self.file, LADDER, Progress(), **changes)
        data = snapshot(view, self.text.encode(), self.aside)
        self.server.publish(json.dumps(data).encode())
        return data


def result(cause: dict[str, Any] | None = None, **changes: Any) -> LabResult:
    """The judge's result of a real race, with changes; with a cause its first check has failed for that alone."""
    data = json.loads(json.dumps(JUDGED)) | changes
    if cause:
        data["checks"][0]["cause"] |= cause
        data["checks"][0]["findings"] = []
        data["findings"] = []
    return LabResult.model_validate_json(json.dumps(data))


def passed() -> LabResult:
    """A result in which all is right, and something was proved."""
    checks = [
        one | {"verdict": "pass", "points": one["max_points"], "cause": None, "findings": []}
        for one in JUDGED["checks"]
    ]
    checks[0]["proof"] = ["proved for n = 7: right for every input"]
    return result(verdict="pass", points=40, checks=checks, findings=[])


OUTPUTS = [
    {"i": i, "x": "1", "y": str(i), "expected": "7", "sum": "x0", "expected_sum": "x0 + x1", "is_wrong": i == 6}
    for i in range(4, 7)
]


def wrong(where: str) -> LabResult:
    """A wrong result, at line 23."""
    place = {"file": where, "line": 23, "kernel": "k", "block": [0, 0, 0], "thread": None}
    cause = {
        "id": "wrong.first",
        "actual": "y[6] = 6",
        "expected": "7",
        "where": place,
        "outputs": OUTPUTS,
        "details": [],
    }
    return result(cause)


def does_not_compile(where: str, line: str = "int oops") -> LabResult:
    """What nvcc says of a line."""
    place = {"file": where, "line": 3, "kernel": "", "block": None, "thread": None}
    details = [f"3 | {line}", "  |     ^", f'{where}(3): error: expected a ";"']
    cause = {"id": "compile", "rationale": "a semicolon is missing", "where": place, "details": details, "next": ""}
    return result(cause)
