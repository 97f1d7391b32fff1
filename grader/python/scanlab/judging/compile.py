"""Compile CUDA programs for the virtual GPU or a real one, and keep what was compiled.

An object is kept under the hash of what it was made from: the file's name and text, nvcc and the flags, and the names
and texts of the headers that it included, which a list of their own, under the hash of the rest, names. The program
linked from it is kept under the objects and libraries. `compiler/cache.py` has the entries, which never change.

What was compiled in the sandbox is kept apart from what was not: outside of it a file may have included anything. There
every file has the same name, so that where it lies matters to nothing: who hands in a text that another has
handed in gets the same object. An entry is a function of what its name is the hash of, and is put together here, from
copies of what the compiler wrote: a file can spoil none but its own.
"""

import json
import os
import re
import shutil
import signal
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from scanlab import machine
from scanlab.bootstrap.cuda import PTX_FLAGS
from scanlab.contract import Device
from scanlab.errors import KitError, UsageError, WorkError
from scanlab.foreign_text import LONGEST_LINE, cut, replaced
from scanlab.judging import driver, own_names, sandbox
from scanlab.judging.compiled import ready_made
from scanlab.judging.compiled.line_table import line_with_most, texts
from scanlab.judging.compiler import cache, stages
from scanlab.judging.toolchain import Toolchain, product, toolchain
from scanlab.labs.rubric import ONLY_CODE
from scanlab.paths import LABS, ROOT, shown
from scanlab.process import Finished, run_group
from scanlab.scratch import scratch

SANDBOXED_SOURCE = Path("/submission/scan.cu")
"""What each file is called in the sandbox."""
MOST_CODE = 16 << 20
"""Bytes of PTX that a submission may have on the virtual GPU (autograder/device/virtual_device.cpp)."""
LIST = ".headers.json"
"""How the list of an object's headers ends."""
SAID = "said.txt"
"""What nvcc has said of an object: its warnings."""
COMPILE_TIMEOUT = 300.0
NO_HALVES = "-DCCCL_DISABLE_FP16_SUPPORT"
"""libcu++ without its interfaces to 16-bit floats: nvcc takes a fifth less time for a file with <cuda/atomic>."""
ATOMIC = re.compile(rb"<cuda/atomic>")
HALVES = re.compile(rb"__half|bfloat16|fp16|bf16|mma|cub/|thrust/|cuda/std/")
"""A file that has one of these may need them: CUB does not compile without."""
ELEMENT_FLAGS = {
    "float": (NO_HALVES,),
    "affine": (NO_HALVES, "-DSCANLAB_ELEMENT_AFFINE"),
    # The same element, by name: what the virtual GPU's grades are of. No macro says so: a file cannot ask.
    "provenance": (NO_HALVES, "-DSCANLAB_ELEMENT_AFFINE", "-I", str(own_names.BY_NAME)),
}
RUNNERS = {"float": "float", "affine": "affine", "provenance": "affine"}
"""The runner that each is linked with: it knows the size of an element and nothing else of it."""
DEVICE_FLAGS = {"vgpu": PTX_FLAGS, "gpu": ("-arch=native", "-lineinfo", "-cudart", "static")}
HOST_LINES = ("-Xcompiler=-g1",)
"""The lines of host code: `run --check` names them."""
ASSEMBLED_FOR = f"sm_{PTX_FLAGS[1].rpartition('_')[2]}"
"""The architecture of the PTX that the virtual GPU runs, as ptxas calls it: sm_80."""
DEVICE_LINK_FLAGS = {
    # With -cudart none nvcc refuses to link device code; the virtual GPU does without NVIDIA's device runtime.
    "vgpu": (*PTX_FLAGS[: PTX_FLAGS.index("-cudart")], "-cudadevrt", "none"),
    "gpu": ("-arch=native",),
}
OBJECT = re.compile(rf"{re.escape(str(cache.CACHE))}/\w{{32}}/object\.o: ")
RELOCATABLE = b"__cudaRegisterLinkedBinary_"
"""Begins a symbol that every object made with -rdc=true needs, and that linking the device code defines."""
OLD_NAMES = re.compile(rb"\bcudaThread(Synchronize|Exit|[GS]etLimit|[GS]etCacheConfig)\b")
"""Functions that older textbooks use and that the headers of CUDA 13 no longer declare; OLD_NAMES_HEADER does."""
OLD_NAMES_HEADER = ROOT / "grader/cudart/old_names.cuh"
NO_OLD_NAMES = (13, 0)
CONTROL = ROOT / "grader/runner/control.cu"
"""The kit's own file, which compiles wherever any file does."""
SYSTEM_LIBRARIES = ("-lpthread", "-ldl", "-lrt")


class CompileError(WorkError):
    """The learner's file does not compile; the text is nvcc's own."""

    what = "does not compile"
    check = "the file compiles"
    """What has failed, as a check is called."""

    def __init__(self, text: str, doubtful: str | None = None) -> None:
        """Make one; where it may be the machine's fault (machine.py), `doubtful` has what the compiler said."""
        super().__init__(text)
        self.doubtful = doubtful

    def with_text(self, text: str) -> "CompileError":
        """Return the same error with another text."""
        return type(self)(text, self.doubtful)


class CompileTimeoutError(CompileError):
    """Compiling it takes longer than it may."""

    what = "does not compile in time"


class RefusedError(CompileError):
    """It has what no file may have, whether or not it compiles: in this line, or 0 where that is not known."""

    what = "is refused"
    check = "the file has nothing that the grader refuses"

    def __init__(self, path: Path, line: int, sentence: str) -> None:
        """Make one whose text has the place and why."""
        super().__init__(f"{shown(path)}:{line}: {sentence}" if line else f"{shown(path)}: {sentence}")
        self.line, self.sentence = line, sentence


class ForbiddenHeaderError(RefusedError):
    """It uses a library that does what the lab asks for."""

    what = "uses a ready-made scan"
    check = "the scan is not a library's"


class TooLargeError(RefusedError):
    """It becomes more code than the virtual GPU takes."""

    what = "becomes too much code"
    check = "the code fits into the virtual GPU"


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


@dataclass(frozen=True)
class _Asked:
    """How a file is compiled, and the hash of that."""

    name: str
    cwd: Path
    flags: tuple[str, ...]
    key: str


def _asked(source: Source, device: Device, *, is_sandboxed: bool) -> _Asked:
    tools = toolchain()
    text = read_source(source.path)
    if is_sandboxed:
        name, cwd = str(SANDBOXED_SOURCE), SANDBOXED_SOURCE.parent
    else:
        name = shown(source.path)
        cwd = Path.cwd() if source.path.absolute().is_relative_to(Path.cwd()) else ROOT
    flags = ["-std=c++17", *source.flags, "-I", str(LABS), *DEVICE_FLAGS[device]]
    if HALVES.search(text) or not ATOMIC.search(text):
        flags = [flag for flag in flags if flag != NO_HALVES]
    if tools.release >= NO_OLD_NAMES and OLD_NAMES.search(text):
        flags += ["-include", str(OLD_NAMES_HEADER)]
    kind = "sandboxed object" if is_sandboxed else "object, included.json"
    variables = [f"{variable}={os.environ.get(variable)}" for variable in sandbox.COMPILER_VARIABLES]
    native = driver.capabilities() if device == "gpu" else []  # nodes that share a cache may have different GPUs
    key = cache.hash_of(f"{kind}, {SAID}", text, str(cwd), name, tools.identity, *flags, *variables, *native)
    return _Asked(name, cwd, tuple(flags), key)


def said_of(path: Path, element: str, device: Device, *, is_sandboxed: bool) -> str:
    """Return what nvcc said of a submission that it has compiled for one element, its warnings, from the cache."""
    asked = _asked(Source(path, ELEMENT_FLAGS[element]), device, is_sandboxed=is_sandboxed)
    entry = _known_object(asked.key)
    try:
        text = (entry / SAID).read_text(encoding="utf-8", errors="replace") if entry else ""
    except OSError:
        return ""  # another process has dropped it
    return text.replace(asked.name, shown(path)) if is_sandboxed else text


def said_with(made: Path) -> str:
    """Return what nvcc said when it made an object of a file."""
    try:
        return (made.parent / SAID).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # another process has dropped it


def compile_object(source: Source, device: Device, *, is_sandboxed: bool = False, niceness: int = 0) -> Path:
    """Compile one file and return the object, from the cache where nothing has changed.

    In the sandbox it can include nothing but the system's headers, CUDA's and `labs/*.cuh`, and is called
    SANDBOXED_SOURCE, also in the object. Outside of it `niceness` leaves the processors to what is more urgent.

    Raises CompileError with nvcc's messages, which name the file as the learner would type it.
    """
    asked = _asked(source, device, is_sandboxed=is_sandboxed)
    entry = _known_object(asked.key)
    if entry and cache.is_whole(entry):
        cache.touch(entry)
        return entry / "object.o"
    return _by_whom(
        partial(_make_object, source, asked, device, is_sandboxed=is_sandboxed, niceness=niceness),
        device,
        is_sandboxed=is_sandboxed,
    )


def _make_object(source: Source, asked: _Asked, device: Device, *, is_sandboxed: bool, niceness: int) -> Path:
    tools = toolchain()
    name, cwd, flags, key = asked.name, asked.cwd, asked.flags, asked.key
    with cache.Making() as making:
        folder = making.folder
        headers = folder / "headers.d"

        def command(to: Path) -> list[str]:
            return [str(tools.nvcc), *flags, "-c", name, "-o", str(to / "object.o")]

        if is_sandboxed:
            given = [*sorted(LABS.glob("*.cuh")), *sorted(own_names.BY_NAME.glob("*.cuh")), OLD_NAMES_HEADER]
            with _outbox(folder, "object.o", headers.name) as outbox:
                listing = [*command(outbox), *_listing(outbox / headers.name)]
                try:
                    said = _run_sandboxed(listing, cwd, given, outbox, device, {SANDBOXED_SOURCE: source.path})
                except CompileError as error:
                    raise error.with_text(str(error).replace(name, shown(source.path))) from error
        else:
            said = _compile(command(folder), headers, cwd, key, niceness)
        (folder / SAID).write_text(said, encoding="utf-8", errors="replace")
        names = _included(headers.read_text(errors="surrogateescape"), cwd)
        listed = json.dumps([str(path) for path in names])
        (folder / "included.json").write_text(listed)
        entry = making.keep_as(_object_name(key, names))
        making.write(f"{key}{LIST}", listed)
    return entry / "object.o"


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
    name = cache.hash_of("sandboxed program" if is_sandboxed else "program", device, tools.identity, *contents, *stamps)
    entry = cache.folder() / name
    if cache.is_whole(entry):
        cache.touch(entry)
        return entry / "program"
    return _by_whom(
        partial(_make_program, name, objects, contents, device, libraries, is_sandboxed=is_sandboxed),
        device,
        is_sandboxed=is_sandboxed,
    )


def _make_program(
    entry: str,
    objects: Sequence[Path],
    contents: Sequence[bytes],
    device: Device,
    libraries: Sequence[Path],
    *,
    is_sandboxed: bool,
) -> Path:
    tools = toolchain()
    with cache.Making() as making:
        folder = making.folder
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
            raise LinkError(OBJECT.sub("", str(error)), error.doubtful) from error
        return making.keep_as(entry) / "program"


Made = TypeVar("Made")


def _by_whom(make: Callable[[], Made], device: Device, *, is_sandboxed: bool) -> Made:
    """Return what `make` makes of a file with a compiler or linker.

    Raises CompileError where the file is at fault, and KitError, one line, where the machine is: `machine.py` has how
    the two are told apart.
    """
    folders = [cache.CACHE, machine.temporary()]
    try:
        try:
            return make()
        except CompileError as error:
            if error.doubtful is None:
                raise
            first, said = error, error.doubtful
        if lacking := machine.lacks_room(said, folders):
            raise KitError(f"this machine cannot compile: {lacking}") from first
        try:
            _compile_control(device, is_sandboxed=is_sandboxed)
        except CompileError as error:
            raise KitError(machine.fault(error.doubtful or str(error), folders)) from error
        if isinstance(first, CompileTimeoutError):  # it would take as long again
            raise first
        return make()
    except InterruptedError:  # the kit is stopping
        raise
    except OSError as error:
        raise KitError(machine.sentence_of(error)) from error


def _compile_control(device: Device, *, is_sandboxed: bool) -> None:
    """Compile the kit's own file as a submission is, and link it. Raises what compiling a submission raises."""
    asked = _asked(Source(CONTROL, ELEMENT_FLAGS["float"]), device, is_sandboxed=is_sandboxed)
    kept = f"control-{os.urandom(8).hex()}"  # never found again: it is compiled to see whether that can be done
    asked = replace(asked, key=cache.hash_of(kept))
    made = _make_object(Source(CONTROL), asked, device, is_sandboxed=is_sandboxed, niceness=0)
    libraries = [product("grader/runner/librunner_float.a")]
    if device == "vgpu":
        libraries.append(product("grader/cudart/libcudart_vgpu.a"))
    entry, content = cache.hash_of(kept, "program"), made.read_bytes()
    program = _make_program(entry, [made], [content], device, libraries, is_sandboxed=is_sandboxed)
    for folder in (made.parent, program.parent):
        shutil.rmtree(folder, ignore_errors=True)
    (cache.CACHE / f"{asked.key}{LIST}").unlink(missing_ok=True)


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
    path: Path,
    element: str,
    device: Device,
    *,
    is_sandboxed: bool,
    forbidden: Sequence[str] = (),
    given: Collection[str] | None = None,
    niceness: int = 0,
) -> Path:
    """Compile a submission for one element and link it with the runner; return the program.

    Whoever calls says whether the file is another user's and has to be compiled in the sandbox. `given` has the lines
    that are not the learner's, without indents; None where all may name what is the kit's own.

    Raises CompileError, also for a `#line` directive and for what is the kit's own; ForbiddenHeaderError for code of a
    header whose name fits one of the patterns `forbidden` ("cub/*").
    """
    _refuse_line_directives(path, read_source(path))
    if given is not None and (found := own_names.named(read_source(path).decode(), given)):
        raise RefusedError(path, *found)
    source = Source(path, ELEMENT_FLAGS[element])
    made = compile_object(source, device, is_sandboxed=is_sandboxed, niceness=niceness)
    if device == "vgpu":
        _refuse_too_much(path, made)
    if forbidden:
        # An object for a GPU has no PTX, and so no line table to read: that of the same file for the virtual one.
        read = made
        if device == "gpu":
            read = compile_object(source, "vgpu", is_sandboxed=is_sandboxed)
        _refuse_ready_made(path, read, forbidden)
    return link([made], device, [product(f"grader/runner/librunner_{RUNNERS[element]}.a")], is_sandboxed=is_sandboxed)


def _refuse_ready_made(path: Path, made: Path, forbidden: Sequence[str]) -> None:
    """Raise ForbiddenHeaderError, with the learner's line, when an object has code of a forbidden header in it."""
    if not forbidden:
        return
    source = read_source(path).decode()
    names = json.loads((made.parent / "included.json").read_text())
    libraries = [pattern for pattern in forbidden if pattern not in ONLY_CODE]
    found = ready_made.included(names, source, libraries, _is_cudas)
    found = found or ready_made.compiled(made.read_bytes(), source, forbidden, _is_cudas)
    if found:
        rule = next((f' by its forbidden_headers, "{one}"' for one in forbidden if fnmatch(found.header, one)), "")
        sentence = f"{found}: write the scan yourself\nthe lab refuses libraries' scans{rule}"
        raise ForbiddenHeaderError(path, found.line, sentence)


def _refuse_too_much(path: Path, made: Path) -> None:
    """Raise TooLargeError, with the learner's line, when an object has more code than the virtual GPU takes."""
    if made.stat().st_size < MOST_CODE:
        return
    codes = list(texts(made.read_bytes()))
    size = sum(map(len, codes))
    if size > MOST_CODE:
        line = line_with_most(max(codes, key=len), (path.name, SANDBOXED_SOURCE.name))
        raise TooLargeError(
            path,
            line,
            f"most of {size / (1 << 20):.1f} MiB of PTX comes from here, and the virtual GPU takes {MOST_CODE >> 20} "
            "MiB: let a loop repeat at run time what is written out",
        )


def _refuse_line_directives(path: Path, text: bytes) -> None:
    """Raise CompileError when lines of a file would be called others: messages, and the line table, would lie."""
    if line := ready_made.line_directive(text.decode()):
        raise RefusedError(path, line, "a #line directive makes messages name wrong lines: remove it")


def _is_cudas(file: str) -> bool:
    """Return whether a header is CUDA's or the system's; a learner's own folder may be called as a library is."""
    tools = toolchain()
    toolkit = [tools.nvcc.resolve().parent.parent, *(folder.parent for folder in tools.libraries)]
    if ready_made.is_below(file, toolkit):
        return True
    return ready_made.is_below(file, [Path("/usr")]) and not ready_made.is_below(file, [ROOT])


def compile_all(paths: Sequence[Path], device: Device, flags: Sequence[str]) -> list[Path]:
    """Compile the files of a program of its own, one compiler a file at the same time; return their objects."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda path: compile_object(Source(path, tuple(flags)), device), paths))


def make_device_code(path: Path, element: str, to: Path) -> None:
    """Write a submission's PTX for one element, which takes a third of the time of its program.

    Not in the sandbox: it is for a learner's own file. Raises CompileError.
    """
    asked = _asked(Source(path, ELEMENT_FLAGS[element]), "vgpu", is_sandboxed=False)
    command = [str(toolchain().nvcc), *asked.flags, "-ptx", asked.name, "-o", str(to)]
    _by_whom(partial(_run, command, asked.cwd), "vgpu", is_sandboxed=False)


def assemble(code: bytes, *, is_sandboxed: bool) -> None:
    """Have ptxas make machine code of PTX, which is thrown away; nothing where the toolkit has no ptxas.

    Raises CompileError with what it said where it refuses the PTX.
    """
    ptxas = toolchain().ptxas
    if ptxas is None:
        return
    with scratch() as folder:
        file, made = folder / "scan.ptx", folder / "made"
        file.write_bytes(code)
        made.mkdir()
        command = [str(ptxas), f"-arch={ASSEMBLED_FOR}", str(file), "-o", str(made / "scan.cubin")]
        if is_sandboxed:
            _run_sandboxed(command, folder, [file], made, "vgpu")
        else:
            _run(command, folder)


def build_program(paths: Sequence[Path], device: Device, flags: Sequence[str]) -> Path:
    """Compile and link a program of its own; return it."""
    program = link(compile_all(paths, device, flags), device)
    cache.prune()
    return program


def _listing(headers: Path) -> list[str]:
    """Return the options that make nvcc write down which headers it includes."""
    return ["-MD", "-MF", str(headers)]


def _compile(command: list[str], headers: Path, cwd: Path, key: str, niceness: int) -> str:
    """Compile a file, write down its headers, and return what nvcc said. Raises CompileError when it fails."""
    with scratch() as folder:
        run = partial(_finished, cwd=cwd, niceness=niceness)
        done = stages.compile_in_stages(command, headers, folder, key, run)
    if done is None:
        return _run([*command, *_listing(headers)], cwd)
    return _said(command, Finished(done.code, done.output.replace(f"{folder}/", "")))


def _run(command: list[str], cwd: Path) -> str:
    """Run a compiler or linker and return what it said. Raises CompileError with what it said when it fails."""
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
        raise _failure(tool, done.code, done.output)
    return _message(done.output)


def _failure(tool: str, code: int, output: str) -> CompileError:
    how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
    text = _message(output) or f"{tool} {how} and no message"
    return CompileError(text, (output.strip() or text) if machine.is_doubtful(code, output) else None)


SANDBOX_TIMEOUT = 8.0 * sandbox.COMPILER_CPU
"""Seconds of wall clock: more than all of a compiler's programs can use up, one after the other, on a busy machine."""


def _run_sandboxed(
    command: list[str],
    cwd: Path,
    reads: Sequence[Path],
    writes: Path,
    device: Device,
    placed: Mapping[Path, Path] = MappingProxyType({}),
) -> str:
    """Run a compiler or linker in the sandbox and return what it said; arguments as of `sandbox.run_compiler`.

    Raises CompileError with what it said when it fails, and when a limit stops it: that is the file's doing
    (CompileTimeoutError for processor time). A compiler that has time left and does not end is the machine's: KitError.
    """
    tool = Path(command[0]).name
    try:
        done = sandbox.run_compiler(command, cwd, toolchain(), reads, writes, device, SANDBOX_TIMEOUT, placed)
    except FileNotFoundError as error:
        raise _gone(error) from error
    said = _message(done.output)
    if done.code == 0:
        return said
    if done.code is None:
        raise KitError(f"{tool} did not end within {SANDBOX_TIMEOUT:.0f} s: this machine is too busy")
    if done.code == -signal.SIGXCPU or CPU_LIMIT.search(done.output):
        used_up = f"{tool} used up the {sandbox.COMPILER_CPU} s of processor time that a file may take"
        raise CompileTimeoutError(used_up, done.output)
    if done.code == -signal.SIGXFSZ or FILE_LIMIT.search(done.output):
        said = f"{tool} wrote more than the {sandbox.COMPILER_FILE >> 20} MiB that a file may take"
        raise CompileError(said, done.output)
    if done.is_out_of_memory or MEMORY_LIMIT.search(done.output):
        said = f"{tool} needs more than the {sandbox.COMPILER_MEMORY >> 30} GiB of memory that a file may take"
        raise CompileError(said, done.output)
    raise _failure(tool, done.code, done.output)


CPU_LIMIT = re.compile(rf"signal {int(signal.SIGXCPU)}\b|CPU time limit exceeded", re.IGNORECASE)
FILE_LIMIT = re.compile(rf"signal {int(signal.SIGXFSZ)}\b|[Ff]ile size limit exceeded|File too large|No space left")
MEMORY_LIMIT = re.compile(
    r"out of memory|memory exhausted|[Cc]annot allocate memory|std::bad_alloc|LLVM ERROR: [^\n]{0,200}alloc"
)


WORD = re.compile(r"[^\s:\"']+")
TEMPORARY = re.compile(r"/(?:tmpxft_[0-9a-f]{1,16}_[0-9a-f]{1,16}-\d{1,9}_|cc\w{6}(?=\.\w))")
"""How the names of a compiler's own files begin, in their folder: differently each time."""


def _message(output: str) -> str:
    """Return a compiler's message for people: whatever a file made it say, lines of a length that can be read."""
    text = WORD.sub(_without_temporary, cut(output.strip()))
    return "\n".join(cut(replaced(line), LONGEST_LINE) for line in text.splitlines())


def _without_temporary(word: re.Match[str]) -> str:
    """Return a word, such as a path, without the folder and the changing part of a compiler's own file in it."""
    name = word.group()
    ends = [found.end() for found in TEMPORARY.finditer(name)]
    return name[: name.index("/")] + name[ends[-1] :] if ends else name


@contextmanager
def _outbox(entry: Path, *names: str) -> Iterator[Path]:
    """Make a folder into which a compiler in the sandbox may write, and copy what it was to make into `entry`.

    Raises CompileError when it has made anything but plain files of these names. They are copied, so that the
    compiler's processes cannot change them afterwards.
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


def _included(rules: str, cwd: Path) -> list[Path]:
    """Return the files in make rules, one a line, without the first of each, the source."""
    found: dict[Path, None] = {}
    for line in rules.replace("\\\n", " ").splitlines():
        names = line.split(":", 1)[-1].replace("\\ ", "\0").split()
        found |= dict.fromkeys((cwd / name.replace("\0", " ")).resolve() for name in names[1:])
    return list(found)


def _header_hashes(paths: Sequence[Path]) -> dict[str, str]:
    """Return the hash of every header that is not the system's or CUDA's own.

    What is no plain file, such as /dev/null, never counts as unchanged.
    """
    kept = [path for path in paths if not path.is_relative_to("/usr") and not _is_cuda(path)]
    return {str(path): cache.hash_of(path.read_bytes()) if path.is_file() else "" for path in kept}


def _is_cuda(path: Path) -> bool:
    return any(path.is_relative_to(folder.parent) for folder in toolchain().libraries)


def _object_name(key: str, names: Sequence[Path]) -> str:
    """Return the name of the entry of an object, made from these headers as they are now."""
    return cache.hash_of(key, json.dumps(_header_hashes(names)))


def _known_object(key: str) -> Path | None:
    """Return the entry of an object if it has been made from the headers as they are now."""
    try:
        names = [Path(name) for name in json.loads((cache.folder() / f"{key}{LIST}").read_text())]
        if "" in _header_hashes(names).values():
            return None
        return cache.CACHE / _object_name(key, names)
    except (OSError, ValueError, TypeError):
        return None
