"""`grader/scanlab run FILE --prove`: what it says of a right program, and of the same with a mistake."""

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
  int* d_y;
  cudaMalloc(&d_y, 128 * sizeof(int));
  kernel<<<1, 128>>>(d_y);
  cudaDeviceSynchronize();
  cudaFree(d_y);
}
"""
POPULATION = (
    'asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 0; barrier.cta.red.popc.aligned.u32 %0, BARRIER, 64, p;}" '
    ': "=r"(seen) : "r"(threadIdx.x) : "memory");'
)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('asm volatile("mov.u32 %0, %%laneid;" : "=r"(seen));', ""),
        ("seen = static_cast<int>(clock64());", "reads a clock"),
        ('asm volatile("mov.u32 %0, %%nsmid;" : "=r"(seen));', "asks a special register"),
        ("void* place = malloc(8); seen = place != nullptr; free(place);", "calls malloc() in a kernel"),
        (f"if (threadIdx.x < 64) {POPULATION.replace('BARRIER', '1')}", ""),
        (POPULATION.replace("BARRIER", "1"), "where others meet than before"),
    ],
)
def test_what_differs_from_run_to_run_is_not_proved(prove: Run, code: str, why: str) -> None:
    done = prove(ONE_BLOCK.replace("CODE", code))
    if why:
        assert done.returncode == REFUTED
        assert "NOT PROVED: program.cu:5 " in done.stderr
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


def test_the_order_of_what_kernels_print_is_not_proved(prove: Run) -> None:
    kernel = '__global__ void tell(int* d) { std::printf("%d\\n", int(threadIdx.x)); }'
    done = prove(PROGRAM.replace("KERNELS", kernel).replace("HOST", "tell<<<1, 64>>>(d);"))
    assert done.returncode == 0, done.stderr
    assert "all alike, apart from what kernels print" in done.stderr
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
