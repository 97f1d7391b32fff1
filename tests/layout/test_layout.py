"""Folders are small, names are unique, and the layers look one way."""

import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

GRADER = Path(__file__).resolve().parents[2] / "grader"
MOST_UNITS = 24
"""About 20: a unit is a header with its source."""
NAMESPACES = ("vgpu/ptx", "vgpu/core", "vgpu/checks", "vgpu/server", "autograder")
"""Folders whose headers a reader has in mind together: scanlab::ptx, vgpu, grade."""
LAYERS = ("ptx", "core", "checks")
"""Of vgpu/, the lowest first: the core knows no check, and the parser knows no engine."""
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def test_no_folder_is_too_large_to_be_seen() -> None:
    units: dict[Path, set[str]] = defaultdict(set)
    for path in GRADER.rglob("*"):
        if path.suffix in (".cpp", ".hpp", ".py") and "__pycache__" not in path.parts:
            units[path.parent].add(path.stem)
    assert len(units) > MOST_UNITS
    crowded = {
        str(folder.relative_to(GRADER)): len(names) for folder, names in units.items() if len(names) > MOST_UNITS
    }
    assert not crowded


@pytest.mark.parametrize("layer", LAYERS)
def test_no_layer_includes_a_higher_one(layer: str) -> None:
    above = [f"vgpu/{one}/" for one in (*LAYERS, "server")[LAYERS.index(layer) + 1 :]]
    files = [path for path in (GRADER / "vgpu" / layer).rglob("*") if path.suffix in (".cpp", ".hpp")]
    assert files
    wrong = [
        f"{path.relative_to(GRADER)} includes {name}"
        for path in files
        for name in INCLUDE.findall(path.read_text(encoding="utf-8"))
        if name.startswith((*above, "autograder/", "runner/", "cudart/"))
    ]
    assert not wrong


def test_no_name_stands_for_two_types(tmp_path: Path) -> None:
    """All headers compile as one translation unit."""
    headers = sorted(path for folder in NAMESPACES for path in (GRADER / folder).rglob("*.hpp"))
    assert len(headers) > 100
    made = tmp_path / "vgpu/core/contract.hpp"
    made.parent.mkdir(parents=True)
    subprocess.run([sys.executable, GRADER / "python/scanlab/contract.py", made], timeout=60, check=True)
    unit = tmp_path / "all.cpp"
    unit.write_text("".join(f'#include "{path.relative_to(GRADER)}"\n' for path in headers))
    compiler = shlex.split(os.environ.get("SCANLAB_CXX", "c++"))
    done = subprocess.run(
        [*compiler, "-std=c++20", "-fsyntax-only", f"-I{GRADER}", f"-I{tmp_path}", str(unit)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "error" in line)[:4000]


def test_every_folder_of_mutants_is_graded() -> None:
    folder = GRADER.parent / "tests/mutants"
    first_list = re.search(r"foreach folder : \[(.*?)\]", (folder / "meson.build").read_text(), re.DOTALL)
    assert first_list
    # What no check rejects yet waits in a folder of its own.
    there = {path.parent.name for pattern in ("*/*.diff", "*/*.cu") for path in folder.glob(pattern)} - {"pending"}
    assert set(re.findall(r"'(\w+)'", first_list[1])) == there
