"""Chromium for the tests of pages: a conftest.py imports it, and a module asks `needs.skip_without` for Playwright."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from scanlab.on_demand import CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright import sync_api as playwright

    with playwright.sync_playwright() as started:
        # Chromium's own sandbox needs what a container's root does not have; the pages are the tests' own.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        program = next(filter(None, map(shutil.which, CHROMIUM.programs)))
        try:
            launched = started.chromium.launch(executable_path=program, args=arguments, timeout=60_000)
        except playwright.Error as error:
            pytest.skip(f"Chromium does not start here: {str(error).splitlines()[0]}")
        yield launched
        launched.close()
