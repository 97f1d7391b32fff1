"""Grade beginners' mistakes, and compare what a learner is shown first with what the catalogue says.

    python run.py [LAB …] [--only NAME] [--sample] [--show]

`LAB` is a catalogue's name or the beginning of it (`02`); without one all are graded. --sample takes every 32nd
mistake, --only the ones whose name has NAME in it, --show prints their reports. README.md has the catalogues' keys.
Exit 0 when all is as expected, 1 when it is not.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(REPOSITORY / "grader/python"))

from scanlab.judging.judge import Submission, grade  # noqa: E402
from scanlab.judging.plan import Options  # noqa: E402
from scanlab.judging.report import result_lines  # noqa: E402
from scanlab.judging.result import LabResult  # noqa: E402
from scanlab.labs import edits  # noqa: E402
from scanlab.labs.folders import find_lab  # noqa: E402
from scanlab.paths import STATE  # noqa: E402

COMPILE = "compile"
"""In the place of a finding's id: nvcc refuses the file."""
NOTHING = "none"
"""… and where neither a mistake nor advice is to be reported."""


@dataclass(frozen=True)
class Mistake:
    """One mistake, and what a learner has to be shown."""

    lab: str
    name: str
    finding: str
    """The id of what is reported first: a mistake's, advice's where the file passes, `compile` or `none`; one of
    several with a `|` between them, where chance decides.
    """
    edit: str
    of: str = ""
    """What is edited, `labs/02_kogge_stone/scan.cu`; empty: the lab's solution."""
    line: tuple[str, ...] = ()
    """Code whose lines the first report has to name."""
    says: tuple[str, ...] = ()
    """What has to stand in it: the words that are the cause, and the cure."""
    never: tuple[str, ...] = ()
    """What must not: a cause that does not fit, a cure that does not help."""
    passes: bool = False
    short: str = ""
    """How what is reported falls short of all that; empty: it does not."""

    def text(self) -> str:
        """Return the wrong program. Raises EditError."""
        program = (REPOSITORY / (self.of or f"solutions/{self.lab}/scan.cu")).read_text(encoding="utf-8")
        return edits.apply(program, edits.parse(self.edit)[1])

    def path(self) -> Path:
        """Write the program, and return where it is."""
        made = STATE / "programs/mistakes" / self.lab / self.name / "scan.cu"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(self.text(), encoding="utf-8")
        return made


def read(catalogue: Path) -> Iterator[Mistake]:
    """Return the mistakes of a catalogue: of the lab of its name, where they name no other."""
    for row in tomllib.loads(catalogue.read_text(encoding="utf-8"))["mistake"]:
        texts = {key: (row[key],) if isinstance(row[key], str) else tuple(row[key]) for key in LISTS if key in row}
        yield Mistake(**({"lab": catalogue.stem} | row | texts))


LISTS = ("line", "says", "never")


def first_report(result: LabResult) -> str:
    """Return what a learner is shown first: the first failure, or what a pass is followed by."""
    shown = result_lines(result, checks=False)
    texts = [text for text, _ in shown]
    if result.verdict == "pass":
        return "\n".join(texts[1:])
    begins = [at for at, text in enumerate(texts) if not text.startswith(" ")]
    return "\n".join(texts[: begins[1]])


def first_id(result: LabResult) -> str:
    """Return the id of what is reported first."""
    if result.verdict == "pass":
        return result.findings[0].id if result.findings else NOTHING
    for check in result.failed_checks:
        if check.findings and check.findings[0].weight == "mistake":
            return check.findings[0].id
        if check.cause:
            return check.cause.id
    return next((finding.id for finding in result.findings if finding.weight == "mistake"), NOTHING)


def line_of(code: str, program: str) -> int:
    """Return the number of the only line of `program` with this code. Raises ValueError where it is not one."""
    wanted = edits.code_of(code)
    found = [number for number, line in enumerate(program.splitlines(), 1) if edits.code_of(line) == wanted]
    if len(found) != 1:
        raise ValueError(f"{len(found)} lines, not one: {code}")
    return found[0]


def disappointments(mistake: Mistake, result: LabResult) -> list[str]:
    """Return what the report has that is not expected."""
    report, program = first_report(result), mistake.text()
    flat = " ".join(report.split())
    found = []
    if (result.verdict == "pass") != mistake.passes:
        found.append(f"verdict {result.verdict}")
    if first_id(result) not in mistake.finding.split("|"):
        found.append(f"first is {first_id(result)}, not {mistake.finding}")
    for code in mistake.line:
        number = line_of(code, program)
        if f"scan.cu:{number}" not in {word.strip(",:;()") for word in flat.replace("/", " ").split()}:
            found.append(f"line {number} is not named: {code.strip()}")
    found += [f"does not say: {words}" for words in mistake.says if words not in flat]
    found += [f"says: {words}" for words in mistake.never if words in flat]
    return found


def main() -> int:
    """Grade what the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("labs", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    wanted = tuple(asked.labs) or ("",)
    mistakes = [
        mistake
        for catalogue in sorted(HERE.glob("*.toml"))
        if catalogue.stem.startswith(wanted)
        for mistake in read(catalogue)
        if asked.only in mistake.name
    ]
    if asked.sample:
        mistakes = mistakes[::32]
    if not mistakes:
        parser.error("no such mistakes")
    results = grade([Submission(find_lab(mistake.lab), mistake.path()) for mistake in mistakes], Options(remarks=True))
    failed = short = 0
    for mistake, result in zip(mistakes, results, strict=True):
        found = disappointments(mistake, result)
        failed += bool(found) != bool(mistake.short)
        short += bool(found) and bool(mistake.short)
        said = "as expected" if not found else "short of it" if mistake.short else "not as expected"
        print(f"{said:15}", f"{mistake.lab}/{mistake.name}", flush=True)
        if mistake.short and not found:
            print("    it is as it should be, and its `short` can go")
        for line in found:
            print(f"    {line}")
        if asked.show or found:
            print("    | " + first_report(result).replace("\n", "\n    | "))
    print(f"{len(mistakes) - failed - short} of {len(mistakes)} as expected, {short} known to fall short")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
