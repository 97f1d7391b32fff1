"""Grade programs with one mistake each: what is reported first, and which cure is offered after it has been tried.

Others lack barriers and fences, or have several mistakes: what the reports say is done, until
nothing is left to do.

    python cures.py

Exit 0 when all is as expected, 1 when it is not.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MISTAKES = REPOSITORY / "tests/mistakes"
sys.path.insert(0, str(REPOSITORY / "grader/python"))
sys.path.append(str(MISTAKES))

from run import read  # noqa: E402
from scanlab.judging.judge import Submission, grade  # noqa: E402
from scanlab.judging.plan import Options  # noqa: E402
from scanlab.judging.report import result_lines  # noqa: E402
from scanlab.judging.tried import attempts  # noqa: E402
from scanlab.labs.corpora import text_of, whole  # noqa: E402
from scanlab.labs.folders import find_lab  # noqa: E402
from scanlab.labs.skeleton import solution_of  # noqa: E402
from scanlab.paths import STATE  # noqa: E402

MUTANTS = REPOSITORY / "tests/mutants"


@dataclass(frozen=True)
class Case:
    """A mutant, how its report begins, what else it says, and what it must not say."""

    mutant: str
    first: str
    says: str
    never: str = "guard the access"


CASES = (
    # What follows from unwritten memory is no cause: the race on what stands behind a flag, a bad index.
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


OBEYED = (
    "02_kogge_stone/no_barriers",
    "04_brent_kung/no_barrier_in_distribution",
    "07_domino/no_fences",
    "07_domino/no_barrier_after_passing_on",
    "08_warp_shuffle/no_barrier_before_warp_0",
)
"""Mutants from which each race and each missing fence goes by doing what the report says, one after the other."""
IN_BRANCHES = (
    ("02_kogge_stone", "barrier_in_the_branch_another_missing"),
    ("03_double_buffer", "barrier_in_the_branch"),
    ("05_coarsening", "barrier_in_the_branch_of_phase_3"),
    ("08_warp_shuffle", "barriers_within_warp_0"),
)
"""Beginners' mistakes whose barrier has to come out of a branch, by lab and name."""
SEVERAL = (
    (
        "05_coarsening",
        ("s_run[k] = s_sums[t - 1] + s_run[k];", "s_run[k] = s_sums[t] + s_run[k];"),
        ("__syncthreads();  // makes all runs", "__syncwarp();  // makes all runs"),
    ),
    (
        "06_hierarchical",
        ("t == block_size - 1) d_sums", "t == 0) d_sums"),
        ("<<<sections - 1, section_size>>>", "<<<sections - 1, block_size>>>"),
    ),
    (
        "10_compaction",
        ("warp_size == warp_size - 1) atomicAdd", "warp_size == 0) atomicAdd"),
        ("d_y[before + counts[row] - 1]", "d_y[before + counts[row]]"),
    ),
)
"""A lab's solution, and several mistakes in it, each as what stands there and what is written instead."""
WRITE = re.compile(r"write line (?P<line>[0-9]+) as `(?P<code>.*)` \(tried: ")
ENOUGH = 60.0
"""Seconds for edits: how fast a machine is decides nothing here."""
MOST_STEPS = 5
MOVE = re.compile(
    r"take the __syncthreads\(\) of line (?P<from>[0-9]+) out of the branch .*?: put it before line (?P<line>[0-9]+), "
)
MORE = re.compile(r", and one more before line (?P<line>[0-9]+), ")
FIX = re.compile(r"put (?P<statement>\w+\(\);) before line (?P<line>[0-9]+), ")
SYNCHRONISATION = ("race.", "fence.", "barrier.")


def obey(name: str, text: str) -> str:
    """Do what the reports say until no race is left; return what went wrong, or nothing."""
    lines = text.split("\n")
    path = STATE / "programs/obeyed" / name / "scan.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for _ in range(MOST_STEPS):
        path.write_text("\n".join(lines), encoding="utf-8")
        (result,) = grade([Submission(find_lab(name[:2]), path)], Options())
        found = [finding for finding in result.findings if finding.weight == "mistake"]
        if not found or not found[0].id.startswith(SYNCHRONISATION):
            return "" if seen else "nothing was to be done"
        if move := MOVE.search(found[0].cure):
            at = int(move["from"]) - 1
            code = lines[at]
            lines[at] = re.sub(r"__syncthreads\(\s*\);", "", code)
            for place in sorted(map(int, [move["line"], *MORE.findall(found[0].cure)]), reverse=True):
                lines.insert(place - 1, "__syncthreads();")
            seen.add(f"move {code}")
            continue
        fix = FIX.search(found[0].cure)
        if not fix:
            return f"no cure: {found[0].text}"
        code = lines[int(fix["line"]) - 1]
        if (step := f"{fix['statement']} {code}") in seen:
            return f"the same cure again: {found[0].text}"
        seen.add(step)
        lines.insert(int(fix["line"]) - 1, fix["statement"])
    return f"not done after {MOST_STEPS} cures"


def follow(name: str, text: str) -> str:
    """Write lines as the reports say until all results are right; return what went wrong, or nothing."""
    lines = text.split("\n")
    path = STATE / "programs/followed" / name / "scan.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(MOST_STEPS):
        path.write_text("\n".join(lines), encoding="utf-8")
        (result,) = grade([Submission(find_lab(name[:2]), path)], Options(remarks=True))
        if result.verdict == "pass":
            return ""
        first = result.failed_checks[0]
        found = WRITE.search(first.findings[0].cure if first.findings else "")
        if not found:
            return "no fix:\n" + "\n".join(line for line, _ in result_lines(result, checks=False))
        line = lines[int(found["line"]) - 1]
        lines[int(found["line"]) - 1] = line[: len(line) - len(line.lstrip())] + found["code"]
    return f"not done after {MOST_STEPS} fixes"


def main() -> int:
    """Grade all of them."""
    problems = 0
    usual, attempts.SECONDS = attempts.SECONDS, ENOUGH
    for lab, *mistakes in SEVERAL:
        text = solution_of(find_lab(lab[:2]))
        for old, new in mistakes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        wrong = follow(lab, text)
        print(f"not as expected: {wrong}" if wrong else "as expected", "followed", lab, flush=True)
        problems += bool(wrong)
    attempts.SECONDS = usual
    catalogue = {
        (mistake.lab, mistake.name): mistake for lab, _ in IN_BRANCHES for mistake in read(MISTAKES / f"{lab}.toml")
    }
    programs = [(mutant, text_of(MUTANTS / f"{mutant}.diff")) for mutant in OBEYED]
    programs += [("/".join(key), catalogue[key].text()) for key in IN_BRANCHES]
    for name, text in programs:
        wrong = obey(name, text)
        print(f"not as expected: {wrong}" if wrong else "as expected", "obeyed", name, flush=True)
        problems += bool(wrong)
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
