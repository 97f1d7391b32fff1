"""Small changes of an expression: which are tried, and in which order."""

import pytest

from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.tried.slips import slips
from scanlab.judging.tried.slips.program import Mistake

MANY = 400
KERNEL = """__global__ void kernel(const Element* d_x, Element* d_y, int n) {{
  // >>> your code
  int t = threadIdx.x;
  int in = 0;
  int out = 1;
  buf[in][t] = d_x[t];
{}
  // <<< your code
}}"""


def changed(lines: str, identity: str = "wrong.other") -> list[str]:
    """Return the lines that are tried in the place of some of a kernel's, the likeliest first."""
    text = KERNEL.format(lines)
    before = text.split("\n")
    found = [slip.program.split("\n") for slip in slips(LearnersFile(text), Mistake(identity), MANY)]
    return [
        new.strip()
        for one in found
        if len(one) == len(before)
        for new, old in zip(one, before, strict=True)
        if new != old
    ]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("  int place = (t + 1) * 2 * stride - 1;", "int place = (t + 1) * stride - 1;"),
        ("  int place = (t + 1) * stride - 1;", "int place = (t + 1) * 2 * stride - 1;"),
        ("  const int begin = first + t * run_length;", "const int begin = t * run_length;"),
        ("  int last = n - 1;", "int last = n - 1 - 1;"),
        ("  int last = t;", "int last = t + 1;"),
        ("  from = 1;", "from = 0;"),
        ("  d_y[t] = buf[out][t];", "d_y[t] = buf[in][t];"),
        ("  d_y[t] = buf[in][blockIdx.x];", "d_y[t] = buf[in][t];"),
        ("  if (t < block_size && n < section_size) f();", "if (t < section_size && n < section_size) f();"),
        ("  carry += total;", "carry = total;"),
        ("  before--;", ""),
        ("  if (a && b) f();", "if (a || b) f();"),
        ("  while (in > 1) f();", "while (in >= 1) f();"),
        ("  if (t <= in) f();", "if (t < in) f();"),
        ("  in = 2 * in;", "in = 2 * in + 1;"),
        ("  Element sums[warps];", "Element sums[warps + 1];"),
        ("  if (t / warp_size == 0) f();", "if (t % warp_size == 0) f();"),
        ("  if (t == 0) f();", "if (t != 0) f();"),
        ("  publish(board, sum, false);", "publish(board, sum, true);"),
        ("  d_y[t] = buf[in ^ 1][t];", "d_y[t] = buf[in][t];"),
    ],
)
def test_what_is_one_small_change_away_is_tried(line: str, meant: str) -> None:
    assert meant in changed(line)


@pytest.mark.parametrize(
    ("line", "never"),
    [
        ("  d_y[t] = x;\n  int later = t;", "d_y[later] = x;"),
        ("  int own = t;", "int own = own;"),
    ],
)
def test_a_variable_is_not_used_before_it_is_there(line: str, never: str) -> None:
    assert never not in changed(line)


def test_an_index_of_the_same_array_comes_before_other_names() -> None:
    found = changed("  d_y[t] = buf[out][t];")
    assert found.index("d_y[t] = buf[in][t];") < found.index("d_y[t] = buf[t][t];")


def test_nothing_of_the_host_is_changed_this_way() -> None:
    text = "void launch(int n) {\n  // >>> your code\n  rest += 1;\n  // <<< your code\n}"
    assert not any("rest = 1;" in slip.program for slip in slips(LearnersFile(text), Mistake("wrong.other"), MANY))


def test_an_edit_is_made_in_another_program_with_the_same_lines() -> None:
    text = KERNEL.format("  carry += total;")
    slip = next(
        slip for slip in slips(LearnersFile(text), Mistake("wrong.other"), MANY) if "carry = total;" in slip.program
    )
    other = text.replace("int out = 1;", "int out = 2;")
    assert slip.of(other) == other.replace("+=", "=")
    assert slip.of(text) == slip.program
