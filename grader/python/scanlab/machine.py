"""Whose fault a compiler's failure is: the file's, or that of a machine that lacks a resource.

The rule, in this order:

1. A program that was stopped by a limit of the sandbox is the file's doing.
2. A program that was killed by SIGKILL or SIGTERM below those limits is the machine's, always: no file can send a
   signal. The exit status alone says so, never a word, for a file can print any (`compiler/running.py`).
3. A failure whose message names a place in a source, and nothing that a machine lacks, is the file's.
4. Any other failure is in doubt: the compiler crashed, had no diagnostic, or could not write. Then the kit's own file
   is compiled in the same way (`compile.py`, `grader/runner/control.cu`). Where that fails, too, it is the machine.
   Where it compiles, the submission is compiled once more, but where a limit on time has stopped it. It is the file's
   fault only where that fails as well, and the control compiles after that, too: a machine that lacks something only
   now and then has three chances to show it. A killed `ld` belongs here, and a killed compiler of the host where nvcc
   asks it for its properties: only words say so.

No file can make itself anyone else's fault: what it says only decides whether the control is compiled, and nothing of
its compiler is left by then.
"""

import errno
import os
import re
import resource
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scanlab.paths import shown

KILLED = 126
"""From this exit code on a shell, or nvcc, says that a program could not be started or was killed."""
SHELLS_SIGNALS = 128
"""A shell adds a signal's number to this."""
WORDS = frozenset(
    words.lower()
    for words in (
        *map(
            os.strerror,
            (
                errno.ENOSPC,
                errno.EDQUOT,
                errno.EFBIG,
                errno.EROFS,
                errno.EIO,
                errno.ENOMEM,
                errno.EAGAIN,
                errno.EMFILE,
                errno.ENFILE,
                errno.EACCES,
                errno.EPERM,
            ),
        ),
        "Cannot fork",
        "File size limit exceeded",
        "Killed",
        "bad_alloc",
        "cannot execute",
        "could not allocate",
        "died due to signal",
        "file truncated",
        "internal compiler error",
        "internal error",
        "memory exhausted",
        "out of memory",
        "terminated by signal",
        "unable to execute",
        "virtual memory exhausted",
    )
)
"""What a compiler says of a machine that lacks something; a file can make it say so, too."""
PLACED = re.compile(r"(?P<path>[^\s:()][^:()\n]{0,4000})(?:\(\d+\)|:\d+(?::\d+)?): (?:catastrophic |fatal )?error\b")
LINKER = re.compile(r"undefined reference to|[Uu]ndefined symbol|Undefined reference to|multiple definition of")
TEMPORARY = re.compile(r"(?:^|/)(?:tmpxft_|cc\w{6}\.)")
"""How the names of a compiler's own files begin: a place there is none in a source."""
FEW_DESCRIPTORS, FEW_PROCESSES = 256, 1024
SMALL_FILES, SMALL_MEMORY = 256 << 20, 4 << 30
"""Limits below these are named where a machine is at fault."""
FEW_FILES = 64
"""nvcc needs more than 12, and three run at a time."""
NO_THREAD = "can't start new thread"
"""What Python says of it."""
MIB = 1 << 20
LEAST_ROOM = 256 * MIB
"""Bytes that a file's compiler may write (`sandbox.COMPILER_FILE`), and that the machine has to have."""


def killed_by(code: int) -> int:
    """Return the signal by which a program was killed from outside, as its exit code or a shell's has it; else 0."""
    number = -code if code < 0 else code - SHELLS_SIGNALS
    return number if number in (signal.SIGKILL, signal.SIGTERM) else 0


def is_doubtful(code: int, output: str) -> bool:
    """Return whether a failed compiler's or linker's messages leave open whose fault it is."""
    if code < 0 or code >= KILLED or _is_of_a_lack(output):
        return True
    if LINKER.search(output):
        return False
    lines = (PLACED.match(line) for line in output.splitlines())
    return not any(found and not TEMPORARY.search(found["path"]) for found in lines)


def _is_of_a_lack(said: str) -> bool:
    said = said.lower()
    return any(words in said for words in WORDS)


def lacks_room(output: str, folders: Sequence[Path]) -> str:
    """Return which of the folders has less room than a file's compiler may use, where it has found none; else ""."""
    if not re.search(f"{os.strerror(errno.ENOSPC)}|{os.strerror(errno.EDQUOT)}", output):
        return ""
    return next((text for folder in folders if (text := _room(folder, LEAST_ROOM))), "")


def fault(said: str, folders: Sequence[Path]) -> str:
    """Return one line about why the control did not compile either, with what this machine has little of."""
    lines = said.splitlines() or ["it ended without a message"]
    line = next((line for line in lines if _is_of_a_lack(line)), lines[0]).strip()
    little = [*filter(None, (_room(folder, LEAST_ROOM // 4) for folder in folders)), *_limits()]
    return "; ".join([f"this machine cannot compile: the kit's own file fails, too: {line}", *dict.fromkeys(little)])


def fault_of_a_kill(tool: str, number: int) -> str:
    """Return one line about a compiler that was killed."""
    killed = f"this machine cannot compile: {tool}, or a program that it runs, was killed by signal {number}"
    return "; ".join([killed, *_limits()])


def fault_of_a_program(said: str) -> str:
    """Return one line about why the kit's own program has ended as a submission has."""
    return "; ".join([f"this machine cannot run a program: the kit's own ends, too: {said}", *_limits()])


def sentence_of(error: OSError) -> str:
    """Return what a failed call of the system means, in one line that names the resource."""
    what = error.strerror or str(error)
    name = shown(Path(os.fsdecode(error.filename))) if isinstance(error.filename, (str, bytes)) else ""
    little = [*filter(None, (_room(folder, 1) for folder in (temporary(),))), *_limits()]
    return "; ".join([f"{name}: {what}" if name else f"this machine: {what}", *little])


def said_of(error: BaseException) -> str:
    """Return in one line what this machine lacks, where an exception is about that; else ""."""
    if isinstance(error, OSError):
        return sentence_of(error)
    if isinstance(error, MemoryError) or str(error) == NO_THREAD:
        what = "it has no memory left" if isinstance(error, MemoryError) else "it can start no more threads"
        return "; ".join([f"this machine: {what}", *_limits()])
    return ""


def temporary() -> Path:
    """Return the folder for temporary files; where none can be written, the first that would be."""
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return Path(os.environ.get("TMPDIR", "/tmp"))


def _room(folder: Path, least: int) -> str:
    """Return what is wrong with a folder: it is read-only, or has less room than `least` bytes; else ""."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with suppress(OSError):
        about = os.statvfs(folder)
        free = about.f_bavail * about.f_frsize
        if about.f_flag & os.ST_RDONLY:
            return f"{shown(folder)} is read-only"
        if free < least:
            return f"{shown(folder)} has {free // MIB} MiB left"
        if about.f_files and about.f_favail < FEW_FILES:
            return f"{shown(folder)} can hold {about.f_favail or 'no'} more files"
    return ""


def _limits() -> list[str]:
    """Return which of this process's limits are small, as a shell calls them."""
    small = (
        ("f", resource.RLIMIT_FSIZE, SMALL_FILES, 1024),
        ("v", resource.RLIMIT_AS, SMALL_MEMORY, 1024),
        ("d", resource.RLIMIT_DATA, SMALL_MEMORY, 1024),
        ("n", resource.RLIMIT_NOFILE, FEW_DESCRIPTORS, 1),
        ("u", resource.RLIMIT_NPROC, FEW_PROCESSES, 1),
    )
    now = ((name, resource.getrlimit(which)[0], least, unit) for name, which, least, unit in small)
    return [f"ulimit -{name} is {value // unit}" for name, value, least, unit in now if 0 <= value < least]
