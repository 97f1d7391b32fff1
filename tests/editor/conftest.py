"""Makes the kit importable; the build folder is SCANLAB_BUILD's."""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "grader/python"))
