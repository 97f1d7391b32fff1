"""Stand-ins for programs and libraries of the kit, written where a test wants them."""

import subprocess
import sys
import textwrap
from pathlib import Path

RESULT_OF = """
    def result_of(plan, verdict, cause):
        checks = [{
            "name": check["name"], "title": check["title"], "verdict": verdict,
            "points": check["points"] if verdict == "pass" else 0, "max_points": check["points"], "not_run_points": 0,
            "cause": cause, "counts": None, "limits": None, "times": None, "seconds": 0.25, "output_hash": None,
            "findings": [], "findings_total": 0,
        } for check in plan["checks"]]
        return {"schema": "scanlab-checks", "version": 1, "device": "a stand-in", "checks": checks}
"""
"""For a stand-in of the judge: each check of a plan ends in the same way."""


def write_program(path: Path, text: str) -> None:
    """Write a Python program that can be started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(text)}")
    path.chmod(0o755)


def write_archive(path: Path, code: str) -> None:
    """Write a static library of one C++ file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    compiled = path.with_suffix(".o")
    subprocess.run(["g++", "-x", "c++", "-c", "-", "-o", compiled], input=code.encode(), check=True)
    subprocess.run(["ar", "rcs", path, compiled], check=True)
