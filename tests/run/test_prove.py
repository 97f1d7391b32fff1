"""`grader/scanlab run FILE --prove`: what it says of a right program, and of the same with a mistake."""

import re
import subprocess
from pathlib import Path

import pytest

from conftest import Run
from scanlab.paths import build_folder

BUILT = build_folder() / "grader/vgpu/server/vgpu-run"
REFUTED = 4
PROVED = "PROVED for this input, if the host does the same in each run: "

pytestmark = pytest.mark.skipif(not BUILT.exists(), reason=f"{BUILT} is not built")

DOMINO = """
#include <cstdio>
__global__ void domino(const int* d_x, int* d_y, int* d_flags, volatile int* d_sums, int* d_taken) {
  if (threadIdx.x != 0) return;
  const int section = atomicAdd(d_taken, 1);
  int before = 0;
  if (section > 0) {
    while (atomicAdd(&d_flags[section - 1], 0) == 0) {
    }
    READER_FENCE
    before = atomicAdd(const_cast<int*>(&d_sums[section - 1]), 0);
  }
  d_y[section] = before + d_x[section];
  d_sums[section] = before + d_x[section];
  WRITER_FENCE
  atomicAdd(&d_flags[section], 1);
}
int main() {
  const int n = 3;
  int x[n] = {1, 2, 3}, y[n], *d;
  cudaMalloc(&d, 5 * n * sizeof(int));
  cudaMemset(d, 0, 5 * n * sizeof(int));
  cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice);
  domino<<<n, 32>>>(d, d + n, d + 2 * n, d + 3 * n, d + 4 * n);
  cudaMemcpy(y, d + n, sizeof y, cudaMemcpyDeviceToHost);
  cudaFree(d);
  std::printf("%d %d %d\\n", y[0], y[1], y[2]);
}
"""
"""Blocks in a row, whose flags and sums are read by atomics that add nothing."""


@pytest.fixture
def prove(run: Run, tmp_path: Path) -> Run:
    """Run `run --prove` on a text."""

    def start(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.cu").write_text(text)
        return run("program.cu", "--prove")

    return start


@pytest.mark.parametrize(
    ("reader", "writer", "missing"),
    [
        ("__threadfence();", "__threadfence();", ""),
        ("", "__threadfence();", "nothing orders the two reads"),
        ("__threadfence();", "", "nothing orders the two writes"),
        ("", "", "nothing orders the two writes, nor the two reads"),
    ],
)
def test_an_atomic_that_adds_nothing_may_read_an_old_sum(prove: Run, reader: str, writer: str, missing: str) -> None:
    done = prove(DOMINO.replace("READER_FENCE", reader).replace("WRITER_FENCE", writer))
    if missing:
        assert done.returncode == REFUTED
        assert "REFUTED: one of " in done.stderr
        assert missing in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert PROVED in done.stderr
    assert done.stdout == "1 3 6\n"


WAIT = "while (atomicAdd(&d_flags[section - 1], 0) == 0) {\n    }"
PAUSE = """unsigned ns = 8;
    while (atomicAdd(&d_flags[section - 1], 0) == 0) {
      __nanosleep(ns);
      if (ns < 64) ns *= 2;
    }
    if (ns == WRONG) before++;"""
"""A pause that grows to a limit: it has few states, and each is explored."""


@pytest.mark.parametrize("wrong", [0, 32])
def test_a_wait_that_remembers_its_rounds_is_explored_round_by_round(prove: Run, wrong: int) -> None:
    right = DOMINO.replace("READER_FENCE", "__threadfence();").replace("WRITER_FENCE", "__threadfence();")
    assert WAIT in right
    text = right.replace("before = atomicAdd", "before += atomicAdd").replace(WAIT, PAUSE.replace("WRONG", str(wrong)))
    done = prove(text)
    assert done.returncode == (REFUTED if wrong else 0), done.stderr
    assert ("REFUTED: one of " if wrong else PROVED) in done.stderr


ONE_BLOCK = """
#include <cstdio>
__global__ void kernel(int* d_y) {
  int seen = 0;
  CODE
  d_y[threadIdx.x] = seen > 1000000000;
}
int main() {
  int *d_y, y[129];
  for (int i = 0; i < 129; ++i) y[i] = i;
  cudaMalloc(&d_y, sizeof y);
  cudaMemcpy(d_y, y, sizeof y, cudaMemcpyHostToDevice);
  kernel<<<1, 128>>>(d_y);
  cudaDeviceSynchronize();
  cudaFree(d_y);
}
"""
POPULATION = (
    'asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 0; barrier.cta.red.popc.aligned.u32 %0, BARRIER, 64, p;}" '
    ': "=r"(seen) : "r"(threadIdx.x) : "memory");'
)

NAMED = """const int i = static_cast<int>(threadIdx.x) / 32;
  if (i == 0) asm volatile("bar.sync 1, 96;" ::: "memory");
  else if (ARRIVE) asm volatile("bar.arrive 1, 96;" ::: "memory");"""
COUNTED = """const int i = static_cast<int>(threadIdx.x) / 32;
  __shared__ unsigned long long bar;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 2;" :: "r"(at) : "memory");
  __syncthreads();
  if (threadIdx.x % 32 == 0 && ARRIVE)
    asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" :: "r"(at) : "memory");
  if (threadIdx.x == 96)
    asm volatile("{.reg .pred p; L: mbarrier.test_wait.parity.shared.b64 p, [%0], 0; @!p bra L;}" :: "r"(at));
"""
"""At each, two warps arrive and another waits, or three arrive."""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('asm volatile("mov.u32 %0, %%laneid;" : "=r"(seen));', ""),
        ("seen = static_cast<int>(clock64());", "reads a clock"),
        ('asm volatile("mov.u32 %0, %%nsmid;" : "=r"(seen));', "asks a special register"),
        ("void* place = malloc(8); seen = place != nullptr; free(place);", "calls malloc() in a kernel"),
        (f"if (threadIdx.x < 64) {POPULATION.replace('BARRIER', '1')}", ""),
        (POPULATION.replace("BARRIER", "1"), "not always the same threads meet"),
        (NAMED.replace("ARRIVE", "i < 3"), ""),
        (NAMED.replace("ARRIVE", "i < 4"), "not always the same threads meet"),
        (COUNTED.replace("ARRIVE", "i < 2"), ""),
        (COUNTED.replace("ARRIVE", "i < 3"), "not always the same threads meet"),
        ("seen = 7 / (d_y[threadIdx.x] + 1) == 3 ? 2000000000 : 0;", ""),
        ("seen = 7 / d_y[threadIdx.x] == 3 ? 2000000000 : 0;", "divides an integer by zero"),
        ("const int d = d_y[threadIdx.x]; seen = d && 7 % d == 3 ? 2000000000 : 0;", ""),
    ],
)
def test_what_differs_from_run_to_run_is_not_proved(prove: Run, code: str, why: str) -> None:
    done = prove(ONE_BLOCK.replace("CODE", code))
    if why:
        assert done.returncode == REFUTED
        assert re.search(r"NOT PROVED: program.cu:\d+ ", done.stderr)
        assert why in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert PROVED in done.stderr


PROGRAM = """
#include <cstdio>
KERNELS
int main() {
  int *d, out = 0;
  cudaMalloc(&d, 4096);
  cudaMemset(d, 0, 8);
  HOST
  cudaMemcpy(&out, d, sizeof out, cudaMemcpyDeviceToHost);
  cudaFree(d);
  return out < 0;
}
"""
ADD = "__global__ void add(int* d) { atomicAdd(d, 1); }"
SET = "\n__global__ void set(int* d) { atomicExch(d, 7); }"
STREAMS = """cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  add<<<1, 1, 0, a>>>(d);
  BETWEEN
  set<<<1, 1, 0, b>>>(d OFFSET);
  cudaDeviceSynchronize();"""
BETWEEN_STREAMS = "no stream orders the two"


@pytest.mark.parametrize(
    ("kernels", "host", "why"),
    [
        (ADD, "add<<<2, 1>>>(d);", ""),
        (ADD + SET, STREAMS.replace("BETWEEN", "").replace("OFFSET", "+ 1"), ""),
        (ADD + SET, STREAMS.replace("BETWEEN", "cudaStreamSynchronize(a);").replace("OFFSET", ""), ""),
        (ADD + SET, STREAMS.replace("BETWEEN", "").replace("OFFSET", ""), BETWEEN_STREAMS),
        ("__global__ void fail(int* d) { if (d) __trap(); }", "fail<<<1, 1>>>(d);", "the mistake above"),
        ("__global__ void use(int* d) { d[0] = d[900] > 5; }", "use<<<1, 1>>>(d);", "the mistake above"),
        ("__global__ void write(int* d) { if (threadIdx.x) *d = 1; else *d = 2; }", "write<<<1, 64>>>(d);", "mistake"),
    ],
)
def test_what_the_launches_one_by_one_do_not_show_ends_the_proof(prove: Run, kernels: str, host: str, why: str) -> None:
    done = prove(PROGRAM.replace("KERNELS", kernels).replace("HOST", host))
    assert (PROVED in done.stderr) == (why == ""), done.stderr
    assert (done.returncode == 0) == (why == "")
    if why:
        assert "NOT PROVED: " in done.stderr
        assert why in done.stderr


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("cudaMemset(d, 0, 1024); cudaMemcpy(d + 8, d, 32, cudaMemcpyDeviceToDevice);", ""),
        (
            "cudaMemset(d, 0, 1024); cudaMemcpy(d + 7, d, 32, cudaMemcpyDeviceToDevice);",
            "copies between places of the device that overlap",
        ),
        (
            "cudaMemset(d, 0, 1024); cudaMemcpy(d + 8, d, 32, cudaMemcpyHostToDevice);",
            "by a kind that calls one of them the host's",
        ),
        ("cudaMemcpy(d, nullptr, 4, cudaMemcpyHostToDevice);", "a call of the CUDA runtime fails"),
        ("void* much; if (cudaMalloc(&much, 1ull << 20) != cudaSuccess) return 3; cudaFree(much);", ""),
        ("void* much; if (cudaMalloc(&much, 1ull << 50) == cudaSuccess) return 3;", "an allocation of memory fails"),
    ],
)
def test_what_the_host_gets_back_may_be_another_elsewhere(prove: Run, host: str, why: str) -> None:
    done = prove(
        PROGRAM.replace("KERNELS", "__global__ void nothing() {}").replace("HOST", host + " nothing<<<1, 1>>>();")
    )
    assert (PROVED in done.stderr) == (why == ""), done.stderr
    assert why in done.stderr


def test_the_order_of_what_kernels_print_is_not_proved(prove: Run) -> None:
    kernel = '__global__ void tell(int* d) { std::printf("%d\\n", int(threadIdx.x)); }'
    done = prove(PROGRAM.replace("KERNELS", kernel).replace("HOST", "tell<<<1, 64>>>(d);"))
    assert done.returncode == 0, done.stderr
    assert "all alike, apart from what kernels print" in done.stderr
    only_then = '__global__ void tell(int* d) { if (atomicAdd(d, 1) == 0 && blockIdx.x) std::printf("first\\n"); }'
    other = prove(PROGRAM.replace("KERNELS", only_then).replace("HOST", "tell<<<2, 1>>>(d);"))
    assert "2 executions without load buffering, all alike, apart from what kernels print" in other.stderr
    quiet = prove(PROGRAM.replace("KERNELS", ADD).replace("HOST", "add<<<1, 64>>>(d);"))
    assert "all alike\n" in quiet.stderr


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("atomicAdd(d, 1);", ""),
        ("atomicMax(d, int(threadIdx.x));", ""),
        ("if (threadIdx.x & 1) atomicAdd(d, 1); else atomicAdd(d, 2);", ""),
        ("if (threadIdx.x & 1) atomicAdd(d, 1); else atomicMax(d, 5);", "exchanges values between lanes of a warp"),
        ("if (atomicAdd(d, 1) == 3) d[1] = int(threadIdx.x);", "in one of the orders that they may take"),
        ("atomicExch(d, int(threadIdx.x));", "in one of the orders that they may take"),
        ("atomicInc(reinterpret_cast<unsigned*>(d), threadIdx.x);", "in one of the orders that they may take"),
        ("atomicAdd(reinterpret_cast<float*>(d), 0.1f);", "in one of the orders that they may take"),
    ],
)
def test_atomics_of_lanes_are_proved_where_their_order_does_not_show(prove: Run, code: str, why: str) -> None:
    kernel = f"__global__ void lanes(int* d) {{ {code} }}"
    done = prove(PROGRAM.replace("KERNELS", kernel).replace("HOST", "lanes<<<1, 32>>>(d);"))
    assert (PROVED in done.stderr) == (why == ""), done.stderr
    assert why in done.stderr


STORES = """__global__ void talk(volatile int* d) {
  if (blockIdx.x == 0)
    for (int k = 0; k < STORES; ++k) d[0] = k;
  else
    d[1] = d[0] == 3;
}"""


@pytest.mark.parametrize(("stores", "is_followed"), [(60, True), (100, False)])
def test_more_writes_than_are_followed_end_the_proof(prove: Run, stores: int, is_followed: bool) -> None:
    host = "talk<<<2, 1>>>(d); cudaMemset(d + 1, 0, 4);"
    done = prove(PROGRAM.replace("KERNELS", STORES.replace("STORES", str(stores))).replace("HOST", host))
    if is_followed:
        assert PROVED in done.stderr
    else:
        assert done.returncode == 3
        assert "more writes to the same memory than are followed, at program.cu:" in done.stderr


@pytest.mark.parametrize(
    ("writer", "reader", "is_right"),
    [
        ("FENCE", "FENCE", True),
        ("FENCE", "if (seen == 1) FENCE", False),
        ("FENCE", "if (seen == 2) FENCE", False),
        ("if (d[3] == 0) FENCE", "FENCE", False),
        ("if (d[3] == 1) FENCE", "FENCE", False),
    ],
)
def test_a_value_that_only_decides_about_a_fence_is_followed(
    prove: Run, writer: str, reader: str, is_right: bool
) -> None:
    """The value itself is forgotten, and what the warp does then is the same but for what it knows."""
    kernel = """__global__ void talk(volatile int* d) {
  if (blockIdx.x == 2) { d[3] = 1; return; }
  if (blockIdx.x == 0) { d[1] = 1; WRITER; d[2] = 1; FENCE; d[2] = 2; return; }
  int seen = 0;
  while ((seen = d[2]) == 0) {}
  READER;
  d[4] = d[1];
}""".replace("WRITER", writer).replace("READER", reader)
    kernel = kernel.replace("FENCE", 'asm volatile("fence.acq_rel.gpu;" ::: "memory")')
    host = (
        "cudaMemset(d, 0, 64); talk<<<3, 1>>>(d); cudaMemcpy(&out, d + 4, 4, cudaMemcpyDeviceToHost);"
        'std::printf("%d\\n", out);'
    )
    done = prove(PROGRAM.replace("KERNELS", kernel).replace("HOST", host))
    assert (PROVED in done.stderr) == is_right, done.stderr
    assert ("REFUTED" in done.stderr) != is_right


@pytest.mark.parametrize(
    ("setter", "is_right"), [("i == 1", True), ("i == 0", False), ("__shfl_sync(3, i, 0) == 0 && i == 0", False)]
)
def test_a_fence_of_another_lane_ends_the_proof(prove: Run, setter: str, is_right: bool) -> None:
    kernel = """__global__ void talk(volatile int* d) {
  const int i = threadIdx.x;
  if (blockIdx.x == 1) {
    if (i == 1) return;
    while (d[2] == 0) {}
    __threadfence();
    d[4] = d[1];
    return;
  }
  if (i == 1) { d[1] = 1; __threadfence(); }
  if (SETTER) d[2] = 1;
}""".replace("SETTER", setter)
    done = prove(PROGRAM.replace("KERNELS", kernel).replace("HOST", "cudaMemset(d, 0, 64); talk<<<2, 2>>>(d);"))
    assert (PROVED in done.stderr) == is_right, done.stderr
    assert ("of another lane of a warp is not explored" in done.stderr) != is_right


ALTERNATIVE = """__global__ void talk(int* d) {
  __shared__ int ticket, s[64];
  const int i = threadIdx.x;
  if (i == 0) ticket = atomicAdd(d, 1);
  __syncthreads();
  const bool is_other = ticket == 0 && blockIdx.x == 1;
  MISTAKE
  if (i == 0 && ticket == 0) d[1] = int(blockIdx.x);
}"""
"""Its mistake shows only where block 1 comes first, which it does not in the run itself."""


@pytest.mark.parametrize(
    ("mistake", "why"),
    [
        ("if (is_other) { s[i] = i; __syncthreads(); d[64 + i] = s[i ^ 32]; }", ""),
        ("if (is_other) { s[i] = i; d[64 + i] = s[i ^ 32]; }", "one of the executions has a RACE"),
        (
            "if (is_other) { s[i] = i; __shfl_sync(~0u, i, 0); d[64 + i] = s[i ^ 1]; }",
            "one of the executions has a RACE",
        ),
        ("if (is_other && i < 32) d[64] = i;", "between lanes of one store"),
        ("if (is_other) d[64 + i] = s[i] == 123456;", "reads what nobody has written"),
        ("if (is_other) d[64 + i] = d[300] == 123456;", "reads what nobody has written"),
        ("if (is_other) d[64] = __ldg(d + 65) == 7;", ""),
        ("if (is_other) d[64] = __ldg(d + 64) == 7;", "reads by a read-only load"),
    ],
)
def test_mistakes_of_one_execution_end_the_proof(prove: Run, mistake: str, why: str) -> None:
    kernel = ALTERNATIVE.replace("MISTAKE", mistake)
    done = prove(PROGRAM.replace("KERNELS", kernel).replace("HOST", "cudaMemset(d, 0, 1024); talk<<<2, 64>>>(d);"))
    assert (PROVED in done.stderr) == (why == ""), done.stderr
    assert why in done.stderr


AFTER = """__global__ void talk(int* d) { if (atomicAdd(d, 1) == 0) d[1] = int(blockIdx.x); }
__global__ void race(int* d) { if (blockIdx.x == 0) d[2] = 1; else d[3] = d[2]; }
__global__ void clock(int* d) { d[2] = int(clock64()); }"""


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ("cudaMemset(d + 2, 0, 8);", ""),
        ("race<<<2, 1>>>(d);", "after another result of launch 1 (talk), the program has a mistake: RACE"),
        ("clock<<<1, 1>>>(d);", "after another result of launch 1 (talk), program.cu:5 reads a clock"),
        ("talk<<<2, 1>>>(d);", "later ones were explored from one of them"),
        ("cudaMemcpy(h, d + 512, 4, cudaMemcpyDeviceToHost);", "a copy takes what nobody has written"),
    ],
)
def test_what_comes_after_another_result_is_looked_at(prove: Run, then: str, why: str) -> None:
    host = (
        "cudaMemset(d, 0, 1024); talk<<<2, 1>>>(d); int h[2];"
        f"cudaMemcpy(h, d, 8, cudaMemcpyDeviceToHost); if (h[1]) {{ {then} }}"
    )
    done = prove(PROGRAM.replace("KERNELS", AFTER).replace("HOST", host))
    assert (PROVED in done.stderr) == (why == ""), done.stderr
    assert why in done.stderr


def test_a_wait_for_a_flag_that_nobody_cleared_is_not_proved(prove: Run) -> None:
    kernel = """__global__ void pass(int* d, volatile int* flag) {
  if (blockIdx.x == 0) { d[2] = 1; __threadfence(); *flag = 1; return; }
  while (*flag != 1) {}
  __threadfence();
  d[3] = d[2];
}"""
    program = PROGRAM.replace("KERNELS", kernel)
    cleared = prove(program.replace("HOST", "cudaMemset(d, 0, 1024); pass<<<2, 1>>>(d, d + 100);"))
    assert PROVED in cleared.stderr
    left = prove(program.replace("HOST", "cudaMemset(d, 0, 16); pass<<<2, 1>>>(d, d + 100);"))
    assert "program.cu:5 reads what nobody has written" in left.stderr


def test_the_execution_that_refutes_runs_again(prove: Run, run: Run) -> None:
    kernel = "__global__ void talk(int* d) { if (blockIdx.x == 0) atomicExch(d, 1); else d[1] = atomicAdd(d, 0); }"
    host = (
        "cudaMemset(d, 0, 1024); talk<<<2, 1>>>(d); int h[2]; cudaMemcpy(h, d, 8, cudaMemcpyDeviceToHost);"
        "return 4 + h[1];"
    )
    refuted = prove(PROGRAM.replace("KERNELS", kernel).replace("HOST", host))
    (again,) = (line for line in refuted.stderr.splitlines() if "again:" in line)
    (_, trail, _) = again.split("'")
    assert run("program.cu").returncode == 5
    assert run("program.cu", "--trail", trail).returncode == 4


@pytest.mark.parametrize("trail", ["x", "1:", "1:1.0=j", "1:1.0 ", "trail:1:1.0=i"])
def test_a_trail_that_no_proof_has_printed_is_refused(run: Run, tmp_path: Path, trail: str) -> None:
    (tmp_path / "program.cu").write_text("int main() {}")
    done = run("program.cu", "--trail", trail)
    assert done.returncode == 2
    assert done.stderr == "scanlab: --trail takes what --prove has printed behind --trail: LAUNCH:STEPS\n"
