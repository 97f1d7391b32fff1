"""A Slurm cluster, classes to grade on it, and stand-ins for the compiler and the judge that do what a submission says.

A stand-in's submission has one line, which says what its grading does: `PASSES`, `SLEEPS 3`, `FAULTS` (the judge),
`CRASHES` (the process that grades it), `KILLS` (the whole task), `KILLS ONCE`. The judge notes each unit that it is
asked to grade in the file `graded` of the build folder.
"""

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PACKAGE = REPOSITORY / "grader/python"
sys.path[:0] = [str(PACKAGE), str(HERE), str(HERE.parent)]

from cluster import Cluster  # noqa: E402
from needs import pytest_sessionfinish, skip_without  # noqa: E402, F401
from packages import NoSlurmError, find  # noqa: E402
from scanlab.bootstrap import build  # noqa: E402
from scanlab.classroom.records import Class, HandedIn, Submission  # noqa: E402
from scanlab.classroom.store import Store, Unit  # noqa: E402
from scanlab.errors import KitError  # noqa: E402
from scanlab.judging import sandbox  # noqa: E402
from scanlab.on_demand import SUBMITIT  # noqa: E402
from scanlab.paths import STATE, build_folder, toolchain_file  # noqa: E402
from stand_ins import RESULT_OF, write_archive, write_program  # noqa: E402

RUN_SECONDS = 100.0
MAX_ARRAY = 3
NVCC = """
    import pathlib, subprocess, sys
    words = sys.argv[1:]
    source, output = words[words.index("-c") + 1], words[words.index("-o") + 1]
    if "-MF" in words:
        pathlib.Path(words[words.index("-MF") + 1]).write_text(f"x.o : {source}\\n")
    asked = pathlib.Path(source).read_text().splitlines()[0].strip("/ ")
    asked = asked if asked[:1].isupper() else ".target sm_80"
    code = f'extern "C" const char scanlab_asked[] = "ASKED {asked};";'
    subprocess.run(["g++", "-x", "c++", "-c", "-", "-o", output], input=code.encode(), check=True)
"""
JUDGE = """
    import json, os, pathlib, re, signal, sys, time
    plan = json.loads(pathlib.Path(sys.argv[sys.argv.index("--plan") + 1]).read_text())
    asked = re.search(rb"ASKED ([^;]+);", pathlib.Path(plan["runners"]["float"]).read_bytes()).group(1).decode()
    with open(pathlib.Path(sys.argv[0]).parents[2] / "graded", "a") as graded:
        print(plan["lab"], asked, file=graded, flush=True)
    if asked.startswith("SLEEPS"):
        time.sleep(float(asked.split()[1]))
    if asked.startswith("KILLS"):
        been = pathlib.Path(sys.argv[0]).parents[2] / "killed"
        if "ONCE" not in asked or not been.exists():
            been.touch()
            worker = os.getppid()
            task = int(pathlib.Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(task, signal.SIGKILL)
            time.sleep(60)
    if asked.startswith("CRASHES"):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(5)
    if asked.startswith("FAULTS"):
        sys.exit(3)
    result = json.dumps(result_of(plan, "pass", None))
    pathlib.Path(sys.argv[sys.argv.index("--result") + 1]).write_text(result)
"""


def pytest_configure() -> None:
    """Let a test runner's SIGTERM end the cluster, too."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)


@pytest.fixture(scope="session")
def whole_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for all tests; they are skipped where there can be none."""
    skip_without(SUBMITIT)
    try:
        folder = tmp_path_factory.mktemp("cluster")
        made = Cluster(find(STATE / "slurm"), folder / "slurm", [f"MaxArraySize={MAX_ARRAY}"])
    except NoSlurmError as error:
        pytest.skip(f"no Slurm: {error}")
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def cluster(whole_cluster: Cluster) -> Cluster:
    """The cluster, with no jobs, and with both nodes idle."""
    whole_cluster.restore()
    return whole_cluster


# ---- build folders ---------------------------------------------------------------------------------------------------


def stamp(folder: Path, **changes: str) -> None:
    """Say of a build folder that it is made from the sources as they are, but for `changes`."""
    nvcc = json.loads((folder / ".scanlab-toolchain.json").read_text())["nvcc"]
    (folder / ".scanlab-built").write_text(json.dumps({**build._wanted(nvcc), **changes}))


@pytest.fixture
def real_build(tmp_path: Path) -> Path:
    """The kit's build, stamped as fresh: whoever runs Meson by hand has no stamp."""
    if not toolchain_file().exists() or not (build_folder() / build.PRODUCTS[0]).exists():
        pytest.skip("the kit is not built: start the tests with grader/scanlab test")
    try:
        sandbox.require()
    except KitError as error:
        pytest.skip(f"no sandbox: {error}")
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "grader").symlink_to(build_folder() / "grader")
    (folder / ".scanlab-toolchain.json").write_bytes(toolchain_file().read_bytes())
    stamp(folder)
    return folder


@pytest.fixture
def standin_build(tmp_path: Path) -> Path:
    """A build folder whose nvcc and judge are small scripts."""
    folder = tmp_path / "build"
    for product in build.PRODUCTS:
        if not product.endswith(".a"):
            write_program(folder / product, "")
    write_program(folder / "nvcc", NVCC)
    write_program(folder / "grader/autograder/judge", RESULT_OF + JUDGE)
    write_archive(folder / "grader/cudart/libcudart_vgpu.a", "int main() { return 7; }")
    for element in ("float", "affine"):
        main = "extern const char scanlab_asked[]; int main() { return scanlab_asked[0]; }"
        write_archive(folder / f"grader/runner/librunner_{element}.a", f'extern "C" {{ {main} }}')
    known = {"nvcc": str(folder / "nvcc"), "mtime": 0, "release": [12, 0], "includes": [], "libraries": []}
    (folder / ".scanlab-toolchain.json").write_text(json.dumps(known))
    stamp(folder)
    return folder


def graded(folder: Path) -> Counter[str]:
    """Return how often the judge of a stand-in build was asked for what."""
    lines = (folder / "graded").read_text().splitlines() if (folder / "graded").exists() else []
    return Counter(line.split(maxsplit=1)[1] for line in lines)


# ---- classes ---------------------------------------------------------------------------------------------------------


def make_class(folder: Path, handed_in: Sequence[tuple[str, str]]) -> Store:
    """Return a results folder in which each (lab, text) is a submission of its own, and nothing is graded."""
    store = Store(folder)
    (folder / "sources").mkdir(parents=True)
    submissions = []
    for number, (lab, text) in enumerate(handed_in, 1):
        digest = hashlib.sha256(text.encode()).hexdigest()
        store.source(digest).write_text(text)
        files = (HandedIn(lab=lab, name="scan.cu", sha256=digest),)
        submissions.append(Submission(key=f"s{number:04}", student=None, origin=f"s{number:04}", files=files))
    labs = tuple(sorted({lab for lab, _ in handed_in}))
    store.write_class(Class(title="a test", device="vgpu", seed=7, labs=labs, submissions=tuple(submissions)))
    return store


def unit(text: str, lab: str = "01_sequential") -> Unit:
    return Unit(lab, hashlib.sha256(text.encode()).hexdigest())


def standins(folder: Path, *asked: str) -> Store:
    """Return a class of stand-ins for the first lab."""
    return make_class(folder, [("01_sequential", f"// {text}\n") for text in asked])


def job_name(store: Store) -> str:
    """Return how the jobs of a results folder are called."""
    return f"scanlab-{hashlib.sha256(str(store.folder.resolve()).encode()).hexdigest()[:10]}"


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Start]:
    """Start grading a results folder on the cluster: start(store, build folder, "time=5", …)."""
    started = []

    def begin(store: Store, folder: Path, *options: str, **changes: str) -> subprocess.Popen[str]:
        # In the sandbox there are no stand-ins: their submissions are the test's own, and harmless.
        without = ["no-sandbox"] if (folder / "nvcc").exists() else []
        process = subprocess.Popen(
            [sys.executable, str(HERE / "drive.py"), str(store.folder), *without, *options],
            env={**cluster.environment, "PYTHONPATH": str(PACKAGE), "SCANLAB_BUILD": str(folder), **changes},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait(10)


def finish(process: subprocess.Popen[str], code: int = 0) -> tuple[list[str], str]:
    """Wait for a run, which has to end with `code`; return what it printed of each unit, and what it said."""
    out, err = process.communicate(timeout=RUN_SECONDS)
    assert process.returncode == code, err
    assert "Traceback" not in err
    return sorted(out.splitlines()), err


def wait_until(is_so: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until something is so; a test fails when it does not become so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.1)
