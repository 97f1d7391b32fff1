"""Places in a learner's file that a device cannot see, and the one cause that fits a count."""

import pytest

import made_results
from scanlab.judging.code_places import CodePlaces
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.places import FIRST_WRONG, PRINTED_CALL, SINCE_FAULT, _with_given_code, with_places
from scanlab.judging.result import Where
from scanlab.labs.folders import find_lab
from scanlab.labs.rubric import CountCheck
from scanlab.labs.skeleton import CLOSE, OPEN
from scanlab.paths import ROOT


def program(lab: str) -> CodePlaces:
    """Return a solution."""
    return CodePlaces(LearnersFile((ROOT / f"solutions/{lab}/scan.cu").read_text(encoding="utf-8")), "scan.cu")


def code(lab: str, numbers: list[int]) -> list[str]:
    """Return these lines of a solution, without what is around their code."""
    lines = (ROOT / f"solutions/{lab}/scan.cu").read_text(encoding="utf-8").splitlines()
    return [lines[number - 1].partition("//")[0].strip() for number in numbers]


def test_loops_are_those_that_add_elements() -> None:
    loops = code("04_brent_kung", program("04_brent_kung").loops())
    assert loops == [
        "for (int stride = 1; stride < section_size; stride *= 2) {",
        "for (int stride = section_size / 4; stride > 0; stride /= 2) {",
    ]
    assert CodePlaces(LearnersFile("int n;"), "scan.cu").loops() == []


def test_writes_and_launches_are_found() -> None:
    one = program("01_sequential")
    assert code("01_sequential", one.writes("d_y")) == ["d_y[0] = sum;", "d_y[i] = sum;"]
    assert code("01_sequential", one.launches("sequential_kernel")) == [
        "sequential_kernel<kind><<<1, 1>>>(d_x, d_y, n);"
    ]
    assert one.host_uses("d_x") == []


def test_where_threads_leave_before_a_barrier_and_what_is_never_launched() -> None:
    lines = [
        "__device__ void f() {",
        "  if (t < 3) return;",
        "  while (true) {",
        "    if (t > 4) break;",
        "    __syncthreads();",
        "  }",
        "  return;",
        "}",
        "template <int n> __global__ void __launch_bounds__(n) k(int* d_x) { f(); }",
        "__global__ void other() { return; }",
        "void g() { k<4><<<1, 4>>>(d_x); }",
    ]
    one = CodePlaces(LearnersFile("\n".join(lines)), "scan.cu")
    assert one.leaves([5]) == [2, 4]
    assert one.leaves([9]) == []
    assert one.never_launched() == [(10, "other")]


def test_host_code_that_uses_a_device_pointer_is_found() -> None:
    lines = ["__global__ void k(int* d_x) { d_x[0] = 1; }", "void f(int* d_x) {", "  d_x[1] = 2;", "}"]
    assert CodePlaces(LearnersFile("\n".join(lines)), "scan.cu").host_uses("d_x") == [3]


def test_an_array_that_is_not_shared_is_found() -> None:
    lines = ["__global__ void k() {", "  __shared__ Element s_a[4];", "  Element s_b[4];", "}"]
    assert CodePlaces(LearnersFile("\n".join(lines)), "scan.cu").local_arrays() == [(3, "s_b")]


def test_what_is_allocated_and_never_freed_is_named() -> None:
    lines = [
        "void f() {",
        "  static int* d_kept;",
        "  cudaMalloc(&d_kept, n);",
        "  cudaMalloc((void**)&d_a, n);",
        "  cudaMalloc(&chain.d_b, n);",
        "  if (n == 1) return;",
        "  cudaFree(d_a);",
        "}",
        "void g() {",
        "  SCANLAB_CUDA_CHECK(cudaMalloc(&d_a, n));",
        "  SCANLAB_CUDA_CHECK(cudaMalloc(&d_c, n));",
        "}",
        "void h() {",
        "  cudaFreeAsync(d_c, stream);",
        "}",
    ]

    def facts(text: str) -> tuple[str, ...]:
        leak = made_results.finding("leak", weight="advice")
        known = made_results.result(made_results.check(), findings=(leak,))
        return with_places(known, LearnersFile(text), "scan.cu").findings[0].facts

    whole = "\n".join(lines)
    assert facts(whole) == ("chain.d_b of scan.cu:5 is never freed", "d_a of scan.cu:10 is never freed")
    freed = whole.replace("cudaFree(d_a)", "cudaFree(d_a); cudaFree(other.d_b)").replace(
        "d_c, n));", "d_c, n)); cudaFree(d_a);"
    )
    assert facts(freed) == (
        "scan.cu:6 may return before cudaFree(d_a) in scan.cu:7",
        "scan.cu:6 may return before cudaFree(chain.d_b) in scan.cu:7",
    )
    assert facts(freed.replace("return", "n = 2")) == ()


def test_errors_that_only_repeat_a_fault_are_called_so() -> None:
    def printed(*lines: str, word: str = "FAULT") -> tuple[str, ...]:
        cause = made_results.cause(details=("a fact", "the program printed:", *lines, "another"), id="bounds.global")
        fault = made_results.finding("bounds.global", headline=f"{word}: write outside every allocation")
        known = made_results.result(made_results.check(verdict="fail", cause=cause, findings=(fault,)))
        found = with_places(known, LearnersFile(""), "scan.cu").checks[0].cause
        assert found is not None
        return found.details

    repeated = "  scan.cu:9: cudaFree(d_a): an illegal memory access was encountered (cudaErrorIllegalAddress)"
    assert printed(repeated) == ("a fact", SINCE_FAULT, repeated, "another")
    assert SINCE_FAULT not in printed(repeated, word="RACE")
    for lines in (
        (repeated, "  n = 5"),
        ("  scan.cu:9: cudaMalloc(&d_a, n): out of memory (cudaErrorMemoryAllocation)",),
    ):
        assert printed(*lines) == ("a fact", "the program printed:", *lines, "another")


OWN_ARRAY = """\
__global__ void k(int* d_y) {
  Element s_a[8];
  d_y[0] = 1;
}
void f() {
  k<<<1, 32>>>(d_y);
}"""


def test_arrays_that_are_each_threads_and_launches_are_named_where_they_may_be_the_cause() -> None:
    def said(finding_id: str, advice: str = "", lines: tuple[int, ...] = (3, 3)) -> str:
        parts = tuple(made_results.part("write", line) for line in lines)
        finding = made_results.finding(finding_id, kernel="k", advice=advice, parts=parts)
        check = made_results.check(
            verdict="fail", cause=made_results.cause(rationale="", id=finding_id), findings=(finding,)
        )
        cause = with_places(made_results.result(check), LearnersFile(OWN_ARRAY), "scan.cu").checks[0].cause
        assert cause
        return "\n".join((cause.rationale, *cause.details))

    own = "s_a in scan.cu:2 is an array of each thread's own: is __shared__ missing?"
    assert own in said("wrong.other")
    assert own not in said("race.shared")
    advice = "several threads of a block write to the same place, and either value may remain"
    assert "launched in scan.cu:6" in said("race.global", advice)
    assert "launched in" not in said("race.global", advice, (3, 2))
    assert "launched in" not in said("race.global")


def test_a_function_of_the_host_that_calls_itself_is_found() -> None:
    one = program("06_hierarchical")
    assert code("06_hierarchical", one.recursions()) == ["launch_scan<Kind::inclusive>(d_sums, d_sums, sections);"]
    assert program("01_sequential").recursions() == []
    on_the_device = "__device__ int f(int n) {\n  return n ? f(n - 1) : 0;\n}\nvoid g() {\n  // g();\n}\n"
    assert CodePlaces(LearnersFile(on_the_device), "scan.cu").recursions() == []


@pytest.mark.parametrize(
    ("lab", "name", "value", "says"),
    [
        ("01", "additions", 1000, "Exactly n"),
        ("01", "additions", 32 * 999, "A multiple of n"),
        ("01", "additions", 1000 * 999 // 2, "About n * n / 2"),
        ("02", "barriers", 30, "About 30"),
        ("02", "barriers", 24, "A few more than 20"),
        ("02", "barriers", 10, "About 10"),
        ("04", "warp_efficiency", 0.29, "About 0.29"),
    ],
)
def test_a_count_has_the_cause_that_fits(lab: str, name: str, value: float, says: str) -> None:
    rubric = find_lab(lab).rubric
    (check,) = [one for one in rubric.check if one.name == name]
    assert isinstance(check, CountCheck)
    cause = check.cause_of(value, 1000, rubric.section)
    assert cause is not None
    assert cause.says.strip().startswith(says)
    assert cause.says.strip() in check.explanation


def test_given_code_is_called_so() -> None:
    def shown(line: int, *more: str) -> str:
        text = "\n".join([OPEN, "a = f();", CLOSE, "y = a + b;", *more])
        where = Where(file="/home/a/scan.cu", line=line, kernel="", block=None, thread=None)
        said = made_results.cause().model_copy(
            update={"where": where, "details": (f"scan.cu:{line} {FIRST_WRONG}: x",)}
        )
        return _with_given_code(said, CodePlaces(LearnersFile(text), "labs/02/scan.cu")).details[0]

    assert shown(2) == f"scan.cu:2 {FIRST_WRONG}: x"
    assert shown(4) == f"scan.cu:4 {FIRST_WRONG} (given code: what it adds comes from yours, line 2): x"
    more = shown(4, OPEN, "b = 3;", "c = 4;", CLOSE)
    assert more == f"scan.cu:4 {FIRST_WRONG} (given code: what it adds comes from yours, lines 2, 6 to 7): x"


CHAIN = """struct Chain {
  int* d_taken;
  int* d_flags;
};
__device__ int wait(Chain chain, int section) {
  if (section == 0) return 0;
  while (atomicAdd(&chain.d_flags[section - 1], 0) == 0) {
  }
  atomicExch(&chain.d_flags[section], 1);
  return 1;
}
void launch() {
  Chain chain;
  cudaMalloc(&chain.d_flags, 4);
  cudaMemset(chain.d_taken, 0, 4);
}
"""


def test_members_that_nothing_sets_are_found() -> None:
    assert list(CodePlaces(LearnersFile(CHAIN), "scan.cu").without_memory()) == [("d_taken", 2)]
    listed = CHAIN.replace("Chain chain;", "Chain chain{d_a, d_b};")
    assert list(CodePlaces(LearnersFile(listed), "scan.cu").without_memory()) == []
    passed = CHAIN.replace("Chain chain;", "k<<<1, 32>>>({d_a, d_b});")
    assert list(CodePlaces(LearnersFile(passed), "scan.cu").without_memory()) == []


def test_where_the_names_in_an_index_are_set_is_found() -> None:
    lines = [
        "__global__ void k(int* d_y) {",
        "  const int t = threadIdx.x;",
        "  int to = 1, from = 0;",
        "  const int last = size - 1;",
        "  while (from < n) {",
        "    d_y[to] = d_x[from] + s_a[t] + s_a[last];",
        "    atomicAdd(d_sums + to, 1);",
        "    ++to;",
        "    from += 1;",
        "  }",
        "}",
    ]
    program = CodePlaces(LearnersFile("\n".join(lines)), "scan.cu")
    sets = ["to is set in scan.cu:3, scan.cu:8", "from is set in scan.cu:3, scan.cu:9", "last is set in scan.cu:4"]
    assert list(program.sets_of_indices([6, 6])) == sets
    assert list(program.sets_of_indices([7])) == sets[:1]
    scopes = ["__global__ void k() {", "  int p = 1;", "  s[p] = 1;", "  int p = 2;", "  s[p] = 1;", "  p += 1;", "}"]
    other = CodePlaces(LearnersFile("\n".join(scopes)), "scan.cu")
    assert list(other.sets_of_indices([3])) == ["p is set in scan.cu:2"]
    assert list(other.sets_of_indices([5])) == ["p is set in scan.cu:4, scan.cu:6"]
    marked = "\n".join([*lines[:4], "// >>> your code", *lines[4:9], "// <<< your code", *lines[9:]])
    assert list(CodePlaces(LearnersFile(marked), "scan.cu").sets_of_indices([7])) == []  # in part by given lines


def test_where_a_size_is_set_is_found() -> None:
    lines = [
        "void f(int n) {",
        "  size_t bytes = n * 4;",
        "  cudaMalloc(&d_a, bytes);",
        "  cudaMalloc(&d_b, n * 4);",
        "}",
    ]
    assert list(CodePlaces(LearnersFile("\n".join(lines)), "scan.cu").sets_of_sizes([3, 4])) == [
        "bytes is set in scan.cu:2"
    ]


def test_what_a_loop_waits_for_is_looked_for_where_it_is_written() -> None:
    assert list(CodePlaces(LearnersFile(CHAIN), "scan.cu").waits([7])) == [
        "d_flags is written in scan.cu:9",
        "some threads may leave before that, in scan.cu:6",
    ]
    assert list(CodePlaces(LearnersFile(CHAIN), "scan.cu").waits([6])) == []


def test_what_a_launch_and_an_allocation_depend_on_is_found() -> None:
    lines = [
        "void f(int n) {",
        "  int blocks = n / 8;",
        "  cudaMalloc(&d_a, blocks);",
        "  k<<<blocks, 32>>>(d_a);",
        "}",
    ]
    one = CodePlaces(LearnersFile("\n".join(lines)), "scan.cu")
    assert list(one.sets([4])) == ["blocks is set in scan.cu:2"]
    assert one.allocations() == [3]


def test_a_call_that_the_program_reports_is_the_place() -> None:
    printed = "  scan.cu:95: cudaFree(&d_sums): invalid argument (cudaErrorInvalidValue)"
    found = PRINTED_CALL.fullmatch(printed)
    assert found
    assert (found["line"], found["call"]) == ("95", "cudaFree(&d_sums)")
    for other in ("  95: cudaFree(d): no (cudaErrorX)", "  scan.cu:95: free(d): no (cudaErrorX)", printed + " more"):
        assert not PRINTED_CALL.fullmatch(other)


def test_where_a_call_stands_in_a_branch_is_found() -> None:
    lines = [
        "__device__ void f() {",
        "  if (t < warps) {",
        "    for (int k = 0; k < 2; ++k) {",
        "      v = scan_row(v);",
        "    }",
        "  }",
        "  if (lane >= d) v = scan_row(v);",
        "  v = scan_row(v);",
        "}",
    ]
    known = CodePlaces(LearnersFile("\n".join(lines)), "scan.cu")
    assert list(known.branches([4, 7, 8])) == [
        "only threads with the condition of line 2 reach the call of line 4",
        "only threads with the condition in the same line reach the call of line 7",
    ]


def test_the_lines_of_a_kernel_that_use_the_number_of_its_block_are_found() -> None:
    lines = ["__global__ void other() {", "  int s = blockIdx.x;", "}", "", "template <Kind kind>"]
    lines += ["__global__ void k(int n) {", "  int s = blockIdx.x;", "  f(s);", "}"]
    assert CodePlaces(LearnersFile("\n".join(lines)), "scan.cu").block_numbers("k") == [7]


def test_what_an_array_of_the_device_is_called_and_what_sets_it_is_found() -> None:
    lines = ["__global__ void k(int* d_b) {", "  d_b[0] = 1;", "}", "void f() {", "  cudaMalloc(&chain.d_a, 8);"]
    lines += ["  cudaMalloc(&d_b, 8);", "  cudaMemset(chain.d_a, 0, 8);", "}"]
    known = CodePlaces(LearnersFile("\n".join(lines)), "scan.cu")
    assert list(known.memory(1)) == ["that is chain.d_a: allocated in scan.cu:5, set in scan.cu:7"]
    (second,) = known.memory(2)
    said = "that is d_b: allocated in scan.cu:6, no cudaMemset sets it, written in scan.cu:2 only"
    assert second == f"{said}: which threads come there, and when?"
    assert not list(known.memory(3))
    assert not list(
        CodePlaces(LearnersFile("\n".join([*lines, "void g() {", "  cudaMalloc(&d_c, 8);", "}"])), "scan.cu").memory(1)
    )
