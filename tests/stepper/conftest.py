"""Makes the kit importable, and reports to Meson when a run had nothing to test with."""

import os
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "grader/python"
sys.path[:0] = [str(PACKAGE), str(REPOSITORY / "tests")]
os.environ["PYTHONPATH"] = str(PACKAGE)

MESON_SKIP = 77


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus in (0, 5) and reporter and reporter.stats.get("skipped") and not reporter.stats.get("passed"):
        session.exitstatus = MESON_SKIP
