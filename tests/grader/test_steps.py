"""Which loops end with a step that may be one too many."""

from scanlab.judging.steps import last_steps

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
    ((line, changed),) = last_steps(PROGRAM)
    assert line == 2
    before, after = PROGRAM.split("\n"), changed.split("\n")
    assert [old for old, new in zip(before, after, strict=True) if old != new] == [before[1]]
    assert after[1] == "for (int stride = 1; stride < n; stride *= 2) {  // not <= in a comment"


def test_shifts_count_as_strides_and_other_comparisons_stay() -> None:
    assert [line for line, _ in last_steps("for (int s = 1; s <= 512; s <<= 1) {\n")] == [1]
    assert last_steps("for (int s = 1; s < 512; s <<= 1) {\n") == []
    assert last_steps("for (int s = 1; s <= 512; s += 2) {\n") == []
