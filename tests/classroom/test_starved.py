"""A machine that lacks a resource is nobody's failure: `check`, `grade DIR` and a class say `error`, and go on later.

Each row takes something away from the whole kit, in a mount namespace (and a process namespace) of its own, with an
empty cache, so that nothing outside is touched. `error` comes with exit code 3 and a line that names the resource; what
a row takes away without need changes nothing. With the resource back `--resume` gives the points.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from conftest import REPOSITORY, _plain_command_line, environment
from scanlab.judging.toolchain import toolchain
from scanlab.paths import STATE, build_folder

RIGHT = (REPOSITORY / "solutions/01_sequential/scan.cu").read_text()
LONGEST = 120


@dataclass(frozen=True)
class Row:
    """What is taken away, by a line of a shell script."""

    name: str
    line: str
    says: str = ""
    """A pattern that the message has; none: the kit does not need it, and grades as ever."""
    may_be_right: bool = False
    """A class can do without it: there right points are as good as `error`."""


def tmpfs(options: str, at: str = "/tmp") -> str:
    """Return a line that mounts a file system in memory."""
    return f"mount -t tmpfs -o {options} none {at}"


def killing(program: str) -> str:
    """Return a line that kills each process of a name in this namespace, as soon as it is seen."""
    return f"(while :; do pkill -9 -x '{program}'; sleep 0.003; done) >/dev/null 2>&1 & "


def without(path: Path) -> str:
    """Return a line that puts something that cannot be executed in a program's place."""
    return f"mount --bind /dev/null {path.resolve()}"


CACHE = STATE / "cache"


def _tool(name: str) -> Path:
    nvcc = toolchain().nvcc.resolve()
    found = [nvcc.parent / name, *nvcc.parent.parent.glob(f"nvvm/bin/{name}")]
    return next((path for path in found if path.is_file()), found[0])


def _cc1plus() -> Path:
    said = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=False)
    return Path(said.stdout.strip() or "/usr/bin/false")


ROWS = [
    Row("a full folder for temporary files", tmpfs("size=4k"), r"/tmp"),
    Row("a small folder for temporary files", tmpfs("size=1m"), r"/tmp"),
    Row("a folder for temporary files with few names", tmpfs("nr_inodes=6"), r"/tmp"),
    Row("a read-only folder for temporary files", tmpfs("ro"), r"/tmp", may_be_right=True),
    Row("a folder for temporary files without exec", tmpfs("noexec")),
    Row("tiny files", "ulimit -f 20", r"ulimit -f|File size|File too large|too large"),
    Row("small files", "ulimit -f 1000", r"ulimit -f"),
    Row("few addresses", "ulimit -v 400000", r"ulimit -v|memory|allocate"),
    Row("too few addresses for the device", "ulimit -v 1200000", r"ulimit -v|memory|allocate"),
    Row("few descriptors", "ulimit -n 12", r"Too many open files|ulimit -n"),
    Row("too few descriptors for a judge", "ulimit -n 17", r"Too many open files|ulimit -n"),
    Row("little memory for data", "ulimit -d 60000", r"ulimit -d|memory|allocate"),
    Row("a full cache", tmpfs("size=300k", str(CACHE)), r"cache"),
    Row("a read-only cache", tmpfs("ro", str(CACHE)), r"cache"),
    Row("a killed nvcc", killing("nvcc"), r"signal 9|[Kk]illed"),
    Row("a killed compiler of the host", killing("cc1plus"), r"signal 9|[Kk]illed|signal terminated"),
    Row("a killed compiler of the device", killing("cicc"), r"signal 9|[Kk]illed"),
    Row("a killed judge", killing("judge"), r"the judge was killed by signal 9"),
    Row("a cache without exec", tmpfs("noexec,mode=700", str(CACHE)), r"Permission denied"),
    Row("no nvcc", without(toolchain().nvcc), r"nvcc"),
    Row("no compiler of the device", without(_tool("cicc")), r"cicc"),
    Row("no compiler of the host", without(_cc1plus()), r"cc1plus|cannot compile"),
    Row("no linker", without(Path(shutil.which("ld") or "/bin/false")), r"ld|cannot compile"),
    Row("no home", "export HOME=/nowhere"),
    Row("no shared memory", "mount --bind /proc/self/fdinfo /dev/shm"),
    Row("full shared memory", tmpfs("size=4k", "/dev/shm") + "; head -c 4096 /dev/zero > /dev/shm/full"),
]


def can_unshare() -> bool:
    """Return whether a file system can be mounted here without anyone else seeing it."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    tried = [*UNSHARE, "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(tried, capture_output=True, timeout=30, check=False).returncode == 0


UNSHARE = ["unshare", "--mount", "--propagation", "private", "--pid", "--mount-proc", "--fork", "--kill-child"]

pytestmark = pytest.mark.skipif(not can_unshare(), reason="only root may take a resource away in a namespace")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that no row hides."""
    made = STATE / f"starved-{os.getpid()}"
    shutil.rmtree(made, ignore_errors=True)
    for name in ("one", "class/anna", "class/ben"):
        (made / name / "01_sequential").mkdir(parents=True)
        (made / name / "01_sequential/scan.cu").write_text(RIGHT)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def run(row: Row | None, *words: str | Path, limit: float = LONGEST) -> subprocess.CompletedProcess[str]:
    """Run the command line, under a row's conditions with an empty cache."""
    command = _plain_command_line(*words)
    if row is not None:
        CACHE.mkdir(parents=True, exist_ok=True)
        script = f'{tmpfs("mode=700", str(CACHE))} && {row.line}\n"$@"'
        command = [*UNSHARE, "sh", "-c", script, "sh", *command]
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment(build_folder(), TMPDIR="/tmp"),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def is_as_said(row: Row, done: subprocess.CompletedProcess[str], right: int = 0) -> bool:
    """Check how a run ended, and return whether with `error`; `right` is the exit code of one that graded."""
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    assert "does not compile" not in said, said
    if not row.says or (row.may_be_right and done.returncode == right):
        assert done.returncode == right, said
        return False
    assert done.returncode == 3, said
    assert re.search(row.says, said), said
    return True


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_machine_that_lacks_something_is_nobodys_failure(row: Row, folder: Path) -> None:
    may_not_be_right = replace(row, may_be_right=False)
    is_as_said(may_not_be_right, run(row, "check", "01", folder / "one/01_sequential/scan.cu"))
    # The other labs are not there, which is no fault of the machine's.
    if not is_as_said(may_not_be_right, run(row, "grade", folder / "one", "--json", folder / "one.json"), right=1):
        assert json.loads((folder / "one.json").read_text())["labs"][0]["verdict"] == "pass"
    results = folder / "results"
    grading = ["grade", folder / "class", "--out", results, "--lab", "01", "--no-sandbox"]
    is_error = is_as_said(row, run(row, *grading))
    for path in results.glob("results/*.json"):
        assert json.loads(path.read_text())["verdict"] == ("error" if is_error else "pass"), path.read_text()
    is_right_after_resuming(grading, results)


@pytest.mark.parametrize("words", ["No space left on device", "Cannot allocate memory"])
def test_a_file_that_claims_a_fault_of_the_machine_is_graded(words: str, folder: Path) -> None:
    for path in folder.glob("class/*/01_sequential/scan.cu"):
        path.write_text(f'#error "{words}"\n{RIGHT}')
    results = folder / "results"
    done = run(None, "grade", folder / "class", "--out", results, "--lab", "01", "--no-sandbox")
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(path.read_text()) for path in results.glob("results/*.json")]
    assert [record["verdict"] for record in records] == ["fail", "fail"]


@pytest.mark.parametrize("size", ["4k", "16k"])
def test_a_full_disk_for_the_results_stops_a_class_that_goes_on_later(size: str, folder: Path) -> None:
    results = folder / "results"
    results.mkdir()
    grading = ["grade", folder / "class", "--out", results, "--lab", "01", "--no-sandbox"]
    row = Row("a full disk", tmpfs(f"size={size}", str(results)), r"cannot write .*No space left")
    is_as_said(row, run(row, *grading))
    is_right_after_resuming(grading, results)


def is_right_after_resuming(grading: Sequence[str | Path], results: Path) -> None:
    done = run(None, *grading, "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(path.read_text()) for path in sorted(results.glob("results/*.json"))]
    assert [record["verdict"] for record in records] == ["pass", "pass"]
    assert all(record["points"] == record["max_points"] for record in records)
