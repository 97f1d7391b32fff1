"""Compile CUDA programs for the virtual GPU or a real one, and keep what was compiled.

`compiler/recipe.py` has what an object is made from, `compiler/running.py` how a compiler runs, `compiler/doubt.py`
whose fault a failure is, and `compiled/refusals.py` what no submission may have. A program is kept under the objects
and libraries that it was linked from. `compiler/cache.py` has the entries, which never change.

An entry is a function of what its name is the hash of, and is put together here, from copies of what the compiler
wrote: a file can spoil none but its own.
"""

import json
import os
import re
import shutil
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from scanlab.bootstrap.cuda import PTX_FLAGS
from scanlab.contract import Device
from scanlab.errors import KitError
from scanlab.judging import own_names
from scanlab.judging.compiled.line_table import texts
from scanlab.judging.compiled.refusals import refuse_line_directives, refuse_ready_made, refuse_too_much
from scanlab.judging.compiler import cache
from scanlab.judging.compiler.doubt import by_whom
from scanlab.judging.compiler.errors import CompileError, CompileTimeoutError, LinkError, RefusedError
from scanlab.judging.compiler.recipe import (
    ASSEMBLED_FOR,
    ELEMENT_FLAGS,
    LIST,
    OLD_NAMES_HEADER,
    RUNNERS,
    SAID,
    SANDBOXED_SOURCE,
    Recipe,
    Source,
    included,
    known_object,
    object_name,
    read_source,
    recipe_of,
)
from scanlab.judging.compiler.running import (
    WITNESSED,
    compile_here,
    gcc,
    listing,
    nvcc,
    outbox,
    run_here,
    run_sandboxed,
)
from scanlab.judging.toolchain import Toolchain, product, toolchain
from scanlab.paths import LABS, ROOT, shown
from scanlab.scratch import scratch

DEVICE_LINK_FLAGS = {
    # With -cudart none nvcc refuses to link device code; the virtual GPU does without NVIDIA's device runtime.
    "vgpu": (*PTX_FLAGS[: PTX_FLAGS.index("-cudart")], "-cudadevrt", "none"),
    "gpu": ("-arch=native",),
}
REGISTERS = "registers.txt"
"""What ptxas gives the threads of each kernel, beside an object and a program: `vgpu::read_registers` reads it."""
REGISTER, PAIR = rb"(%r[0-9]{1,9})", rb"\{(%r[0-9]{1,9}), (%r[0-9]{1,9})\}"
ADDS_NAMES = re.compile(rb"scanlab\.add " + rb", ".join((PAIR, PAIR, PAIR)) + rb";")
ADDS_MAPS = (
    rb"{.reg .u32 %scanlab_a; mul.lo.u32 %scanlab_a, \3, \5; "
    rb"mad.lo.u32 \2, \5, \4, \6; mov.u32 \1, %scanlab_a;}"
)
KEEPS_NAME, KEEPS_MAP = re.compile(rb"scanlab\.keep " + REGISTER + rb", " + PAIR + rb";"), rb"and.b32 \1, \3, 1;"
"""What the virtual GPU alone has in the PTX of the kit's own headers, and what ptxas takes in its place."""
REFUSED = "refused.txt"
"""What ptxas says of PTX that it does not take, beside an object and a program; not there where it takes all."""
USED = re.compile(
    r"Compiling entry function '(?P<kernel>[^'\n]{1,4000})' for [^\n]{1,100}"
    r"(?:\n(?!ptxas info {1,8}: Compiling)[^\n]{0,4000}){0,4}?\nptxas info {1,8}: Used (?P<count>[0-9]{1,4}) registers"
)
OBJECT = re.compile(rf"{re.escape(str(cache.CACHE))}/\w{{32}}/object\.o: ")
RELOCATABLE = b"__cudaRegisterLinkedBinary_"
"""Begins a symbol that every object made with -rdc=true needs, and that linking the device code defines."""
CONTROL = ROOT / "grader/runner/control.cu"
"""The kit's own file, which compiles wherever any file does."""
SYSTEM_LIBRARIES = ("-lpthread", "-ldl", "-lrt")


def compile_object(source: Source, device: Device, *, is_sandboxed: bool = False, niceness: int = 0) -> Path:
    """Compile one file and return the object, from the cache where nothing has changed.

    In the sandbox it can include nothing but the system's headers, CUDA's and `labs/*.cuh`, and is called
    SANDBOXED_SOURCE, also in the object. Outside of it `niceness` leaves the processors to what is more urgent.

    Raises CompileError with nvcc's messages, which name the file as the learner would type it.
    """
    recipe = recipe_of(source, device, is_sandboxed=is_sandboxed)
    entry = known_object(recipe.key)
    if entry and cache.is_whole(entry):
        cache.touch(entry)
        return entry / "object.o"
    return by_whom(
        partial(_make_object, source, recipe, device, is_sandboxed=is_sandboxed, niceness=niceness),
        partial(_compile_control, device, is_sandboxed=is_sandboxed),
    )


def _make_object(source: Source, recipe: Recipe, device: Device, *, is_sandboxed: bool, niceness: int) -> Path:
    name, cwd, flags, key = recipe.name, recipe.cwd, recipe.flags, recipe.key
    with cache.Making() as making:
        folder = making.folder
        headers = folder / "headers.d"

        def command(to: Path) -> list[str]:
            return [*nvcc(), *flags, "-c", name, "-o", str(to / "object.o")]

        if is_sandboxed:
            given = [*sorted(LABS.glob("*.cuh")), *sorted(own_names.BY_NAME.glob("*.cuh")), OLD_NAMES_HEADER, WITNESSED]
            with outbox(folder, "object.o", headers.name) as writes:
                compiling = [*command(writes), *listing(writes / headers.name)]
                try:
                    said = run_sandboxed(compiling, cwd, given, writes, device, {SANDBOXED_SOURCE: source.path})
                except CompileError as error:
                    raise error.with_text(str(error).replace(name, shown(source.path))) from error
        else:
            said = compile_here(command(folder), headers, cwd, key, niceness)
        (folder / SAID).write_text(said, encoding="utf-8", errors="replace")
        names = included(headers.read_text(errors="surrogateescape"), cwd)
        listed = json.dumps([str(path) for path in names])
        (folder / "included.json").write_text(listed)
        if device == "vgpu":
            _assemble_all((folder / "object.o").read_bytes(), folder, is_sandboxed=is_sandboxed)
        entry = making.keep_as(object_name(key, names))
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
    name = cache.hash_of(
        f"{'sandboxed program' if is_sandboxed else 'program'}, {REGISTERS}, {REFUSED}",
        device,
        tools.identity,
        *contents,
        *stamps,
    )
    entry = cache.folder() / name
    if cache.is_whole(entry):
        cache.touch(entry)
        return entry / "program"
    return by_whom(
        partial(_make_program, name, objects, contents, device, libraries, is_sandboxed=is_sandboxed),
        partial(_compile_control, device, is_sandboxed=is_sandboxed),
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
        given = [*libraries, *_members(libraries), WITNESSED]

        def run(command: list[str], name: str) -> None:
            """Run a command, which ends with the file that it makes: `name`."""
            if is_sandboxed:
                with outbox(folder, name) as writes:
                    run_sandboxed([*command, str(writes / name)], ROOT, [*objects, *given], writes, device)
            else:
                run_here([*command, str(folder / name)], ROOT)

        try:
            runtime = _runtime(tools, device)
            relocatable = [path for path, content in zip(objects, contents, strict=True) if RELOCATABLE in content]
            if relocatable:
                joined = folder / "device_code.o"
                run([*nvcc(), *DEVICE_LINK_FLAGS[device], "-dlink", *map(str, relocatable), "-o"], joined.name)
                objects = [*objects, joined]
                runtime = [*_device_runtime(tools, device), *runtime]
            command = [*gcc(), *map(str, objects), *map(str, libraries), *runtime, *SYSTEM_LIBRARIES]
            run([*command, "-o"], "program")
            for name in (REGISTERS, REFUSED):
                known = [path.with_name(name) for path in objects]
                texts_of_all = [path.read_text(encoding="utf-8") for path in known if path.is_file()]
                if texts_of_all:
                    (folder / name).write_text("".join(texts_of_all), encoding="utf-8")
        except CompileTimeoutError:
            raise
        except CompileError as error:
            raise LinkError(OBJECT.sub("", str(error)), error.doubtful) from error
        return making.keep_as(entry) / "program"


def _compile_control(device: Device, *, is_sandboxed: bool) -> None:
    """Compile the kit's own file as a submission is, and link it. Raises what compiling a submission raises."""
    recipe = recipe_of(Source(CONTROL, ELEMENT_FLAGS["float"]), device, is_sandboxed=is_sandboxed)
    kept = f"control-{os.urandom(8).hex()}"  # never found again: it is compiled to see whether that can be done
    recipe = replace(recipe, key=cache.hash_of(kept))
    made = _make_object(Source(CONTROL), recipe, device, is_sandboxed=is_sandboxed, niceness=0)
    libraries = [product("grader/runner/librunner_float.a")]
    if device == "vgpu":
        libraries.append(product("grader/cudart/libcudart_vgpu.a"))
    entry, content = cache.hash_of(kept, "program"), made.read_bytes()
    program = _make_program(entry, [made], [content], device, libraries, is_sandboxed=is_sandboxed)
    for folder in (made.parent, program.parent):
        shutil.rmtree(folder, ignore_errors=True)
    (cache.CACHE / f"{recipe.key}{LIST}").unlink(missing_ok=True)


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
    refuse_line_directives(path, read_source(path))
    if given is not None and (found := own_names.named(read_source(path).decode(), given)):
        raise RefusedError(path, *found)
    source = Source(path, ELEMENT_FLAGS[element])
    made = compile_object(source, device, is_sandboxed=is_sandboxed, niceness=niceness)
    if device == "vgpu":
        refuse_too_much(path, made)
    if forbidden:
        # An object for a GPU has no PTX, and so no line table to read: that of the same file for the virtual one.
        read = made
        if device == "gpu":
            read = compile_object(source, "vgpu", is_sandboxed=is_sandboxed)
        refuse_ready_made(path, read, forbidden)
    return link([made], device, [product(f"grader/runner/librunner_{RUNNERS[element]}.a")], is_sandboxed=is_sandboxed)


def compile_all(paths: Sequence[Path], device: Device, flags: Sequence[str]) -> list[Path]:
    """Compile the files of a program of its own, one compiler a file at the same time; return their objects."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda path: compile_object(Source(path, tuple(flags)), device), paths))


def make_device_code(path: Path, element: str, to: Path) -> None:
    """Write a submission's PTX for one element, which takes a third of the time of its program.

    Not in the sandbox: it is for a learner's own file. Raises CompileError.
    """
    recipe = recipe_of(Source(path, ELEMENT_FLAGS[element]), "vgpu", is_sandboxed=False)
    command = [*nvcc(), *recipe.flags, "-ptx", recipe.name, "-o", str(to)]
    by_whom(partial(run_here, command, recipe.cwd), partial(_compile_control, "vgpu", is_sandboxed=False))


def _assemble_all(object_text: bytes, folder: Path, *, is_sandboxed: bool) -> None:
    """Write what ptxas makes of an object's PTX: the registers of each kernel, a line each, and what it refuses.

    A line has the mangled name of a kernel and the number. None is there of kernels that ptxas does not take by
    themselves: those of a program whose device code is linked.
    """
    said, refused = [], []
    for code in texts(object_text):
        try:
            said.append(assemble(without_names(code), is_sandboxed=is_sandboxed))
        except CompileError as error:
            refused.append(str(error))
    registers = "".join(f"{one['kernel']} {one['count']}\n" for one in USED.finditer("\n".join(said)))
    (folder / REGISTERS).write_text(registers, encoding="utf-8")
    if refused:
        (folder / REFUSED).write_text("\n".join(refused), encoding="utf-8", errors="replace")


def without_names(code: bytes) -> bytes:
    """Return PTX in which maps are added as on a GPU, and not by their names."""
    return KEEPS_NAME.sub(KEEPS_MAP, ADDS_NAMES.sub(ADDS_MAPS, code))


def assemble(code: bytes, *, is_sandboxed: bool) -> str:
    """Have ptxas make machine code of PTX, which is thrown away; return what it says of it.

    That is nothing where the toolkit has no ptxas. Raises CompileError with what it said where it refuses the PTX.
    """
    ptxas = toolchain().ptxas
    if ptxas is None:
        return ""
    with scratch() as folder:
        file, made = folder / "scan.ptx", folder / "made"
        file.write_bytes(code)
        made.mkdir()
        command = [str(ptxas), "-v", f"-arch={ASSEMBLED_FOR}", str(file), "-o", str(made / "scan.cubin")]
        return run_sandboxed(command, folder, [file], made, "vgpu") if is_sandboxed else run_here(command, folder)


def build_program(paths: Sequence[Path], device: Device, flags: Sequence[str]) -> Path:
    """Compile and link a program of its own; return it."""
    program = link(compile_all(paths, device, flags), device)
    cache.prune()
    return program
