"""`adapter` makes what is uploaded to a platform; `inside` and `prepare` are what its scripts run there."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scanlab import errors
from scanlab.arguments import LARGEST_SEED, DeviceName, DeviceOption, SeedOption
from scanlab.gradebooks.commands import LabsOption, ProblemOption, problem_names
from scanlab.paths import shown

IMAGE = "scanlab-grader"


class PlatformName(StrEnum):
    """Where the kit runs."""

    gradescope = "gradescope"
    autolab = "autolab"
    prairielearn = "prairielearn"
    classroom50 = "classroom50"
    github_classroom = "github-classroom"


NoSandboxOption = Annotated[
    bool,
    typer.Option("--no-sandbox", help="where the container forbids sandboxes: see the adapter's README"),
]
PlatformArgument = Annotated[PlatformName, typer.Argument(metavar="PLATFORM", help=", ".join(PlatformName))]


def adapter(
    platform: PlatformArgument,
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="a new folder; for gradescope also a new .zip")],
    labs: LabsOption = None,
    course: Annotated[
        Path | None, typer.Option("--course", metavar="FILE", help="a course.toml, which says how work is graded")
    ] = None,
    roster: Annotated[
        Path | None, typer.Option("--roster", metavar="CSV", help="checks whom the course's tables of students mean")
    ] = None,
    device: DeviceOption = DeviceName.vgpu,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, help="of the data; without it the course's, or a random one")
    ] = None,
    title: Annotated[str, typer.Option(help="the assignment's name, for people")] = "",
    problem: ProblemOption = None,
    no_sandbox: NoSandboxOption = False,
    image: Annotated[str, typer.Option(help="the name of the container image, where the platform runs one")] = IMAGE,
) -> None:
    """Make what is uploaded to Gradescope, Autolab, PrairieLearn or Classroom 50, to grade there.

    Its README.md says what to do with it. It holds no solutions and no tests. With --course the points, limits and
    hidden checks are the course's, and without --lab its labs are graded.
    """
    from scanlab.course.commands import matched
    from scanlab.course.model import NO_COURSE
    from scanlab.course.read import read_course
    from scanlab.course.seeds import random_seed
    from scanlab.gradebooks.adapter import ADAPTER, make, part_of_course
    from scanlab.gradebooks.hand_in import Settings
    from scanlab.labs.folders import find_lab

    read = read_course(course) if course else None
    if read:
        matched(read, roster)
    names = [find_lab(lab).name for lab in labs or ()] or [lab.name for lab in (read.course.labs if read else ())]
    if not names:
        raise errors.UsageError("name the labs to grade: --lab 02, more than once for more")
    chosen = tuple(dict.fromkeys(names))
    if out.suffix == ".zip" and not ADAPTER[platform.value].is_archive:
        raise errors.UsageError(f"--out {shown(out)}: for {platform.value} name a folder")
    settings = Settings(
        platform=platform.value,
        labs=chosen,
        device=device.value,
        seed=seed if seed is not None else read.seed if read and read.names_seed else random_seed(),
        title=title,
        problems=problem_names(problem or ()),
        course=part_of_course(read.course, platform.value, chosen) if read else None,
        is_sandboxed=not no_sandbox,
    )
    count = make(settings, image, out)
    print(f"{shown(out)}: {count} files for {platform.value}, {', '.join(settings.labs)}")
    kinds = ("correctness", "count") if settings.device == "vgpu" else ("correctness",)  # without solutions: no times
    rubrics = [(settings.course or NO_COURSE).lab(lab).rubric for lab in settings.labs]
    if settings.course and settings.course.students and roster is None:
        print("note: whom the course's [[student]] tables mean was not checked: add --roster CSV")
    print(f"give the assignment {sum(rubric.max_points(kinds) for rubric in rubrics)} points")
    where = ADAPTERS_README.format(platform=platform.value)
    print(f"next: {where if out.suffix == '.zip' else shown(out / 'README.md')}")


ADAPTERS_README = "grader/adapters/{platform}/README.md"


def inside(
    platform: PlatformArgument,
    settings: Annotated[Path | None, typer.Option("--settings", metavar="FILE", help="adapter.json")] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="instead of the working folder")
    ] = None,
    labs: LabsOption = None,
    device: DeviceOption = DeviceName.vgpu,
    seed: SeedOption = 7,
    no_sandbox: NoSandboxOption = False,
) -> None:
    """Grade one submission inside a platform: what an adapter's scripts run.

    The exit code is 0 whenever there is a score. Anything else says that the grading failed, and no score is written.
    """
    from scanlab.gradebooks.hand_in import Settings, read_settings
    from scanlab.gradebooks.platforms import PLATFORMS
    from scanlab.labs.folders import find_lab

    if (settings is None) == (not labs):
        raise errors.UsageError("name the settings with --settings FILE, or the labs with --lab")
    if settings is not None:
        chosen = read_settings(settings)
        if chosen.platform != platform.value:
            raise errors.KitError(f"{shown(settings)} is for {chosen.platform}, not for {platform.value}")
    else:
        names = tuple(dict.fromkeys(find_lab(lab).name for lab in labs or ()))
        chosen = Settings(
            platform=platform.value, labs=names, device=device.value, seed=seed, is_sandboxed=not no_sandbox
        )
    PLATFORMS[platform.value](chosen, folder)


def prepare() -> None:
    """Set everything up, so that the first submission need not wait for it."""
    from scanlab.judging.toolchain import product
    from scanlab.on_demand import BUBBLEWRAP, provide

    product("grader/autograder/judge")
    try:
        provide(BUBBLEWRAP, "the sandbox")
    except errors.KitError as error:  # an image may be for --no-sandbox
        print(f"scanlab: there will be no sandbox: {error}", file=sys.stderr)
    print("scanlab is ready", file=sys.stderr)
