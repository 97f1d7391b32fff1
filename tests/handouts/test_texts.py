"""The handouts agree with the kit: commands, files, programs, rubrics. Sphinx is not needed for any of this."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from scanlab.cli import app
from scanlab.errors import UsageError
from scanlab.labs.folders import all_labs, find_lab
from scanlab.labs.rubric_file import read_rubric
from texts import HANDOUTS, LABS, PROGRAMS, REPOSITORY, TEXTS, codes, commands, links, name, tables

each_text = pytest.mark.parametrize("path", TEXTS, ids=name)
each_lab = pytest.mark.parametrize("path", LABS, ids=name)
Faults = list[str]


def agree(path: Path, check: Callable[[str], Faults]) -> None:
    faults = check(path.read_text(encoding="utf-8"))
    assert not faults, "\n".join(f"{name(path)}:{fault}" for fault in faults)


# ---- commands -------------------------------------------------------------------------------------------------------


def leaves(command: Any, names: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if hasattr(command, "commands"):
        return {k: v for word, sub in command.commands.items() for k, v in leaves(sub, (*names, word)).items()}
    return {names: command}


def parsed(words: list[str]) -> dict[str, Any]:
    """What the command line understands by these words. Raises its own error for what it does not understand."""
    understood: dict[str, Any] = {}
    command = typer.main.get_command(app)
    for leaf in leaves(command).values():
        leaf.callback = lambda **values: understood.update(values)
    if words[0] == "run" and "--" in words:
        words = words[: words.index("--")]
    command.main(args=words, prog_name="grader/scanlab", standalone_mode=False)
    return understood


A_PLACEHOLDER = re.compile(r"^(DIR|FILE|NAME)\b|\b(FILE|NAME)\.|NN_")
READ = ("file", "files", "folder", "source", "what")
WRITTEN = ("json_file", "markdown_file", "plots", "out", "svg_file")


def faults_of(words: list[str]) -> Faults:
    said = " ".join(words)
    if words == ["--help"]:
        return []
    try:
        values = parsed(words)
    except Exception as error:  # typer's errors have no common name that is public
        return [f"{said}: {error}"]
    faults = []
    # Without --out it is one person's folder, else a class's, which is the reader's.
    read = READ if values.get("out") else (*READ, "submissions")
    for key, value in values.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is None or (isinstance(one, str) and not one):
                continue
            text = str(one)
            if key in ("lab", "labs") or (key == "what" and not text.endswith(".cu")):
                try:
                    find_lab(text)
                except UsageError as error:
                    faults.append(f"{said}: {error}")
            elif A_PLACEHOLDER.search(text):
                continue
            elif key in WRITTEN and "/" in text and not (REPOSITORY / text).parent.is_dir():
                faults.append(f"{said}: {text} lies in no folder")
            # Without a folder it is a file of the reader's own.
            elif key in read and ("/" in text or "." not in text) and not (REPOSITORY / text).exists():
                faults.append(f"{said}: {text} does not exist")
    if "level" in values and not faults:
        hints = len(find_lab(values["lab"]).rubric.hint)
        if values["level"] > hints:
            faults.append(f"{said}: there are {hints} hints")
    return faults


def command_faults(text: str) -> Faults:
    # Within a sentence, `grader/scanlab check` may be the command's name.
    names = list(leaves(typer.main.get_command(app)))
    return [
        f"{code.line}: {fault}"
        for words, code in commands(text)
        if not (code.inline and tuple(words) in names)
        for fault in faults_of(words)
    ]


def options_faults(text: str) -> Faults:
    """`--n` alone has to be an option of some command, `run --counters` one of that command."""
    known = {
        names: {o for p in leaf.params for o in p.opts} for names, leaf in leaves(typer.main.get_command(app)).items()
    }
    faults = []
    for code in codes(text):
        found = re.match(r"(?:(\w+) )?(--[a-z]\S*)", code.text) if code.inline else None
        if found is None or (found.group(1) and not any(found.group(1) in names for names in known)):
            continue
        command, options = found.group(1), re.findall(r"(?:^| )(--[a-z][a-z-]*)", code.text)
        possible = set().union(*(own for names, own in known.items() if command is None or command in names))
        faults += [f"{code.line}: `{code.text}`: there is no {o}" for o in options if o not in possible | {"--help"}]
    return faults


@each_text
def test_commands_can_be_typed_as_they_stand(path: Path) -> None:
    agree(path, command_faults)


@each_text
def test_options_exist(path: Path) -> None:
    agree(path, options_faults)


def test_commands_are_found_wherever_they_stand() -> None:
    text = (
        "Type `grader/scanlab check 02`.\n\n    $ grader/scanlab bench 06 \\\n      a.cu --n 2^20\n"
        "      again: grader/scanlab check 03 --n 1   # why\n\n"
        "| | |\n| --- | --- |\n| x | `grader/scanlab list` |\n\n"
        "`source <(grader/scanlab completion bash)`\n\n"
        "```sh\ngrader/scanlab run my.cu -- a b\ngrader/scanlab hint 02   a hint\n```\n"
    )
    assert [words for words, _ in commands(text)] == [
        ["check", "02"],
        ["bench", "06", "a.cu", "--n", "2^20"],
        ["check", "03", "--n", "1"],
        ["list"],
        ["completion", "bash"],
        ["run", "my.cu", "--", "a", "b"],
        ["hint", "02"],
    ]
    assert command_faults(text + "\n`grader/scanlab check` and `grader/scanlab bench vgpu`") == []


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("chekc 02", "chekc"),
        ("check 99", "no lab is called '99'"),
        ("check --n 3", "lab"),
        ("check 02 --fast", "--fast"),
        ("check 02 --n many", "many"),
        ("check 02 labs/02_kogge_stone/scna.cu", "labs/02_kogge_stone/scna.cu does not exist"),
        ("hint 02 --level 9", "there are 3 hints"),
        ("bench 06 kogge --n 2^20", "no lab is called 'kogge'"),
        ("bench --json no/such/folder.json", "lies in no folder"),
        ("bench --from handouts/benchmarks/nothing.json", "does not exist"),
        ("grade solution", "does not exist"),
    ],
)
def test_commands_that_do_not_work_are_found(words: str, fault: str) -> None:
    (found,) = command_faults(f"# A\n\nType `grader/scanlab {words}`.\n")
    assert found.startswith(f"3: {words}: ")
    assert fault in found


def test_options_that_do_not_exist_are_found() -> None:
    assert options_faults("`--n 3`, `bench --device gpu`, `run --counters`, `--help`, `nvcc --ptx`") == []
    assert options_faults("`--nn 3`") == ["1: `--nn 3`: there is no --nn"]
    assert options_faults("`check --counters`") == ["1: `check --counters`: there is no --counters"]


# ---- files ----------------------------------------------------------------------------------------------------------

A_PATH = re.compile(r"(?<![\w./-])(?:labs|solutions|handouts|tests|grader)/[\w./-]*")


def file_faults(text: str) -> Faults:
    faults = []
    for code in codes(text):
        for found in A_PATH.findall(code.text):
            if not A_PLACEHOLDER.search(found) and not (REPOSITORY / found.rstrip(".")).exists():
                faults.append(f"{code.line}: {found} does not exist")
    return faults


def link_faults(path: Path, text: str) -> Faults:
    return [
        f"{line}: {target} leads nowhere"
        for target, line in links(text)
        if not re.match(r"[a-z]+:|#", target) and not (path.parent / target.partition("#")[0]).exists()
    ]


@each_text
def test_files_that_are_named_exist(path: Path) -> None:
    agree(path, file_faults)


@each_text
def test_links_lead_to_files(path: Path) -> None:
    agree(path, lambda text: link_faults(path, text))


def test_files_that_do_not_exist_are_found() -> None:
    text = "`diff labs/01_sequential/scan.cu solutions/01/scan.cu`\n\n    labs/02_kogge_stone/scan.cu:3, labs/NN_x/"
    assert file_faults(text) == ["1: solutions/01/scan.cu does not exist"]
    text = "[a](02_kogge_stone.md#steps) [b](../labs/scan.cuh) ![c](c.svg) [d](#e) [f](https://example.org)"
    assert link_faults(HANDOUTS[0], text) == ["1: ../labs/scan.cuh leads nowhere", "1: c.svg leads nowhere"]


# ---- programs -------------------------------------------------------------------------------------------------------


def steady(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def threes(lines: list[str]) -> set[tuple[str, ...]]:
    """Each three lines in a row, those apart in which only braces stand."""
    return {
        three
        for three in zip(lines, lines[1:], lines[2:], strict=False)
        if any(re.search(r"\w", line) for line in three)
    }


KNOWN = {three: path for path in PROGRAMS for three in threes(steady(path.read_text(encoding="utf-8")))}


def copy_faults(text: str) -> Faults:
    return [
        f"{code.line}: three lines of {name(KNOWN[three])}, from {three[0]!r} on: use literalinclude"
        for code in codes(text)
        if not code.inline and not code.info.startswith("{")
        for three in sorted(threes(steady(code.text)) & KNOWN.keys())[:1]
    ]


@each_text
def test_no_code_is_copied_by_hand(path: Path) -> None:
    agree(path, copy_faults)


def test_copied_code_is_found() -> None:
    lines = (REPOSITORY / "solutions/02_kogge_stone/scan.cu").read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if "for (int stride" in line)
    block = "\n".join(lines[at : at + 4])
    (fault,) = copy_faults(f"# A\n\n```cuda\n{block}\n```\n")
    assert fault.startswith("3: three lines of ")
    assert len(copy_faults("Text\n\n" + "\n".join(f"        {line}" for line in block.splitlines()))) == 1
    assert copy_faults(f"```cuda\n{lines[at]}\n{lines[at + 1]}\n```\n") == []


FOLDED = re.compile(r"^<details>\n.*?^</details>$", re.MULTILINE | re.DOTALL)
EXCERPT = re.compile(
    r"^```\{literalinclude\} \.\./solutions/(?P<lab>\w+)/scan\.cu\n(?P<options>(?::.*\n)*)```$", re.MULTILINE
)
PATTERN = re.compile(r'^:(start-at|start-after|end-at|end-before): *"?(.*?)"?$', re.MULTILINE)


def excerpt(program: list[str], options: str) -> list[str]:
    """Return the lines of a program that a literalinclude with these options shows."""
    asked = dict(PATTERN.findall(options))
    begin, end = asked.get("start-at") or asked["start-after"], asked.get("end-at") or asked["end-before"]
    first = next(i for i, line in enumerate(program) if begin in line) + ("start-after" in asked)
    last = next(i for i, line in enumerate(program[first:], first) if end in line) + ("end-at" in asked)
    return program[first:last]


def open_solutions(text: str) -> Faults:
    """Excerpts of what a learner has to write, that are in sight before the reader asks for them."""
    faults = []
    folds = [range(*found.span()) for found in FOLDED.finditer(text)]
    for found in EXCERPT.finditer(text):
        solution = (REPOSITORY / "solutions" / found["lab"] / "scan.cu").read_text(encoding="utf-8").splitlines()
        given = set(steady((REPOSITORY / "labs" / found["lab"] / "scan.cu").read_text(encoding="utf-8")))
        secret = [line for line in steady("\n".join(excerpt(solution, found["options"]))) if line not in given]
        if secret and not any(found.start() in fold for fold in folds):
            faults.append(f"{text.count(chr(10), 0, found.start()) + 1}: shows {secret[0]!r}: put it into <details>")
    return faults


@each_lab
def test_no_solution_stands_in_the_readers_way(path: Path) -> None:
    agree(path, open_solutions)


def test_a_solution_in_sight_is_found() -> None:
    block = (
        "```{literalinclude} ../solutions/02_kogge_stone/scan.cu\n"
        ':start-after: "// >>> your code"\n:end-before: "// <<< your code"\n```'
    )
    (fault,) = open_solutions(f"# A\n\n{block}\n")
    assert fault.startswith("3: shows 'for (int stride = 1;")
    assert open_solutions(f"# A\n\n<details>\n<summary>S</summary>\n\n{block}\n\n</details>\n") == []
    given = block.replace('after: "// >>> your code"', 'at: "s_xy[t] = t"').replace(
        'before: "// <<< your code"', 'at: "s_xy[t] = t"'
    )
    assert open_solutions(given) == []


# ---- labs and rubrics -----------------------------------------------------------------------------------------------


def test_every_handout_is_of_a_lab() -> None:
    assert {lab.handout for lab in all_labs() if lab.handout} == {name(path) for path in LABS}


def rubric_faults(text: str, rubric: Any) -> Faults:
    """The table of checks has each check with its points, and says how many sizes are tried."""
    checks = {check.name: check for check in rubric.check}
    faults, listed = [], []
    for headings, *rows in tables(text):
        if [cell.content for cell in headings[:2]] != ["check", "points"]:
            continue
        for cells in rows:
            names = re.findall(r"`(\w+)`", cells[0].content)
            points = [float(word) for word in re.findall(r"[\d.]+", cells[1].content)]
            here = f"{cells[0].map[0] + 1 if cells[0].map else 0}: {cells[0].content}"
            listed += names
            if [checks[one].points for one in names if one in checks] != points or len(names) != len(points):
                faults.append(f"{here}: lab.toml does not give {cells[1].content} points")
            sizes = re.search(r"\b(\d+) sizes", cells[2].content)
            if sizes and any(len(getattr(checks.get(one), "sizes", ())) != int(sizes.group(1)) for one in names):
                faults.append(f"{here}: lab.toml does not have {sizes.group(1)} sizes")
    # Times are measured where there is a GPU, and stand in a place of their own.
    missing = [one for one, check in checks.items() if one not in listed and check.kind != "timing"]
    return faults + [f"1: the check `{one}` is not in the table of checks" for one in missing]


@each_lab
def test_points_are_those_of_the_rubric(path: Path) -> None:
    rubric = read_rubric(REPOSITORY / "labs" / path.stem / "lab.toml")
    agree(path, lambda text: rubric_faults(text, rubric))


def test_other_points_are_found() -> None:
    rubric = read_rubric(REPOSITORY / "labs/02_kogge_stone/lab.toml")
    text = (REPOSITORY / "handouts/02_kogge_stone.md").read_text(encoding="utf-8")
    faults = rubric_faults(text.replace("| `additions` | 5 |", "| `additions` | 6 |"), rubric)
    assert len(faults) == 1
    assert faults[0].endswith("`additions`: lab.toml does not give 6 points")
    (fault,) = rubric_faults(text.replace("| `barriers` | 10 |", "| `additions` | 5 |"), rubric)
    assert fault == "1: the check `barriers` is not in the table of checks"
    faults = rubric_faults(text.replace("for 20 sizes", "for 21 sizes"), rubric)
    assert len(faults) == 1
    assert faults[0].endswith("lab.toml does not have 21 sizes")
