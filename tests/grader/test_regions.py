"""Which regions are a learner's and which the solution's in a program that is tried, and versions in one file."""

from pathlib import Path

import pytest

from scanlab.judging.learners_file import LearnersFile, runs_of
from scanlab.judging.tried import versions
from scanlab.judging.tried.regions import mixed, parts_of
from scanlab.labs.skeleton import CLOSE, OPEN, regions
from scanlab.paths import SOLUTIONS

FILE = """\
#include "scanlab.cuh"

__device__ int one(int x) {
  // >>> your code
  return x;
  // <<< your code
}

__global__ void kernel(int* d_x) {
  // >>> your code
  int mine = one(1);
  // <<< your code
  __syncthreads();
  // >>> your code
  d_x[0] = mine;
  d_x[1] = mine;  // both
  // <<< your code
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  // >>> your code
  kernel<<<1, 1>>>(nullptr);
  // <<< your code
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  inclusive_scan(d_x, d_y, n);
}
"""
THEIRS = ("  return 1;\n", "  int ours = 2;\n  // said\n", "  d_x[0] = ours;\n", "  run();\n")


def test_regions_of_a_function_belong_together() -> None:
    parts = parts_of(FILE)
    assert [(part.regions, sorted(part.lines), part.is_of_device) for part in parts] == [
        ((0,), [5], True),
        ((1, 2), [11, 15, 16], True),
        ((3,), [22], False),
    ]


def test_what_is_replaced_keeps_the_numbers_of_all_lines() -> None:
    changed = mixed(FILE, THEIRS, {1, 2}).split("\n")
    assert changed[10] == "int ours = 2;"
    assert changed[14:16] == ["d_x[0] = ours;", ""]
    same = [line for number, line in enumerate(changed, 1) if number not in (11, 15, 16)]
    assert same == [line for number, line in enumerate(FILE.split("\n"), 1) if number not in (11, 15, 16)]


@pytest.mark.parametrize("lab", sorted(path.name for path in SOLUTIONS.iterdir() if (path / "scan.cu").is_file()))
def test_each_solution_can_take_the_place_of_its_own_regions(lab: str) -> None:
    text = (SOLUTIONS / lab / "scan.cu").read_text(encoding="utf-8")
    theirs = regions(text)
    assert len(runs_of(LearnersFile(text).in_regions)) == len(theirs)
    assert not any('"' in region or "#" in region for region in theirs)
    everything = {place for part in parts_of(text) for place in part.regions}
    assert everything == set(range(len(theirs)))
    changed = mixed(text, theirs, everything)
    assert len(changed.split("\n")) == len(text.split("\n"))


def test_what_another_entry_needs_is_left_out_and_no_line_moves() -> None:
    alone = versions.with_one_entry(FILE, "inclusive_scan")
    assert "void inclusive_scan(" in alone
    assert "void exclusive_scan(" not in alone
    assert alone.count("\n") == FILE.count("\n")


def test_a_version_keeps_its_own_functions_and_those_of_none() -> None:
    code = (
        ".version 8.0\n.visible .entry _ZN18scanlab_version_0016kernelEPi(\n\t.param .u64 p\n)\n{\n\tret;\n}\n"
        ".visible .entry _ZN18scanlab_version_0116kernelEPi(\n\t.param .u64 p\n)\n{\n\tret;\n}\n"
        ".func  (.param .b32 r) help(\n\t.param .b32 a\n)\n{\n\tret;\n}\n"
    )
    one = versions.version_of(code, 1)
    assert "scanlab_version_01" in one
    assert "scanlab_version_00" not in one
    assert "help(" in one
    assert one.startswith(".version")


def test_versions_are_compiled_together_and_one_that_does_not_compile_is_left_out(tmp_path: Path) -> None:
    text = (SOLUTIONS / "02_kogge_stone" / "scan.cu").read_text(encoding="utf-8")
    wrong = text.replace("__syncthreads();", "__syncthreads()", 1)
    assert wrong != text
    first, none, last = versions.device_codes([text, wrong, text], "scan.cu", "float", tmp_path)
    assert not none
    assert [".entry _ZN18scanlab_version_00" in code for code in (first, last)] == [True, False]
    assert [".entry _ZN18scanlab_version_02" in code for code in (first, last)] == [False, True]


@pytest.mark.parametrize(
    "text", ['extern "C" __global__ void k() {}', "__device__ int counter;", "static __constant__ float s[2] = {1};"]
)
def test_what_can_be_there_only_once_is_compiled_alone(text: str) -> None:
    assert not versions.can_be_joined(text)


def test_a_function_is_no_variable_of_the_device() -> None:
    assert versions.can_be_joined(FILE)
    assert versions.can_be_joined("__device__ int one(int x);\n__device__ __forceinline__ int two() { return 2; }")


def test_the_learners_lines_are_in_regions_or_were_not_given() -> None:
    lines = ("given();", OPEN, "mine();", "given();", CLOSE, "helper();", "", "given();")
    text, given = "\n".join(lines), frozenset({"given();", OPEN, CLOSE})
    assert LearnersFile(text).own == {3, 4}
    assert LearnersFile(text, given).own == {3, 4, 6}
    without = "\n".join(line for line in lines if line not in (OPEN, CLOSE))
    assert LearnersFile(without).own == {1, 2, 3, 4, 5, 6}
    assert LearnersFile(without, given).own == {2, 4}
