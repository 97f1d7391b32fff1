"""A machine that lacks a resource is nobody's failure: `check`, `grade DIR` and a class say `error`, and go on later.

Each row takes something away from the whole kit, in a mount namespace (and a process namespace) of its own, with a
cache that is empty at first, so that nothing outside is touched. `error` comes with exit code 3 and a line that names
the resource; what a row takes away without need changes nothing. With the resource back `--resume` gives the points.
"""

import json
import os
import re
import shlex
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
ENDED = "ended with"
"""Stands with the exit code after what a command has said."""


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


def killed(program: str, only: str = "") -> str:
    """Return a line after which all processes of a program are killed, or only those with a text in their arguments."""
    return f"export LD_PRELOAD={KILLER} KILLED={program} ONLY={only}"


def without(path: Path) -> str:
    """Return a line that puts something that cannot be executed in a program's place."""
    return f"mount --bind /dev/null {path.resolve()}"


CACHE = STATE / "cache"
FOLDER = STATE / f"starved-{os.getpid()}"
"""A folder that no row hides."""
KILLER = FOLDER / "killer.so"
KILLER_CODE = """
#include <csignal>
#include <cstdlib>
#include <cstring>
extern "C" char* program_invocation_short_name;
__attribute__((constructor)) static void kill_it(int argc, char** argv) {
  const char* killed = std::getenv("KILLED");
  if (!killed || std::strcmp(killed, program_invocation_short_name)) return;
  const char* only = std::getenv("ONLY");
  bool is_meant = !only || !*only;
  for (int i = 0; i < argc && !is_meant; ++i) is_meant = std::strstr(argv[i], only);
  if (is_meant) std::raise(SIGKILL);
}
"""
"""To its parent, a program that loads this ends as one that anyone else has killed."""


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
    Row("a killed nvcc", killed("nvcc"), r"signal 9"),
    Row("a killed compiler of the host", killed("cc1plus", "/scan."), r"signal 9"),
    Row("a killed compiler of the device", killed("cicc", "/scan."), r"signal 9"),
    Row("a killed judge", killed("judge"), r"the judge was killed by signal 9"),
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
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name in ("one", "class/anna", "class/ben"):
        (FOLDER / name / "01_sequential").mkdir(parents=True)
        (FOLDER / name / "01_sequential/scan.cu").write_text(RIGHT)
    made = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", KILLER]
    subprocess.run(made, input=KILLER_CODE, text=True, check=True, timeout=60)
    yield FOLDER
    shutil.rmtree(FOLDER, ignore_errors=True)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    said: str


def run(row: Row | None, *commands: Sequence[str | Path]) -> list[Done]:
    """Run command lines one after the other, each under a row's conditions, with one cache that is empty at first."""
    script = ""
    for words in commands:
        line = shlex.join(map(str, _plain_command_line(*words)))
        if row is not None:
            line = shlex.join(["unshare", "--mount", "--propagation", "private", "sh", "-c", f"{row.line}\n{line}"])
        script += f"{line} 2>&1\nprintf '\\n{ENDED} %d\\n' $?\n"
    if row is not None:
        CACHE.mkdir(parents=True, exist_ok=True)
        script = f"{tmpfs('mode=700', str(CACHE))} && {script}"
    done = subprocess.run(
        [*(UNSHARE if row else ()), "sh", "-c", script],
        cwd=REPOSITORY,
        env=environment(build_folder(), TMPDIR="/tmp"),
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=LONGEST * len(commands),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    parts = re.split(rf"\n{ENDED} (\d+)\n", done.stdout)
    ended = [Done(int(code), said) for said, code in zip(parts[::2], parts[1::2], strict=False)]
    assert len(ended) == len(commands), done.stdout
    return ended


def is_as_said(row: Row, done: Done, right: int = 0) -> bool:
    """Check how a run ended, and return whether with `error`; `right` is the exit code of one that graded."""
    assert "Traceback" not in done.said, done.said
    assert "does not compile" not in done.said, done.said
    if not row.says or (row.may_be_right and done.code == right):
        assert done.code == right, done.said
        return False
    assert done.code == 3, done.said
    assert re.search(row.says, done.said), done.said
    return True


def grading(folder: Path) -> list[str | Path]:
    """Return the words that grade the class."""
    return ["grade", folder / "class", "--out", folder / "results", "--lab", "01", "--no-sandbox"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_machine_that_lacks_something_is_nobodys_failure(row: Row, folder: Path) -> None:
    check = ["check", "01", folder / "one/01_sequential/scan.cu"]
    checked, graded, of_class = run(
        row, check, ["grade", folder / "one", "--json", folder / "one.json"], grading(folder)
    )
    may_not_be_right = replace(row, may_be_right=False)
    is_as_said(may_not_be_right, checked)
    # The other labs are not there, which is no fault of the machine's.
    if not is_as_said(may_not_be_right, graded, right=1):
        assert json.loads((folder / "one.json").read_text())["labs"][0]["verdict"] == "pass"
    is_error = is_as_said(row, of_class)
    verdicts = [record["verdict"] for record in records(folder)]
    assert verdicts == [("error" if is_error else "pass")] * len(verdicts)
    if is_error:
        is_right_after_resuming(folder)
    else:
        has_all_points(folder)


@pytest.mark.parametrize("words", ["No space left on device", "Cannot allocate memory"])
def test_a_file_that_claims_a_fault_of_the_machine_is_graded(words: str, folder: Path) -> None:
    for path in folder.glob("class/*/01_sequential/scan.cu"):
        path.write_text(f'#error "{words}"\n{RIGHT}')
    done = run(None, grading(folder))[0]
    assert done.code == 0, done.said
    assert [record["verdict"] for record in records(folder)] == ["fail", "fail"]


PRINTED = """\
__asm__(".print \\"g++: fatal error: Killed signal terminated program cc1plus\\"\\n"
        ".print \\"compilation terminated.\\"\\n"
        ".err\\n");
"""
"""What g++ says where its compiler was killed, by the assembler, which then fails."""


def test_a_file_that_claims_to_be_killed_is_graded(folder: Path) -> None:
    for path in folder.glob("class/*/01_sequential/scan.cu"):
        path.write_text(RIGHT + PRINTED)
    done = run(None, grading(folder))[0]
    assert done.code == 0, done.said
    assert [record["verdict"] for record in records(folder)] == ["fail", "fail"]


@pytest.mark.parametrize("size", ["4k", "16k"])
def test_a_full_disk_for_the_results_stops_a_class_that_goes_on_later(size: str, folder: Path) -> None:
    results = folder / "results"
    results.mkdir()
    row = Row("a full disk", tmpfs(f"size={size}", str(results)), r"cannot write .*No space left")
    is_as_said(row, run(row, grading(folder))[0])
    is_right_after_resuming(folder)


def records(folder: Path) -> list[dict[str, object]]:
    """Return what each student of the class got."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("results/results/*.json"))]


def is_right_after_resuming(folder: Path) -> None:
    words = [*grading(folder), "--resume"]
    if shutil.which("bwrap"):  # in the sandbox a file is found in the cache, whatever its folder is called
        words.remove("--no-sandbox")
    done = run(None, words)[0]
    assert done.code == 0, done.said
    has_all_points(folder)


def has_all_points(folder: Path) -> None:
    assert [record["verdict"] for record in records(folder)] == ["pass", "pass"]
    assert all(record["points"] == record["max_points"] for record in records(folder))
