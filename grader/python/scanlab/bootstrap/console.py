"""What the set-up says, and how it runs other programs."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scanlab.paths import STATE

LOG = STATE / "setup.log"
TAIL_LINES = 25


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to type. Exit code 3."""


def say(text: str) -> None:
    """Print one line of progress on stderr."""
    print(f"scanlab: {text}", file=sys.stderr, flush=True)


def succeeds(command: Sequence[str], timeout: float = 30) -> bool:
    """Return whether `command` exists and exits with 0 within `timeout` seconds; its output is dropped."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def run_step(
    command: Sequence[str], what: str, *, live: bool = False, cwd: Path | None = None, timeout: float = 1800
) -> None:
    """Run one step of the set-up.

    `live` lets it draw its own progress when stderr is a terminal. Otherwise the output goes to the log, and its last
    lines are shown if the step fails.

    Raises SetupError when the program is missing, fails or outlasts `timeout` seconds.
    """
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    LOG.parent.mkdir(parents=True, exist_ok=True)
    try:
        if live and sys.stderr.isatty():
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=sys.stderr, cwd=cwd, env=environment, timeout=timeout
            ).returncode
            tail = ""
        else:
            with LOG.open("a+b") as log:
                start = log.seek(0, os.SEEK_END)
                log.write(f"\n$ {' '.join(command)}\n".encode())
                log.flush()
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=cwd,
                    env=environment,
                    timeout=timeout,
                ).returncode
                log.seek(start)
                text = log.read().decode(errors="replace")
            tail = "\n".join(text.strip().splitlines()[-TAIL_LINES:])
    except FileNotFoundError as error:
        raise SetupError(f"{what} failed: {command[0]} is not there") from error
    except subprocess.TimeoutExpired as error:
        raise SetupError(f"{what} did not end within {timeout:.0f} s") from error
    if code != 0:
        shown = f"{tail}\n" if tail else ""
        raise SetupError(f"{shown}{what} failed (exit code {code}); the whole output is in {LOG}")


@contextmanager
def alone() -> Iterator[None]:
    """Keep a second set-up waiting until this one is through."""
    STATE.mkdir(exist_ok=True)
    with (STATE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another scanlab is setting up; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
