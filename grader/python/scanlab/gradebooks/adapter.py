"""Make what an instructor uploads, so that a platform runs the kit: scripts, settings, and the kit without answers."""

import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scanlab import packing
from scanlab.course.model import NO_COURSE, Course
from scanlab.course.tables import Attempts
from scanlab.errors import KitError, UsageError
from scanlab.gradebooks.hand_in import Settings
from scanlab.packing import File, Files
from scanlab.paths import ROOT, shown

ADAPTERS = ROOT / "grader/adapters"
KIT = ("LICENSE", "README.md", "meson.build", "meson.options", "grader", "labs", "subprojects")
"""What of the kit goes along: no solutions, no tests, no handouts."""
LEFT_OUT = ("__pycache__", ".pytest_cache", ".ruff_cache", "scan.cu")
"""Names of folders and files that stay here; a lab's scan.cu is the instructor's own work on it."""
NOT_NEEDED = ("grader/bench", "grader/adapters/image")
"""Folders that are not needed there: programs to compare with, some of which are answers, and the image's own."""
WRAPS_ONLY = "subprojects"
NO_TESTS = "# The kit's own tests are not part of this bundle.\n"
NATIVE = b"option('native', type: 'boolean', value: true"
"""An image is built on one machine and runs on others, which may lack some instructions of the first."""


def kit() -> Iterator[tuple[str, Path]]:
    """Yield the kit's files that a platform needs, by their places in it."""
    for name in KIT:
        top = ROOT / name
        if top.is_file():
            yield name, top
            continue
        for place, folders, names in os.walk(top):
            here = Path(place).relative_to(ROOT)
            folders[:] = sorted(
                folder for folder in folders if folder not in LEFT_OUT and (here / folder).as_posix() not in NOT_NEEDED
            )
            if name == WRAPS_ONLY:
                folders.clear()
            for file in sorted(names):
                path = Path(place) / file
                is_wanted = file.endswith(".wrap") if name == WRAPS_ONLY else not file.endswith((".pyc", ".bak"))
                if is_wanted and file not in LEFT_OUT and ".bak-" not in file and not path.is_symlink():
                    yield path.relative_to(ROOT).as_posix(), path


def _kit_files(prefix: str) -> dict[str, File]:
    files = {f"{prefix}/{place}": File.of(path) for place, path in kit()}
    files[f"{prefix}/tests/meson.build"] = File(NO_TESTS.encode())
    options = files[f"{prefix}/meson.options"].content
    if NATIVE not in options:
        raise KitError("meson.options: the option `native` is not as it was: the kit must run on other machines, too")
    files[f"{prefix}/meson.options"] = File(options.replace(NATIVE, NATIVE.replace(b"true", b"false")))
    return files


def _scripts(folder: str, *names: str) -> dict[str, File]:
    found = {}
    for name in names:
        path = ADAPTERS / folder / name
        try:
            found[name] = File.of(path)
        except OSError as error:
            raise KitError(f"{shown(path)}: cannot read it: {error.strerror}") from error
    return found


def _json(value: object) -> File:
    return File((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def _settings(settings: Settings) -> File:
    return _json(settings.model_dump(mode="json"))


def _image() -> Files:
    dockerfile = _scripts("image", "Dockerfile")["Dockerfile"]
    return {"image/Dockerfile": dockerfile, **_kit_files("image/scanlab")}


def _gradescope(settings: Settings, _: str) -> Files:
    scripts = _scripts("gradescope", "setup.sh", "run_autograder", "README.md")
    return {**scripts, "adapter.json": _settings(settings), **_kit_files("scanlab")}


def _autolab(settings: Settings, _: str) -> Files:
    _one_lab(settings)
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        inner = {**_scripts("autolab", "driver.sh"), "adapter.json": _settings(settings)}
        for name, file in inner.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(file.content), 0o755 if file.is_program else 0o644
            archive.addfile(member, io.BytesIO(file.content))
    files = {**_scripts("autolab", "autograde-Makefile", "README.md"), "autograde.tar": File(sink.getvalue())}
    return {**files, **_image()}


def _prairielearn(settings: Settings, image: str) -> Files:
    lab = _one_lab(settings)
    question = {
        "uuid": _uuid(lab),
        "title": settings.title or (settings.course or NO_COURSE).lab(lab).rubric.title,
        "topic": "Parallel scan",
        "type": "v3",
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": image,
            "entrypoint": "/opt/scanlab/grader/adapters/prairielearn/entrypoint.sh",
            "timeout": 600,
        },
    }
    place = f"questions/{lab}"
    return {
        **_scripts("prairielearn", "README.md"),
        f"{place}/info.json": _json(question),
        f"{place}/question.html": _scripts("prairielearn", "question.html")["question.html"],
        f"{place}/tests/adapter.json": _settings(settings),
        **_image(),
    }


def _uuid(lab: str) -> str:
    """Return the question's own identity; the same whenever it is made again."""
    import uuid

    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"scanlab question {lab}"))


def _classroom50(settings: Settings, _: str) -> Files:
    scripts = _scripts("classroom50", "autograder.py", "README.md")
    return {**scripts, "adapter.json": _settings(settings), **_image()}


def _github(settings: Settings, image: str) -> Files:
    if settings.course or settings.problems:
        raise UsageError("github-classroom: its workflow names labs, device and seed, and nothing else")
    words = [f"--lab {lab}" for lab in settings.labs] + [f"--device {settings.device}", f"--seed {settings.seed}"]
    workflow = _scripts("github-classroom", "classroom.yml")["classroom.yml"].content.decode()
    workflow = workflow.replace("@IMAGE@", image).replace("@LABS@", " ".join(words))
    return {
        **_scripts("github-classroom", "README.md"),
        ".github/workflows/classroom.yml": File(workflow.encode()),
        **_image(),
    }


def _one_lab(settings: Settings) -> str:
    if len(settings.labs) != 1:
        raise UsageError(f"{settings.platform}: one lab an assignment; make an adapter for each: --lab LAB")
    return settings.labs[0]


@dataclass(frozen=True)
class Adapter:
    """How a platform's upload is made."""

    files: Callable[[Settings, str], Files]
    is_archive: bool = False
    """One zip is uploaded; else the folder's parts go to different places."""
    reports_who_and_when: bool = False
    """It says who hands in, and when; else late work and exceptions are its own business."""


ADAPTER: dict[str, Adapter] = {
    "gradescope": Adapter(_gradescope, is_archive=True, reports_who_and_when=True),
    "autolab": Adapter(_autolab),
    "prairielearn": Adapter(_prairielearn),
    "classroom50": Adapter(_classroom50),
    "github-classroom": Adapter(_github),
}


def part_of_course(course: Course, platform: str, labs: Sequence[str]) -> Course:
    """Return what holds of a course for these labs on a platform: their rubrics and who sees which check.

    Due dates, late policies, attempts and exceptions go along only to where it is known who hands in, and when: the
    other platforms have their own, and may show the adapter's files to students.

    Raises UsageError for a lab that is not in the course, and for labs of different weights: a platform adds up points.
    """
    found = {lab.name: lab for lab in course.labs}
    if missing := [lab for lab in labs if lab not in found]:
        raise UsageError(f"--lab {missing[0]}: the course has {', '.join(found)}")
    kept = tuple(found[lab] for lab in labs)
    if len({lab.weight for lab in kept}) > 1:
        weights = ", ".join(f"{lab.name} {lab.weight:g}" for lab in kept)
        raise UsageError(f"these labs have different weights ({weights}): make an adapter for each")
    if ADAPTER[platform].reports_who_and_when:
        return course.model_copy(update={"labs": kept})
    plain = {"due": None, "late": None, "attempts": Attempts()}
    return course.model_copy(update={"labs": tuple(lab.model_copy(update=plain) for lab in kept), "students": ()})


def make(settings: Settings, image: str, out: Path) -> int:
    """Write the upload to a folder that does not exist yet, or to a new .zip; return how many files it has.

    Raises UsageError where it is there already or cannot be written; then nothing is left behind.
    """
    if out.exists() or out.is_symlink():
        raise UsageError(f"{shown(out)} exists; name another with --out, or remove it")
    files = ADAPTER[settings.platform].files(settings, image)
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with packing.placing(out) as made:
            packing.write(files, made)
    except OSError as error:
        raise UsageError(f"cannot write {shown(out)}: {error.strerror}") from error
    return len(files)
