"""Stand-ins for programs and libraries of the kit, written where a test wants them."""

import subprocess
import sys
import textwrap
from pathlib import Path


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
