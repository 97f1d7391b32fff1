"""`run`: compile a CUDA program, or a lab's file, and run it."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scanlab import errors
from scanlab.arguments import (
    DeviceName,
    DeviceOption,
    EntryOption,
    SarifOption,
    ScheduleName,
    SeedOption,
    require_folder,
)

LARGEST_N = 1 << 24
"""Up to there each whole number is a float."""
SECONDS = 600
"""A program's time by the clock, as vgpu-run has it."""
program_arguments: list[str] = []
"""What stands after `--` on the command line: the arguments of the program."""


class ProfileName(StrEnum):
    """The device that the virtual GPU imitates."""

    small = "small"
    h200 = "h200"


def run(
    what: Annotated[
        list[str],
        typer.Argument(metavar="LAB|FILE.cu …", help="a lab, or the program's sources; LAB FILE.cu: as that lab"),
    ],
    n: Annotated[
        int | None, typer.Option("--n", min=0, max=LARGEST_N, help="of a lab: x = 0, 1, 2 … has so many elements  [16]")
    ] = None,
    entry: EntryOption = None,
    schedule: Annotated[ScheduleName, typer.Option(help="the order of blocks and warps")] = ScheduleName.lockstep,
    seed: SeedOption = 7,
    counters: Annotated[bool, typer.Option("--counters", help="print what each kernel cost, on stderr")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="look for mistakes beside what the program prints: races, unwritten memory … (exit code 4)",
        ),
    ] = False,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="run all that PTX's memory model allows of launches whose blocks talk to each other: "
            "does each print the same? (exit code 4: no, 3: not all could be run)",
        ),
    ] = False,
    trail: Annotated[str | None, typer.Option(metavar="TEXT", help="run as --prove has printed it, again")] = None,
    profile: Annotated[ProfileName, typer.Option(help="the device to imitate")] = ProfileName.small,
    seconds: Annotated[
        int, typer.Option(min=0, help="end the program after so many by the clock, on the virtual GPU; 0: never")
    ] = SECONDS,
    include: Annotated[list[Path] | None, typer.Option("-I", metavar="DIR", help="look for headers there")] = None,
    nvcc_flag: Annotated[list[str] | None, typer.Option(metavar="FLAG", help="pass on to nvcc")] = None,
    device: DeviceOption = DeviceName.vgpu,
    sarif_file: SarifOption = None,
) -> None:
    """Compile a CUDA program and run it on the virtual GPU; arguments for it follow `--`.

    A lab's file needs no main: its function is called with x = 0, 1, 2 …, and x and y are printed. Files that use each
    other's device functions or variables need --nvcc-flag=-rdc=true, as with nvcc.
    """
    from scanlab.judging.compile import compile_all, link
    from scanlab.judging.compiler.cache import prune
    from scanlab.judging.compiler.errors import CompileError
    from scanlab.judging.compiler.recipe import HOST_LINES, read_source
    from scanlab.judging.plan import TRAIL
    from scanlab.judging.programs import report_unbuilt, run_and_log, warned
    from scanlab.judging.toolchain import product
    from scanlab.run import main_of_lab

    if prove and (check or counters or trail):
        raise errors.UsageError("--prove runs many executions: without --check, --counters and --trail")
    if trail and not TRAIL.fullmatch(trail):
        raise errors.UsageError("--trail takes what --prove has printed behind --trail: LAUNCH:STEPS")
    if (prove or trail) and device is not DeviceName.vgpu:
        raise errors.UsageError("--prove and --trail: on the virtual GPU only")
    if sarif_file is not None and (prove or device is not DeviceName.vgpu):
        raise errors.UsageError("--sarif: on the virtual GPU only, and without --prove")
    require_folder(sarif_file)
    given = main_of_lab.subject(what)
    if given.is_named_as_lab:
        main_of_lab.entry_of(given.lab, entry.value if entry else None)
    for path in given.files:
        read_source(path)
    flags = [flag for folder in include or [] for flag in ("-I", str(folder.absolute()))] + list(nvcc_flag or [])
    if (check or prove) and device is DeviceName.vgpu:
        flags += HOST_LINES
    try:
        objects = compile_all(given.files, device.value, flags)
        symbols = main_of_lab.symbols_of(objects)
        call = main_of_lab.call_of(given, symbols, entry.value if entry else None, n, program_arguments)
        built = link(objects, device.value, [product(main_of_lab.LIBRARY)] if call else [])
    except CompileError as error:
        print(report_unbuilt(given.files, error, sarif_file), file=sys.stderr)
        raise typer.Exit(errors.FAILED) from error
    for warning in warned(given.files, objects):
        print(f"warning: {warning}", file=sys.stderr)
    prune()
    arguments = [call.entry, str(call.n)] if call else program_arguments
    sys.stdout.flush()
    if device is not DeviceName.vgpu:
        os.execv(built, [given.name, *arguments])
    order = f"trail:{trail}" if trail else schedule.value
    options = ["--name", given.name, "--schedule", order, "--seed", str(seed), "--profile", profile.value]
    options += ["--counters"] if counters else []
    options += ["--check"] if check else []
    options += ["--prove"] if prove else []
    options += ["--seconds", str(seconds)] if seconds != SECONDS and not prove else []
    program = [str(product("grader/vgpu/server/vgpu-run")), *options, "--", str(built), *arguments]
    if sarif_file is not None:
        raise typer.Exit(run_and_log(program, given.files[0], sarif_file))
    os.execv(program[0], program)
