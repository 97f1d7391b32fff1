"""Grade every mutant of a folder, and compare the verdicts with what each file's first lines expect.

    python run.py FOLDER [--device gpu]

`FOLDER` is a lab's name (the files are graded as that lab), `correct` (each file names its lab) or `slower` (each
file's name begins with it). On a GPU the files that say what to expect there are graded. README.md has the grammar.
Exit 0 when every expectation is met, 1 when one is not, 77 when there is no GPU to grade on.
"""

import argparse
import ctypes
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "grader/python"))

from scanlab.judge import Submission, grade  # noqa: E402
from scanlab.labs import Lab, Rubric, find_lab  # noqa: E402
from scanlab.plan import Options  # noqa: E402

EXPECTATION = re.compile(r"// expect(?P<gpu> on gpu)?: (?P<verdict>\S+) (?P<names>\S+) \| (?P<reason>.+)")
SKIPPED = 77


class PartOfLab(Lab):
    """A lab with some of its checks, and those that they need: the others' results would not be looked at."""

    def __init__(self, lab: Lab, names: Sequence[str]) -> None:
        super().__init__(lab.folder)
        wanted = set(names)
        for check in reversed(lab.rubric.check):  # what a check needs comes before it
            if check.name in wanted and check.needs:
                wanted.add(check.needs)
        self._part = lab.rubric.model_copy(update={"check": [c for c in lab.rubric.check if c.name in wanted]})

    @property
    def rubric(self) -> Rubric:
        """Return the rubric with these checks only."""
        return self._part


@dataclass(frozen=True)
class Mutant:
    """A file with its expectation on one device."""

    submission: Submission
    verdicts: list[str]
    checks: list[str]


def read(path: Path, device: str = "vgpu") -> Mutant | None:
    """Return the mutant in `path`, or None when it expects nothing on this device.

    Raises ValueError when its first line is no expectation, or its second line only resembles one.
    """
    with path.open(encoding="utf-8") as file:
        lines = [file.readline().strip() for _ in range(2)]
    first, second = (EXPECTATION.fullmatch(line) for line in lines)
    if not first or first["gpu"]:
        raise ValueError(f"{path}: the first line is no `// expect: VERDICT CHECKS | reason`")
    if lines[1].startswith("// expect") and not (second and second["gpu"]):
        raise ValueError(f"{path}: the second line is no `// expect on gpu: VERDICT CHECKS | reason`")
    expected = first if device == "vgpu" else second
    if not expected:
        return None
    lab = first["names"] if first["verdict"] == "pass" else path.parent.name
    whole = find_lab(path.name.split("__")[0] if "__" in path.name else lab)
    if expected["verdict"] == "pass":
        return Mutant(Submission(whole, path), ["pass"], [])
    checks = expected["names"].split(",")
    if unknown := set(checks) - {check.name for check in whole.rubric.check}:
        raise ValueError(f"{path}: {whole.name} has no check {', '.join(sorted(unknown))}")
    return Mutant(Submission(PartOfLab(whole, checks), path), expected["verdict"].split("/"), checks)


def disappointments(mutant: Mutant, result: dict[str, Any]) -> list[str]:
    """Return what `result` has that the mutant's first lines do not expect; empty when all is as expected."""
    found = []
    if result["verdict"] not in mutant.verdicts:
        found.append(f"verdict {result['verdict']}, expected {'/'.join(mutant.verdicts)}")
    checks = {check["name"]: check for check in result["checks"]}
    for name in mutant.checks:
        if name not in checks:  # the file does not compile, or the kit is at fault
            found.append(f"check {name} was not run")
        elif checks[name]["verdict"] not in mutant.verdicts:
            found.append(f"check {name}: {checks[name]['verdict']}")
        elif not checks[name]["cause"]:
            found.append(f"check {name} gives no cause")
    if mutant.verdicts == ["pass"] and result["points"] != result["max_points"]:
        found.append(f"{result['points']} of {result['max_points']} points")
    return found


def told(result: dict[str, Any]) -> str:
    """Return in one line what a learner is told first."""
    causes = (check["cause"] for check in result["checks"] if check["verdict"] not in ("pass", "skipped"))
    cause = next(filter(None, causes), None)
    return f"{cause['headline']}: {cause['actual']} {cause['rationale']}" if cause else "every check passed"


def has_gpu() -> bool:
    """Return whether NVIDIA's driver is there and finds a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def main() -> int:
    """Grade the files of the folder named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", choices=["vgpu", "gpu"], default="vgpu")
    asked = parser.parse_args()
    paths = sorted((HERE / asked.folder).glob("*.cu"))
    if not paths:
        parser.error(f"no mutants in tests/mutants/{asked.folder}")
    mutants = [read(path, asked.device) for path in paths]
    mutants = [mutant for mutant in mutants if mutant]
    if asked.device == "gpu" and not has_gpu():
        print("not run: no GPU")
        return SKIPPED
    results = grade([mutant.submission for mutant in mutants], Options(device=asked.device))
    failed = 0
    for mutant, result in zip(mutants, results, strict=True):
        found = disappointments(mutant, result)
        failed += bool(found)
        print(f"{'not as expected' if found else 'as expected':15} {mutant.submission.path.name}: {told(result)}"[:220])
        for line in found:
            print(f"    {line}")
    print(f"{len(mutants) - failed} of {len(mutants)} as expected")
    return 1 if failed or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
