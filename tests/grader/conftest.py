"""A build folder with stand-ins for the C++ parts, so that the command line is tested without them and in no time.

Its nvcc copies the source's first line into the object; its judge answers as the submission's text asks.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[2]
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(REPOSITORY / ".scanlab/hypothesis"))
settings.register_profile("scanlab", deadline=None, database=None, print_blob=True)
settings.load_profile("scanlab")
PACKAGE = REPOSITORY / "grader/python"
sys.path[:0] = [str(PACKAGE), str(REPOSITORY / "tests")]

from chromium import browser  # noqa: E402, F401
from needs import pytest_sessionfinish  # noqa: E402, F401
from stand_ins import RESULT_OF, write_archive, write_program  # noqa: E402

NVCC = """
    import pathlib, subprocess, sys
    words = sys.argv[1:]
    if "--dryrun" in words:
        sys.exit(1)
    if "-dlink" in words:
        assert "-cudart" not in words
        joined = 'extern "C" const char __cudaRegisterLinkedBinary_program[] = "JOINED";'
        output = words[words.index("-o") + 1]
        subprocess.run(["g++", "-x", "c++", "-c", "-", "-o", output], input=joined.encode(), check=True)
        sys.exit(0)
    source, output = words[words.index("-c") + 1], words[words.index("-o") + 1]
    text = pathlib.Path(source).read_text()
    if "SYNTAX ERROR" in text:
        line = text[:text.index("SYNTAX ERROR")].count("\\n") + 1
        print(f'{source}({line}): error: identifier "oops" is undefined')
        sys.exit(2)
    pathlib.Path(words[words.index("-MF") + 1]).write_text(f"x.o : {source}\\n")
    asked = next((word for word in ("FAILS", "FAULTS", "CRASHES", "HANGS") if word in text), "PASSES")
    code = f'extern "C" const char scanlab_asked[] = "ASKED {asked}";'
    if "-rdc=true" in words:
        code += 'extern "C" const char __cudaRegisterLinkedBinary_program[];'
        code += 'auto needed = __cudaRegisterLinkedBinary_program;'
    subprocess.run(["g++", "-x", "c++", "-c", "-", "-o", output], input=code.encode(), check=True)
"""

JUDGE = """
    import json, os, pathlib, re, subprocess, sys, time
    plan = json.loads(pathlib.Path(sys.argv[sys.argv.index("--plan") + 1]).read_text())
    result_file = pathlib.Path(sys.argv[sys.argv.index("--result") + 1])
    runner = pathlib.Path(plan["runners"]["float"]).read_bytes()
    asked = re.search(rb"ASKED ([A-Z]+)", runner).group(1).decode()
    if asked == "CRASHES":
        print("terminate called after throwing", flush=True)
        os.abort()
    if asked == "HANGS":
        child = subprocess.Popen(["sleep", "600"])
        print(child.pid, file=open(os.environ["SCANLAB_TEST_PID"], "w"), flush=True)
        time.sleep(600)
    verdict = {"PASSES": "pass", "FAILS": "fail", "FAULTS": "error"}[asked]
    cause = None if verdict == "pass" else {
        "id": "wrong.last_section", "headline": f"inclusive scan of floats, n = 1025, seed {plan['seed']}",
        "rationale": "the last, partial section is never written", "expected": "523776", "actual": "y[1024] = 0",
        "where": {"file": plan["source"], "line": 31, "kernel": "k", "block": [1, 0, 0], "thread": [0, 0, 0]},
        "details": ["1 of 1025 wrong"], "next": plan["again"] + " --n 1025 --seed 7"}
    result_file.write_text(json.dumps(result_of(plan, verdict, cause)))
    sys.exit({"pass": 0, "fail": 1, "error": 3}[verdict])
"""

VGPU_RUN = """
    import subprocess, sys
    at = sys.argv.index("--")
    print(*sys.argv[1:at], flush=True)
    print(*sys.argv[at + 2:], flush=True)
    sys.exit(subprocess.run(sys.argv[at + 1:]).returncode)
"""


@pytest.fixture(scope="session")
def fake_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder whose nvcc, judge and vgpu-run are small scripts."""
    build = tmp_path_factory.mktemp("build")
    write_program(build / "nvcc", NVCC)
    write_program(build / "grader/autograder/judge", RESULT_OF + JUDGE)
    write_program(build / "grader/vgpu/server/vgpu-run", VGPU_RUN)
    write_archive(build / "grader/cudart/libcudart_vgpu.a", "int main() { return 7; }")
    for element in ("float", "affine"):
        main = "extern const char scanlab_asked[]; int main() { return scanlab_asked[0] == 'A' ? 5 : 6; }"
        write_archive(build / f"grader/runner/librunner_{element}.a", f'extern "C" {{ {main} }}')
    toolchain = {"nvcc": str(build / "nvcc"), "mtime": 0, "release": [13, 0], "includes": [], "libraries": []}
    (build / ".scanlab-toolchain.json").write_text(json.dumps(toolchain))
    return build


Scanlab = Callable[..., subprocess.CompletedProcess[str]]


def command_line(*words: str | Path) -> list[str]:
    start = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", start, *map(str, words)]


def environment(build: Path, **changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "SCANLAB_BUILD": str(build), "NO_COLOR": "1", **changes}


@pytest.fixture
def scanlab(fake_build: Path) -> Scanlab:
    """Run the command line over the stand-ins; a traceback fails the test."""

    def run(*words: str | Path, cwd: Path = REPOSITORY, **changes: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command_line(*words),
            cwd=cwd,
            env=environment(fake_build, **changes),
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert "Traceback" not in done.stderr
        assert done.returncode != -signal.SIGSEGV
        return done

    return run
