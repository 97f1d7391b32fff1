"""What a command works on: a lab's own file, another file as that lab's, or a file of no lab; and which entry of it."""

from pathlib import Path

from scanlab.arguments import ENTRIES
from scanlab.errors import UsageError
from scanlab.labs.folders import FOLDER, Lab, find_lab
from scanlab.paths import shown


def is_in_a_lab(path: Path) -> bool:
    """Return whether one of a path's parts is called as labs are, 02_kogge_stone."""
    return any(FOLDER.fullmatch(part) for part in path.absolute().parts)


def subject_of(what: str, file: Path | None = None) -> tuple[Lab | None, Path]:
    """Return the lab, where there is one, and the file.

    Raises UsageError for what is neither, and for a lab without a file.
    """
    if what.endswith(".cu"):
        if file is not None:
            raise UsageError(f"{what} and {shown(file)}: name a lab and a file, or one file")
        return (find_lab(what) if is_in_a_lab(Path(what)) else None), Path(what)
    lab = find_lab(what)
    own = Path(what) / "scan.cu"
    if file is None and ("/" in what or what in (".", "..")) and own.is_file():
        return lab, own
    if file is None and not lab.source.exists():
        raise UsageError(
            f"{shown(lab.source)} does not exist; `grader/scanlab reset {lab.number}` brings the skeleton back"
        )
    return lab, file or lab.source


def subject_of_lab(what: str, file: Path | None = None) -> tuple[Lab, Path]:
    """Return the lab and the file, as `subject_of` does; the lab's own file by its own path.

    Raises UsageError also for a file of no lab.
    """
    lab, path = subject_of(what, file)
    if lab is None:
        raise UsageError(f"{what} is in no lab's folder; name its lab as well, such as 02 {what}")
    return lab, lab.source if path.absolute() == lab.source else path


def entry_of(lab: Lab | None, wanted: str | None) -> str:
    """Return the entry to call: the wanted one, else the lab's first, of no lab the first that there is.

    Raises UsageError for one that the lab does not ask for.
    """
    entries = lab.rubric.entries if lab else ENTRIES
    if wanted is not None and wanted not in entries:
        raise UsageError(f"--entry {wanted}: {lab.name if lab else 'a lab'} has {' and '.join(entries)}")
    return wanted or entries[0]
