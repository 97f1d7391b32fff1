"""What editors with clangd read of CUDA files: `.scanlab/compile_commands.json`, which `.clangd` names.

Clang 14 (Debian 12's) to 22 report no error in a lab with these arguments. All include two headers that a toolkit may
lack; `grader/editor` has empty ones.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from scanlab import files
from scanlab.paths import LABS, ROOT, SOLUTIONS, STATE

DATABASE = STATE / "compile_commands.json"
SHIM = "grader/editor"
ARGUMENTS = (
    "clang++", "-x", "cuda", "-std=c++17",
    # The host's half of a file alone has what both have, device code too, and no call of the other half's own.
    "--cuda-host-only", "--cuda-gpu-arch=sm_80",
    "-nocudalib",  # a wheel may lack the library of device functions, and nothing is linked
    "-Wno-unknown-cuda-version",
    "-Xclang", "-fcuda-allow-variadic-functions",  # <cuda/…> and <cub/…> declare some
)  # fmt: skip
USUAL = Path("/usr/lib/cuda")
"""Where Debian's own package has links to its toolkit, whose parts lie apart."""


def write(tools: Mapping[str, object]) -> None:
    """Write the database for the nvcc that toolchain.json names, unless it says so already.

    An editor's file is worth no failure: where none can be written there is none.
    """
    text = database(tools)
    with suppress(OSError, UnicodeDecodeError):
        if DATABASE.exists() and DATABASE.read_text(encoding="utf-8") == text:
            return
    with suppress(OSError):
        STATE.mkdir(exist_ok=True)
        files.replace(DATABASE, text)


def database(tools: Mapping[str, object]) -> str:
    """Return the text: one entry for each lab's file and solution that is there. The others go by the nearest."""
    arguments = [*ARGUMENTS, *_of_toolkit(_toolkit(tools)), "-idirafter", SHIM, "-I", LABS.relative_to(ROOT).as_posix()]
    sources = [path for folder in (LABS, SOLUTIONS) for path in sorted(folder.glob("*/scan.cu"))]
    return json.dumps([_entry(path.relative_to(ROOT).as_posix(), arguments) for path in sources], indent=1) + "\n"


def _entry(name: str, arguments: Sequence[str]) -> dict[str, object]:
    return {"directory": str(ROOT), "file": name, "arguments": [*arguments, "-c", name]}


def _toolkit(tools: Mapping[str, object]) -> Path | None:
    """Return the folder that clang takes for a toolkit, with `bin` and `include` in it; None where there is none."""
    nvcc, includes = Path(str(tools.get("nvcc", ""))), tools.get("includes")
    folders = [Path(str(folder)) for folder in includes] if isinstance(includes, list) else []
    # Headers lie in TOOLKIT/include or TOOLKIT/targets/NAME/include; nvcc may be a link, or a script that calls it.
    tops: Iterable[Path] = (
        nvcc.resolve().parents[1] if nvcc.is_absolute() else USUAL,
        *(top for folder in folders for top in folder.parents[:3]),
        USUAL,
    )
    # /usr itself would put the system's headers before C++'s own.
    usable = (top for top in tops if top != Path("/usr") and (top / "include/cuda_runtime.h").is_file())
    return next((top for top in usable if (top / "bin").is_dir()), None)


def _of_toolkit(toolkit: Path | None) -> list[str]:
    if toolkit is None:
        return []
    libraries = toolkit / "include/cccl"  # of CUDA 13: libcu++, CUB and Thrust; before, they lay in include itself
    return [f"--cuda-path={toolkit}", *(("-isystem", str(libraries)) if libraries.is_dir() else ())]
