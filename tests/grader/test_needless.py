"""What is tried of a right program: steps of loops that may be one too many, and barriers that may go."""

import pytest

from made_results import check
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.plan import Options, Plan, PlannedCorrectness, make_plan
from scanlab.judging.result import Finding, LabResult, Part
from scanlab.judging.tried.graded import Graded
from scanlab.judging.tried.needless import NEEDLESS, barriers, last_steps, needless_barrier
from scanlab.labs.folders import find_lab

PROGRAM = """\
// >>> your code
for (int stride = 1; stride <= n; stride *= 2) {  // not <= in a comment
  for (int k = 0; k <= 3; ++k) sum += x[k];
}
for (int stride = n / 2; stride >= 1; stride /= 2) add();
// <<< your code
for (int stride = 1; stride <= n; stride *= 2) add();
"""


def test_a_loop_over_strides_that_reaches_its_limit() -> None:
    ((line, changed),) = last_steps(LearnersFile(PROGRAM))
    assert line == 2
    before, after = PROGRAM.split("\n"), changed.split("\n")
    assert [old for old, new in zip(before, after, strict=True) if old != new] == [before[1]]
    assert after[1] == "for (int stride = 1; stride < n; stride *= 2) {  // not <= in a comment"


def test_shifts_count_as_strides_and_other_comparisons_stay() -> None:
    assert [line for line, _ in last_steps(LearnersFile("for (int s = 1; s <= 512; s <<= 1) {\n"))] == [1]
    assert last_steps(LearnersFile("for (int s = 1; s < 512; s <<= 1) {\n")) == []
    assert last_steps(LearnersFile("for (int s = 1; s <= 512; s += 2) {\n")) == []


THREE_BARRIERS = """\
__syncthreads();
// >>> your code
__syncthreads();  // and __syncthreads() in a comment
if (t) { __syncthreads (); }
my__syncthreads();
__syncthreads();
// <<< your code
__syncthreads();
"""


def test_barriers_are_the_learners_own() -> None:
    assert barriers(LearnersFile(THREE_BARRIERS)) == (3, 4, 6)
    assert len(barriers(LearnersFile("// >>> your code\n" + "__syncthreads();\n" * 20))) == 8


class Trials:
    """Stands in for the judge: which lines each function of the lab can do without."""

    def __init__(self, **needless: set[int]) -> None:
        self.needless = needless
        self.tried: list[tuple[str, tuple[int, ...]]] = []

    def __call__(self, plan: Plan) -> LabResult:
        (one,) = plan.checks
        assert isinstance(one, PlannedCorrectness)
        assert (one.needs, one.extra, one.repeats, len(one.sizes)) == (None, [], 1, 1)
        self.tried.append((one.name, plan.barriers))
        findings = tuple(
            Finding.in_source(
                NEEDLESS,
                "advice",
                "BARRIER",
                (),
                parts=(Part(does="wait", who="all", file="scan.cu", line=line, block=None, thread=None),),
            )
            for line in plan.barriers
            if line in self.needless[one.name]
        )
        checks = [check(one.name, "pass", findings=findings)]
        return LabResult.of_checks(plan.lab, plan.title, "a device", plan.seed, checks)


@pytest.mark.parametrize(
    ("inclusive", "exclusive", "line", "tried"),
    [
        (set(), set(), None, [("inclusive", (3, 4, 6))]),
        ({4}, {4}, 4, [("inclusive", (3, 4, 6)), ("exclusive", (4,))]),
        ({4}, set(), None, [("inclusive", (3, 4, 6)), ("exclusive", (4,))]),  # the other function needs it
        ({3, 6}, {6}, 6, [("inclusive", (3, 4, 6)), ("exclusive", (3, 6))]),
        ({3, 4}, {3, 4}, 3, [("inclusive", (3, 4, 6)), ("exclusive", (3, 4))]),  # each alone, but not both
    ],
)
def test_a_barrier_is_needless_where_each_function_can_do_without_it(
    inclusive: set[int], exclusive: set[int], line: int | None, tried: list[tuple[str, tuple[int, ...]]]
) -> None:
    trials = Trials(inclusive=inclusive, exclusive=exclusive)
    plan = make_plan(find_lab("02"), "scan.cu", "again", {}, Options())
    found = needless_barrier(Graded(plan, LearnersFile(THREE_BARRIERS), trials))
    assert (found.parts[0].line if found else None) == line
    assert trials.tried == tried
