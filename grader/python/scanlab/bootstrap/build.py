"""Build the C++ parts with Meson and Ninja when their sources have changed."""

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from scanlab.bootstrap.console import SetupError, alone, run_step, say
from scanlab.bootstrap.environment import read_json, write_json
from scanlab.paths import ROOT, build_folder

PRODUCTS = (
    "grader/autograder/judge",
    "grader/cudart/libcudart_vgpu.a",
    "grader/runner/librunner_float.a",
    "grader/runner/librunner_affine.a",
    "grader/runner/enter",
)
"""What grading needs, in the build folder; tests are built when they are run."""
LATER = (
    ("grader/tracer/tracer",),
    ("grader/vgpu/server/vgpu-run",),
    ("grader/autograder/judge-gpu", "grader/runner/honest-runner"),
    ("grader/runner/libcaller_float.a",),
    ("grader/runner/libprinter_float.a",),
)
"""What other commands, and real GPUs, take beyond these: built when first needed, and from then on with the others."""

SOURCES = (".cpp", ".hpp", ".h", ".c", ".build", ".options")


def _stamp() -> Path:
    return build_folder() / ".scanlab-built"


def sources_digest() -> str:
    """Return a digest of the name, size and time of every file that the build reads."""
    found = []
    folders = [str(folder) for folder in (ROOT / "grader", ROOT / "tests") if folder.is_dir()]  # students have no tests
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(SOURCES):
                    status = entry.stat()
                    found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    for name in ("meson.build", "meson.options"):
        status = (ROOT / name).stat()
        found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def _wanted(nvcc: str) -> dict[str, object]:
    return {"sources": sources_digest(), "nvcc": nvcc, "root": str(ROOT), "python": sys.executable}


def ready(nvcc: str) -> bool:
    """Return whether the build folder holds everything, made from the sources as they are."""
    folder = build_folder()
    return read_json(_stamp()) == _wanted(nvcc) and all((folder / product).exists() for product in PRODUCTS)


def meson_command() -> list[str]:
    """Return the command that runs Meson under this interpreter."""
    if importlib.util.find_spec("mesonbuild") is not None:
        return [sys.executable, "-m", "mesonbuild.mesonmain"]
    on_path = shutil.which("meson")
    if on_path is None:
        raise SetupError("Meson is neither in this Python nor on PATH: install it, or unset SCANLAB_NO_SETUP")
    return [on_path]


def ninja_command() -> str:
    """Return the path of Ninja: the one beside this interpreter, else the one on PATH."""
    found = shutil.which("ninja", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if found is None:
        raise SetupError("Ninja is neither beside this Python nor on PATH: install it, or unset SCANLAB_NO_SETUP")
    return found


def fetch_catch2() -> None:
    """Put Catch2 3 under subprojects/, from Meson's own database of wraps, for a distribution that has none."""
    say("this distribution has no Catch2 3: taking it as a Meson subproject")
    (ROOT / "subprojects").mkdir(exist_ok=True)
    run_step([*meson_command(), "wrap", "install", "catch2"], "meson wrap install catch2", cwd=ROOT)


def prepare(nvcc: str) -> None:
    """Configure and build what grading needs, unless that is done.

    Raises SetupError with the compiler's words when it does not build: that is the kit's fault, never the learner's.
    """
    if ready(nvcc):
        return
    folder = build_folder()
    wanted = _wanted(nvcc)
    before = read_json(_stamp())
    os.environ["NINJA"] = ninja = ninja_command()
    if before and before.get("root") != str(ROOT):
        if os.environ.get("SCANLAB_BUILD") and Path(str(before.get("root"))).exists():
            raise SetupError(
                f"SCANLAB_BUILD: {folder} was built for the kit in {before.get('root')}; name another folder"
            )
        say(f"{folder} is of a kit in another place: making it anew")
        shutil.rmtree(folder)
        before = {}
    configured = (folder / "build.ninja").exists()
    stale = any(before.get(key, wanted[key]) != wanted[key] for key in ("python", "nvcc"))
    if not configured or stale:
        say(f"configuring the C++ parts in {folder}")
        how = ["--reconfigure"] if configured else []
        options = [f"-Dnvcc={nvcc}", "-Djoined=true"]
        run_step([*meson_command(), "setup", *how, *options, str(folder), str(ROOT)], "meson setup", cwd=ROOT)
    say("building the virtual GPU and the judge …" if not configured else "building what has changed …")
    later = [name for group in LATER for name in group if (folder / name).exists()]
    _build(ninja, [*PRODUCTS, *later])
    write_json(_stamp(), wanted)


def make_later(name: str) -> bool:
    """Build what grading alone does not need; return whether there is such a product in this build.

    Raises SetupError when it does not build.
    """
    group = next((group for group in LATER if name in group), None)
    rules = build_folder() / "build.ninja"
    if group is None or not rules.exists() or name not in rules.read_text():
        return False
    say(f"building {Path(name).name} …")
    with alone():
        _build(ninja_command(), group)
    return True


def _build(ninja: str, products: Sequence[str]) -> None:
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    run_step([ninja, *quiet, "-C", str(build_folder()), *products], "building the C++ parts", live=True)
