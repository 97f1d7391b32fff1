"""Skips tests that need what this machine lacks, with the line to type; `grader/scanlab test` installs it first."""

import pytest

from scanlab.on_demand import Extra


def skip_without(*extras: Extra) -> None:
    """Skip a test, or at the top of a module all of its tests, where one of `extras` is missing."""
    for extra in extras:
        if not extra.is_here():
            pytest.skip(f"no {extra.name} here; type: {extra.by_hand()}", allow_module_level=True)
