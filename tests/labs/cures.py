"""Grade programs with one mistake each: what is reported first, and which cure is offered after it has been tried.

    python cures.py

Exit 0 when all is as expected, 1 when it is not.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "grader/python"))

from scanlab.judging.judge import Submission, grade  # noqa: E402
from scanlab.judging.plan import Options  # noqa: E402
from scanlab.judging.report import result_lines  # noqa: E402
from scanlab.labs.corpora import whole  # noqa: E402
from scanlab.labs.folders import find_lab  # noqa: E402

MUTANTS = REPOSITORY / "tests/mutants"


@dataclass(frozen=True)
class Case:
    """A mutant, how its report begins, what else it says, and what it must not say."""

    mutant: str
    first: str
    says: str
    never: str = "guard the access"


CASES = (
    # What follows from memory that nobody has written is no cause: the race on what stands behind a flag, a bad index.
    Case("07_domino/flags_not_cleared", "UNINITIALISED", "tried: with zeros there all is right; as it is, RACE"),
    Case("07_domino/scratch_not_cleared", "UNINITIALISED", "tried: with zeros there all is right; as it is, FAULT"),
    # An index that is read too early is no good.
    Case("07_domino/no_barrier_after_the_number", "RACE", "shared s_section[0]"),
    # A guard is offered where it is enough …
    Case("02_kogge_stone/store_unguarded", "FAULT", "guard the access by the number of elements", "will not do"),
    Case("02_kogge_stone/load_unguarded", "FAULT", "tried: with room there the result is right", "will not do"),
    # … and not where the index is wrong.
    Case("02_kogge_stone/input_in_the_steps", "FAULT", "tried: with room there the result is wrong all the same"),
)


def main() -> int:
    """Grade all of them."""
    problems = 0
    for case in CASES:
        path = whole(MUTANTS / f"{case.mutant}.diff")
        (result,) = grade([Submission(find_lab(case.mutant[:2]), path)], Options())
        text = "\n".join(line for line, _ in result_lines(result, checks=False))
        first = text.partition(f"\n{result.verdict.upper()} ")[0].partition("\nand ")[0]
        is_right = (
            first.startswith(case.first) and case.says in first and case.never not in first.partition("  again:")[0]
        )
        print("as expected" if is_right else f"not as expected:\n{text}\n", case.mutant, flush=True)
        problems += not is_right
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
