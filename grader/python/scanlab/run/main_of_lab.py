"""A lab's file has no main: the kit's own one calls an entry of it (`grader/runner/printer.cpp`)."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scanlab.arguments import ENTRIES
from scanlab.errors import KitError, UsageError
from scanlab.labs.folders import Lab, find_lab
from scanlab.labs.subject import entry_of, is_in_a_lab, subject_of
from scanlab.paths import shown
from scanlab.process import run_group

LIBRARY = "grader/runner/libprinter_float.a"
N = 16
"""Elements, where the command line names no number."""
SECONDS = 60.0
SCAN, PARTITION = "const Element* d_x, Element* d_y, int n", "const Element* d_x, Element* d_y, int* d_kept, int n"
PARAMETERS = dict(zip(ENTRIES, (SCAN, SCAN, PARTITION, PARTITION), strict=True))
SYMBOLS = {name: f"_Z{len(name)}{name}{'PKfPfi' if PARAMETERS[name] == SCAN else 'PKfPfPii'}" for name in ENTRIES}
"""What they are called in an object, with floats as elements."""


@dataclass(frozen=True)
class Subject:
    """The files to run: a lab's own, or those of a program, which may be one file of a lab."""

    files: tuple[Path, ...]
    lab: Lab | None = None
    is_named_as_lab: bool = False

    @property
    def name(self) -> str:
        """Return what the program is called."""
        return self.lab.name if self.lab and self.is_named_as_lab else self.files[0].stem


def subject(words: Sequence[str]) -> Subject:
    """Return what the command line names: `02`, `02 FILE`, or files. Raises UsageError for a lab with several files."""
    first, *others = words
    path = Path(first)
    if path.is_file() or path.suffix or (path.is_dir() and not is_in_a_lab(path.resolve())):
        return Subject(tuple(map(Path, words)), None if others else _lab_around(path))
    if len(others) > 1:
        raise UsageError(f"{first} and {len(others)} files: name a lab and one file, or files")
    lab, file = subject_of(first, Path(others[0]) if others else None)
    return Subject((file,), lab, is_named_as_lab=True)


def _lab_around(path: Path) -> Lab | None:
    """Return the lab in whose folder a file lies; None in any other, which may be called nearly as a lab's is."""
    with suppress(UsageError):
        return find_lab(str(path.absolute())) if is_in_a_lab(path) else None
    return None


@dataclass(frozen=True)
class Call:
    """One call of an entry."""

    entry: str
    n: int


def call_of(
    given: Subject, defined: Iterable[str], entry: str | None, n: int | None, arguments: Sequence[str]
) -> Call | None:
    """Return what the kit's main calls; None where the program's own main runs, or where there is nothing to call.

    `defined` are the symbols of the files, `arguments` what follows `--`.

    Raises UsageError for a lab's file that has a main of its own, for a function that is in no file, and for
    options that make no sense.
    """
    symbols = set(defined)
    names = ", ".join(map(shown, given.files))
    there = [name for name in ENTRIES if SYMBOLS[name] in symbols]
    is_asked = given.is_named_as_lab or entry is not None or n is not None
    if "main" in symbols:
        if given.is_named_as_lab:
            raise UsageError(f"{names} has a main of its own; to run that, name the file: grader/scanlab run {names}")
        if is_asked:
            raise UsageError(f"--n and --entry are for a lab's file without a main; {names} has its own")
        return None
    if not there and not is_asked:
        return None
    wanted = entry_of(given.lab, entry) if given.lab or entry or not there else there[0]
    if wanted not in there:
        raise UsageError(f"there is no function {wanted}({PARAMETERS[wanted]}) in {names}")
    if arguments:
        raise UsageError(f"what follows -- is for a program with a main; {names} has none")
    return Call(wanted, N if n is None else n)


def symbols_of(objects: Sequence[Path]) -> list[str]:
    """Return the names of the functions and variables that objects define. Raises KitError when they cannot be read."""
    command = ["nm", "--format=posix", "--defined-only", "--extern-only", *map(str, objects)]
    try:
        done = run_group(command, SECONDS)
    except FileNotFoundError as error:
        raise KitError("nm is not there: it comes with g++, in the package binutils") from error
    if done.code != 0:
        raise KitError(f"nm ended with code {done.code}: {done.output.strip()}")
    return [words[0] for words in map(str.split, done.output.splitlines()) if len(words) > 1]
