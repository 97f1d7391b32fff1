"""The tools that the launcher found or built: nvcc, its folders, and the build's products."""

import json
from dataclasses import dataclass
from pathlib import Path

from scanlab.bootstrap import build
from scanlab.bootstrap.console import SetupError
from scanlab.errors import KitError
from scanlab.paths import build_folder, toolchain_file


@dataclass(frozen=True)
class Toolchain:
    """Where nvcc and CUDA's libraries are, and `identity`, a text that changes when nvcc does."""

    nvcc: Path
    release: tuple[int, int]
    libraries: tuple[Path, ...]
    identity: str

    @property
    def ptxas(self) -> Path | None:
        """Return the toolkit's assembler of PTX; None where it has none."""
        folders = (self.nvcc.parent, self.nvcc.resolve().parent)
        return next((folder / "ptxas" for folder in folders if (folder / "ptxas").is_file()), None)


def toolchain() -> Toolchain:
    """Return what the launcher recorded. Raises KitError when there is no nvcc, or the launcher has not run."""
    try:
        state = json.loads(toolchain_file().read_text())
        nvcc = Path(state["nvcc"])
        found = Toolchain(
            nvcc,
            (int(state["release"][0]), int(state["release"][1])),
            tuple(Path(folder) for folder in state["libraries"]),
            f"{nvcc} {state['mtime']} {state['release']}",
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise KitError("no nvcc is set up yet: start the command with grader/scanlab") from error
    if not nvcc.is_file():
        raise KitError(f"{nvcc} is gone: start the command again with grader/scanlab")
    return found


def product(name: str) -> Path:
    """Return the path of one of the build's products, which may be built now. Raises KitError when it is not there."""
    path = build_folder() / name
    try:
        if path.exists() or build.make_later(name):
            return path
    except SetupError as error:
        raise KitError(str(error)) from error
    raise KitError(f"{path} is not built: start the command with grader/scanlab")
