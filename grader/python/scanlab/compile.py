"""Compile CUDA programs for the virtual GPU or a real one, and keep what was compiled.

An object is kept under the hash of what it was made from: the file's name and text, nvcc and the flags; beside it lie
the names and hashes of the headers it included. The program linked from it is kept under the objects and libraries.

What was compiled in the sandbox is kept apart from what was not: outside of it a file may have included anything. There
every file has the same name, so that where it lies matters to nothing: who hands in a text that somebody else has
handed in gets the same object. An entry is a function of what its name is the hash of, and is put together here, from
copies of what the compiler wrote: a file can spoil none but its own.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from scanlab import sandbox
from scanlab.bootstrap.cuda import PTX_FLAGS
from scanlab.errors import KitError, UsageError, WorkError
from scanlab.foreign_text import replaced
from scanlab.labs import Device
from scanlab.paths import LABS, ROOT, STATE, shown
from scanlab.process import run_group
from scanlab.toolchain import Toolchain, product, toolchain

CACHE = STATE / "cache"
SANDBOXED_SOURCE = Path("/submission/scan.cu")
"""What each file is called in the sandbox."""
CACHE_ENTRIES = 512
"""So many compiled objects and programs are kept, of half a megabyte each: a class has four of each different file."""
YOUNG = 600.0
"""Seconds after its last use in which an entry is not dropped: somebody may be about to run it."""
COMPILE_TIMEOUT = 300.0
ELEMENT_FLAGS = {"float": (), "affine": ("-DSCANLAB_ELEMENT_AFFINE",)}
DEVICE_FLAGS = {"vgpu": PTX_FLAGS, "gpu": ("-arch=native", "-lineinfo", "-cudart", "static")}
DEVICE_LINK_FLAGS = {
    # With -cudart none nvcc refuses to link device code; the virtual GPU does without NVIDIA's device runtime.
    "vgpu": (*PTX_FLAGS[: PTX_FLAGS.index("-cudart")], "-cudadevrt", "none"),
    "gpu": ("-arch=native",),
}
RELOCATABLE = b"__cudaRegisterLinkedBinary_"
"""Begins a symbol that every object made with -rdc=true needs, and that linking the device code defines."""
OLD_NAMES = re.compile(rb"\bcudaThread(Synchronize|Exit|[GS]etLimit|[GS]etCacheConfig)\b")
"""Functions that older textbooks use and that the headers of CUDA 13 no longer declare; OLD_NAMES_HEADER does."""
OLD_NAMES_HEADER = ROOT / "grader/cudart/old_names.cuh"
NO_OLD_NAMES = (13, 0)
SYSTEM_LIBRARIES = ("-lpthread", "-ldl", "-lrt")


class CompileError(WorkError):
    """The learner's file does not compile; the text is nvcc's own."""

    what = "does not compile"


class CompileTimeoutError(CompileError):
    """Compiling it takes longer than it may."""

    what = "does not compile in time"


class ForbiddenHeaderError(CompileError):
    """It uses a library that does what the lab asks for."""

    what = "includes what this lab asks you to write"


class LinkError(CompileError):
    """It compiles, and uses something that is nowhere defined; the text is the linker's."""

    what = "does not link"


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


def compile_object(source: Source, device: Device, *, is_sandboxed: bool = False) -> Path:
    """Compile one file and return the object, from the cache where nothing has changed.

    In the sandbox it can include nothing but the system's headers, CUDA's and `labs/*.cuh`, and is called
    SANDBOXED_SOURCE, also in the object.

    Raises CompileError with nvcc's messages, which name the file as the learner would type it.
    """
    tools = toolchain()
    text = read_source(source.path)
    if is_sandboxed:
        name, cwd = str(SANDBOXED_SOURCE), SANDBOXED_SOURCE.parent
    else:
        name = shown(source.path)
        cwd = Path.cwd() if source.path.absolute().is_relative_to(Path.cwd()) else ROOT
    flags = ["-std=c++17", "-I", str(LABS), *DEVICE_FLAGS[device], *source.flags]
    if tools.release >= NO_OLD_NAMES and OLD_NAMES.search(text):
        flags += ["-include", str(OLD_NAMES_HEADER)]
    kind = "sandboxed object" if is_sandboxed else "object, included.json"
    variables = [f"{variable}={os.environ.get(variable)}" for variable in sandbox.COMPILER_VARIABLES]
    entry = CACHE / _hash(kind, text, str(cwd), name, tools.identity, *flags, *variables)
    made = entry / "object.o"
    if _headers_unchanged(entry):
        _touch(entry)
        return made
    with _Making(entry) as folder:
        headers = folder / "headers.d"

        def command(to: Path) -> list[str]:
            outputs = ["-MD", "-MF", str(to / "headers.d"), "-c", name, "-o", str(to / "object.o")]
            return [str(tools.nvcc), *flags, *outputs]

        if is_sandboxed:
            given = [*sorted(LABS.glob("*.cuh")), OLD_NAMES_HEADER]
            with _outbox(folder, "object.o", "headers.d") as outbox:
                try:
                    _run_sandboxed(command(outbox), cwd, given, outbox, device, {SANDBOXED_SOURCE: source.path})
                except CompileError as error:
                    raise type(error)(str(error).replace(name, shown(source.path))) from error
        else:
            _run(command(folder), cwd)
        names = _included(headers.read_text(errors="surrogateescape"), cwd)
        (folder / "headers.json").write_text(json.dumps(_header_hashes(names)))
        (folder / "included.json").write_text(json.dumps([str(path) for path in names]))
    return made


def link(
    objects: Sequence[Path], device: Device, libraries: Sequence[Path] = (), *, is_sandboxed: bool = False
) -> Path:
    """Link objects with `libraries` and the device's CUDA runtime; return the program.

    Raises LinkError with the linker's messages: a symbol that the program lacks is the program's fault.
    """
    tools = toolchain()
    if device == "vgpu":
        libraries = [*libraries, product("grader/cudart/libcudart_vgpu.a")]
    stamps = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in libraries]
    contents = [path.read_bytes() for path in objects]
    entry = CACHE / _hash(
        "sandboxed program" if is_sandboxed else "program", device, tools.identity, *contents, *stamps
    )
    program = entry / "program"
    if program.exists():
        _touch(entry)
        return program
    with _Making(entry) as folder:
        given = [*libraries, *_members(libraries)]

        def run(command: list[str], name: str) -> None:
            """Run a command, which ends with the file that it makes: `name`."""
            if is_sandboxed:
                with _outbox(folder, name) as outbox:
                    _run_sandboxed([*command, str(outbox / name)], ROOT, [*objects, *given], outbox, device)
            else:
                _run([*command, str(folder / name)], ROOT)

        try:
            runtime = _runtime(tools, device)
            relocatable = [path for path, content in zip(objects, contents, strict=True) if RELOCATABLE in content]
            if relocatable:
                joined = folder / "device_code.o"
                run([str(tools.nvcc), *DEVICE_LINK_FLAGS[device], "-dlink", *map(str, relocatable), "-o"], joined.name)
                objects = [*objects, joined]
                runtime = [*_device_runtime(tools, device), *runtime]
            command = ["g++", *map(str, objects), *map(str, libraries), *runtime, *SYSTEM_LIBRARIES]
            run([*command, "-o"], "program")
        except CompileTimeoutError:
            raise
        except CompileError as error:
            raise LinkError(re.sub(rf"{re.escape(str(CACHE))}/\w+/object\.o: ", "", str(error))) from error
    return program


def _members(libraries: Sequence[Path]) -> list[Path]:
    """Return the folders in which the members of thin archives lie: Meson's static libraries."""
    folders = [library.with_name(f"{library.name}.p") for library in libraries]
    return [folder for folder in folders if folder.is_dir()]


def _runtime(tools: Toolchain, device: Device) -> list[str]:
    return [] if device == "vgpu" else [_cuda_library(tools, "libcudart_static.a")]


def _device_runtime(tools: Toolchain, device: Device) -> list[str]:
    return [] if device == "vgpu" else [_cuda_library(tools, "libcudadevrt.a")]


def _cuda_library(tools: Toolchain, name: str) -> str:
    for folder in tools.libraries:
        if (folder / name).is_file():
            return str(folder / name)
    raise KitError(f"{name} is in none of {', '.join(map(str, tools.libraries))}: is CUDA whole?")


def build_runner(
    path: Path, element: str, device: Device, *, is_sandboxed: bool, forbidden: Sequence[str] = ()
) -> Path:
    """Compile a submission for one element and link it with the runner; return the program.

    Whoever calls says whether the file is somebody else's and has to be compiled in the sandbox.

    Raises CompileError; ForbiddenHeaderError for a header whose name fits one of the patterns `forbidden` ("cub/*").
    """
    made = compile_object(Source(path, ELEMENT_FLAGS[element]), device, is_sandboxed=is_sandboxed)
    _refuse_headers(path, made, forbidden)
    return link([made], device, [product(f"grader/runner/librunner_{element}.a")], is_sandboxed=is_sandboxed)


INCLUDE = re.compile(r"\s*#\s*include\s*[<\"]([^>\"]+)")
DEBUG_FILE = re.compile(rb'\.file\s+\d+\s+"([^"\n]+)"')
"""What PTX says of the files that its code comes from, also where only the device's pass has included them."""


def _refuse_headers(path: Path, made: Path, forbidden: Sequence[str]) -> None:
    """Raise ForbiddenHeaderError, with the line of the include, when an object is made from a forbidden header."""
    if not forbidden:
        return
    used = json.loads((made.parent / "included.json").read_text())
    used += [os.fsdecode(name) for name in DEBUG_FILE.findall(made.read_bytes())]
    name = next((hit for file in used if (hit := _forbidden_name(file, forbidden)) and _is_cudas(file)), None)
    if name is None:
        return
    for number, line in enumerate(read_source(path).decode().splitlines(), 1):
        found = INCLUDE.match(line)
        if found and _forbidden_name(f"/{found.group(1)}", forbidden):
            raise ForbiddenHeaderError(f"{shown(path)}:{number}: #include <{found.group(1)}>: write the scan yourself")
    raise ForbiddenHeaderError(
        f"{shown(path)}: <{name}> is included by way of a macro or a header: write the scan yourself"
    )


def _is_cudas(file: str) -> bool:
    """Return whether a header is CUDA's or the system's; a learner's own folder may be called as a library is."""
    tools, path = toolchain(), Path(os.path.realpath(file))
    tops = [Path("/usr"), tools.nvcc.resolve().parent.parent, *(folder.parent for folder in tools.libraries)]
    return any(path.is_relative_to(top) for top in tops)


def _forbidden_name(file: str, patterns: Sequence[str]) -> str | None:
    """Return the end of a header's path that fits one of the patterns: cub/cub.cuh."""
    parts = Path(file).parts
    ends = ("/".join(parts[at:]) for at in range(1, len(parts)))
    return next((end for end in ends if any(fnmatchcase(end, pattern) for pattern in patterns)), None)


def build_program(paths: Sequence[Path], device: Device, flags: Sequence[str]) -> Path:
    """Compile and link a program of its own, one compiler a file at the same time; return it."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda path: compile_object(Source(path, tuple(flags)), device), paths))
    program = link(objects, device)
    prune()
    return program


def _run(command: list[str], cwd: Path) -> None:
    """Run a compiler or linker. Raises CompileError with what it said when it fails."""
    tool = Path(command[0]).name
    try:
        done = run_group(command, COMPILE_TIMEOUT, cwd)
    except FileNotFoundError as error:
        raise KitError(f"{command[0]} is gone: start the command again with grader/scanlab") from error
    if done.code is None:
        raise CompileTimeoutError(f"{tool} did not end within {COMPILE_TIMEOUT:.0f} s")
    if done.code != 0:
        raise CompileError(_told(done.output) or f"{tool} failed with exit code {done.code} and no message")


SANDBOX_TIMEOUT = 8.0 * sandbox.COMPILER_CPU
"""Seconds of wall clock: more than all of a compiler's programs can use up, one after the other, on a busy machine."""
LONGEST_LINE = 500


def _run_sandboxed(
    command: list[str],
    cwd: Path,
    reads: Sequence[Path],
    writes: Path,
    device: Device,
    placed: Mapping[Path, Path] = MappingProxyType({}),
) -> None:
    """Run a compiler or linker in the sandbox; arguments as of `sandbox.run_compiler`.

    Raises CompileError with what it said when it fails, and when a limit stops it: that is the file's doing
    (CompileTimeoutError for processor time). A compiler that has time left and does not end is the machine's: KitError.
    """
    tool = Path(command[0]).name
    try:
        done = sandbox.run_compiler(command, cwd, toolchain(), reads, writes, device, SANDBOX_TIMEOUT, placed)
    except FileNotFoundError as error:
        raise KitError(f"{error.filename} is gone: start the command again with grader/scanlab") from error
    if done.code == 0:
        return
    said = _told(done.output)
    if done.code is None:
        raise KitError(f"{tool} did not end within {SANDBOX_TIMEOUT:.0f} s: this machine is too busy")
    if done.code == -signal.SIGXCPU or CPU_LIMIT.search(done.output):
        raise CompileTimeoutError(f"{tool} used up the {sandbox.COMPILER_CPU} s of processor time that a file may take")
    if done.code == -signal.SIGXFSZ or FILE_LIMIT.search(done.output):
        raise CompileError(f"{tool} wrote more than the {sandbox.COMPILER_FILE >> 20} MiB that a file may take")
    if MEMORY_LIMIT.search(done.output):
        raise CompileError(
            f"{tool} needs more than the {sandbox.COMPILER_MEMORY >> 30} GiB of memory that a file may take"
        )
    raise CompileError(said or f"{tool} failed with exit code {done.code} and no message")


CPU_LIMIT = re.compile(rf"signal {int(signal.SIGXCPU)}\b|CPU time limit exceeded", re.IGNORECASE)
FILE_LIMIT = re.compile(rf"signal {int(signal.SIGXFSZ)}\b|[Ff]ile size limit exceeded|File too large|No space left")
MEMORY_LIMIT = re.compile(
    r"out of memory|memory exhausted|[Cc]annot allocate memory|std::bad_alloc|LLVM ERROR: .*alloc"
)


TEMPORARY = re.compile(r"/[^\s:\"']*/(?:tmpxft_[0-9a-f]+_[0-9a-f]+-\d+_|cc\w{6}(?=\.\w))")
"""How the names of a compiler's own files begin: differently each time."""


def _told(output: str) -> str:
    """Return a compiler's message for people: whatever a file made it say, lines of a length that can be read."""
    text = TEMPORARY.sub("", output.strip())
    lines = [replaced(line) for line in text.splitlines()]
    return "\n".join(f"{line[:LONGEST_LINE]} …" if len(line) > LONGEST_LINE else line for line in lines)


@contextmanager
def _outbox(entry: Path, *names: str) -> Iterator[Path]:
    """Make a folder into which a compiler in the sandbox may write, and copy what it was to make into `entry`.

    Raises CompileError when it has made anything but plain files of these names. They are copied, so that nobody who
    wrote there can change them afterwards.
    """
    outbox = entry / "outbox"
    outbox.mkdir()
    try:
        yield outbox
        for name in names:
            _copy_out(outbox / name, entry / name)
    finally:
        shutil.rmtree(outbox, ignore_errors=True)


def _copy_out(made: Path, to: Path) -> None:
    try:
        descriptor = os.open(made, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise CompileError(f"the compiler made no {made.name}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CompileError(f"the compiler made no {made.name}")
        with to.open("xb") as copy:
            shutil.copyfileobj(file, copy)
    to.chmod(0o755)  # the runner's user is another one


# ---- the cache -----------------------------------------------------------------------------------------------------


def _hash(*parts: str | bytes) -> str:
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:32]


def _included(rule: str, cwd: Path) -> list[Path]:
    """Return the files in nvcc's make rule, without the first, the source."""
    names = rule.replace("\\\n", " ").split(":", 1)[-1].replace("\\ ", "\0").split()
    return [(cwd / name.replace("\0", " ")).resolve() for name in names[1:]]


def _header_hashes(paths: Sequence[Path]) -> dict[str, str]:
    """Return the hash of every header that is not the system's or CUDA's own.

    What is no plain file, such as /dev/null, never counts as unchanged.
    """
    kept = [path for path in paths if not path.is_relative_to("/usr") and not _is_cuda(path)]
    return {str(path): _hash(path.read_bytes()) if path.is_file() else "" for path in kept}


def _is_cuda(path: Path) -> bool:
    return any(path.is_relative_to(folder.parent) for folder in toolchain().libraries)


def _headers_unchanged(entry: Path) -> bool:
    try:
        known = json.loads((entry / "headers.json").read_text())
        return all(Path(name).is_file() and _hash(Path(name).read_bytes()) == digest for name, digest in known.items())
    except (OSError, ValueError):
        return False


def _touch(entry: Path) -> None:
    with suppress(OSError):  # a cache that cannot be written still serves
        os.utime(entry)


class _Making:
    """A folder that becomes the cache's entry when the block ends well, and vanishes otherwise."""

    def __init__(self, entry: Path) -> None:
        self.entry = entry

    def __enter__(self) -> Path:
        try:
            CACHE.mkdir(parents=True, exist_ok=True)
            self.folder = Path(tempfile.mkdtemp(prefix="making-", dir=CACHE))
            self.is_stale = self.entry.exists()  # its headers have changed; what another makes meanwhile stays
        except OSError as error:
            raise KitError(f"cannot write {shown(CACHE)}: {error.strerror}") from error
        return self.folder

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            if self.is_stale:
                shutil.rmtree(self.entry, ignore_errors=True)
            try:
                self.folder.rename(self.entry)
                return
            except OSError:
                pass  # another process has just made the same entry
        shutil.rmtree(self.folder, ignore_errors=True)


def prune() -> None:
    """Drop the entries used longest ago, beyond CACHE_ENTRIES, and what an interrupted compiler left."""
    now = time.time()
    aged = []
    for entry in CACHE.iterdir() if CACHE.is_dir() else ():
        try:
            aged.append((now - entry.stat().st_mtime, entry))
        except OSError:
            continue  # another process has dropped it
    aged.sort()
    for position, (age, entry) in enumerate(aged):
        if age > YOUNG and (position >= CACHE_ENTRIES or entry.name.startswith("making-")):
            shutil.rmtree(entry, ignore_errors=True)
