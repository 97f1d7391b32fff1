"""Build the fuzzers of tests/fuzz/targets with clang, and their first inputs out of the kit's own files.

    python3 build.py [--folder .fuzz] [--jobs 2] [--programs N]

The folder then has all that a campaign needs, on this machine or on another of the same kind without a compiler:
`targets` (stripped; `build/tests/fuzz/targets` has the lines), `fuzz-runner`, `seeds/NAME/`, `ptx.dict` and `run.py`.
Exit 0 when all is built, 1 when something is not, 77 when there is no clang with libFuzzer.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "grader/python"))

from scanlab.labs.corpora import CORRECT, MUTANTS, programs_in, whole  # noqa: E402

SKIPPED = 77
BUILD_SECONDS = 7200
LONGEST_TEXT = 40_000
"""Characters of a PTX text that is a seed: a fuzzer gains little from a long one."""
PROGRAMS = (
    "solutions/*/scan.cu",
    "tests/fuzz/corpus.cu",
    "tests/checks/*.cu",
    "tests/vgpu/*.cu",
)
WITHOUT_LIBRARIES = re.compile(rb"#include\s*<(cub|thrust)/")
RAW_STRING = re.compile(r'R"\((.*?)\)"', re.DOTALL)
HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"
TOP_LEVEL = re.compile(r"^(?:\.visible |\.weak |\.extern |\.common )*\.(entry|func)\b", re.MULTILINE)
QUOTED = re.compile(r'"([a-z_.%:][a-z0-9_.%:]{1,24})"')
HOW = bytes((1, 63, 0, 1, 1, 7, 1, 40, 0, 32, 64, 96, 128, 160, 16, 5))
"""How a seed's kernels are launched: two blocks of 64, warps in order, under all checks; see `How` in code.cpp."""


def run(command: list[str], seconds: float = BUILD_SECONDS, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command whose failure ends all."""
    done = subprocess.run(command, text=True, timeout=seconds, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} … failed")
    return done


def has_libfuzzer(clang: str) -> bool:
    """Return whether this compiler can build a fuzzer."""
    test = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
    command = [clang, "-fsanitize=fuzzer,address,undefined", "-x", "c++", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=test, text=True, capture_output=True, timeout=60, check=False).returncode == 0


def build(folder: Path, clang: str, jobs: int) -> None:
    """Compile the targets and the runner that they start, and strip them."""
    meson = next((str(path) for path in (ROOT / ".venv/bin/meson",) if path.exists()), "meson")
    made = folder / "build"
    compiler = f"ccache {clang}" if shutil.which("ccache") else clang
    if not (made / "build.ninja").exists():
        options = ["-Dfuzzers=true", "-Dnative=false", "-Db_sanitize=address,undefined", "-Db_lundef=false"]
        run([meson, "setup", str(made), *options], cwd=ROOT, env={**os.environ, "CXX": compiler})
    run([meson, "compile", "-C", str(made), "-j", str(jobs), "tests/fuzz/targets"], cwd=ROOT)
    run(["strip", "-o", str(folder / "targets"), str(made / "tests/fuzz/targets")])
    runner = ["-std=c++20", "-O1", "-static", "-s", "-pthread", f"-I{ROOT / 'grader'}"]
    run([clang, *runner, str(ROOT / "tests/autograder/fuzz_runner.cpp"), "-o", str(folder / "fuzz-runner")])
    shutil.copy(HERE / "run.py", folder / "run.py")


def nvcc() -> str:
    """Return the path of nvcc, found as the kit finds it."""
    command = [sys.executable, str(ROOT / "grader/python/scanlab/bootstrap/cuda.py"), ""]
    return run(command, capture_output=True).stdout.split("\n")[0]


def to_ptx(program: Path, compiler: str, cache: Path) -> str:
    """Return the PTX of a CUDA program, or nothing where nvcc cannot make it."""
    name = hashlib.sha256(program.read_bytes() + str(program).encode()).hexdigest()[:16]
    made = cache / f"{name}.ptx"
    if not made.exists():
        command = [compiler, "-std=c++17", "-ptx", "-gencode", "arch=compute_80,code=compute_80", "-lineinfo"]
        command += ["-I", str(ROOT / "labs"), "-I", str(ROOT / "tests"), str(program), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, timeout=600, check=False)
        if done.returncode != 0:
            return ""
    return made.read_text(errors="replace")


def functions(text: str) -> tuple[str, list[str]]:
    """Return what a PTX text has outside its kernels, and its kernels, each with its body."""
    rest, kernels, at = [], [], 0
    for found in TOP_LEVEL.finditer(text):
        if found.start() < at or found.group(1) != "entry":
            continue
        begin = text.find("\n{", found.start())
        end = text.find("\n}", begin)
        if begin < 0 or end < 0:
            break
        rest.append(text[at : found.start()])
        kernels.append(text[found.start() : end + 3])
        at = end + 3
    return "".join([*rest, text[at:]]), kernels


def texts(jobs: int, folder: Path, programs: int | None) -> list[str]:
    """Return PTX texts: of the kit's programs, a kernel each, and those in the tests' own strings."""
    cache = folder / "ptx"
    cache.mkdir(parents=True, exist_ok=True)
    paths = [path for pattern in PROGRAMS for path in sorted(ROOT.glob(pattern))]
    paths += [whole(path) for path in programs_in(MUTANTS / CORRECT)]
    paths = [path for path in paths if not WITHOUT_LIBRARIES.search(path.read_bytes())][:programs]
    compiler = nvcc()
    with ThreadPoolExecutor(jobs) as pool:
        compiled = list(pool.map(lambda path: to_ptx(path, compiler, cache), paths))
    found: list[str] = []
    for text in compiled:
        rest, kernels = functions(text)
        found += [rest + kernel for kernel in kernels]
        found += [text] if kernels else []
    for path in [*ROOT.glob("tests/**/*.cpp"), *ROOT.glob("tests/**/*.hpp")]:
        for text in RAW_STRING.findall(path.read_text(errors="replace")):
            if ".entry" in text or ".func" in text:
                found.append(text if ".version" in text else HEADER + text)
    return [text for text in dict.fromkeys(found) if len(text) <= LONGEST_TEXT]


def fat_binary(images: list[str]) -> bytes:
    """Return a fat binary of PTX images, as nvcc lays it out."""
    body = b""
    for text in images:
        payload = text.encode() + b"\0"
        payload += b"\0" * (-len(payload) % 8)
        head = (1).to_bytes(2, "little") + (0x101).to_bytes(2, "little") + (64).to_bytes(4, "little")
        head += len(payload).to_bytes(8, "little") + bytes(12) + (80).to_bytes(4, "little")
        body += head.ljust(64, b"\0") + payload
    return (0xBA55ED50).to_bytes(4, "little") + bytes((1, 0, 16, 0)) + len(body).to_bytes(8, "little") + body


def plans() -> list[str]:
    """Return the JSON texts in the judge's tests."""
    found = []
    for path in (ROOT / "tests/autograder").glob("*.cpp"):
        found += [text for text in RAW_STRING.findall(path.read_text()) if text.lstrip().startswith("{")]
    return found


def write(folder: Path, name: str, inputs: list[bytes]) -> None:
    """Write the seeds of one target, each under its hash."""
    place = folder / "seeds" / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for text in inputs:
        (place / hashlib.sha256(text).hexdigest()[:16]).write_bytes(text)
    print(f"{len(inputs):5} seeds for {name}")


def seed(folder: Path, jobs: int, programs: int | None) -> None:
    """Write the first inputs of every target, and the words of PTX."""
    found = texts(jobs, folder, programs)
    write(folder, "ptx", [text.encode() for text in found])
    write(folder, "kernels", [HOW + text.encode() for text in found if ".entry" in text])
    small = sorted(found, key=len)
    pairs = zip(small[::9], small[1::9], strict=False)
    write(folder, "fatbin", [fat_binary(list(pair)) for pair in pairs if sum(map(len, pair)) < LONGEST_TEXT])
    write(folder, "plan", [text.encode() for text in plans()])
    stream = b"".join(hashlib.sha256(bytes((k % 256, k // 256))).digest() for k in range(512))
    write(folder, "session", [stream[k * 256 : k * 256 + 64 * (1 + k % 24)] for k in range(40)])
    write(folder, "runner", [stream[k * 16 : k * 16 + 16 * (1 + k % 8)] for k in range(40)])
    words: dict[str, None] = {}
    for path in [*(ROOT / "grader/vgpu/ptx").glob("*.cpp"), *(ROOT / "grader/vgpu/core").glob("*.cpp")]:
        words.update(dict.fromkeys(QUOTED.findall(path.read_text())))
    (folder / "ptx.dict").write_text("".join(f'"{word}"\n' for word in sorted(words)))
    print(f"{len(words):5} words of PTX")


def main() -> int:
    """Build what the command line asks for."""
    parser = argparse.ArgumentParser(description="build the fuzzers and their first inputs")
    parser.add_argument("--folder", type=Path, default=ROOT / ".fuzz")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--programs", type=int, help="only so many CUDA programs become seeds")
    parser.add_argument("--clang", default=os.environ.get("CLANGXX", "clang++"))
    asked = parser.parse_args()
    if not shutil.which(asked.clang) or not has_libfuzzer(asked.clang):
        print(f"not built: {asked.clang} with libFuzzer is missing; Debian: clang libclang-rt-14-dev", file=sys.stderr)
        return SKIPPED
    asked.folder.mkdir(parents=True, exist_ok=True)
    build(asked.folder.resolve(), asked.clang, asked.jobs)
    seed(asked.folder.resolve(), asked.jobs, asked.programs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
