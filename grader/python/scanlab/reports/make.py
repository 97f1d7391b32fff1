"""Write the pages of a results folder: `index.html` for the teacher, `students/KEY.html` for each submission."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scanlab.classroom.records import Class
from scanlab.classroom.store import Store, write_atomically
from scanlab.course.seen import Sight
from scanlab.errors import UsageError
from scanlab.on_demand import REPORTS, provide
from scanlab.paths import shown

INDEX = "index.html"
STUDENTS = "students"
MARK = '<meta name="generator" content="scanlab report">'
"""Stands near the beginning of every page, so that no other file is replaced by one."""
MARK_WITHIN = 2000
ALONE = 8
"""From this many pages on they are made side by side."""


@dataclass(frozen=True)
class Wanted:
    """What is to be made. `keys`: these submissions' pages, and no class page; none: all of them."""

    keys: Sequence[str] = ()
    class_only: bool = False
    is_due: bool = False
    """Checks that are shown after the due date are shown."""
    traces: bool = False


@dataclass(frozen=True)
class Made:
    """What was made."""

    index: Path | None
    students: Sequence[Path]


def make(store: Store, out: Path, wanted: Wanted, done: Callable[[int, int], None] = lambda _n, _of: None) -> Made:
    """Write the pages into the folder `out`; `done` is called with how many of how many students' pages are written.

    Raises UsageError for an unknown key, a folder that cannot be used, or results that are not complete.
    """
    provide(REPORTS, "report")
    taken_in = store.read_class()
    keys = [submission.key for submission in taken_in.submissions]
    if unknown := [key for key in wanted.keys if key not in set(keys)]:
        raise UsageError(f"--key {unknown[0]}: {shown(store.class_file)} has no such submission")
    index = None if wanted.keys else out / INDEX
    chosen = [] if wanted.class_only else [key for key in keys if not wanted.keys or key in set(wanted.keys)]
    pages = [out / STUDENTS / f"{key}.html" for key in chosen]
    if out.exists() and not out.is_dir():
        raise UsageError(f"{shown(out)} is a file; name a folder with --out")
    for path in [*([index] if index else []), *pages]:
        _refuse(path)
    _students(store, taken_in, out, wanted, chosen, done)
    if index:
        linked = {key for key in keys if (out / STUDENTS / f"{key}.html").is_file()}
        from scanlab.reports.class_page import class_page
        from scanlab.reports.render import class_html

        write_atomically(index, class_html(class_page(taken_in, store.records(), store.source), linked))
    return Made(index, pages)


def _refuse(path: Path) -> None:
    """Raise UsageError where writing a page would replace something else."""
    try:
        if not path.exists():
            return
        with path.open(encoding="utf-8", errors="replace") as file:
            if MARK in file.read(MARK_WITHIN):
                return
    except OSError as error:
        raise UsageError(f"cannot write {shown(path)}: {error.strerror}") from error
    raise UsageError(f"{shown(path)} is there, and no report; name another folder with --out")


def _students(
    store: Store, taken_in: Class, out: Path, wanted: Wanted, keys: Sequence[str], done: Callable[[int, int], None]
) -> None:
    sight = Sight.of(taken_in, wanted.is_due)
    write = partial(write_student, store, taken_in, out, sight)
    workers = min(os.cpu_count() or 1, len(keys) // ALONE)
    if wanted.traces:
        from scanlab.reports.pictures import Pictures

        drawn = Pictures(store.source)
        for count, key in enumerate(keys, 1):
            write(key, drawn.draw)
            done(count, len(keys))
    elif workers < 2:
        for count, key in enumerate(keys, 1):
            write(key)
            done(count, len(keys))
    else:
        with ProcessPoolExecutor(workers) as pool:
            for count, _ in enumerate(pool.map(write, keys, chunksize=4), 1):
                done(count, len(keys))


def write_student(
    store: Store, taken_in: Class, out: Path, sight: Sight, key: str, draw: Callable | None = None
) -> None:
    """Write one student's page."""
    from scanlab.reports.render import student_html
    from scanlab.reports.student_page import student_page

    record = store.read_record(key)
    page = student_page(taken_in, record, store.source, sight, *([draw] if draw else []))
    write_atomically(out / STUDENTS / f"{key}.html", student_html(page))
