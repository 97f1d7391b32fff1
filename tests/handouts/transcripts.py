"""Run again what the pages show of the kit's output, and compare.

A transcript is a fenced block under a line `<!-- transcript: NAME -->`. Its first line is the command as a reader types
it; transcripts.toml says with which program the command is run here, and which lines of its output the page shows.

    python tests/handouts/transcripts.py            compare, and print the differences (exit code 1 when there are any)
    python tests/handouts/transcripts.py --write    put what is printed now into the pages and figures

No path, version or date is printed by these commands; only the seconds of `grade` differ from run to run.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "grader/python"))

from pydantic import BaseModel, ConfigDict  # noqa: E402

from scanlab.judging import report  # noqa: E402
from scanlab.judging.judge import Submission, grade  # noqa: E402
from scanlab.judging.plan import Options  # noqa: E402
from scanlab.labs.corpora import text_of  # noqa: E402
from scanlab.labs.folders import find_lab  # noqa: E402
from texts import TEXTS, codes, name  # noqa: E402

RECIPES = Path(__file__).with_suffix(".toml")
WIDTH = 120
"""Longer lines of output are wrapped in the pages; a command is not."""
SECONDS = 300
MARKED = re.compile(
    r"^<!-- transcript: (?P<name>[\w.-]+) -->\n(?P<fence>```)text\n(?P<text>(?:(?!```).*\n)*)```$", re.MULTILINE
)
A_MARK = re.compile(r"<!-- transcript")
LOOKS = re.compile(
    r"^\s*(\$ "  # a prompt
    r"|[A-Z]{3,}( [A-Z]+)* \d\d_\w+: "  # a headline: RACE 02_kogge_stone: …
    r"|(again|seen in): |next: "
    r"|(pass|fail|timeout|inconclusive|error|skipped) +[\d.]+/[\d.]+ "  # a check and its points
    r"|lab +verdict +points"
    r"|(read|write) +by thread \d)",
    re.MULTILINE,
)
A_FIGURE = re.compile(
    r"!\[[^\]]+\]\((?P<file>figures/[\w.]+)\)\n\n(?:[^\n]+\n)*?[^\n]*`grader/scanlab (?P<command>trace [^`]+)`"
)
"""A figure, and below it the command that makes it."""
HEADLINE = re.compile(r"\S")
"""What a cause, and the verdict, begin with; the lines of checks and facts are indented."""
VARIES = re.compile(r" +\d+\.\d$", re.MULTILINE)
"""The seconds of `grade`, at the end of a line, with the spaces that align them."""


class TranscriptError(Exception):
    """A recipe that does not fit what is printed, or a page that does not fit the recipes."""


class Recipe(BaseModel):
    """A transcript: a command, the program it is run with, and the lines that are shown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str
    """As a reader types it, without `grader/scanlab`."""
    file: str = ""
    """`check` only: stands in the place of the lab's scan.cu; empty: the lab's solution."""
    edits: tuple[tuple[str, str], ...] = ()
    """`check` only: texts of that file that are there once, and what replaces them."""
    causes: tuple[str, ...] = ()
    """Patterns of the headlines of the parts that are shown; empty: all parts."""
    shows: tuple[str | dict[str, str], ...] = ()
    """Patterns of the lines of these parts that are shown; `{part = …}`: only what the pattern finds of the line.
    Empty: all lines."""


@dataclass(frozen=True)
class Block:
    """A transcript in a page: its recipe's name, its text, and where the text begins and ends."""

    page: Path
    name: str
    text: str
    start: int
    end: int
    line: int


def recipes(path: Path = RECIPES) -> dict[str, Recipe]:
    """Return the recipes of transcripts.toml by name."""
    return {key: Recipe(**table) for key, table in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def blocks(page: Path, text: str) -> list[Block]:
    """Return the transcripts of a page. Raises TranscriptError for one without a mark, or a mark without one."""
    found = [
        Block(page, match["name"], match["text"], match.start("text"), match.end("text"), text.count("\n", 0, at) + 1)
        for match in MARKED.finditer(text)
        for at in [match.start("fence")]
    ]
    marked = {block.line for block in found}
    for code in codes(text):
        if not code.inline and not code.info.startswith("{") and code.line not in marked and LOOKS.search(code.text):
            raise TranscriptError(
                f"{name(page)}:{code.line}: what the kit prints, without `<!-- transcript: NAME -->` above it"
            )
    if len(A_MARK.findall(text)) != len(found):
        raise TranscriptError(f"{name(page)}: a `<!-- transcript: NAME -->` without a block ```text right below it")
    return found


def source(recipe: Recipe, lab_name: str) -> str:
    """Return the program that a recipe's check is run with. Raises TranscriptError where an edit does not fit."""
    text = text_of(REPOSITORY / (recipe.file or f"solutions/{lab_name}/scan.cu"))
    for old, new in recipe.edits:
        if text.count(old) != 1:
            raise TranscriptError(f"an edit's text is there {text.count(old)} times: {old!r}")
        text = text.replace(old, new)
    return text


def _check(words: list[str]) -> tuple[str, Options]:
    """Return the lab and the options of `check NN --n N --seed N --schedule S`."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("lab")
    parser.add_argument("--n", type=int)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--schedule")
    asked = parser.parse_args(words)
    return asked.lab, Options("vgpu", asked.n, asked.seed, asked.schedule)


def printed(wanted: Mapping[str, Recipe]) -> dict[str, list[str] | TranscriptError]:
    """Return the lines that the command of each recipe prints, or why it cannot be run.

    All checks are graded side by side: their programs are compiled and run on every processor.
    """
    output: dict[str, list[str] | TranscriptError] = {}
    groups: dict[Options, dict[tuple[str, str], list[str]]] = {}
    for key, recipe in wanted.items():
        command, *words = recipe.command.split()
        if command != "check":
            continue
        number, options = _check(words)
        try:
            program = number, source(recipe, find_lab(number).name)
        except TranscriptError as error:
            output[key] = error
            continue
        groups.setdefault(options, {}).setdefault(program, []).append(key)
    with tempfile.TemporaryDirectory() as scratch:
        for options, programs in groups.items():
            submissions = []
            for (number, text), (key, *_) in programs.items():
                path = Path(scratch, key, "scan.cu")
                path.parent.mkdir()
                path.write_text(text, encoding="utf-8")
                submissions.append(Submission(find_lab(number), path, is_a_copy=True))
            for keys, result in zip(programs.values(), grade(submissions, options), strict=True):
                lines = [line for line, _ in report.result_lines(result, checks=True)]
                output.update(dict.fromkeys(keys, lines))
    for key, recipe in wanted.items():
        if key in output:
            continue
        try:
            output[key] = _run(recipe.command.split()).stdout.splitlines()
        except TranscriptError as error:
            output[key] = error
    return output


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the command line. Raises TranscriptError for wrong usage and the kit's own faults."""
    start = "import sys; from scanlab.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", start, *words],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "grader/python"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode in (2, 3):
        raise TranscriptError(f"`{' '.join(words)}` ends with exit code {done.returncode}:\n{done.stderr}")
    return done


def shown(recipe: Recipe, lines: list[str] | TranscriptError) -> str:
    """Return the text of the block: the command, the chosen lines, and … for those left out.

    Raises TranscriptError when the command could not be run, or a pattern finds nothing.
    """
    if isinstance(lines, TranscriptError):
        raise lines
    unused = {*recipe.causes, *(_pattern(one) for one in recipe.shows)}
    taken: list[str | None] = []
    is_in = not recipe.causes
    for line in lines:
        if recipe.causes and HEADLINE.match(line):
            hits = [pattern for pattern in recipe.causes if re.search(pattern, line)]
            unused -= set(hits)
            is_in = bool(hits)
        taken.append(_taken(line, recipe.shows, unused) if is_in else None)
    if unused:
        said = "\n".join(lines)
        raise TranscriptError(f"nothing that is printed has {', '.join(map(repr, sorted(unused)))}:\n{said}")
    text = [f"$ grader/scanlab {recipe.command}"]
    for at, line in enumerate(taken):
        if line is not None:
            text += _wrapped(line.rstrip())
        elif at == 0 or taken[at - 1] is not None:
            text.append("  …")
    return "\n".join(text) + "\n"


def _pattern(one: str | dict[str, str]) -> str:
    return one if isinstance(one, str) else one["part"]


def _taken(line: str, shows: tuple[str | dict[str, str], ...], unused: set[str]) -> str | None:
    if not shows:
        return line
    for one in shows:
        found = re.search(_pattern(one), line)
        if not found:
            continue
        unused.discard(_pattern(one))
        if isinstance(one, str):
            return line
        indent = line[: len(line) - len(line.lstrip())]
        before = "… " if found.start() > len(indent) else ""
        after = " …" if found.end() < len(line) else ""
        return f"{indent}{before}{found[0].strip()}{after}"
    return None


def _wrapped(line: str) -> list[str]:
    if len(line) <= WIDTH or "grader/scanlab" in line:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)


def steady(text: str) -> str:
    """Return a transcript without what differs from run to run."""
    return VARIES.sub(" 0.0", text)


def kept(was: str, now: str) -> str:
    """Return `now` with the seconds of `was` in the lines that say nothing else that is new."""
    known = {steady(line): line for line in was.splitlines(keepends=True)}
    return "".join(known.get(steady(line), line) for line in now.splitlines(keepends=True))


def differences(was: str, now: str, where: str) -> str:
    """Return the lines that differ, as a diff; empty when none do."""
    if steady(was) == steady(now):
        return ""
    return "".join(
        difflib.unified_diff(
            was.splitlines(True), now.splitlines(True), f"{where}, as it stands", "as it is printed now"
        )
    )


def made_files() -> Iterator[tuple[Path, list[str], str]]:
    """Give the figures and the examples of findings: each file, the words of its command, and the stream it is from.

    tests/trace and tests/findings compare them in the kit's own tests.
    """
    for page in TEXTS:
        for found in A_FIGURE.finditer(page.read_text(encoding="utf-8")):
            yield page.parent / found["file"], found["command"].split(), "svg"
    for path in sorted((REPOSITORY / "handouts/findings").glob("*.cu")):
        yield path.with_suffix(".txt"), ["run", str(path.relative_to(REPOSITORY)), "--check"], "stderr"


def made_differences(*, write: bool) -> list[str]:
    """Make the figures and the examples again, and return what differs."""
    said = []
    with tempfile.TemporaryDirectory() as scratch:
        for path, words, kind in made_files():
            fresh = Path(scratch, path.name)
            command = [str(fresh) if kind == "svg" and word.endswith(".svg") else word for word in words]
            done = _run(command)
            lines = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("scanlab: ")]
            now = fresh.read_text(encoding="utf-8") if kind == "svg" else "".join(lines)
            was = path.read_text(encoding="utf-8") if path.exists() else ""
            if difference := differences(was, now, name(path)):
                said.append(difference)
                if write:
                    path.write_text(now, encoding="utf-8")
    return said


def compare(*, write: bool = False, pages: Iterable[Path] = TEXTS) -> list[str]:
    """Run every transcript again, and return what differs and what does not fit; with `write`, correct the pages.

    A recipe that does not fit any more leaves its block as it is, and is among what is returned.
    """
    said, every = [], recipes()
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    found: list[Block] = []
    for page, text in texts.items():
        try:
            found += blocks(page, text)
        except TranscriptError as error:
            said.append(f"{error}\n")
    used = {block.name for block in found}
    said += [f"{name(b.page)}:{b.line}: no recipe {b.name!r}\n" for b in found if b.name not in every]
    said += [f"{RECIPES.name}: no page shows {one!r}\n" for one in every if one not in used]
    output = printed({key: recipe for key, recipe in every.items() if key in used})
    for block in reversed(found):  # from the end, so that the places before stay
        where = f"{name(block.page)}:{block.line} ({block.name})"
        try:
            now = kept(block.text, shown(every[block.name], output[block.name])) if block.name in every else block.text
        except TranscriptError as error:
            said.append(f"{where}: {error}\n")
            continue
        if difference := differences(block.text, now, where):
            said.append(difference)
            if write:
                text = texts[block.page]
                texts[block.page] = text[: block.start] + now + text[block.end :]
    if write:
        for page, text in texts.items():
            if text != page.read_text(encoding="utf-8"):
                page.write_text(text, encoding="utf-8")
    return said


def main(arguments: list[str] | None = None) -> int:
    """Compare or write, print what differs, and return the exit code."""
    parser = argparse.ArgumentParser(description="compare the pages' transcripts with what the kit prints")
    parser.add_argument("--write", action="store_true", help="put what is printed now into the pages")
    asked: Any = parser.parse_args(arguments)
    said = compare(write=asked.write) + made_differences(write=asked.write)
    print("".join(said), end="")
    # With --write, what has been written is no failure; what is left after it is.
    left = [one for one in said if not one.startswith("---")] if asked.write else said
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
