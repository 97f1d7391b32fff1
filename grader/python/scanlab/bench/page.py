"""A comparison as a page of Markdown, for handouts/benchmarks/."""

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

from scanlab.bench.result import Result
from scanlab.bench.tables import Table, explanations, heading, tables, troubles

WIDTH = 120
PICTURES = (".svg", ".png")


def markdown(result: Result, page: Path, plots: Sequence[Path] = (), json_file: Path | None = None) -> str:
    """Return the page that will stand at `page`, with links to the plots and the JSON beside it."""
    device, versions, command = heading(result)
    what = "How fast the scans are" if result.subject == "times" else "What the scans do"
    parts = [f"# {what}: {result.device.name}", f"{device}.", f"{versions}. Made by", f"```sh\n{command}\n```"]
    for table in tables(result):
        parts += [f"## {table.title}", _table(table)]
    shown = next((plot for kind in PICTURES for plot in plots if plot.suffix.lower() == kind), None)
    if shown is not None:
        parts += ["## Over all sizes", f"![The scans' speed over the number of elements]({_link(page, shown)})"]
    parts += ["## Notes", "\n".join(map(_item, [*explanations(result), *troubles(result)]))]
    if json_file is not None:
        parts.append(f"Every single time: [{json_file.name}]({_link(page, json_file)}).")
    return "\n\n".join(parts) + "\n"


def _item(text: str) -> str:
    return textwrap.fill(_escaped(text), WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)


def _link(page: Path, target: Path) -> str:
    return Path(os.path.relpath(target.absolute(), page.absolute().parent)).as_posix()


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[").replace("*", "\\*")


def _table(table: Table) -> str:
    rule = ["---" if at < table.names else "---:" for at in range(len(table.columns))]
    lines = [table.columns, tuple(rule), *(tuple(map(_escaped, row)) for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
