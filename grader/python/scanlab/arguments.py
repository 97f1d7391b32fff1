"""What several commands take from the command line, and how they write their results."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from scanlab import files
from scanlab.contract import Device, Schedule
from scanlab.errors import UsageError
from scanlab.paths import shown

DeviceName = StrEnum("DeviceName", get_args(Device))  # type: ignore[misc]
"""Where kernels run."""
ScheduleName = StrEnum("ScheduleName", get_args(Schedule))  # type: ignore[misc]
"""The order in which the virtual GPU runs blocks and warps."""
ENTRIES = ("inclusive_scan", "exclusive_scan", "compact", "split")
"""The functions that labs ask for (`labs/scanlab.cuh`)."""
EntryName = StrEnum("EntryName", ENTRIES)  # type: ignore[misc]
LARGEST_SEED = (1 << 64) - 1
DeviceOption = Annotated[DeviceName, typer.Option(help="the virtual GPU, or this machine's own")]
SeedOption = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="chooses inputs and random schedules")]
EntryOption = Annotated[EntryName | None, typer.Option(help="the function to call; none: the lab's first one")]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="also write the result as JSON")]

SarifOption = Annotated[
    Path | None, typer.Option("--sarif", metavar="FILE", help="also write what is wrong as SARIF, for editors")
]


def write_json(path: Path | None, value: dict[str, Any]) -> None:
    """Write a result, or nothing without a path. Raises UsageError where it cannot be written."""
    if path is not None:
        write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the whole new one. Raises UsageError where it cannot."""
    try:
        files.replace(path, text)
    except OSError as error:
        raise UsageError(f"cannot write {shown(path)}: {error.strerror}") from error


def require_folder(path: Path | None) -> None:
    """Raise UsageError, before any work is done, where a result could not be written."""
    if path is not None and not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {shown(path)}: its folder does not exist")
    if path is not None and path.is_dir():
        raise UsageError(f"cannot write {shown(path)}: it is a folder")
