"""Makes the kit importable, and reports to Meson when a run had nothing to test with."""

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "grader/python"
sys.path[:0] = [str(PACKAGE), str(REPOSITORY / "tests")]
os.environ["PYTHONPATH"] = str(PACKAGE)

from chromium import browser  # noqa: F401
from needs import pytest_sessionfinish  # noqa: F401
