"""Made-up classes, and the command line over the real kit or over stand-ins for nvcc and the judge."""

import importlib.util
import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "grader/python"
sys.path[:0] = [str(PACKAGE), str(REPOSITORY / "tests"), str(Path(__file__).resolve().parent)]
os.environ.setdefault("SCANLAB_NO_SETUP", "1")

_spec = importlib.util.spec_from_file_location("stand_ins", REPOSITORY / "tests/grader/conftest.py")
assert _spec
assert _spec.loader
_stand_ins = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_stand_ins)
fake_build, scanlab = _stand_ins.fake_build, _stand_ins.scanlab
environment = _stand_ins.environment
_plain_command_line = _stand_ins.command_line


def command_line(*words: str | Path) -> list[str]:
    """Return the command; what stands in for nvcc and the judge is not made for the sandbox."""
    is_class = words[:1] == ("grade",) and "--out" in words
    return _plain_command_line(*words, *(["--no-sandbox"] if is_class else []))


_stand_ins.command_line = command_line
