"""Which of a learner's stores nvcc has left out: from PTX that has the lines of the others."""

from pathlib import Path

import pytest

from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.left_out import left_out

TEXT = """#include "scanlab.cuh"
__device__ void helper(Element* s_sums) {
  // >>> your code
  s_sums[0] = s_sums[1];
  // <<< your code
}
__global__ void kernel(const Element* d_x, Element* d_y, int n) {
  // >>> your code
  __shared__ Element s_a[64], s_b[64];
  Element own[4];
  Element* from = s_a;
  from[threadIdx.x] = d_x[threadIdx.x];
  s_b[threadIdx.x] = from[threadIdx.x] + from[0];  // is read by none
  if (n > 3) own[0] = from[1];
  if (s_b[1] == from[2]) return;
  // <<< your code
  d_y[threadIdx.x] = from[threadIdx.x];
}
void host(Element* y) {
  // >>> your code
  y[0] = 1;
  // <<< your code
}
"""
KERNEL = [12, 14, 17]
"""Lines of the kernel that are there, of which 14 need not be: an array of a thread's own may be in registers."""


def program(lines: list[int], *more: str) -> bytes:
    """Return what stands in a program's PTX that has these lines of the file."""
    locs = "".join(f"\t.loc\t2 {line} 3\n\tadd.s32 %r1, %r2, %r3;\n" for line in lines)
    text = '.version 8.0\n.file\t1 "/kit/scanlab.cuh"\n.file\t2 "/home/me/scan.cu"\n' + locs + "".join(more)
    return b"\x7fELF" + text.encode() + b"\0more"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (KERNEL, [13]),
        ([12, 13, 17], []),
        ([17], [12, 13]),
        ([], []),  # nothing is known
        ([4], []),  # of the kernel nothing is left: it is not launched
    ],
)
def test_stores_to_shared_memory_or_through_pointers_are_found(lines: list[int], expected: list[int]) -> None:
    assert left_out([program(lines)], LearnersFile(TEXT), Path("scan.cu")) == expected


def test_a_line_is_there_if_any_program_has_it() -> None:
    assert left_out([program(KERNEL), program([13])], LearnersFile(TEXT), Path("scan.cu")) == []


def test_a_line_is_there_if_something_was_inlined_into_it() -> None:
    inlined = "\t.loc\t1 8 3, function_name $L__info_string0, inlined_at 2 13 5\n"
    assert left_out([program(KERNEL, inlined)], LearnersFile(TEXT), Path("scan.cu")) == []


def test_lines_of_other_files_do_not_count() -> None:
    other = "\t.loc\t1 13 3\n"
    assert left_out([program(KERNEL, other)], LearnersFile(TEXT), Path("scan.cu")) == [13]
