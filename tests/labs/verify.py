"""Run `grader/scanlab verify` on every lab, under the Python that runs this file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "grader/python"))

from scanlab.cli import main

sys.exit(main(["verify"]))
