"""Run a compiler or linker, in the sandbox or outside of it, and say how it has failed.

Who has killed a program is known by exit statuses alone: a file can print any words. nvcc passes on the status of most
programs that it runs, as a shell has it. g++ says in words only that one of its own programs was killed; `WITNESSED`
makes it pass on the status, too, by a shell around each of them.
"""

import os
import re
import shlex
import shutil
import signal
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

from scanlab import machine
from scanlab.contract import Device
from scanlab.errors import KitError
from scanlab.foreign_text import LONGEST_LINE, cut, replaced
from scanlab.judging import sandbox
from scanlab.judging.compiler import stages
from scanlab.judging.compiler.errors import CompileError, CompileTimeoutError
from scanlab.judging.toolchain import toolchain
from scanlab.process import Finished, run_group
from scanlab.scratch import scratch

COMPILE_TIMEOUT = 300.0
SANDBOX_TIMEOUT = 8.0 * sandbox.COMPILER_CPU
"""Seconds of wall clock: more than all of a compiler's programs can use up, one after the other, on a busy machine."""
WITNESSED = Path(__file__).with_name("witnessed.options")
"""Options for g++, which any process of it may read: its exit code is that of the program of it that has failed."""
CPU_LIMIT = re.compile(rf"signal {int(signal.SIGXCPU)}\b|CPU time limit exceeded", re.IGNORECASE)
FILE_LIMIT = re.compile(rf"signal {int(signal.SIGXFSZ)}\b|[Ff]ile size limit exceeded|File too large|No space left")
MEMORY_LIMIT = re.compile(
    r"out of memory|memory exhausted|[Cc]annot allocate memory|std::bad_alloc|LLVM ERROR: [^\n]{0,200}alloc"
)
WORD = re.compile(r"[^\s:\"']+")
TEMPORARY = re.compile(r"/(?:tmpxft_[0-9a-f]{1,16}_[0-9a-f]{1,16}-\d{1,9}_|cc\w{6}(?=\.\w))")
"""How the names of a compiler's own files begin, in their folder: differently each time."""


def gcc() -> list[str]:
    """Return the linker's command, but for what it links."""
    return ["g++", f"@{WITNESSED}"]


def nvcc() -> list[str]:
    """Return nvcc's command, but for what it is to do.

    A compiler of the host that the user has chosen may have no such options as WITNESSED.
    """
    command = [str(toolchain().nvcc)]
    if any(variable in os.environ for variable in sandbox.COMPILER_VARIABLES):
        return command
    # nvcc splits it at commas, and gives it to a shell as it is.
    return [*command, "-Xcompiler", f"@{shlex.quote(str(WITNESSED))}".replace(",", r"\,")]


def listing(headers: Path) -> list[str]:
    """Return the options that make nvcc write down which headers it includes."""
    return ["-MD", "-MF", str(headers)]


def compile_here(command: list[str], headers: Path, cwd: Path, key: str, niceness: int) -> str:
    """Compile a file, write down its headers, and return what nvcc said. Raises what `run_here` raises."""
    with scratch() as folder:
        run = partial(_finished, cwd=cwd, niceness=niceness)
        done = stages.compile_in_stages(command, headers, folder, key, run)
    if done is None:
        return run_here([*command, *listing(headers)], cwd)
    return _said(command, Finished(done.code, done.output.replace(f"{folder}/", "")))


def run_here(command: list[str], cwd: Path) -> str:
    """Run a compiler or linker and return what it said.

    Raises CompileError with what it said when it fails, and KitError when it was killed.
    """
    return _said(command, _finished(command, cwd))


def _finished(command: Sequence[str], cwd: Path, niceness: int | None = None) -> Finished:
    try:
        return run_group(command, COMPILE_TIMEOUT, cwd, niceness=niceness)
    except FileNotFoundError as error:
        raise _gone(error) from error


def _gone(error: FileNotFoundError) -> KitError:
    """Return the error of a program that is not there; or of a folder for temporary files."""
    if error.filename is None:
        return KitError(machine.sentence_of(error))
    return KitError(f"{error.filename} is gone: start the command again with grader/scanlab")


def _said(command: Sequence[str], done: Finished) -> str:
    tool = Path(command[0]).name
    if done.code is None:
        raise CompileTimeoutError(f"{tool} did not end within {COMPILE_TIMEOUT:.0f} s", done.output)
    if done.code != 0:
        _raise_if_killed(tool, done.code)
        raise _failure(tool, done.code, done.output)
    return message(done.output)


def _raise_if_killed(tool: str, code: int) -> None:
    """Raise KitError where a program was killed from outside: no file is at fault for that."""
    if number := machine.killed_by(code):
        raise KitError(machine.fault_of_a_kill(tool, number))


def _failure(tool: str, code: int, output: str) -> CompileError:
    how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
    text = message(output) or f"{tool} {how} and no message"
    return CompileError(text, (output.strip() or text) if machine.is_doubtful(code, output) else None)


def run_sandboxed(
    command: list[str],
    cwd: Path,
    reads: Sequence[Path],
    writes: Path,
    device: Device,
    placed: Mapping[Path, Path] = MappingProxyType({}),
) -> str:
    """Run a compiler or linker in the sandbox and return what it said; arguments as of `sandbox.run_compiler`.

    Raises CompileError with what it said when it fails, and when a limit stops it: that is the file's doing
    (CompileTimeoutError for processor time). Raises KitError, the machine's fault, for a compiler that has time left
    and does not end, and for one that was killed below its limits.
    """
    tool = Path(command[0]).name
    try:
        done = sandbox.run_compiler(command, cwd, toolchain(), reads, writes, device, SANDBOX_TIMEOUT, placed)
    except FileNotFoundError as error:
        raise _gone(error) from error
    if done.code == 0:
        return message(done.output)
    if done.code is None:
        raise KitError(f"{tool} did not end within {SANDBOX_TIMEOUT:.0f} s: this machine is too busy")
    if done.code == -signal.SIGXCPU:
        raise _too_slow(tool, done.output)
    if done.code == -signal.SIGXFSZ:
        raise _too_large(tool, done.output)
    if done.is_out_of_memory:
        raise _too_much_memory(tool, done.output)
    _raise_if_killed(tool, done.code)
    for words, error in ((CPU_LIMIT, _too_slow), (FILE_LIMIT, _too_large), (MEMORY_LIMIT, _too_much_memory)):
        if words.search(done.output):
            raise error(tool, done.output)
    raise _failure(tool, done.code, done.output)


def _too_slow(tool: str, output: str) -> CompileError:
    limit = f"the {sandbox.COMPILER_CPU} s of processor time that a file may take"
    return CompileTimeoutError(f"{tool} used up {limit}", output)


def _too_large(tool: str, output: str) -> CompileError:
    return CompileError(f"{tool} wrote more than the {sandbox.COMPILER_FILE >> 20} MiB that a file may take", output)


def _too_much_memory(tool: str, output: str) -> CompileError:
    limit = f"the {sandbox.COMPILER_MEMORY >> 30} GiB of memory that a file may take"
    return CompileError(f"{tool} needs more than {limit}", output)


def message(output: str) -> str:
    """Return a compiler's message for people: whatever a file made it say, lines of a length that can be read."""
    text = WORD.sub(_without_temporary, cut(output.strip()))
    return "\n".join(cut(replaced(line), LONGEST_LINE) for line in text.splitlines())


def _without_temporary(word: re.Match[str]) -> str:
    """Return a word, such as a path, without the folder and the changing part of a compiler's own file in it."""
    name = word.group()
    ends = [found.end() for found in TEMPORARY.finditer(name)]
    return name[: name.index("/")] + name[ends[-1] :] if ends else name


@contextmanager
def outbox(entry: Path, *names: str) -> Iterator[Path]:
    """Make a folder into which a compiler in the sandbox may write, and copy what it was to make into `entry`.

    Raises CompileError when it has made anything but plain files of these names. They are copied, so that the
    compiler's processes cannot change them afterwards.
    """
    folder = entry / "outbox"
    folder.mkdir()
    try:
        yield folder
        for name in names:
            _copy_out(folder / name, entry / name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_out(made: Path, to: Path) -> None:
    try:
        descriptor = os.open(made, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise CompileError(f"the compiler made no {made.name}", "") from error
    except OSError as error:  # a link
        raise CompileError(f"the compiler made no {made.name}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CompileError(f"the compiler made no {made.name}")
        with to.open("xb") as copy:
            shutil.copyfileobj(file, copy)
    to.chmod(0o755)  # the runner's user is another one
