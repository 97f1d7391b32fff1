"""`learn` and `watch`: check a file whenever it is saved."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scanlab import errors
from scanlab.paths import shown
from scanlab.terminal import print_styled

if TYPE_CHECKING:
    from scanlab.labs.folders import Lab

LabOption = Annotated[
    str | None, typer.Argument(metavar="[LAB]", help="begin there, not with the first lab that is not passed")
]
BrowserOption = Annotated[
    bool, typer.Option("--browser", help="also as a page in the browser, with the kernel's steps")
]


def learn(lab: LabOption = None, browser: BrowserOption = False) -> None:
    """Go from lab to lab: each save of the lab's file is checked at once, and what has passed is kept."""
    from scanlab.labs.folders import find_lab
    from scanlab.learn import progress

    ladder = _ladder()
    _loop(ladder, find_lab(lab) if lab else progress.read().next_lab(ladder) or ladder[-1], None, browser)
    print("what you have passed is kept; go on with: grader/scanlab learn")


def watch(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="02, kogge_stone, 02_kogge_stone or a path in its folder")],
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="instead of the lab's own scan.cu")] = None,
    browser: BrowserOption = False,
) -> None:
    """Check one lab's file, or another one as that lab, whenever it is saved."""
    from scanlab.labs.subject import subject_of_lab

    found, path = subject_of_lab(lab, file)
    if not path.is_file():
        raise errors.UsageError(f"{shown(path)} does not exist")
    _loop(_ladder(), found, None if path == found.source else path, browser)


def _ladder() -> list["Lab"]:
    from scanlab.labs.folders import all_labs

    ladder = [one for one in all_labs() if not one.broken()]
    if not ladder:
        raise errors.KitError("no lab can be graded: see grader/scanlab list")
    return ladder


def _loop(ladder: list["Lab"], lab: "Lab", path: Path | None, in_browser: bool) -> None:
    from scanlab.learn.loop import Loop
    from scanlab.learn.page import Page

    _ = lab.rubric  # a broken one is reported before anything else
    with suppress(KeyboardInterrupt):
        Loop(ladder, lab, path or lab.source, print_styled, Page() if in_browser else None).run()
    print()
