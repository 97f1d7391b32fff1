"""Skips tests that need what this machine lacks, with the line to type; `grader/scanlab test` installs it first."""

import pytest

from scanlab.on_demand import Extra

MESON_SKIP = 77


def skip_without(*extras: Extra) -> None:
    """Skip a test, or at the top of a module all of its tests, where one of `extras` is missing."""
    for extra in extras:
        if not extra.is_here():
            pytest.skip(f"no {extra.name} here; type: {extra.by_hand()}", allow_module_level=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Report to Meson when a run had nothing to test with: for conftest.py, which imports it."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus in (0, 5) and reporter and reporter.stats.get("skipped") and not reporter.stats.get("passed"):
        session.exitstatus = MESON_SKIP
