"""Slips in a line: which are found, what is meant, and that nothing is said which has not been tried."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.tried.slips import PLAIN, slips
from scanlab.judging.tried.slips.program import Mistake, Program
from scanlab.labs.folders import LABS, find_lab
from scanlab.labs.skeleton import given_lines

MANY = 400
"""As many edits as there are."""

CASES = [
    # the line, what it becomes, and the mistake that calls for it
    ("  __syncthreads;", "__syncthreads();", "race.shared"),
    ("  if (0 <= i < n) f();", "if (0 <= i && i < n) f();", "wrong.other"),
    ("  const int s = 2 ^ step;", "const int s = (1 << step);", "wrong.other"),
    ("  if (t & 1 == 0) f();", "if ((t & 1) == 0) f();", "wrong.other"),
    ("  if ((p + 1) % 2 * stride == 0) f();", "if ((p + 1) % (2 * stride) == 0) f();", "bounds.shared"),
    ("  const int p = (k + 1) << level - 1;", "const int p = ((k + 1) << level) - 1;", "wrong.other"),
    ("  const int p = k - 1 << level;", "const int p = k - (1 << level);", "wrong.other"),
    ("  const int lane = t & warp_size;", "const int lane = t & (warp_size - 1);", "wrong.other"),
    ("  const int warp = t / 31;", "const int warp = t / 32;", "wrong.other"),
    ("  const int i = b + 1 * size;", "const int i = (b + 1) * size;", "race.global"),
    ("  count = sum + kept ? 1 : 0;", "count = sum + (kept ? 1 : 0);", "wrong.other"),
    ("  count = sum + f(keep(x)) ? 1 : 0;", "count = sum + f(keep(x) ? 1 : 0);", "wrong.other"),
    ("  sum =+ x;", "sum += x;", "wrong.other"),
    ("  d_y[i] = i > 0 ? s_xy[p - 1] : identity();", "d_y[i] = p > 0 ? s_xy[p - 1] : identity();", "bounds.shared"),
    ("  next += gridDim.x * blockDim.x;", "next += blockDim.x;", "wrong.other"),
    ("  done = __any_sync(mask, known);", "done = __all_sync(mask, known);", "wrong.block_sums"),
    ("  if (t = 0) f();", "if (t == 0) f();", "wrong.other"),
    ("  for (int s = 1; s < n; s * 2) f();", "for (int s = 1; s < n; s *= 2) f();", "endless"),
    ("  for (int s = n / 2; s >= 0; s /= 2) f();", "for (int s = n / 2; s > 0; s /= 2) f();", "endless"),
    ("  for (int s = 0; s < n; s *= 2) f();", "for (int s = 1; s < n; s *= 2) f();", "endless"),
    ("  a = b; b = a;", "auto* const kept = a; a = b; b = kept;", "race.shared"),
    ("  int my_lane = threadIdx.x;", "int my_lane = threadIdx.x % warp_size;", "wrong.other"),
    ("  const int tile = end - 1 - lane;", "const int tile = end - warp_size + lane;", "wrong.block_sums"),
    ("  if (rest >= 0) {", "if (rest > 0) {", "launch.refused"),
    ("  buf[out][t] = buf[in][t - s] + buf[in][t];\n  }", "} else { buf[out][t] = buf[in][t]; }", "wrong.other"),
    ("  const int lane = t / warp_size;", "const int lane = t % warp_size;", "wrong.other"),
    ("  const int warp = threadIdx.x % 32;", "const int warp = threadIdx.x / 32;", "bounds.shared"),
    ("  k<<<sections - 1, 32>>>(d_x);", "if (sections - 1 > 0) k<<<sections - 1, 32>>>(d_x);", "launch.refused"),
    ("  *to++ = sum;", "*++to = sum;", "wrong.places"),
    ("  unsigned char counts[8];", "int counts[8];", "wrong.other"),
    ("  int words[2];", "unsigned words[2];", "endless"),
    ("  const int i = blockIdx.x * blockDim.y + t;", "const int i = blockIdx.x * blockDim.x + t;", "wrong.other"),
    ("  k<<<block_size, sections>>>(d_x);", "k<<<sections, block_size>>>(d_x);", "bounds.global"),
    ("  k<<<sections, 32, size>>>(d_x);", "k<<<sections, 32, size * sizeof(Element)>>>(d_x);", "bounds.shared"),
    ("  cudaMemset(d_sums, 0, n);", "cudaMemset(d_sums, 0, n * sizeof(*d_sums));", "uninitialised.global"),
    ("  cudaMalloc(&d_sums, n + 1);", "cudaMalloc(&d_sums, (n + 1) * sizeof(*d_sums));", "bounds.global"),
    ("  cudaMalloc(&d_s, n * sizeof(d_s));", "cudaMalloc(&d_s, n * sizeof(Element));", "wrong.other"),
    ("  cudaMemcpy(h, d, b_bytes, cudaMemcpyHostToDevice);",
     "cudaMemcpy(d, h, b_bytes, cudaMemcpyHostToDevice);", "cuda.error"),
    ("  Element s_sums[32];", "__shared__ Element s_sums[32];", "wrong.uninitialised"),
    ("  __shared__ Element s_xy[1024][2];", "__shared__ Element s_xy[2][1024];", "race.shared"),
    ("  Element* run = s_xy + t * 8 * sizeof(Element);", "Element* run = s_xy + t * 8;", "bounds.shared"),
    ("  size_t bytes = n * sizeof(float);", "size_t bytes = n * sizeof(Element);", "bounds.global"),
    ("  while (d_flags[k - 1] == 0) {", "while (atomicAdd(&d_flags[k - 1], 0) == 0) {", "race.global"),
    ("  while (*flag != 1) {", "while (atomicAdd(flag, 0) != 1) {", "deadlock.threads"),
    ("  if (t < warps) v = scan_row(v);", "if (t < 32) v = scan_row(v);", "deadlock.threads"),
    ("  if (t == 31) s_sums[w] = v;", "if (threadIdx.x % 32 == 31) s_sums[w] = v;", "uninitialised.shared"),
    ("  nearest = m ? __clz(m) : 0;", "nearest = m ? 31 - __clz(m) : 0;", "wrong.other"),
    ("  first = __ffs(m);", "first = __ffs(m) - 1;", "wrong.other"),
    ("  memcpy(w, &sum, element_words);", "memcpy(w, &sum, sizeof(sum));", "wrong.other"),
    ("  auto v = static_cast<unsigned long long>(tag << 32) | w;",
     "auto v = (static_cast<unsigned long long>(tag) << 32) | w;", "endless"),
    ("  Word v = (tag << 32) | w;", "Word v = (static_cast<unsigned long long>(tag) << 32) | w;", "endless"),
    ("  const unsigned from = all_lanes >> first;", "const unsigned from = all_lanes << first;", "wrong.other"),
    ("  if (known << first == all_lanes << first) break;", "if (known >> first == all_lanes << first) break;",
     "wrong.other"),
    ("  const int i = blockIdx.x * blockDim.x + p;", "const int i = blockIdx.x * section_size + p;", "wrong.other"),
    ("  __syncwarp();", "__syncthreads();", "race.shared"),
    ("  __threadfence_block();", "__threadfence();", "race.global"),
    ("  v = __shfl_down_sync(all, v, 1);", "v = __shfl_up_sync(all, v, 1);", "wrong.other"),
    ("  v = __shfl_sync(all, v, 32);", "v = __shfl_sync(all, v, 32 - 1);", "wrong.other"),
    ("  v = __shfl_up_sync(0xffff, v, 1);", "v = __shfl_up_sync(0xffffffffu, v, 1);", "warp.mask"),
    ("  const int lane = threadIdx.x;", "const int lane = threadIdx.x % 32;", "wrong.other"),
    ("  while (atomicAdd(&flag, 1) == 0) {}", "while (atomicAdd(&flag, 0) == 0) {}", "race.global"),
    ("  while (atomicCAS(&flag, 0, 1) == 0) {}", "while (atomicAdd(&flag, 0) == 0) {}", "race.global"),
    ("  d[k] = atomicAdd(&d[k], sum);", "atomicAdd(&d[k], sum);", "race.global"),
    ("  const int sections = n / size;", "const int sections = (n + size - 1) / size;", "wrong.last_section"),
    ("  for (int d = n / 2; d > 0; d /= 2) f();", "for (int d = 1; d < n; d *= 2) f();", "wrong.strides"),
    ("  for (int stride = 1; stride < n; stride += 2) f();", "for (int stride = 1; stride < n; stride *= 2) f();",
     "wrong.strides"),
    ("  if (t == 0) d[b] = s[t];", "if (t == block_size - 1) d[b] = s[t];  // block_size", "wrong.block_sums"),
    ("  Element sum = Element{};", "Element sum = identity();", "wrong.identity"),
    ("  if (lane == 0) pass_on(sum);", "if (lane == warp_size - 1) pass_on(sum);  // warp_size", "wrong.block_sums"),
    ("  if (t == blockDim.x - 1) s_k = f();", "if (t == 0) s_k = f();", "uninitialised.shared"),
    ("  for (int i = 2; i < n; ++i) f();", "for (int i = 1; i < n; ++i) f();", "wrong.other"),
    ("  for (int k = 1; k < n; k++) d_y[k] = f();", "for (int k = 0; k < n; k++) d_y[k] = f();", "wrong.first_element"),
    ("  for (int j = 0; j < n; j += 1) d_y[j] = f();", "for (int j = 1; j < n; j += 1) d_y[j] = f();", "wrong.other"),
    ("  if (t > 0) d_y[i] = sum;", "d_y[i] = sum;", "wrong.unwritten"),
    ("  if (t > 0 && i < n) d_y[i] = sum;", "if (i < n) d_y[i] = sum;", "wrong.first_element"),
]  # fmt: skip


def changed(text: str, mistake: Mistake) -> list[str]:
    """Return how each edit writes the line that it is about."""
    before = text.split("\n")
    found = []
    for slip in slips(LearnersFile(text), mistake, MANY):
        after = slip.program.split("\n")
        found += [line.strip() for line in after if line not in before]
    return found


@pytest.mark.parametrize(("line", "meant", "mistake"), CASES, ids=[line.strip() for line, _, _ in CASES])
def test_a_slip_is_found(line: str, meant: str, mistake: str) -> None:
    meant, _, known = meant.partition("  // ")
    text = f"const int {known or 'other'} = 1;\n__global__ void k() {{\n{line}\n}}"
    assert meant in changed(text, Mistake(mistake))


def test_a_variable_that_hides_another() -> None:
    text = "void f() {\n  Element sum = x;\n  if (a) {\n    Element sum = y;\n  }\n"
    text += "  int* d;\n  {\n    int* d;\n    g(d);\n  }\n}"
    found = slips(LearnersFile(text), Mistake("wrong.other"), MANY)
    assert [(slip.line, slip.change) for slip in found if "hides" in slip.because] == [
        (4, "write line 4 as `sum = y;`"),
        (8, "leave out line 8"),
    ]


def test_a_swap_that_forgets_what_it_has_kept() -> None:
    text = "void f() {\n  int tmp = a;\n  a = b;\n  b = a;\n}"
    (found,) = [one for one in slips(LearnersFile(text), Mistake("wrong.other"), MANY) if "is lost" in one.because]
    assert (found.line, found.change) == (4, "write line 4 as `b = tmp;`")


def test_a_semicolon_and_braces() -> None:
    text = "void f() {\n  if (a);\n  {\n    b();\n  }\n  if (c)\n    d();\n    e();\n  while (g()) ;\n}"
    found = slips(LearnersFile(text), Mistake("wrong.other"), MANY)
    assert {slip.program for slip in found} >= {
        text.replace("if (a);", "if (a)"),
        text.replace("if (c)\n    d();\n    e();", "if (c) {\n    d();\n    e();\n  }"),
    }
    assert not any("while (g())\n" in slip.program for slip in found)


def test_parameters_that_are_copies() -> None:
    text = "__device__ void swap(Element* a, Element* b) {\n  Element* c = a;\n  a = b;\n  b = c;\n}"
    assert "__device__ void swap(Element*& a, Element*& b) {" in changed(text, Mistake("wrong.nothing_added"))
    same = "__device__ void put(Element* a, int n) {\n  a[n] = b;\n  *a = b;\n}"
    assert not any("Element*&" in one for one in changed(same, Mistake("wrong.nothing_added")))


def test_a_return_in_a_loop_only() -> None:
    text = (
        "__global__ void k() {\n  if (i >= n) return;\n  for (int j = 0; j < 8; ++j) {\n    if (j > n) return;\n  }\n}"
    )
    lines = {
        slip.line for slip in slips(LearnersFile(text), Mistake("barrier.divergent"), MANY) if "return" in slip.because
    }
    assert lines == {4}


def test_arguments_that_are_called_as_other_parameters() -> None:
    text = "__global__ void k(const int* d_x, int* d_y, int n) {\n}\nvoid f() {\n  k<<<1, 1>>>(d_y, d_x, n);\n}"
    assert "k<<<1, 1>>>(d_x, d_y, n);" in changed(text, Mistake("input.changed"))
    right = text.replace("(d_y, d_x, n)", "(d_x, d_y, n)")
    assert slips(LearnersFile(right), Mistake("input.changed"), MANY) == []
    other = text.replace("(d_y, d_x, n)", "(d_y, d_y, n)")  # as in an addition in place
    assert slips(LearnersFile(other), Mistake("input.changed"), MANY) == []


def test_arguments_that_are_swapped_are_worth_a_word_where_another_mistake_is_left() -> None:
    text = "void k(int* d_x, int* d_y, int* d_z, int n) {\n}\nvoid f() {\n  k(c.d_y, d_z, d_x, m);\n}"
    found = slips(LearnersFile(text), Mistake("wrong.other"), MANY, is_plain=True)
    assert [(slip.change, slip.is_sure) for slip in found] == [("write line 4 as `k(d_x, c.d_y, d_z, m);`", True)]
    for other in (text.replace("d_x, m", "d_z, m"), text.replace("c.d_y, d_z, d_x", "d_x, d_y, d_z")):
        assert slips(LearnersFile(other), Mistake("wrong.other"), MANY, is_plain=True) == []


DYNAMIC = """\
__global__ void __launch_bounds__(block_size) k(const Element* d_x, int n) {
  extern __shared__ Element s_a[];
}
__global__ void other() {
}
void f() {
  k<<<sections, block_size>>>(d_x, n);
  other<<<1, 32>>>();
  k<<<1, block_size>>>(d_x, section_size);
}"""


def test_a_dynamic_array_that_no_launch_gives_a_size() -> None:
    found = [
        slip
        for slip in slips(LearnersFile(DYNAMIC), Mistake("bounds.shared", "s_a"), MANY)
        if "s_a has" in slip.because
    ]
    sizes = ("block_size", "section_size", "(section_size + block_size)", "2 * section_size", "3 * section_size")
    assert [slip.change for slip in found] == [
        f"write line 7 as `k<<<sections, block_size, {size} * sizeof(Element)>>>(d_x, n);` and "
        f"write line 9 as `k<<<1, block_size, {size} * sizeof(Element)>>>(d_x, section_size);`"
        for size in sizes
    ]
    assert found[0].program == DYNAMIC.replace("block_size>>>", "block_size, block_size * sizeof(Element)>>>")


def test_a_dynamic_array_that_is_too_small() -> None:
    text = DYNAMIC.replace("block_size", "section_size").replace("Element s_a", "unsigned char s_a")
    text = text.replace("section_size>>>", "section_size, section_size * sizeof(Element)>>>")
    found = [
        slip for slip in slips(LearnersFile(text), Mistake("bounds.shared", "s_a"), MANY) if "too few" in slip.because
    ]
    assert [slip.program for slip in found] == [
        text.replace("section_size * sizeof", f"{times} * section_size * sizeof") for times in (2, 3)
    ]
    for other, mistake in ((text.replace("extern ", ""), "bounds.shared"), (text, "race.shared")):
        assert not any("too few" in slip.because for slip in slips(LearnersFile(other), Mistake(mistake, "s_a"), MANY))


def test_a_pointer_that_no_allocation_sets() -> None:
    text = "void f(int n) {\n  int* d_a;\n  k<<<blocks, 32>>>(d_x, d_a, n);\n}"
    for declared in ("int* d_a;", "int* d_a = nullptr;", "int* d_a{};", "int *d_a = NULL;"):
        program = text.replace("int* d_a;", declared)
        found = slips(LearnersFile(program), Mistake("bounds.global"), MANY, is_plain=True)
        calls = [f"SCANLAB_CUDA_CHECK(cudaMalloc(&d_a, {size} * sizeof(int)));" for size in ("blocks", "n")]
        assert [slip.change for slip in found] == [f"put `{call}` behind line 2" for call in calls]
        assert [slip.program for slip in found] == [
            program.replace(declared, f"{declared}\n  {call}") for call in calls
        ]
    for other in (
        text.replace("d_a;", "d_a;\n  cudaMalloc((void**)&d_a, bytes);"),
        text.replace("d_a;", "d_a = d_b + n;"),
        text.replace("d_a;", "d_a;\n  d_a = c.d_a;"),
        text.replace("d_x, d_a", "d_x, d_b"),
        text.replace("void f", "__device__ void f"),
    ):
        assert slips(LearnersFile(other), Mistake("bounds.global"), MANY, is_plain=True) == []
    assert slips(LearnersFile(text), Mistake("wrong.other"), MANY, is_plain=True) == []


def test_a_pointer_to_memory_of_the_host() -> None:
    text = "void f() {\n  int* d_a;\n  d_a = new int[n + 1];\n  k<<<1, 32>>>(d_a);\n  delete[] d_a;  // all\n}"
    (slip,) = slips(LearnersFile(text), Mistake("host_pointer"), MANY, is_plain=True)
    assert slip.change == (
        "write line 3 as `SCANLAB_CUDA_CHECK(cudaMalloc(&d_a, (n + 1) * sizeof(int)));` and "
        "write line 5 as `SCANLAB_CUDA_CHECK(cudaFree(d_a));`"
    )
    assert slip.program.endswith("  SCANLAB_CUDA_CHECK(cudaFree(d_a));  // all\n}")
    for value in ("(int*)malloc(n * 4)", "static_cast<int*>(std::malloc(n * 4))"):
        text = f"void f() {{\n  int* d_a = {value};\n  k<<<1, 32>>>(d_a);\n}}"
        (slip,) = slips(LearnersFile(text), Mistake("host_pointer"), MANY, is_plain=True)
        assert slip.change == "write line 2 as `int* d_a; SCANLAB_CUDA_CHECK(cudaMalloc(&d_a, n * 4));`"


def test_a_condition_that_keeps_threads_from_a_write() -> None:
    def meant(line: str, variable: str = "s_a[0]") -> list[str]:
        found = slips(
            LearnersFile(f"__global__ void k() {{\n{line}\n}}"), Mistake("uninitialised.shared", variable), MANY
        )
        return [slip.change for slip in found if "only threads with" in slip.because]

    assert meant("  if (t > 0) s_a[t] = x;") == ["write line 2 as `s_a[t] = x;`"]
    assert meant("  if (t > 0)\n    s_a[t] = x;") == ["leave out `if (t > 0)` in line 2"]
    assert meant("  if (t > 0) {\n    s_a[t] = x;\n  }") == ["leave out `if (t > 0)` in line 2"]
    assert meant("  if (f(t) && t > 0) c.s_a[t] = x;") == [
        "write line 2 as `if (t > 0) c.s_a[t] = x;`",
        "write line 2 as `if (f(t)) c.s_a[t] = x;`",
    ]
    for line in ("if (i < n) s_a[t] = x;", "if (p + 1 < size) s_a[p + 1] = x;", "if (t > 0) x = s_a[t];"):
        assert meant(f"  {line}") == []
    assert meant("  if (t > 0) s_a[t] = x;", "s_b[0]") == []


def test_threads_that_leave_before_others_need_them() -> None:
    def meant(text: str, name: str = "__global__ void k()") -> list[str]:
        found = slips(LearnersFile(f"{name} {{\n{text}\n}}"), Mistake("wrong.unwritten"), MANY)
        return [slip.change for slip in found if "threads that leave" in slip.because]

    assert meant("  if (t > s) return;\n  __syncthreads();") == ["leave out line 2"]
    assert meant("  if (t > s) {\n    return;\n  }\n  f();") == ["leave out lines 2 to 4"]
    assert meant("  if (i >= n) return;\n  s_a[t] = d_x[i - shift<kind>];\n  f();\n  d_y[i] = s_a[t];") == [
        "leave out line 2",
        "leave out line 2, write line 3 as `s_a[t] = i < n ? d_x[i - shift<kind>] : identity();` and "
        "write line 5 as `if (i < n) d_y[i] = s_a[t];`",
    ]
    assert meant("  if (t > s)\n    return;\n  else f();") == []
    assert meant("  f();\n  if (t > s) return;") == []
    assert meant("  if (n == 0) return;\n  f();", "void f()") == []


def test_a_shared_variable_of_which_each_thread_needs_its_own() -> None:
    text = "__global__ void k() {\n  __shared__ Element sum, other;\n  __shared__ Element s_xy[32];\n}"
    assert "Element sum, other;" in changed(text, Mistake("race.shared", "sum[0]"))
    assert not any(line == "Element s_xy[32];" for line in changed(text, Mistake("race.shared", "s_xy[3]")))


def test_what_one_thread_sets_and_others_read() -> None:
    def meant(*lines: str) -> list[str]:
        text = "\n".join(["__global__ void k() {", *lines, "}"])
        found = slips(LearnersFile(text), Mistake("wrong.other"), MANY, is_plain=True)
        return [slip.change for slip in found if "not __shared__" in slip.because]

    sets, read = ("  if (t == 0) {", "    before = f();", "  }"), "  if (t > 0) g(before);"
    assert meant("  Element before;", *sets, "  __syncthreads();", read) == [
        "write line 2 as `__shared__ Element before;`"
    ]
    assert meant("  Element before;", *sets, read, "  __syncthreads();") == []
    assert meant("  Element before;", "  before = x;", *sets, "  __syncthreads();", read) == []
    assert meant("  Element before = x;", *sets, "  __syncthreads();", read) == []
    rows = ("  sums[warp] = x;", "  __syncthreads();", "  y = sums[warp - 1];")
    assert meant("  int sums[warps];", *rows) == ["write line 2 as `__shared__ int sums[warps];`"]
    own = ("  for (int r = 0; r < 8; ++r) sums[r] = x;", *rows[1:2], "  y = sums[7];")
    assert meant("  int sums[warps];", *own) == []
    assert meant("  int s_sums[warps];", *own) == ["write line 2 as `__shared__ int s_sums[warps];`"]


def test_a_value_that_is_read_once() -> None:
    text = "void f() {\n  int ready = atomicAdd(flag, 0);\n  while (!ready) {\n  }\n}"
    assert "while (!(atomicAdd(flag, 0))) {" in changed(text, Mistake("endless"))
    assert slips(LearnersFile(text), Mistake("bounds.shared"), MANY) == []


def test_a_counter_that_is_read_behind_its_atomic() -> None:
    text = "void f() {\n  atomicAdd(d_taken, 1);\n  s_section = *d_taken - 1;\n}"
    (slip,) = (one for one in slips(LearnersFile(text), Mistake("race.global"), MANY) if "between" in one.because)
    assert slip.program == "void f() {\n  s_section = atomicAdd(d_taken, 1);\n}"
    assert slip.change.startswith("write line 3 as `s_section = atomicAdd(d_taken, 1);` and leave out line 2")


def test_two_lines_of_which_the_second_comes_first() -> None:
    text = "void f() {\n  flag = 1;\n  value = x;\n  other = y;\n}"
    found = [
        slip
        for slip in slips(LearnersFile(text), Mistake("race.global", "", frozenset({3})), MANY)
        if "before" in slip.because
    ]
    assert [slip.change for slip in found] == [
        "change lines 2 and 3 about",
        "change lines 3 and 4 about",
    ]
    assert found[0].program == "void f() {\n  value = x;\n  flag = 1;\n  other = y;\n}"


def test_comparisons_and_indices_only_in_lines_that_take_part() -> None:
    text = "void f() {\n  if (t > s) a = b[t - s] + a;\n  if (t > s) c = d[t - s] + c;\n}"
    lines = changed(text, Mistake("wrong.other", "", frozenset({2})))
    for meant in ("if (t >= s) a =", "if (t <= s) a =", "a = b[t + s] + a", "a = a + b[t - s];", "a = b[t - s];"):
        assert any(meant in line for line in lines), meant
    assert all(line.startswith("if (t > s) c") is False for line in lines)


def test_the_learners_own_lines_come_first_and_numbers_of_given_code_last() -> None:
    text = "k<<<block_size, n>>>(x);\n// >>> your code\n__syncthreads;\n// <<< your code\nif (0 < i < n) f();"
    file = LearnersFile(text, frozenset({"// >>> your code", "// <<< your code"}))
    assert [slip.line for slip in slips(file, Mistake("race.shared"), 3)] == [3, 5, 1]


AROUND = [
    # a program, the line that changes, what it becomes, and the mistake
    (["__global__ void k() {", "  bool active = (t > d);", "  d_y[i] = s_xy[t];", "}"],
     2, "bool active = (t >= d);", "wrong.other"),
    (["__global__ void k() {", "  if (at == known) return;", "}"], 2, "if (at <= known) return;", "bounds.global"),
    (["__global__ void k() {", "  x[r] = i < n ? d_x[i] : identity();", "  if (want) d_y[to] = x[r];", "}"],
     3, "if (want && i < n) d_y[to] = x[r];", "bounds.global"),
    (["__global__ void k() {", "  int in = 0, out = 1;", "  d_y[i] = buf[in * 32 + t];", "}"],
     3, "d_y[i] = buf[out * 32 + t];", "wrong.steps_missing"),
    (["__global__ void k() {", "  carry = carry + last;", "  d_y[i] = carry;", "}"], 2, "carry = last;", "wrong.other"),
    (["__global__ void k() {", "  base += s_sums[warp];", "  d_y[base] = x;", "}"],
     2, "base += s_sums[warp - 1];", "wrong.other"),
    (["__global__ void k() {", "  d_y[before + counts[row]] = x[row];", "}"],
     2, "d_y[before + counts[row] - 1] = x[row];", "bounds.global"),
    (["__device__ void f() {", "  Element before = g();", "  known_prefix = known_prefix + own;", "}"],
     3, "known_prefix = before + own;", "wrong.other"),
    (["__device__ void f() {", "  stage.aggregate = total;", "  Element up = before;", "}"],
     3, "Element up = before + stage.aggregate;", "wrong.other"),
    (["__device__ int scan_row(int v) {", "  return __shfl_up_sync(m, v, 1);", "}", "__global__ void k() {",
      "  int incl = scan_row(flag);", "  so_far += incl;", "}"],
     6, "so_far += __shfl_sync(0xffffffffu, incl, 31);", "wrong.other"),
    (["__device__ Element scan_row(Element v) {", "  return shuffle_up(v, 1) + v;", "}", "__device__ void f() {",
      "  first = 31 - __clz(m);", "  w = of_last_lane(scan_row(sum));", "}"],
     6, "w = of_last_lane(scan_row(lane >= first ? sum : identity()));", "wrong.other"),
    (["__global__ void k() {", "  __shared__ int s_section;", "  if (lane == 31) *d_kept = total;", "}"],
     3, "if (lane == 31 && s_section == gridDim.x - 1) *d_kept = total;", "race.global"),
    (["__global__ void k() {", "  int flag = keep(x) ? 1 : 0;", "  pos[r] = so_far + incl;", "}"],
     3, "pos[r] = so_far + incl - flag;", "bounds.global"),
    (["__device__ Sum read(Board board) {", "  if (tags[0] != 0) return sum;", "}",
      "__device__ void put(Board board) {", "  tag = 2 * board.call + is_prefix;", "}"],
     2, "if ((tags[0]) / 2 == board.call) return sum;", "wrong.other"),
    (["void f(int n) {", "  cudaMalloc(&d_flags, n * sizeof(int));", "  cudaMemset(d_flags, 0, n);", "}"],
     3, "cudaMemset(d_flags, 0, n * sizeof(int));", "uninitialised.global"),
    (["__device__ void add(int& to, int a, int b) {", "}", "__global__ void k() {", "  add(s[i], s[i], s[j]);", "}"],
     4, "add(s[i], s[j], s[i]);", "wrong.operand_order"),
    (["__global__ void k() {", "  if (t >= s) {", "    v = s_x[t - s];", "  }", "  s_x[t] = v + s_x[t];", "}"],
     5, "if (t >= s) s_x[t] = v + s_x[t];", "wrong.other"),
    (["__global__ void k() {", "  const Element v = shuffle_up(sum, 1);", "  if (lane < w) s_w[lane] = v;", "}"],
     3, "if (lane < w) s_w[lane] = (threadIdx.x % 32 > 0 ? v : identity());", "wrong.other"),
    (["void launch(int n) {", "  launch<Kind::exclusive>(d_x, d_y, n);", "}"],
     2, "launch<Kind::inclusive>(d_x, d_y, n);", "wrong.block_sums"),
    (["void f(int n) {", "  k<<<n / size, size>>>(d_y);", "}"],
     2, "k<<<(n + size - 1) / size, size>>>(d_y);", "launch.refused"),
    (["void f(int n) {", "  cudaMalloc(&d_sums, n * sizeof(int));", "}"],
     2, "cudaMalloc(&d_sums, n * sizeof(Element));", "bounds.global"),
    (["#define AT(b, p) s_both[b * size + p]", "__global__ void k() {", "  AT(1 - in, t) = v;", "}"],
     1, "#define AT(b, p) s_both[(b) * size + (p)]", "bounds.shared"),
    (["__global__ void k() {", "  __shared__ Element buf[section_size];", "  buf[in * section_size + t] = v;", "}"],
     2, "__shared__ Element buf[2 * section_size];", "bounds.shared"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "number", "meant", "mistake"), AROUND, ids=[row[2] for row in AROUND])
def test_a_slip_is_found_by_what_is_around_it(lines: list[str], number: int, meant: str, mistake: str) -> None:
    text = "\n".join(lines)
    known = Mistake(mistake, "buf" if mistake == "bounds.shared" else "", frozenset())
    found = {slip.program: slip for slip in slips(LearnersFile(text), known, MANY)}
    indent = lines[number - 1][: len(lines[number - 1]) - len(lines[number - 1].lstrip())]
    program = "\n".join([*lines[: number - 1], f"{indent}{meant}", *lines[number:]])
    assert program in found
    assert found[program].line == number


def test_memory_that_nothing_sets_is_set_behind_its_allocation() -> None:
    text = "void f(int n) {\n  cudaMalloc(&chain.d_taken, sizeof(int));\n}"
    (slip,) = [
        one for one in slips(LearnersFile(text), Mistake("uninitialised.global"), MANY) if "cudaMemset" in one.program
    ]
    call = "SCANLAB_CUDA_CHECK(cudaMemset(chain.d_taken, 0, sizeof(int)));"
    assert slip.change == f"put `{call}` behind line 2"
    assert slip.program == text.replace("sizeof(int));", f"sizeof(int));\n  {call}")


def test_a_shuffle_is_put_in_front_of_its_branch() -> None:
    branches = ("  if (lane >= d) v = shuffle_up(v, d) + v;", "  if (lane >= d) {\n    v = shuffle_up(v, d) + v;\n  }")
    for branch in branches:
        (slip,) = slips(
            LearnersFile(f"__device__ void f() {{\n{branch}\n}}"), Mistake("deadlock.threads"), 1, is_plain=True
        )
        assert slip.change.startswith("put `const Element taken = shuffle_up(v, d);` before line 2, and write line ")
        taken = branch.replace("shuffle_up(v, d)", "taken")
        assert slip.program == f"__device__ void f() {{\n  const Element taken = shuffle_up(v, d);\n{taken}\n}}"


def test_only_lines_in_which_the_mistake_is_are_looked_at() -> None:
    lines = ["__global__ void k() {", "  a = s_a[t - 1];", "  b = s_b[t - 1];", "  d_y[i] = a + b;", "}"]
    found = slips(LearnersFile("\n".join(lines)), Mistake("wrong.other", "", frozenset(), frozenset({3})), MANY)
    assert found
    assert {slip.line for slip in found} == {3}


def test_a_rule_that_finds_many_keeps_no_other_one_waiting() -> None:
    lines = [
        "__global__ void k() {",
        *(f"  d_y[{k} + t] = s_xy[t + {k}];" for k in range(9)),
        "  x = m ? __clz(m) : 0;",
        "}",
    ]
    found = [
        slip.change for slip in slips(LearnersFile("\n".join(lines)), Mistake("wrong.other"), MANY, is_plain=False)
    ]
    assert found.index("write line 11 as `x = m ? 31 - __clz(m) : 0;`") < 40


@pytest.mark.parametrize("lab", [lab.name for lab in sorted(LABS.iterdir()) if (lab / "scan.cu").exists()])
def test_what_is_hardly_ever_meant_is_in_no_line_of_a_solution(lab: str) -> None:
    text = find_lab(lab[:2]).solution.read_text(encoding="utf-8")
    program = Program(LearnersFile(text, given_lines(find_lab(lab[:2]))), Mistake("wrong.other"))
    found = [edit for rule in PLAIN for edit in rule.edits(program) if edit.line in program.numbers]
    barriers = [edit for edit in found if "__syncwarp" not in program.code(edit.line)]
    assert [program.code(edit.line) for edit in barriers if "Kind::" not in program.code(edit.line)] == []


@pytest.mark.parametrize(
    ("lines", "meant", "is_sure"),
    [
        (["if (t < 64 / (2 * d)) {", "s_a[t + d] = 1;"], "if (t < 64 / (2 * d) - 1) {", True),
        (["__shared__ Element s_a[section_size / 2];", "s_a[t] = 1;"], "s_a[section_size];", True),
        (["constexpr int run_length = 8;", "s_a[t * block_size] = 1;"], "s_a[t * run_length] = 1;", True),
        (["const int i = t + 64;", "if (t < n)", "s_a[i] = 1;"], "if (i < n)", False),
        (["for (int k = 0; k <= n; ++k)", "s_a[k] = 1;"], "for (int k = 0; k < n; ++k)", True),
    ],
)
def test_an_index_that_goes_too_far_is_found_where_it_is_made(lines: list[str], meant: str, *, is_sure: bool) -> None:
    text = "\n".join(["constexpr int section_size = 64;", "__global__ void k() {", *lines, "}"])
    number = 2 + len(lines)
    found = slips(LearnersFile(text), Mistake("bounds.shared", "s_a[64]", frozenset({number})), MANY)
    assert [slip.is_sure for slip in found if meant in slip.change] == [is_sure]


KERNEL = ["__global__ void k(int* d_y, int n) {"]

IN_SEVERAL_LINES = [
    # lines of a program, what an edit writes, the mistake that calls for it, and a line that takes part
    (["__device__ void f(int* s) {", "  __syncthreads();", "}", *KERNEL, "  if (t == 0) f(s);", "}"],
     "f(s);", Mistake("race.shared")),
    ([*KERNEL, "  for (;;) {", "    if (p >= n) break;", "    s_a[p] = 1;", "    __syncthreads();", "  }", "}"],
     "if (p < n) s_a[p] = 1;", Mistake("barrier.divergent")),
    ([*KERNEL, "  for (int k = start; k < end; k++) {", "    s_a[k] = s_a[k - 1] + s_a[k];", "  }", "}"],
     "for (int k = start + 1; k < end; k++) {", Mistake("bounds.shared", "s_a[0]", frozenset({3}))),
    ([*KERNEL, "  int p = (t + 1) * 2 * stride;", "}"],
     "int p = (t + 1) * 2 * stride - 1;", Mistake("wrong.other")),
    ([*KERNEL, "  int i = blockIdx.x * section_size + t;", "}", "void f() {", "  k<<<sections - 1, 8>>>(d_y, n);", "}"],
     "int i = (blockIdx.x + 1) * section_size + t;", Mistake("wrong.overwritten")),
    ([*KERNEL, "  tag = 2 * board.call + is_prefix;", "  if (tag == board.call) f();", "}"],
     "if (tag / 2 == board.call) f();", Mistake("deadlock.threads")),
    ([*KERNEL, "  while (!is_done) {", "    look(end - 32 + lane);", "  }", "}"],
     "end -= 32;", Mistake("wrong.other")),
    ([*KERNEL, "  known = before;", "  publish(before + own);", "}"],
     "known = before + own;", Mistake("wrong.order")),
    ([*KERNEL, "  first = __ffs(mask) - 1;", "}"],
     "first = 31 - __clz(mask);", Mistake("wrong.order")),
    ([*KERNEL, "  first = 31 - __clz(a & b);", "}"],
     "first = __ffs(a & b) - 1;", Mistake("wrong.order")),
    ([*KERNEL, "  atomicAdd(d_y, sum);", "}"],
     "if (threadIdx.x % 32 == 31) atomicAdd(d_y, sum);", Mistake("wrong.other")),
    ([*KERNEL, "  const int warps = 4;", "  int total = s_sums[warp];", "}"],
     "int total = s_sums[warps - 1];", Mistake("wrong.other")),
    (["void f(int* d_kept) {", "  int kept = 0;", "  k<<<1, 32>>>(d_x, &kept);", "}"],
     "k<<<1, 32>>>(d_x, d_kept);", Mistake("bounds.global")),
    ([*KERNEL, "  d_y[0] = 1;", "}", "void f() {", "  k<<<1, 32>>>(nullptr, n);", "}"],
     "if (d_y != nullptr) d_y[0] = 1;", Mistake("bounds.global", "", frozenset({2}))),
    (["void f() {", "  Chain chain;", "  cudaMemset(chain.d_taken, 0, sizeof(int));", "}"],
     "cudaMalloc(&chain.d_taken, sizeof(int))", Mistake("bounds.global")),
    ([*KERNEL, "  if (t == 0) *d_kept = before + total;", "}"],  # no name is assigned
     "*d_kept = total + before;", Mistake("wrong.order", "", frozenset({2}))),
    ([*KERNEL, "  int k = first;", "  while (k < end) {", "    s_a[k] = s_a[k - 1] + s_a[k];", "  }", "}"],
     "int k = first + 1;", Mistake("bounds.shared", "s_a[0]", frozenset({4}))),
    ([*KERNEL, "  while (stride < n) {", "    stride = stride << 2;", "  }", "}"],
     "stride *= 2;", Mistake("wrong.steps_missing")),
    ([*KERNEL, "  while (d > 0) {", "    d -= 2;", "  }", "}"],
     "d /= 2;", Mistake("wrong.steps_missing")),
    ([*KERNEL, "  if (t >= d) s_to[t] = s_from[t - d] + s_from[t];", "}"],
     "else s_to[t] = s_from[t];", Mistake("wrong.other")),
    ([*KERNEL, "  if (t >= d) {", "    s_to[t] = s_a[t - d] + s_a[t];", "  } else {", "    // nothing", "  }", "}"],
     "} else { s_to[t] = s_a[t]; }", Mistake("wrong.other")),
    ([*KERNEL, "  int i = blockIdx.x * gridDim.x + threadIdx.x;", "}"],
     "int i = blockIdx.x * blockDim.x + threadIdx.x;", Mistake("bounds.global")),
    ([*KERNEL, "  count += __ballot_sync(0xffffffff, keep(x));", "}"],
     "count += __popc(__ballot_sync(0xffffffff, keep(x)));", Mistake("wrong.count")),
    (["void f(int n) {", "  int sections = ceilf(n / size);", "}"],
     "int sections = (n + size - 1) / size;", Mistake("launch.failed")),
    (["void f(int n) {", "  size_t bytes = n;", "  cudaMalloc(&d_a, bytes);", "}"],
     "size_t bytes = n * sizeof(Element);", Mistake("bounds.global")),
    (["void scan(int n) {", "  scan<kind>(d_sums, d_sums, n / 8);", "}"],
     "scan<Kind::inclusive>(d_sums, d_sums, n / 8);", Mistake("wrong.block_sums")),
    (["void f() {", "  CHECK(cudaMemset(&d_sums, 0, 8));", "}"],
     "CHECK(cudaMemset(d_sums, 0, 8));", Mistake("cuda.error")),
    (["void f() {", "  CHECK(cudaFree(&d_sums));", "}"],
     "CHECK(cudaFree(d_sums));", Mistake("cuda.error")),
    ([*KERNEL, "  while (from < n) {", "    d_y[to] = sum;", "    ++to;", "  }", "}"],
     "while (to < n) {", Mistake("bounds.global", "", frozenset({3}))),
    ([*KERNEL, "  if (from < size) {", "    s_a[to] = s_a[from] + s_a[to];", "  }", "}"],
     "if (to < size) {", Mistake("bounds.shared", "", frozenset({3}))),
    ([*KERNEL, "  if (p < size) {", "    s_a[p + d] = s_a[p] + s_a[p + d];", "  }", "}"],
     "if (p + d < size) {", Mistake("bounds.shared", "", frozenset({3}))),
    ([*KERNEL, "  int t = threadIdx.x;", "  int i = blockIdx.x * 8 + t;", "  bool has = i - stride >= 0;", "}"],
     "bool has = t - stride >= 0;", Mistake("bounds.shared")),
    ([*KERNEL, "  int t = threadIdx.x;", "  int first = blockIdx.x * 8;", "  bool has = first + t != 0;", "}"],
     "bool has = t != 0;", Mistake("bounds.shared")),
    ([*KERNEL, "  while (width < n) {", "    int left = right - 1;", "    width *= 2;", "  }", "}"],
     "int left = right - width / 2;", Mistake("wrong.other")),
    ([*KERNEL, "  for (int d = 1; d < n; d <<= 1) {", "    s_a[t] = s_a[t - 1] + s_a[t];", "  }", "}"],
     "s_a[t] = s_a[t - d] + s_a[t];", Mistake("wrong.other")),
    ([*KERNEL, "  int target = blockIdx.x + t;", "}"],
     "int target = blockIdx.x + t + 1;", Mistake("wrong.block_sums")),
    (["constexpr int section_size = 8;", *KERNEL, "  int i = blockIdx.x * 4 + t;", "  int section = blockIdx.x;", "}"],
     "int section = i / section_size;", Mistake("wrong.other")),
    ([*KERNEL, "  target += gridDim.x;", "}"],
     "target += blockDim.x;", Mistake("wrong.other")),
    ([*KERNEL, "  unsigned before = votes & ((2u << lane) - 1);", "}"],
     "unsigned before = votes & ((1u << lane) - 1);", Mistake("wrong.other")),
    ([*KERNEL, "  int s_section = 0;", "  bool is_last = blockIdx.x + 1 == gridDim.x;", "}"],
     "bool is_last = s_section + 1 == gridDim.x;", Mistake("wrong.order")),
    ([*KERNEL, "  for (int d = 1; d < n; d *= 2) {", "    if (t < d) s_to[t] = mine;",
      "    else s_to[t] = s_from[t - d] + s_from[t];", "  }", "}"],
     "if (t < d) s_to[t] = s_from[t];", Mistake("wrong.other")),
    ([*KERNEL, "  int so_far = 0;", "  for (int r = 0; r < rows; r++) {", "    rank[r] = so_far + f(r);",
      "    so_far = g(r);", "  }", "}"],
     "so_far = so_far + g(r);", Mistake("wrong.other")),
    ([*KERNEL, "  for (int p = begin + 1; p != end; p++) {", "    sum = sum + s_a[p];", "  }", "}"],
     "for (int p = begin; p != end; p++) {", Mistake("wrong.other", "", frozenset({3}))),
    (["void f() {", "  const int blocks = left / threads;", "  k<<<blocks, threads>>>(d_y, n);", "}"],
     "const int blocks = (left + threads - 1) / threads;", Mistake("launch.failed")),
    (["void f() {", "  size_t int_bytes = sections * sizeof(int);", "}"],
     "size_t int_bytes = (sections + 1) * sizeof(int);", Mistake("bounds.global")),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "meant", "mistake"), IN_SEVERAL_LINES)
def test_what_stands_in_several_lines_is_found(lines: list[str], meant: str, mistake: Mistake) -> None:
    edits = [slip for slip in slips(LearnersFile("\n".join(lines)), mistake, MANY) if meant in slip.change]
    assert edits
    assert all(meant in slip.program for slip in edits)


@pytest.mark.parametrize(
    "lines",
    [
        ["__device__ void f(int* s) {", "  s[0] = 1;", "}", *KERNEL, "  if (t == 0) f(s);", "}"],  # no barrier in it
        [*KERNEL, "  while (!is_done) {", "    look(end - 32 + lane);", "    end -= 32;", "  }", "}"],
        [
            *KERNEL,
            "  int i = (blockIdx.x + 1) * section_size;",
            "}",
            "void f() {",
            "  k<<<sections - 1, 8>>>(d_y);",
            "}",
        ],
        [*KERNEL, "  tag = 2 * board.call + is_prefix;", "  if (tag / 2 == board.call) f();", "}"],
        ["void f(int* d_kept) {", "  int kept = 0;", "  k<<<1, 32>>>(d_x, d_kept);", "}"],
        ["void f(int* d_kept) {", "  cudaMemset(d_kept, 0, sizeof(int));", "}"],
        ["void f(int* d_f, int n) {", "  size_t fBytes = n * sizeof(int);", "  cudaMemset(d_f, 0, fBytes);", "}"],
        [
            *KERNEL,
            "  if (t >= d) {",
            "    s_to[t] = s_from[t - d] + s_from[t];",
            "  } else {",
            "    s_to[t] = 1;",
            "  }",
            "}",
        ],
        [*KERNEL, "  if (t >= d) s_a[t] = s_a[t - d] + s_a[t];", "}"],
        [*KERNEL, "  while (to < n) {", "    d_y[to] = d_x[to];", "  }", "}"],
        [*KERNEL, "  if (p + d < size) {", "    s_a[p + d] = s_a[p];", "  }", "}"],
        ["void f() {", "  const int half = left / threads;", "  k<<<blocks, threads>>>(d_y, n);", "}"],
    ],
)
def test_what_is_as_it_should_be_is_left_alone(lines: list[str]) -> None:
    for known in ("race.shared", "wrong.overwritten", "deadlock.threads", "bounds.global"):
        assert not [slip.change for slip in slips(LearnersFile("\n".join(lines)), Mistake(known), MANY) if slip.is_sure]
        assert not any(
            "put `end -=" in slip.change for slip in slips(LearnersFile("\n".join(lines)), Mistake(known), MANY)
        )


def test_what_is_given_is_left_alone() -> None:
    text = "// >>> your code\n// <<< your code\n  __syncthreads;\n  __syncthreads;  // mine"
    assert slips(LearnersFile(text), Mistake("race.shared"), MANY) == []  # nothing is known of these lines
    given = frozenset({"// >>> your code", "// <<< your code", "__syncthreads;"})
    assert [slip.line for slip in slips(LearnersFile(text, given), Mistake("race.shared"), MANY)] == [4]


def test_a_line_outside_of_the_regions_that_is_not_given_is_the_learners() -> None:
    text = "__device__ void f() {\n  if (t == 0) g();\n}\n// >>> your code\n// <<< your code"
    known = LearnersFile(text, frozenset({"__device__ void f() {", "}", "// >>> your code", "// <<< your code"}))
    assert {slip.line for slip in slips(known, Mistake("wrong.other"), MANY, is_plain=False)} == {2}
    given = frozenset(line.strip() for line in text.split("\n"))
    assert not slips(LearnersFile(text, given), Mistake("wrong.other"), MANY)


def test_a_barrier_comes_out_of_its_branch() -> None:
    text = "__global__ void k() {\n  if (t < half) {\n    __syncthreads();\n    f();\n  }\n  g();\n}"
    found = [
        slip
        for slip in slips(LearnersFile(text), Mistake("barrier.divergent"), MANY)
        if "out of the branch" in slip.change
    ]
    assert [slip.program for slip in found] == [
        "__global__ void k() {\n  __syncthreads();\n  if (t < half) {\n    f();\n  }\n  g();\n}",
        "__global__ void k() {\n  if (t < half) {\n    f();\n  }\n  __syncthreads();\n  g();\n}",
    ]
    assert "put it before line 2" in found[0].change
    loop = text.replace("if (t < half)", "while (busy)")
    assert not [
        slip
        for slip in slips(LearnersFile(loop), Mistake("barrier.divergent"), MANY)
        if "out of the branch" in slip.change
    ]


def test_a_macro_with_parentheses_stays() -> None:
    for body in ("s_both[(b) * size + (p)]", "f(b, p)", "b ## p"):
        text = f"#define AT(b, p) {body}\n"
        assert not [
            slip
            for slip in slips(LearnersFile(text), Mistake("wrong.other"), MANY)
            if "replaced as text" in slip.because
        ], body


def test_a_stride_that_doubles_or_halves_stays() -> None:
    for step in ("stride = stride * 2", "stride *= 2", "stride <<= 1", "stride = 2 * stride", "stride += stride"):
        text = f"__global__ void k() {{\n  while (stride < n) {{\n    {step};\n  }}\n}}"
        assert not [
            slip
            for slip in slips(LearnersFile(text), Mistake("wrong.strides"), MANY)
            if "powers of two" in slip.because
        ], step


def test_the_size_of_a_pointer_becomes_that_of_its_memory() -> None:
    text = "void f() {\n  cudaMalloc(&d_a, n * sizeof(int));\n  cudaMemset(d_a, 0, sizeof(d_a));\n}"
    found = slips(LearnersFile(text), Mistake("cuda.error"), MANY)
    assert "write line 3 as `cudaMemset(d_a, 0, n * sizeof(int));`" in [slip.change for slip in found]


@given(st.lists(st.sampled_from("abn01 \n(){}[];,.<>=&|^%*/+-!?:#\"'_"), max_size=120).map("".join))
def test_any_text_is_read(text: str) -> None:
    for identity in ("wrong.other", "race.shared", "bounds.shared", "uninitialised.shared", "endless"):
        for slip in slips(LearnersFile(text), Mistake(identity, "s_a[1]", frozenset({1, 2})), 9):
            assert slip.program != text
            assert slip.change


@pytest.mark.parametrize(
    "character",
    [
        "(",
        "a",
        "  int* a; ",
        "extern __shared__ int a[]; ",
        "if (a) ",
        "if (",
        "k<<<a, b>>>(",
        "[",
        "1",
        "a ",
        "a.",
        "a<",
        "- ",
        "for (",
        "a b(",
        "*a",
        "void a(",
        "=a+",
    ],
)
def test_no_text_takes_long(character: str) -> None:
    text = "\n".join(character * (190 // len(character)) for _ in range(250))
    begun = time.process_time()
    for identity in ("wrong.other", "race.shared", "bounds.shared"):
        slips(LearnersFile(text), Mistake(identity, "a[0]", frozenset(range(250))), MANY)
    assert time.process_time() - begun < 6
