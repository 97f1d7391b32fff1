"""`report`: pages for a class and for each student."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scanlab import errors
from scanlab.paths import shown

if TYPE_CHECKING:
    from scanlab.classroom.store import Store


def report(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="the folder that `grade … --out` wrote")],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="instead of RESULTS/reports")] = None,
    class_only: Annotated[bool, typer.Option("--class-only", help="the class's page, and no student's")] = False,
    key: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="this submission's page only; may be given again")
    ] = None,
    after_due_date: Annotated[
        bool, typer.Option("--after-due-date", help="show students the checks that wait for the due date")
    ] = False,
    traces: Annotated[
        bool, typer.Option("--traces", help="draw what each file does: this compiles and runs it once more")
    ] = False,
) -> None:
    """Make pages of a class's results: one to read, and one to hand back to each student."""
    from scanlab.classroom.store import Store
    from scanlab.reports.make import Wanted, make

    if class_only and (key or traces or after_due_date):
        raise errors.UsageError("--class-only makes no student's page: leave --key, --traces and --after-due-date out")
    folder = out or results / "reports"
    wanted = Wanted(tuple(dict.fromkeys(key or ())), class_only, after_due_date, traces)
    store = Store(results)
    if after_due_date:
        _report_open(store)
    made = make(store, folder, wanted, _progress if sys.stderr.isatty() else lambda _n, _of: None)
    if made.index:
        print(f"{shown(made.index)}: the class; it names students, so keep it to yourself")
    if len(made.students) == 1:
        print(f"{shown(made.students[0])}: to hand back")
    elif made.students:
        print(f"{shown(made.students[0].parent)}: {len(made.students)} pages, one to hand back to each student")


def _report_open(store: "Store") -> None:
    """Say which labs a student may still hand in, although the pages show what waits for the due date."""
    from datetime import UTC, datetime

    from scanlab.course.model import Course

    course = Course.of(store.read_class().course)
    for lab in course.labs:
        last = course.last_due(lab.name)
        if "after_due_date" in lab.visibility.values() and last is not None and last > datetime.now(UTC):
            print(
                f"scanlab: note: {lab.name} is due until {last:%Y-%m-%d %H:%M %z}, for some at least", file=sys.stderr
            )


def _progress(count: int, total: int) -> None:
    end = "\n" if count == total else ""
    print(f"\r{count} of {total} students' pages", end=end, file=sys.stderr, flush=True)
