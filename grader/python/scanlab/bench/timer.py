"""The conversation with a timer program (grader/bench/timer.cu): a line each way."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from scanlab.process import end_group, start_group

START_LIMIT = 60.0
"""Seconds that a program may take until it reports its device: the first use of a GPU is slow."""
LINE_LIMIT = 1 << 20
SAID_LIMIT = 4096


class TimerError(Exception):
    """The program ended, or answered what no timer answers; the text says which."""


class NoAnswerError(TimerError):
    """The program did not answer in time."""


class Timer:
    """A running timer program, which waits for its next line. `device` is what it reported about the device."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the program.

        Raises TimerError or NoAnswerError when it does not begin as it should, OSError when it cannot be started.
        """
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the program)
        self._rest = b""
        self._process = start_group(command, subprocess.PIPE, subprocess.PIPE, self._said)
        try:
            self.device = self._answer(START_LIMIT)
        except BaseException:
            self.close()
            raise

    def ask(self, line: str, limit: float) -> dict[str, Any]:
        """Send one line and return the answer, for which the program has `limit` seconds.

        After an error the program is of no use any more; close it.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except OSError as error:
            raise TimerError(self._how_it_ended()) from error
        return self._answer(limit)

    def close(self) -> None:
        """End the program, whatever it does."""
        end_group(self._process)
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                with suppress(OSError):  # a line that is no longer read
                    stream.close()

    def _answer(self, limit: float) -> dict[str, Any]:
        line = self._line(time.monotonic() + limit, limit)
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("status"), str):
            raise TimerError(f"answered {line[:80].decode(errors='replace')!r}")
        return answer

    def _line(self, deadline: float, limit: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            readable, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise NoAnswerError(f"no end within {limit:.0f} s")
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise TimerError(self._how_it_ended())
            self._rest += data
            if len(self._rest) > LINE_LIMIT:
                raise TimerError("answered without end")
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def _how_it_ended(self) -> str:
        """Return how the program ended, with the last line that it said."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - SAID_LIMIT))
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        said = f": {lines[-1].strip()}" if lines else ""
        if code >= 0:
            return f"ended with exit code {code}{said}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        return f"was killed by {name}{said}"
