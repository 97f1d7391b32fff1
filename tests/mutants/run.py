"""Grade every mutant of a folder, and compare the verdicts with what each file's first lines expect.

    python run.py FOLDER [--sample] [--device gpu]

`FOLDER` is a lab's name (the files are graded as that lab), `correct` (each file names its lab) or `slower` (each
file's name begins with it). On a GPU all are graded but those whose mistake is counted on the virtual one only. With
--sample, what the kit's own tests run: one wrong program of each finding, every sixth right one. README.md has the
grammar.
Exit 0 when every expectation is met, 1 when one is not, 77 when there is no GPU to grade on.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "grader/python"))

from scanlab.judging.driver import has_gpu  # noqa: E402
from scanlab.judging.judge import grade  # noqa: E402
from scanlab.judging.plan import Options  # noqa: E402
from scanlab.judging.result import LabResult  # noqa: E402
from scanlab.labs.corpora import disappointments, mistakes, programs_in, read, sample  # noqa: E402

SKIPPED = 77


def report(result: LabResult) -> str:
    """Return in one line what a learner is shown first."""
    cause = next((check.failure for check in result.failed_checks), None)
    ids = ", ".join(dict.fromkeys(mistakes(result)))
    return f"[{ids}] {cause.headline}: {cause.actual} {cause.rationale}" if cause else "every check passed"


def main() -> int:
    """Grade the files of the folder named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", choices=["vgpu", "gpu"], default="vgpu")
    parser.add_argument("--sample", action="store_true")
    asked = parser.parse_args()
    paths = programs_in(HERE / asked.folder) if (HERE / asked.folder).is_dir() else []
    if not paths:
        parser.error(f"no mutants in tests/mutants/{asked.folder}")
    mutants = [read(path, asked.device) for path in paths]
    mutants = [mutant for mutant in mutants if mutant]
    if asked.sample:
        mutants = sample(mutants)
    if asked.device == "gpu" and not has_gpu():
        print("not run: no GPU")
        return SKIPPED
    results = grade([mutant.submission for mutant in mutants], Options(device=asked.device))
    failed = 0
    for mutant, result in zip(mutants, results, strict=True):
        found = disappointments(mutant, result)
        failed += bool(found)
        print(
            f"{'not as expected' if found else 'as expected':15} {mutant.submission.path.name}: {report(result)}"[:220]
        )
        for line in found:
            print(f"    {line}")
    print(f"{len(mutants) - failed} of {len(mutants)} as expected")
    return 1 if failed or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
