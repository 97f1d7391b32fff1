"""`pack`: put a bundle together, look through it, and only then hand it over."""

import re
from dataclasses import dataclass
from pathlib import Path

from scanlab import packing
from scanlab.course.bundle import pack
from scanlab.course.bundle.leaks import Given, Secrets, leaks
from scanlab.course.read import Read, read_course
from scanlab.errors import UsageError, WorkError
from scanlab.labs.folders import Lab, all_labs, find_lab
from scanlab.paths import shown

SHOWN = 20
"""At most this many leaks are shown in full."""


@dataclass(frozen=True)
class Made:
    """What a finished bundle holds."""

    count: int
    labs: str
    remarks: tuple[str, ...]


def make(out: Path, course_file: Path | None, wanted: str | None) -> Made:
    """Write a bundle to `out`, a zip file or a new folder.

    Raises WorkError, and writes nothing, when something in it must not be there; UsageError for wrong arguments.
    """
    pack.refuse(out)
    read = read_course(course_file) if course_file else None
    labs = _labs(read, wanted)
    if missing := next((lab for lab in all_labs() if not lab.solution.is_file()), None):
        raise UsageError(f"{shown(missing.solution)} is not there: without it nothing shows whether it leaks")
    secrets = Secrets(labs, read)
    contents = pack.contents(labs, read, secrets.has)
    try:
        files = _written(contents, out, secrets)
    except OSError as error:
        raise UsageError(f"cannot write {shown(out)}: {error.strerror}") from error
    return Made(len(files), ", ".join(lab.number for lab in labs), tuple(_remarks(contents, secrets.given)))


def _written(contents: pack.Contents, out: Path, secrets: Secrets) -> packing.Files:
    """Write the bundle beside its place, look through it, and move it there. Return what is in it."""
    # What is looked through is what students get: the written file, opened again.
    with packing.placing(out) as finished:
        packing.write(contents.files, finished, pack.INSIDE)
        files = pack.read_back(finished)
        found = leaks(files, secrets)
        if found:
            lines = [f"  {leak.text()}" for leak in found[:SHOWN]]
            lines += [f"  … {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            count = "1 leak" if len(found) == 1 else f"{len(found)} leaks"
            raise WorkError("\n".join([f"{shown(out)} is not written: {count}", *lines]))
    return files


def _labs(read: Read | None, wanted: str | None) -> list[Lab]:
    names = [lab.name for lab in read.course.labs] if read else [lab.name for lab in all_labs()]
    if wanted is not None:
        words = [word for word in re.split(r"[,\s]+", wanted) if word]
        if not words:
            raise UsageError("--labs names no lab; write: --labs 01,02")
        asked = {find_lab(word).name for word in words}
        if foreign := sorted(asked - set(names)):
            raise UsageError(f"--labs: {foreign[0]} is no lab of this course; it has {', '.join(names)}")
        names = [name for name in names if name in asked]
    return [read.course.lab(name) if read else find_lab(name) for name in names]


def _remarks(contents: pack.Contents, given: list[Given]) -> list[str]:
    remarks = []
    by_lab: dict[str, list[str]] = {}
    for one in given:
        by_lab.setdefault(one.of, []).append(one.by[:2])
    for lab, others in by_lab.items():
        them = ", ".join(sorted(others))
        remarks.append(
            f"what {lab} asks for is given in the skeleton of {them}; --labs hands out one lab after another"
        )
    hidden = sum(map(len, contents.concealed.values()))
    if hidden:
        remarks.append(
            f"{hidden} check{' is' if hidden == 1 else 's are'} not in it: hidden, or shown after the due date"
        )
    if contents.left_out:
        files = "file" if contents.left_out == 1 else "files"
        remarks.append(f"{contents.left_out} {files} in grader/ or handouts/ not under version control: left out")
    return remarks
