"""Find CUDA's compiler, and the folders that it uses.

Meson runs this file too: `python cuda.py [NVCC]` prints three lines, nvcc's path, the include folders and the library
folders (separated by `:`), and exits with 1 and a message when there is no nvcc 12 or 13.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAJORS = (12, 13)
PTX_FLAGS = ("-gencode", "arch=compute_80,code=compute_80", "--no-compress", "-lineinfo", "-cudart", "none")
"""What makes nvcc leave readable PTX in the object, with source lines, and no NVIDIA runtime."""

TRIAL = """\
#include <cuda_runtime.h>
template <typename T> __global__ void add_one(T* d_x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d_x[i] += T(1);
}
void launch(float* d_x, int n) { add_one<<<(n + 255) / 256, 256>>>(d_x, n); }
"""


@dataclass(frozen=True)
class Cuda:
    """An nvcc that was found: its path, release (13, 0), and the folders of its headers and libraries."""

    nvcc: Path
    release: tuple[int, int]
    includes: tuple[Path, ...]
    libraries: tuple[Path, ...]


def wheel_nvcc(venv: Path) -> Path | None:
    """Return the nvcc that NVIDIA's wheels put into `venv`, or None."""
    return next(iter(sorted(venv.glob("lib/python3*/site-packages/nvidia/cu1[23]/bin/nvcc"))), None)


def candidates(venv: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield (path, where it was found) of every nvcc in the usual places, best first; none is run."""
    chosen = os.environ.get("CUDACXX")
    if chosen:
        yield Path(shutil.which(chosen) or chosen), "CUDACXX"
    on_path = shutil.which("nvcc")
    if on_path:
        yield Path(on_path), "PATH"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "bin/nvcc", variable
    yield Path("/usr/local/cuda/bin/nvcc"), "a usual place"
    for versioned in sorted(Path("/usr/local").glob("cuda-1[23]*/bin/nvcc"), reverse=True):
        yield versioned, "a usual place"
    for place in ("/opt/cuda", "/usr/lib/nvidia-cuda-toolkit", "/usr/lib/cuda"):
        yield Path(place) / "bin/nvcc", "a usual place"
    in_venv = wheel_nvcc(venv) if venv else None
    if in_venv:
        yield in_venv, "NVIDIA's wheels"


def _run(command: list[str], timeout: float) -> tuple[int, str]:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def inspect(nvcc: Path) -> Cuda:
    """Ask `nvcc` for its release and its folders.

    Raises LookupError with a reason when it is missing, does not run, or is not 12.x or 13.x.
    """
    if not nvcc.is_file():
        raise LookupError(f"{nvcc} is not there")
    code, text = _run([str(nvcc), "--version"], timeout=30)
    found = re.search(r"release (\d+)\.(\d+)", text)
    if code != 0 or not found:
        raise LookupError(f"{nvcc} --version does not answer")
    release = (int(found.group(1)), int(found.group(2)))
    if release[0] not in MAJORS:
        raise LookupError(f"{nvcc} is CUDA {release[0]}.{release[1]}; the kit needs 12.x or 13.x")
    _, dry = _run([str(nvcc), "--dryrun", "-x", "cu", "-c", "/dev/null", "-o", "/dev/null"], timeout=30)
    settings = dict(re.findall(r"^#\$ (\w+)=(.*)$", dry, flags=re.MULTILINE))
    includes = _folders(settings.get("INCLUDES", ""), "-I") + _folders(settings.get("SYSTEM_INCLUDES", ""), "-isystem")
    libraries = _folders(settings.get("LIBRARIES", ""), "-L")
    top = nvcc.resolve().parent.parent  # the wheels' profile says lib64, their folder is lib
    libraries += [folder for folder in (top / "lib64", top / "lib") if folder.is_dir() and folder not in libraries]
    return Cuda(nvcc, release, tuple(includes), tuple(libraries))


def _folders(setting: str, flag: str) -> list[Path]:
    found = []
    words = shlex.split(setting)
    for at, word in enumerate(words):
        if word == flag and at + 1 < len(words):
            found.append(Path(words[at + 1]))
        elif word.startswith(flag) and word != flag:
            found.append(Path(word.removeprefix(flag)))
    return [Path(os.path.realpath(folder)) for folder in found if folder.is_dir()]


def try_compile(nvcc: Path) -> str | None:
    """Compile a small file as the kit will compile the learner's; return None, or what nvcc said."""
    with tempfile.TemporaryDirectory(prefix="scanlab-") as folder:
        source = Path(folder) / "trial.cu"
        source.write_text(TRIAL)
        output = Path(folder) / "trial.o"
        command = [str(nvcc), "-std=c++17", *PTX_FLAGS, "-c", str(source), "-o", str(output)]
        code, text = _run(command, timeout=300)
        if code == 0 and output.is_file() and b".target sm_80" in output.read_bytes():
            return None
        return text.strip() or "the object holds no PTX"


def find(venv: Path | None, *, trial: bool) -> tuple[Cuda | None, list[str]]:
    """Return the first usable nvcc, and why each one before it was passed over."""
    refused = []
    seen = set()
    for path, where in candidates(venv):
        real = os.path.realpath(path)
        if real in seen or (not path.is_file() and where == "a usual place"):
            continue
        seen.add(real)
        try:
            cuda = inspect(path)
        except LookupError as error:
            refused.append(f"{error} ({where})")
            continue
        complaint = try_compile(path) if trial else None
        if complaint is None:
            return cuda, refused
        refused.append(f"{path} cannot compile a small program ({where}): {complaint.splitlines()[0]}")
    return None, refused


def _print_for_meson(arguments: list[str]) -> int:
    if arguments and arguments[0]:
        try:
            cuda: Cuda | None = inspect(Path(arguments[0]))
            refused: list[str] = []
        except LookupError as error:
            cuda, refused = None, [str(error)]
    else:
        cuda, refused = find(Path(__file__).resolve().parents[4] / ".venv", trial=False)
    if cuda is None:
        print(
            "no nvcc 12.x or 13.x: " + ("; ".join(refused) or "none in CUDACXX, PATH or the usual places"),
            file=sys.stderr,
        )
        return 1
    print(cuda.nvcc, ":".join(map(str, cuda.includes)), ":".join(map(str, cuda.libraries)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(_print_for_meson(sys.argv[1:]))
