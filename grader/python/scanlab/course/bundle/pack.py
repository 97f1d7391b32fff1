"""Put the student bundle together: labs, handouts and kit, and nothing that is for those who teach."""

import json
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from scanlab.bundle import MARK
from scanlab.course.bundle.handouts import Copy, handout
from scanlab.course.bundle.rubric_text import rubric_text, student_rubric
from scanlab.course.bundle.student_readme import readme
from scanlab.course.read import Read
from scanlab.course.tables import Handouts
from scanlab.errors import KitError, UsageError
from scanlab.labs import skeleton
from scanlab.labs.folders import Lab
from scanlab.packing import File, Files
from scanlab.paths import ROOT, shown

TOP = (
    "LICENSE", "meson.build", "meson.options", ".gitignore", ".clang-format", ".clangd", ".vscode/extensions.json",
    ".vscode/settings.json", ".vscode/tasks.json", ".devcontainer/devcontainer.json",
)  # fmt: skip
FOLDERS = ("grader", "handouts")
NOT_PACKED = (
    "grader/bench/variants",  # solutions in other forms
    "grader/vgpu/bench",  # scans to measure the virtual GPU with: solutions of the first labs
    "grader/stepper/src",  # what the pages' bundles are made of
    "grader/learn_page/src",
    "grader/stepper/build",
    "grader/adapters",  # what runs the kit inside gradebooks
    "grader/python/scanlab/course/example.py",  # a course to begin with: many keep its words, also of a hidden check
    "grader/python/requirements-dev.txt",
    "grader/python/requirements-tests.txt",
    "grader/python/requirements-tests-cuda.txt",
)
SUFFIXES = frozenset(
    "bash build cl cpp css cu cuh fish h hpp html j2 jinja js json md options png py sh svg toml txt zsh".split()  # noqa: SIM905
)
"""What a file of the kit may be; `grader/scanlab` has none."""
INSIDE = "scanlab"
"""The folder in a zip file."""
GIT_TIMEOUT = 30.0


def kit_files(root: Path = ROOT) -> tuple[list[str], int]:
    """Return the names of the files of the kit that students get, and how many others were left out.

    In a git checkout these are the tracked ones: files that only lie beside them stay here.
    """
    tracked = _tracked(root)
    found = [
        path.relative_to(root).as_posix()
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and not path.is_symlink() and not _is_by_product(path.relative_to(root))
    ]
    wanted = [name for name in found if not any(PurePosixPath(name).is_relative_to(out) for out in NOT_PACKED)]
    kept = [name for name in wanted if (name in tracked if tracked else _is_of_a_kit(name))]
    return [*(name for name in TOP if (root / name).is_file()), *kept], len(wanted) - len(kept)


def _is_of_a_kit(name: str) -> bool:
    path = PurePosixPath(name)
    return name == "grader/scanlab" or path.suffix[1:] in SUFFIXES


def _is_by_product(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts) or ".bak-" in path.name


def _tracked(root: Path) -> set[str]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--", *FOLDERS]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=GIT_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return set(done.stdout.decode(errors="replace").split("\0")) - {""} if done.returncode == 0 else set()


@dataclass(frozen=True)
class Contents:
    """What a bundle is made of, before it is written."""

    files: Files
    left_out: int
    """Files beside the kit's that are not committed."""
    concealed: Mapping[str, tuple[str, ...]]
    """The checks of each lab that students do not see."""


def contents(labs: list[Lab], read: Read | None, is_secret: Callable[[str], bool], root: Path = ROOT) -> Contents:
    """Return the files of the bundle with `labs`, which have the course's rubrics.

    `is_secret` says whether a text has something that a learner has to write: no excerpt in a handout may.

    Raises UsageError where the course leaves a lab without a check, KitError where a skeleton cannot be had.
    """
    course = read.course if read else None
    how: Handouts = course.handouts if course else "without_solutions"
    names, left_out = kit_files(root)
    packed_labs = {lab.name for lab in labs}
    concealed = {lab.name: _concealed(lab, read) for lab in labs}
    in_labs = _lab_files(labs, concealed, root)
    names = [name for name in names if how != "none" or not name.startswith("handouts/")]
    copy = Copy(how, root, {*names, *in_labs}.__contains__, is_secret)
    files: dict[str, File] = {}
    for name in names:
        file = File.of(root / name)
        if name.startswith("handouts/") and name.endswith(".md"):
            file = File(handout(file.content.decode("utf-8"), name, copy).encode(), file.is_program)
        files[name] = file
    files |= in_labs
    title = course.title if course else "scanlab"
    files["README.md"] = File(readme(title, course, labs, concealed, with_handouts=how != "none").encode())
    mark = {"schema": "scanlab-bundle", "version": 1, "title": title, "labs": sorted(packed_labs), "handouts": how}
    files[MARK] = File((json.dumps(mark, indent=1, ensure_ascii=False) + "\n").encode())
    return Contents(dict(sorted(files.items())), left_out, concealed)


def _concealed(lab: Lab, read: Read | None) -> tuple[str, ...]:
    if read is None:
        return ()
    hidden = tuple(
        check.name for check in lab.rubric.check if read.course.visibility(lab.name, check.name) != "visible"
    )
    if len(hidden) == len(lab.rubric.check):
        raise UsageError(f"{shown(read.path)}: no check of {lab.name} is visible, so a student could check nothing")
    return hidden


def _lab_files(labs: list[Lab], concealed: Mapping[str, tuple[str, ...]], root: Path) -> dict[str, File]:
    files: dict[str, File] = {}
    for header in sorted((root / "labs").glob("*.cuh")):
        files[f"labs/{header.name}"] = File(header.read_bytes())
    packed = {lab.name for lab in labs}
    for lab in labs:
        visible = {check.name for check in lab.rubric.check} - set(concealed[lab.name])
        given, _ = skeleton.pristine(lab)
        text = rubric_text(student_rubric(lab.rubric, visible, packed))
        files[f"labs/{lab.name}/lab.toml"] = File(text.encode())
        files[f"labs/{lab.name}/scan.cu"] = File(given.encode())
        files[f"grader/skeletons/{lab.name}.cu"] = File(given.encode())
    return files


# ---- where it goes ---------------------------------------------------------------------------------------------------


def refuse(out: Path) -> None:
    """Raise UsageError, before any work is done, where a bundle could not be written or would replace something."""
    if not out.absolute().parent.is_dir():
        raise UsageError(f"cannot write {shown(out)}: its folder does not exist")
    if out.suffix == ".zip":
        if out.is_dir():
            raise UsageError(f"cannot write {shown(out)}: it is a folder")
    elif out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UsageError(f"{shown(out)} is there already; name a new folder, or a file that ends in .zip")
    if out.resolve().is_relative_to(ROOT.resolve()) and out.suffix != ".zip":
        raise UsageError(f"{shown(out)} lies in the kit itself; name a folder elsewhere")


def read_back(bundle: Path) -> Files:
    """Return the files of a bundle as they lie in its folder or zip file.

    Raises KitError where it is neither, or holds something that is no plain file.
    """
    found: dict[str, File] = {}
    if bundle.is_dir():
        for path in sorted(bundle.rglob("*")):
            name = path.relative_to(bundle).as_posix()
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise KitError(f"{name}: no plain file")
            if path.is_file():
                found[name] = File.of(path)
        return found
    try:
        with zipfile.ZipFile(bundle) as archive:
            for entry in archive.infolist():
                name = entry.filename.removeprefix(f"{INSIDE}/")
                if (entry.external_attr >> 28) not in (0o10, 0) or name in found:
                    raise KitError(f"{name}: no plain file, or there twice")
                found[name] = File(archive.read(entry), bool(entry.external_attr >> 16 & 0o100))
    except (OSError, zipfile.BadZipFile) as error:
        raise KitError(f"{shown(bundle)}: cannot read it back: {error}") from error
    return found
