"""Run all of the kit's own tests through Meson, and count them."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence

from scanlab.bootstrap.build import meson_command, ninja_command
from scanlab.bootstrap.console import SetupError
from scanlab.errors import KitError
from scanlab.paths import ROOT, build_folder
from scanlab.process import Interrupted

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}


def run_tests(suites: Sequence[str]) -> int:
    """Build and run the tests of `suites` (none: all), print the totals, and return 0 when none failed, else 1."""
    log = build_folder() / "meson-logs/testlog.json"
    log.unlink(missing_ok=True)
    try:
        command = [*meson_command(), "test", "-C", str(build_folder()), "--print-errorlogs"]
        environment = {**os.environ, "NINJA": ninja_command()}
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
    counts = Counter(json.loads(line)["result"] for line in log.read_text().splitlines()) if log.exists() else Counter()
    passed = sum(count for result, count in counts.items() if result in PASSED)
    skipped = sum(count for result, count in counts.items() if result in SKIPPED)
    failed = counts.total() - passed - skipped
    if counts.total() == 0:
        raise KitError(
            "no test was run" if code == 0 else f"the tests could not be built or started (exit code {code})"
        )
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 0 if code == 0 and failed == 0 else 1
