"""Explore the executions of a right scan and of a wrong one, and show the wrong execution again.

    python proofs.py

Exit 0 when all is as expected, 1 when it is not.
"""

import re
import shlex
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "grader/python"))

from scanlab.errors import UsageError  # noqa: E402
from scanlab.judging.judge import Submission, grade  # noqa: E402
from scanlab.judging.plan import Options, shown_execution  # noqa: E402
from scanlab.judging.result import CheckResult, LabResult  # noqa: E402
from scanlab.labs.corpora import whole  # noqa: E402
from scanlab.labs.folders import Lab, find_lab  # noqa: E402
from scanlab.trace.record import Options as TraceOptions  # noqa: E402
from scanlab.trace.record import record  # noqa: E402
from scanlab.trace.terminal import lines, plain  # noqa: E402

LAB = find_lab("07")
SCANS = ("inclusive", "inclusive_affine", "exclusive", "exclusive_affine")
RIGHT = REPOSITORY / "solutions/07_domino/scan.cu"
WRONG = whole(REPOSITORY / "tests/mutants/07_domino/volatile_prefix_no_reader_fence.diff")
LANES = whole(REPOSITORY / "tests/mutants/11_look_back/lanes_in_the_wrong_order.diff")
"""Reads old statuses under the schedule `weak`, as right programs do."""
COMPARES = whole(REPOSITORY / "tests/mutants/correct/added_by_compare_and_swap.diff")
"""Right, and looks at elements in a function of the toolkit's headers."""
RUNS_BEGIN = "  // Phase 1: each thread scans its own run"
SHUFFLE = """
  __shared__ unsigned s_threads[block_size];
  s_threads[t] = t;
  __shfl_sync(~0u, t, 0);
  if (n == 3072 && s_threads[t ^ 1] == 12345) s_xy[t] = identity();
  __syncthreads();

"""
"""Takes a shuffle for a barrier, in none but a call that is explored."""
FENCE = "fence.missing"
UNKNOWN_SUM = "d_y[1024], line"
"""Where the trace of the last element says what it is: no sum of inputs."""
NARROW = {"n": 1025, "schedule": "in_order"}
"""One call of two blocks, in an order in which nothing goes wrong."""
problems: list[str] = []


def graded(path: Path, options: Options, lab: Lab = LAB) -> dict[str, CheckResult]:
    """Return the results of a file's checks, by name."""
    (result,) = grade([Submission(lab, path)], options)
    assert isinstance(result, LabResult)
    return {check.name: check for check in result.checks}


def drawn(scan: str, trail: str) -> str:
    """Return how the second block's steps are drawn, in an execution that a proof has found or in an order."""
    execution = shown_execution(LAB.rubric, trail)[1] if trail else ""
    entry = f"{scan.removesuffix('_affine')}_scan"
    schedule = "weak" if trail else "in_order"
    options = TraceOptions(entry, n=1025, block=1, schedule=schedule, trail=execution)
    return plain(lines(record(LAB, WRONG, options), 100))


def expect(text: str, *, holds: bool) -> None:
    """Note what does not hold."""
    print("as expected" if holds else "not as expected", text, flush=True)
    if not holds:
        problems.append(text)


def main() -> int:
    """Run all cases."""
    checks = graded(RIGHT, Options(**NARROW, prove=True))
    for name in SCANS:
        proof = " / ".join(checks[name].proof)
        explored = re.search(
            r"right in all executions .* of n = 1025, 2048, 3072, 4096 \(up to 4 blocks, all of them resident, "
            r"without load buffering, 4 executions\)",
            proof,
        )
        expect(f"{name} is explored up to 4 blocks: {proof}", holds=explored is not None)
    expect("a proof costs no check its verdict", holds=all(checks[name].verdict == "pass" for name in SCANS))

    with tempfile.TemporaryDirectory() as folder:
        relies = Path(folder) / "scan.cu"
        source = RIGHT.read_text()
        assert source.count(RUNS_BEGIN) == 1
        relies.write_text(source.replace(RUNS_BEGIN, SHUFFLE + RUNS_BEGIN))
        checks = graded(relies, Options(**NARROW, prove=True))
    for name in SCANS:
        proof = " / ".join(checks[name].proof)
        holds = "relies on a shuffle" in proof and "right in all executions" not in proof
        expect(f"{name} of an explored call that takes a shuffle for a barrier: {proof}", holds=holds)

    expect("one order shows nothing", holds=graded(WRONG, Options(**NARROW))["inclusive"].verdict == "pass")
    refuted = graded(WRONG, Options(**NARROW, prove=True))
    for name in SCANS:
        cause = refuted[name].cause
        assert cause, name
        expect(f"{name} is refuted: {cause.id}, {cause.next}", holds=cause.id == FENCE)
        words = shlex.split(cause.next)
        trail = words[words.index("--trail") + 1]
        again = graded(WRONG, Options(n=int(words[words.index("--n") + 1]), trail=trail))
        expect(f"{name}: nothing else is run", holds=list(again) == [name])
        shown = again[name].cause
        expect(f"{name} is refuted again, by the same execution", holds=shown == cause)
        right = graded(RIGHT, Options(n=1025, trail=trail))[name]
        actual = right.cause.actual if right.cause else "pass"
        expect(f"{name}: another program has no such execution: {actual}", holds="not one of this launch" in actual)
        if name.endswith("_affine"):
            expect(f"{name}: its execution is drawn", holds=UNKNOWN_SUM in drawn(name, trail))
            expect(f"{name}: another one has no such sum", holds=UNKNOWN_SUM not in drawn(name, ""))
    once_more = graded(WRONG, Options(**NARROW, prove=True))
    causes = [once_more[name].cause == refuted[name].cause for name in SCANS]
    expect("a file is refuted by the same executions each time", holds=all(causes))
    swapped = graded(LANES, Options(n=20000, schedule="weak"), find_lab("11"))["inclusive_affine"].cause
    expect(
        "what is wrong without old values, too, is no missing fence", holds=swapped is not None and swapped.id != FENCE
    )
    tested = " / ".join(graded(COMPARES, Options(), find_lab("09"))["inclusive"].proof)
    line = next(at for at, text in enumerate(COMPARES.read_text().splitlines(), 1) if "atomicCAS" in text)
    expect(f"a look at an element is at the learner's line: {tested}", holds=f"{COMPARES.name}:{line} looks" in tested)
    for options in ({"prove": True, "device": "gpu"}, {"trail": "x", "n": 1, "prove": True}, {"trail": "x"}):
        try:
            Options(**options)
        except UsageError as error:
            expect(f"{options}: {error}", holds="--trail" in str(error))
        else:
            expect(f"{options} are refused", holds=False)
    for trail in ("inclusive", "inclusive:1", "inclusive:1:0,0", "inclusive:1:0.0*999999", "large:1:0.0", "x:1:0.0"):
        try:
            graded(RIGHT, Options(n=1025, trail=trail))
        except UsageError as error:
            expect(f"{trail}: {error}", holds="CHECK:LAUNCH:STEPS" in str(error))
        else:
            expect(f"{trail} is refused", holds=False)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
