"""Makes the kit importable; the build folder is SCANLAB_BUILD's."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "grader/python"))
