"""Run all of the kit's own tests through Meson, and count them."""

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from scanlab.bootstrap.build import meson_command, ninja_command
from scanlab.bootstrap.console import SetupError
from scanlab.errors import KitError
from scanlab.on_demand import provide_for_tests
from scanlab.paths import ROOT, build_folder
from scanlab.process import Interrupted

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}
SKIP_LINE = re.compile(r"^(?:SKIPPED \[\d+\] [^\n]*?:\d+: |not run: )([^\n]*)", re.MULTILINE)


def run_tests(suites: Sequence[str]) -> int:
    """Build and run the tests of `suites` (none: all), print the totals, and return 0 when none failed, else 1."""
    provide_for_tests()
    log = build_folder() / "meson-logs/testlog.json"
    log.unlink(missing_ok=True)
    try:
        command = [*meson_command(), "test", "-C", str(build_folder()), "--print-errorlogs"]
        # Several tests wait for most of their time: with one more than there are cores, none of these idles.
        tests = str((os.cpu_count() or 1) + 1)
        environment = {"MESON_TESTTHREADS": tests, **os.environ, "NINJA": ninja_command()}
    except SetupError as error:
        raise KitError(str(error)) from error
    for suite in suites:
        command += ["--suite", suite]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment)
    try:
        code = process.wait()
    except Interrupted:
        process.send_signal(signal.SIGTERM)  # Meson ends the tests that run
        process.wait(20)
        raise
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    counts = Counter(result["result"] for result in results)
    passed = sum(count for result, count in counts.items() if result in PASSED)
    skipped = sum(count for result, count in counts.items() if result in SKIPPED)
    failed = counts.total() - passed - skipped
    if counts.total() == 0:
        raise KitError(
            "no test was run" if code == 0 else f"the tests could not be built or started (exit code {code})"
        )
    for line in skips(results):
        print(f"skipped: {line}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 0 if code == 0 and failed == 0 else 1


def skips(results: Iterable[Mapping[str, str]]) -> list[str]:
    """Return what was skipped and why, a line each: whole tests, and parts of tests that else had something to run.

    `results` are the lines of Meson's testlog.json. pytest names the cases that it skips with -rs; other tests begin
    such a line with "not run:".
    """
    lines = []
    for result in results:
        found = SKIP_LINE.findall(result.get("stdout", ""))
        if result["result"] in SKIPPED and not found:
            found = ["it does not say why"]
        lines += [f"{_own_name(result['name'])}: {reason}" for reason in dict.fromkeys(found)]
    return lines


def _own_name(name: str) -> str:
    """Return a test's name without its suites and the project, which Meson puts before it."""
    before, _, own = name.partition(":")
    return own if " - " in before else name
