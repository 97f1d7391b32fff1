"""Grade every mutant of a folder, and compare the verdicts with what each file's first line expects.

    python run.py FOLDER

`FOLDER` is a lab's name (the files are graded as that lab) or `correct` (each file names its lab). README.md has the
grammar. Exit 0 when every expectation is met, 1 when one is not.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "grader/python"))

from scanlab.judge import Submission, grade  # noqa: E402
from scanlab.labs import find_lab  # noqa: E402
from scanlab.plan import Options  # noqa: E402

EXPECTATION = re.compile(r"// expect: (?P<verdict>\S+) (?P<names>\S+) \| (?P<reason>.+)")


@dataclass(frozen=True)
class Mutant:
    """A file with its expectation."""

    submission: Submission
    verdicts: list[str]
    checks: list[str]


def read(path: Path) -> Mutant:
    """Return the mutant in `path`; raises ValueError when its first line is no expectation."""
    with path.open(encoding="utf-8") as file:
        match = EXPECTATION.fullmatch(file.readline().strip())
    if not match:
        raise ValueError(f"{path}: the first line is no `// expect: VERDICT CHECKS | reason`")
    if match["verdict"] == "pass":
        return Mutant(Submission(find_lab(match["names"]), path), ["pass"], [])
    return Mutant(Submission(find_lab(path.parent.name), path), match["verdict"].split("/"), match["names"].split(","))


def disappointments(mutant: Mutant, result: dict[str, Any]) -> list[str]:
    """Return what `result` has that the mutant's first line does not expect; empty when all is as expected."""
    found = []
    if result["verdict"] not in mutant.verdicts:
        found.append(f"verdict {result['verdict']}, expected {'/'.join(mutant.verdicts)}")
    checks = {check["name"]: check for check in result["checks"]}
    for name in mutant.checks:
        if name not in checks:
            found.append(f"the lab has no check {name}")
        elif checks[name]["verdict"] not in mutant.verdicts:
            found.append(f"check {name}: {checks[name]['verdict']}")
        elif not checks[name]["cause"]:
            found.append(f"check {name} gives no cause")
    if mutant.verdicts == ["pass"] and result["points"] != result["max_points"]:
        found.append(f"{result['points']} of {result['max_points']} points")
    return found


def main() -> int:
    """Grade the files of the folder named on the command line."""
    mutants = [read(path) for path in sorted((HERE / sys.argv[1]).glob("*.cu"))]
    results = grade([mutant.submission for mutant in mutants], Options())
    failed = 0
    for mutant, result in zip(mutants, results, strict=True):
        found = disappointments(mutant, result)
        failed += bool(found)
        cause = next((check["cause"] for check in result["checks"] if check["cause"]), None)
        told = f"{cause['headline']}: {cause['actual']} {cause['rationale']}" if cause else "every check passed"
        print(f"{'not as expected' if found else 'as expected':15} {mutant.submission.path.name}: {told}"[:220])
        for line in found:
            print(f"    {line}")
    print(f"{len(mutants) - failed} of {len(mutants)} as expected")
    return 1 if failed or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
