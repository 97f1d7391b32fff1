"""How a file is compiled, and the names in the cache of the object that comes of it.

An object is kept under the hash of what it was made from: the file's name and text, nvcc and the flags, and the names
and texts of the headers that it included, which a list of their own, under the hash of the rest, names.

What was compiled in the sandbox is kept apart from what was not: outside of it a file may have included anything. In
the sandbox every file has the same name, so its path does not matter: equal texts share one object.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab.bootstrap.cuda import PTX_FLAGS
from scanlab.contract import Device
from scanlab.errors import UsageError, WorkError
from scanlab.judging import driver, own_names, sandbox
from scanlab.judging.compiler import cache
from scanlab.judging.toolchain import toolchain
from scanlab.paths import LABS, ROOT, shown

SANDBOXED_SOURCE = Path("/submission/scan.cu")
"""What each file is called in the sandbox."""
LIST = ".headers.json"
"""How the list of an object's headers ends."""
SAID = "said.txt"
"""What nvcc has said of an object: its warnings."""
NO_HALVES = "-DCCCL_DISABLE_FP16_SUPPORT"
"""libcu++ without its interfaces to 16-bit floats: nvcc takes a fifth less time for a file with <cuda/atomic>."""
ATOMIC = re.compile(rb"<cuda/atomic>")
HALVES = re.compile(rb"__half|bfloat16|fp16|bf16|mma|cub/|thrust/|cuda/std/")
"""A file that has one of these may need them: CUB does not compile without."""
ELEMENT_HEADER = str(LABS / "scanlab.cuh")
ELEMENT_FLAGS = {
    "float": (NO_HALVES,),
    "affine": (NO_HALVES, "-DSCANLAB_ELEMENT_AFFINE", "-include", ELEMENT_HEADER),
    # The same element, by name: what the virtual GPU's grades are of. No macro says so, and the header comes first, so
    # that no macro of a file's changes it: a file cannot ask.
    "provenance": (NO_HALVES, "-DSCANLAB_ELEMENT_AFFINE", "-I", str(own_names.BY_NAME), "-include", ELEMENT_HEADER),
}
RUNNERS = {"float": "float", "affine": "affine", "provenance": "affine"}
"""The runner that each is linked with: it knows the size of an element and nothing else of it."""
DEVICE_FLAGS = {"vgpu": PTX_FLAGS, "gpu": ("-arch=native", "-lineinfo", "-cudart", "static")}
HOST_LINES = ("-Xcompiler=-g1,-gdwarf-4",)
"""The lines of host code: `run --check` names them."""
ASSEMBLED_FOR = f"sm_{PTX_FLAGS[1].rpartition('_')[2]}"
"""The architecture of the PTX that the virtual GPU runs, as ptxas calls it: sm_80."""
OLD_NAMES = re.compile(rb"\bcudaThread(Synchronize|Exit|[GS]etLimit|[GS]etCacheConfig)\b")
"""Functions that older textbooks use and that the headers of CUDA 13 no longer declare; OLD_NAMES_HEADER does."""
OLD_NAMES_HEADER = ROOT / "grader/cudart/old_names.cuh"
NO_OLD_NAMES = (13, 0)


@dataclass(frozen=True)
class Source:
    """One file to compile, and with which extra flags."""

    path: Path
    flags: tuple[str, ...] = ()


def read_source(path: Path) -> bytes:
    """Return the text of a file that is to be compiled.

    Raises UsageError or WorkError, one clear line, for a file that is missing, unreadable, empty, a folder, or not
    UTF-8.
    """
    name = shown(path)
    if path.is_dir():
        raise UsageError(f"{name} is a folder; name a file in it")
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"{name} does not exist") from error
    except OSError as error:
        raise WorkError(f"{name}: cannot read it: {error.strerror}") from error
    if not text.strip():
        raise WorkError(f"{name} is empty; `grader/scanlab reset LAB` brings a lab's skeleton back")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise WorkError(
            f"{name}:{line}: not UTF-8 text (byte {text[error.start]:#04x}); save the file as UTF-8"
        ) from error
    return text


@dataclass(frozen=True)
class Recipe:
    """How a file is compiled, and the hash of that."""

    name: str
    cwd: Path
    flags: tuple[str, ...]
    key: str


def recipe_of(source: Source, device: Device, *, is_sandboxed: bool) -> Recipe:
    """Return how a file is compiled."""
    tools = toolchain()
    text = read_source(source.path)
    if is_sandboxed:
        name, cwd = str(SANDBOXED_SOURCE), SANDBOXED_SOURCE.parent
    else:
        name = shown(source.path)
        cwd = Path.cwd() if source.path.absolute().is_relative_to(Path.cwd()) else ROOT
    flags = ["-std=c++17", *source.flags, "-I", str(LABS), *DEVICE_FLAGS[device]]
    if HALVES.search(text) or not ATOMIC.search(text):
        flags = [flag for flag in flags if flag != NO_HALVES]
    if tools.release >= NO_OLD_NAMES and OLD_NAMES.search(text):
        flags += ["-include", str(OLD_NAMES_HEADER)]
    kind = "sandboxed object, refused.txt, all" if is_sandboxed else "object, included.json, refused.txt, all"
    variables = [f"{variable}={os.environ.get(variable)}" for variable in sandbox.COMPILER_VARIABLES]
    native = driver.capabilities() if device == "gpu" else []  # nodes that share a cache may have different GPUs
    key = cache.hash_of(f"{kind}, {SAID}", text, str(cwd), name, tools.identity, *flags, *variables, *native)
    return Recipe(name, cwd, tuple(flags), key)


def said_of(path: Path, element: str, device: Device, *, is_sandboxed: bool) -> str:
    """Return what nvcc said of a submission that it has compiled for one element, its warnings, from the cache."""
    recipe = recipe_of(Source(path, ELEMENT_FLAGS[element]), device, is_sandboxed=is_sandboxed)
    entry = known_object(recipe.key)
    try:
        text = (entry / SAID).read_text(encoding="utf-8", errors="replace") if entry else ""
    except OSError:
        return ""  # another process has dropped it
    return text.replace(recipe.name, shown(path)) if is_sandboxed else text


def said_with(made: Path) -> str:
    """Return what nvcc said when it made an object of a file."""
    try:
        return (made.parent / SAID).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # another process has dropped it


def included(rules: str, cwd: Path) -> list[Path]:
    """Return the files in make rules, one a line, without the first of each, the source."""
    found: dict[Path, None] = {}
    for line in rules.replace("\\\n", " ").splitlines():
        names = line.split(":", 1)[-1].replace("\\ ", "\0").split()
        found |= dict.fromkeys((cwd / name.replace("\0", " ")).resolve() for name in names[1:])
    return list(found)


def _header_hashes(paths: Sequence[Path]) -> dict[str, str]:
    """Return the hash of every header that is not the system's or CUDA's own.

    What is no plain file, such as /dev/null, never counts as unchanged.
    """
    kept = [path for path in paths if not path.is_relative_to("/usr") and not _is_cuda(path)]
    return {str(path): cache.hash_of(path.read_bytes()) if path.is_file() else "" for path in kept}


def _is_cuda(path: Path) -> bool:
    return any(path.is_relative_to(folder.parent) for folder in toolchain().libraries)


def object_name(key: str, names: Sequence[Path]) -> str:
    """Return the name of the entry of an object, made from these headers as they are now."""
    return cache.hash_of(key, json.dumps(_header_hashes(names)))


def known_object(key: str) -> Path | None:
    """Return the entry of an object if it has been made from the headers as they are now."""
    try:
        names = [Path(name) for name in json.loads((cache.folder() / f"{key}{LIST}").read_text())]
        if "" in _header_hashes(names).values():
            return None
        return cache.CACHE / object_name(key, names)
    except (OSError, ValueError, TypeError):
        return None
