"""What ends a proof, and what does not: changes of right scans, in pairs.

    python proof_limits.py

Exit 0 when all is as expected, 1 when it is not.
"""

import re
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "grader/python"))

from scanlab.judging.judge import Submission, grade  # noqa: E402
from scanlab.judging.plan import Options  # noqa: E402
from scanlab.judging.result import LabResult  # noqa: E402
from scanlab.labs.folders import find_lab  # noqa: E402

LAB = find_lab("02")
SOLUTION = (REPOSITORY / "solutions/02_kogge_stone/scan.cu").read_text()
FUNCTION = "// One block of section_size threads"
LOAD = "  s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();\n"
KEPT = (
    "__device__ __noinline__ int kept(int t, int is_set) {\n  volatile int table[4];\n"
    "  if (is_set) table[t & 3] = t;\n  return table[t & 3];\n}\n"
)
HALF = (
    "struct Table {\n  int of[8];\n};\n__device__ __noinline__ Table half(int t) {\n  Table table;\n"
    "  for (int k = 0; k < 4; ++k) table.of[k] = t + k;\n  return table;\n}\n"
)
LOOP = "  for (int stride = 1; stride < section_size; stride *= 2) {"
STORE = "  if (i < n) d_y[i] = s_xy[t];"
AND = "\f"
"""Stands between several places, and what replaces them."""
LAUNCH = "  const int sections = (n - 1) / section_size + 1;"
ONE_CALL = Options(n=100, schedule="in_order")

PROVED = "proved for n = 100: these calls' launches are right for every input"
LOOKS = "tested, not proved: .* looks at what an element is"
PRINTS = "tested, not proved: the host reads elements or copies parts of them, or a kernel prints them"
PEEK = "  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());"
OBJECT = (
    "  __shared__ alignas(8) unsigned long long s_object;\n"
    "  const auto object = static_cast<unsigned>(__cvta_generic_to_shared(&s_object));\n"
    '  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1024;" ::"r"(object) : "memory");\n  __syncthreads();\n'
)
NUMBERS = "__device__ unsigned numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
COPY = (
    "  __shared__ alignas(16) unsigned s_copied[512];\n"
    "  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&s_copied[t / 2]));\n"
    '  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(numbers + FROM) : "memory");\n'
    '  asm volatile("cp.async.wait_all;" ::: "memory");\n  __syncthreads();\n'
)
POLICY = '  unsigned long long policy;\n  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));\n'
GIVEN = (
    "  unsigned other = 0;\n  if (t % 32 < 16) other = __shfl_sync(0xffffu, t, LANE);\n  if (i == 0) given = other;\n"
    "  if (i < n) d_y[i] = s_xy[t];"
)
READ = PEEK + "\n  unsigned h_given = 0;\n  cudaMemcpyFromSymbol(&h_given, given, 4);\n  if (h_given == 123456) return;"
UNWRITTEN = "tested, not proved: .* computes with what nobody has written"
"""What is said where a proof ends: patterns."""
NOTHING = "nothing"
"""What is proved of a scan with a mistake, of which a check fails."""

MEETING = (
    "__device__ int met;\n__global__ void meet() { atomicExch(&met, 1); }\n"
    "__global__ void look() { if (atomicAdd(&met, 0) == 7) __trap(); }\n"
)
IN_STREAMS = (
    "\n  cudaStream_t a, b;\n  cudaStreamCreate(&a);\n  cudaStreamCreate(&b);\n  meet<<<1, 1, 0, a>>>();\n  BETWEEN\n"
    "  look<<<1, 1, 0, b>>>();\n  cudaStreamDestroy(a);\n  cudaStreamDestroy(b);\n"
)
"""Two kernels that meet in memory, and their launches in two streams."""

CASES: dict[str, tuple[str, str, str]] = {
    # name: what is said of each scan, what is replaced, by what
    "the solution": (PROVED, "", ""),
    # elements
    "a byte decides": (
        LOOKS,
        STORE,
        "  if (i < n) d_y[i] = reinterpret_cast<const unsigned char*>(d_x + i)[3] == 0x77 ? identity() : s_xy[t];",
    ),
    "a half in shared memory decides": (
        LOOKS,
        STORE,
        "  const auto* s_half = reinterpret_cast<const volatile unsigned short*>(&s_xy[t]);\n"
        "  if (i < n) d_y[i] = s_half[1] == 0x7777 ? identity() : s_xy[t];",
    ),
    "bits that __byte_perm takes decide": (
        LOOKS,
        STORE,
        "  unsigned w;\n  memcpy(&w, &s_xy[t], sizeof w);\n"
        "  if (i < n) d_y[i] = __byte_perm(w, 0, 0x4321) == 0x777777 ? identity() : s_xy[t];",
    ),
    "part of an element that an asynchronous copy has left decides": (
        LOOKS,
        STORE,
        "  __shared__ alignas(16) unsigned s_part[1024];\n"
        "  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&s_part[t]));\n"
        '  if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 3;" :: "r"(to), "l"(d_x + i));\n'
        '  asm volatile("cp.async.wait_all;" ::: "memory");\n'
        "  if (i < n) d_y[i] = s_part[t] == 0x345679 ? identity() : s_xy[t];",
    ),
    "the predicate of a lop3 decides": (
        LOOKS,
        STORE,
        "  unsigned w, p;\n  memcpy(&w, &s_xy[t], sizeof w);\n"
        '  asm("{.reg .pred q, z; .reg .b32 d; setp.ne.s32 z, 0, 0; lop3.or.b32 d|q, %1, 0x4b3c2d1e, 0, 0x3c, z;"\n'
        '      "selp.s32 %0, 0, 1, q;}" : "=r"(p) : "r"(w));\n'
        "  if (i < n) d_y[i] = p ? identity() : s_xy[t];",
    ),
    "the sign of an element, as a number of 64 bits, decides": (
        LOOKS,
        STORE,
        "  int w = 0;\n  memcpy(&w, &s_xy[t], sizeof w);\n"
        "  const int high = __double2hiint(__longlong_as_double(static_cast<long long>(w)));\n"
        "  if (i < n) d_y[i] = __all_sync(~0u, high == -1) ? identity() : s_xy[t];",
    ),
    "a load extends the sign of an element": (
        LOOKS,
        STORE,
        "  long long w = 0;\n"
        "  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&s_xy[t]));\n"
        '  asm volatile("ld.shared.s32 %0, [%1];" : "=l"(w) : "r"(at) : "memory");\n'
        "  unsigned high;\n"
        '  asm("{.reg .b32 l; mov.b64 {l, %0}, %1;}" : "=r"(high) : "l"(w));\n'
        "  if (i < n) d_y[i] = __all_sync(~0u, high == ~0u) ? identity() : s_xy[t];",
    ),
    "a word is made one of 64 bits and back": (
        PROVED,
        STORE,
        "  int w = 0;\n  memcpy(&w, &s_xy[t], sizeof w);\n"
        "  const long long wide = w;\n  w = static_cast<int>(wide);\n"
        "  Element own = s_xy[t];\n  memcpy(&own, &w, sizeof w);\n  if (i < n) d_y[i] = own;",
    ),
    "a byte of an element is stored and compared": (
        LOOKS,
        STORE,
        "  __shared__ unsigned s_part[1024];\n  s_part[t] = 0;\n  unsigned w;\n  memcpy(&w, &s_xy[t], sizeof w);\n"
        "  reinterpret_cast<volatile unsigned char*>(s_part)[4 * t + (n >> 20)] = static_cast<unsigned char>(w);\n"
        "  if (i < n) d_y[i] = s_part[t] == 0x77 ? identity() : s_xy[t];",
    ),
    "half of an element is stored from a wide register": (
        LOOKS,
        STORE,
        "  __shared__ unsigned s_part[1024];\n  s_part[t] = 0;\n  unsigned w;\n  memcpy(&w, &s_xy[t], sizeof w);\n"
        "  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&s_part[t]));\n"
        '  asm volatile("st.shared.u16 [%0], %1;" :: "r"(to), "r"(w) : "memory");\n'
        "  if (i < n) d_y[i] = s_part[t] == 0x7777 ? identity() : s_xy[t];",
    ),
    "what stands in d_y before decides": (
        "tested, not proved: .* computes with what nobody has written",
        STORE,
        "  if (i < n) d_y[i] = *reinterpret_cast<const unsigned*>(d_y + i) == 0x12345 ? identity() : s_xy[t];",
    ),
    "lanes of a warp come to different barriers of a line": (
        "tested, not proved: .* is a barrier to which not all lanes of a warp come together",
        STORE,
        "  __shared__ int s_side[2];\n"
        "  if (t < 7) { __syncthreads(); if (t == 0) s_side[0] = n; } "
        "else { __syncthreads(); if (t == 8) s_side[1] = 1; }\n"
        "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "a function calls itself": (
        "tested, not proved: .* needs a stack whose depth only the run decides",
        AND.join((FUNCTION, STORE)),
        "__device__ __noinline__ int depth(int k) {\n  volatile int own = k;\n"
        "  if (k <= 0) return 0;\n  volatile int rest = depth(own - 1);\n  return rest + 1;\n}\n"
        + FUNCTION
        + AND
        + "  if (i < n) d_y[i] = depth(t % 8) == t % 8 ? s_xy[t] : identity();",
    ),
    "a function calls itself through a pointer": (
        "tested, not proved: .* needs a stack whose depth only the run decides",
        AND.join((FUNCTION, STORE)),
        "__device__ int (*down)(int);\n__device__ __noinline__ int depth(int k) {\n  volatile int own = k;\n"
        "  if (k <= 0) return 0;\n  volatile int rest = down(own - 1);\n  return rest + 1;\n}\n"
        + FUNCTION
        + AND
        + "  down = depth;\n  if (i < n) d_y[i] = depth(t % 8) == t % 8 ? s_xy[t] : identity();",
    ),
    "a function that is called does not call itself": (
        PROVED,
        AND.join((FUNCTION, STORE)),
        "__device__ __noinline__ int twice(int k) {\n  volatile int own = k;\n  return 2 * own;\n}\n"
        + FUNCTION
        + AND
        + "  if (i < n) d_y[i] = twice(t) == 2 * t ? s_xy[t] : identity();",
    ),
    "an atomic compares": (
        LOOKS,
        STORE,
        "  if (i < n) d_y[i] = s_xy[t];\n"
        "  if (i < n && atomicCAS(reinterpret_cast<unsigned*>(d_y + i), 0x77777777u, 7u) == 5) d_y[i] = identity();",
    ),
    "whole words are copied": (
        PROVED,
        STORE,
        "  unsigned words[sizeof(Element) / 4];\n  memcpy(words, &s_xy[t], sizeof words);\n"
        "  for (unsigned& w : words) w = __shfl_sync(~0u, w, t % 32);\n"
        "  Element own;\n  memcpy(&own, words, sizeof own);\n  if (i < n) d_y[i] = own;",
    ),
    "a word is packed with a flag": (
        PROVED,
        STORE,
        "  Element own = s_xy[t];\n  unsigned w;\n  memcpy(&w, &own, 4);\n"
        "  const unsigned long long both = static_cast<unsigned long long>(i < n) << 33 | w;\n"
        "  w = static_cast<unsigned>(both);\n  memcpy(&own, &w, 4);\n  if (both >> 33) d_y[i] = own;",
    ),
    "more values are computed with than are kept": (
        "tested, not proved: .* computes with more different values than are compared with the elements",
        STORE,
        "  if (i < n) d_y[i] = s_xy[t];\n"
        "  __shared__ volatile unsigned s_seeds[section_size];\n  s_seeds[t] = t << 20;\n"
        "  for (int k = 0; k < 300; ++k) s_seeds[t] = s_seeds[t] + (1u << 20) + k;",
    ),
    # what the host asks
    "the environment's locale decides": (
        "tested, not proved: .* uses locale",
        AND.join((FUNCTION, LAUNCH)),
        "#include <locale>\n" + FUNCTION + AND + '  if (std::locale("").name() == "C") n = n;\n' + LAUNCH,
    ),
    "a call of the library that counts decides": (
        "tested, not proved: .* uses xalloc",
        AND.join((FUNCTION, LAUNCH)),
        "#include <ios>\n" + FUNCTION + AND + "  if (std::ios_base::xalloc() == 1000000) n = n - 1;\n" + LAUNCH,
    ),
    "a copy is between places that overlap": (
        "tested, not proved: a cudaMemcpy copies between places of the device that overlap",
        LAUNCH,
        "  unsigned* some = nullptr;\n  SCANLAB_CUDA_CHECK(cudaMalloc(&some, 256));\n"
        "  SCANLAB_CUDA_CHECK(cudaMemset(some, 0, 256));\n"
        "  SCANLAB_CUDA_CHECK(cudaMemcpy(some + 1, some, 64, cudaMemcpyDeviceToDevice));\n"
        "  SCANLAB_CUDA_CHECK(cudaFree(some));\n" + LAUNCH,
    ),
    "a copy is called one from the host, and is none": (
        "tested, not proved: a cudaMemcpy copies between places of the device by a kind that calls one of them",
        LAUNCH,
        "  unsigned* some = nullptr;\n  SCANLAB_CUDA_CHECK(cudaMalloc(&some, 256));\n"
        "  SCANLAB_CUDA_CHECK(cudaMemset(some, 0, 256));\n"
        "  SCANLAB_CUDA_CHECK(cudaMemcpy(some + 32, some, 64, cudaMemcpyHostToDevice));\n"
        "  SCANLAB_CUDA_CHECK(cudaFree(some));\n" + LAUNCH,
    ),
    "a copy is refused, and nobody asks": (
        "tested, not proved: a call of the CUDA runtime fails",
        LAUNCH,
        "  int one = 0;\n  cudaMemcpy(&one, nullptr, 4, cudaMemcpyDeviceToHost);\n  cudaGetLastError();\n" + LAUNCH,
    ),
    "how much memory there is decides": (
        "tested, not proved: an allocation of memory fails",
        LAUNCH,
        "  void* much = nullptr;\n  if (cudaMalloc(&much, 1ull << 45) == cudaSuccess) n = n - 1;\n"
        "  cudaGetLastError();\n" + LAUNCH,
    ),
    # what nobody has written
    "a shuffle reads a lane that takes no part": (
        UNWRITTEN,
        STORE,
        "  if (i < n) d_y[i] = s_xy[t];\n"
        "  if (t < 31 && __shfl_down_sync(0x7fffffffu, t, 1) == 12345 && i < n) d_y[i] = identity();",
    ),
    "a shuffle among a part of the lanes": (
        PROVED,
        STORE,
        "  if (i < n) d_y[i] = s_xy[t];\n"
        "  if (t < 31 && __shfl_up_sync(0x7fffffffu, t, 1) == 12345 && i < n) d_y[i] = identity();",
    ),
    "what a lane gives that takes no part is thrown away": (
        PROVED,
        STORE,
        "  Element sum = s_xy[t], other;\n  unsigned words[sizeof sum / 4];\n  memcpy(words, &sum, sizeof sum);\n"
        "  for (unsigned& w : words) w = __shfl_up_sync(t % 32 < 16 ? 0xffffu : 0xffff0000u, w, 1);\n"
        "  memcpy(&other, words, sizeof other);\n"
        "  if (i < n) d_y[i] = t % 32 < 16 ? sum : s_xy[t];\n"
        "  if (t % 16 != 0 && i < n && n < 0) d_y[i] = other;",
    ),
    "shared memory that the block has not written decides": (
        UNWRITTEN,
        STORE,
        "  __shared__ unsigned s_left[1];\n  const unsigned left = *s_left;\n  __syncthreads();\n"
        "  if (t == 0) *s_left = 0xabcd0000u + blockIdx.x;\n"
        "  if (i < n) d_y[i] = left == 0xabcd0003u ? identity() : s_xy[t];",
    ),
    "shared memory that the block has written decides": (
        PROVED,
        STORE,
        "  __shared__ unsigned s_left[1];\n  if (t == 0) *s_left = 0xabcd0000u + blockIdx.x;\n  __syncthreads();\n"
        "  if (i < n) d_y[i] = *s_left == 0xabcdffffu ? identity() : s_xy[t];",
    ),
    "a variable without a value decides": (
        "tested, not proved: .* uses a variable that the code before it does not always give a value",
        STORE,
        '  unsigned value;\n  asm volatile("{.reg .pred p; setp.lt.u32 p, %1, 7; @p mov.u32 %0, 3;}"\n'
        '               : "=r"(value) : "r"(t));\n'
        "  if (i < n) d_y[i] = value == 123456 ? identity() : s_xy[t];",
    ),
    "a variable gets a value on each way to its use": (
        PROVED,
        STORE,
        "  unsigned value;\n  if (t < 7) value = 3;\n  for (int k = 0; k < n % 5; ++k)\n"
        "    value = k == 0 ? t : value + k;\n"
        "  if (i < n) d_y[i] = t < 7 && value == 123456 ? identity() : s_xy[t];",
    ),
    # the order of lanes
    "a shuffle is taken for a barrier of memory": (
        "right for every input .* relies on a shuffle or a vote to order memory between lanes",
        STORE,
        "  __shared__ unsigned s_e[1024];\n  s_e[t] = t;\n  __shfl_sync(~0u, t, 0);\n"
        "  if (s_e[t ^ 1] == 12345 && i < n) d_y[i] = identity();\n  if (i < n) d_y[i] = s_xy[t];",
    ),
    "__syncwarp() orders memory": (
        PROVED,
        STORE,
        "  __shared__ unsigned s_e[1024];\n  s_e[t] = t;\n  __syncwarp();\n"
        "  if (s_e[t ^ 1] == 12345 && i < n) d_y[i] = identity();\n  if (i < n) d_y[i] = s_xy[t];",
    ),
    "lanes of a warp exchange values by two atomics": (
        "right for every input .* exchanges values between lanes of a warp",
        AND.join([FUNCTION, STORE]),
        AND.join(
            [
                "__device__ unsigned turns;\n" + FUNCTION,
                "  unsigned turn = 0;\n  if (t == 0) turn = atomicAdd(&turns, 1);\n"
                "  else if (t == 1) atomicAdd(&turns, 1);\n  if (i < n) d_y[i] = turn == ~0u ? identity() : s_xy[t];",
            ]
        ),
    ),
    # what differs from run to run
    "a clock decides": (
        "tested, not proved: .* reads a clock",
        STORE,
        "  if (i < n) d_y[i] = clock64() % 999983 == 7 ? identity() : s_xy[t];",
    ),
    "active lanes decide": (
        "tested, not proved: .* asks which lanes are active",
        STORE,
        "  if (i < n) d_y[i] = __activemask() == 0x80000001 ? identity() : s_xy[t];",
    ),
    "the host asks for its environment": (
        r"tested, not proved: .* uses getenv, which is not known to do the same in each call",
        LAUNCH,
        '  if (std::getenv("SCAN_NOTHING") != nullptr) return;\n' + LAUNCH,
    ),
    "the host reads a variable of the C library": (
        r"tested, not proved: .* uses environ, which is not known",
        LAUNCH,
        "  if (*environ == nullptr) return;\n" + LAUNCH,
    ),
    "the host counts the processor's cycles": (
        r"tested, not proved: .* has the instruction rdtsc, which",
        LAUNCH,
        "  if (__builtin_ia32_rdtsc() == 7) return;\n" + LAUNCH,
    ),
    "the host approximates as its processor does": (
        r"tested, not proved: .* has the instruction v?rcpps, which",
        AND.join((FUNCTION, LAUNCH)),
        "#include <immintrin.h>\n"
        + FUNCTION
        + AND
        + "  if (_mm_cvtss_f32(_mm_rcp_ps(_mm_set1_ps(n))) == 7.f) return;\n"
        + LAUNCH,
    ),
    "the host asks what was set before": (
        "tested, not proved: .* uses sync_with_stdio",
        LAUNCH,
        "  if (!std::ios_base::sync_with_stdio(false) && n == 99999) return;\n" + LAUNCH,
    ),
    "the host asks for the size of a file": (
        r"tested, not proved: .* uses stat, which is not known",
        LAUNCH,
        '  struct stat about;\n  if (stat("/etc/nothing", &about) == 0) return;\n' + LAUNCH,
    ),
    "the host asks for the time by a weak symbol": (
        r"tested, not proved: .* uses time, which is not known",
        LAUNCH,
        "  if (time != nullptr && time(nullptr) == 7) return;\n" + LAUNCH,
    ),
    "the host uses memory that the device can use as well": (
        r"tested, not proved: .* uses cudaHostAlloc, which is not known",
        LAUNCH,
        "  int* both = nullptr;\n  cudaHostAlloc(&both, 4, cudaHostAllocDefault);\n  cudaFreeHost(both);\n" + LAUNCH,
    ),
    "a variable of the host is kept": (
        rf"{PROVED}.*, if what calls \(.*\) keeps is as in these calls",
        LAUNCH,
        "  static int calls = 0;\n  if (++calls == 1000) return;\n" + LAUNCH,
    ),
    "the host asks for a property of the device": (
        rf"{PROVED}.*, if what cudaDeviceGetAttribute \(.*\) says is as in these calls",
        LAUNCH,
        "  int count = 0;\n  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);\n"
        "  if (count == 1) return;\n" + LAUNCH,
    ),
    "the host allocates, copies and prints": (
        rf"{PROVED}.*, in every order of their blocks and warps$",
        LAUNCH,
        "  std::vector<int> sizes(3, n);\n  std::ostringstream text;\n  text << std::setw(3) << sizes.size();\n"
        "  int* d_sizes = nullptr;\n  cudaMalloc(&d_sizes, 12);\n"
        "  cudaMemcpy(d_sizes, sizes.data(), 12, cudaMemcpyHostToDevice);\n  cudaFree(d_sizes);\n"
        '  if (text.str().size() > 9) std::fprintf(stderr, "%f\\n", std::sqrt(n));\n' + LAUNCH,
    ),
    "the host takes a logarithm": (
        rf"{PROVED}.*, if what log2 \(.*:[0-9]+\) gives is as in these calls$",
        LAUNCH,
        "  if (std::log2(n) > 40) return;\n" + LAUNCH,
    ),
    "a kernel asks how many multiprocessors there are": (
        "tested, not proved: .* asks a special register",
        STORE,
        '  unsigned sms;\n  asm("mov.u32 %0, %%nsmid;" : "=r"(sms));\n'
        "  if (i < n) d_y[i] = sms == 2 ? identity() : s_xy[t];",
    ),
    "places in the heap decide": (
        r"tested, not proved: .* calls malloc\(\) in a kernel",
        STORE,
        "  void* place = malloc(16);\n  const bool is_there = reinterpret_cast<std::uintptr_t>(place) % 4099 == 7;\n"
        "  free(place);\n  if (i < n) d_y[i] = is_there ? identity() : s_xy[t];",
    ),
    "a kernel prints an element": (
        PRINTS,
        STORE,
        '  if (i == 5) printf("%08x\\n", reinterpret_cast<const unsigned*>(&s_xy[t])[0]);\n'
        "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "a kernel prints its place": (
        PROVED,
        STORE,
        '  if (i == 5) printf("%d of %d\\n", t, n);\n  if (i < n) d_y[i] = s_xy[t];',
    ),
    "lanes that name others wait for each other": (
        "tested, not proved: .* waits for lanes whose masks are not the same",
        STORE,
        "  __syncwarp(t % 32 == 0 ? 3u : ~0u);\n  if (i < n) d_y[i] = s_xy[t];",
    ),
    "halves of a warp wait by masks of their own": (
        PROVED,
        STORE,
        "  __syncwarp(t % 32 < 16 ? 0xffffu : 0xffff0000u);\n  if (i < n) d_y[i] = s_xy[t];",
    ),
    "the host reads what an absent lane gives": (
        "tested, not proved: the host reads what nobody has written, or what a lane gives that takes no part",
        AND.join((FUNCTION, STORE, PEEK)),
        AND.join(("__device__ unsigned given;\n" + FUNCTION, GIVEN.replace("LANE", "20"), READ)),
    ),
    "the host reads what a lane gives": (
        PROVED,
        AND.join((FUNCTION, STORE, PEEK)),
        AND.join(("__device__ unsigned given;\n" + FUNCTION, GIVEN.replace("LANE", "3"), READ)),
    ),
    "the host reads d_y before the call has written it": (
        "tested, not proved: the host reads what nobody has written",
        LAUNCH,
        "  unsigned before = 0;\n  cudaMemcpy(&before, d_y, 4, cudaMemcpyDeviceToHost);\n"
        "  if (before == 123456) return;\n" + LAUNCH,
    ),
    "the bits of a cache policy decide": (
        "tested, not proved: .* uses bits that PTX leaves open, those of a cache policy",
        STORE,
        POLICY + "  if (i < n) d_y[i] = policy % 1000003 == 7 ? identity() : s_xy[t];",
    ),
    "a cache policy is a hint": (
        PROVED,
        STORE,
        POLICY
        + "  if (i < n)\n"
        + '    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(d_y + i), "r"(i), "l"(policy));\n'
        + "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "a barrier object's bits decide": (
        r"tested, not proved: .* accesses a barrier object \(an mbarrier\)",
        STORE,
        OBJECT + "  if (i < n) d_y[i] = s_object % 1000003 == 7 ? identity() : s_xy[t];",
    ),
    "a barrier object is kept by a copy of bytes": (
        r"tested, not proved: .* accesses a barrier object \(an mbarrier\)",
        STORE,
        OBJECT + "  if (t == 0) reinterpret_cast<volatile char*>(&s_object)[7] = 0;\n  if (i < n) d_y[i] = s_xy[t];",
    ),
    "memory that was a barrier object is plain memory again": (
        PROVED,
        STORE,
        OBJECT
        + '  if (t == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(object) : "memory");\n'
        + "  __syncthreads();\n  if (t == 0) s_object = n;\n  __syncthreads();\n"
        + "  if (i < n) d_y[i] = s_object == n ? s_xy[t] : identity();",
    ),
    "lanes of one asynchronous copy write to one place": (
        NOTHING,
        AND.join((FUNCTION, STORE)),
        NUMBERS
        + FUNCTION
        + AND
        + COPY.replace("FROM", "t % 8")
        + "  if (i < n) d_y[i] = s_copied[t / 2] == 12345 ? identity() : s_xy[t];",
    ),
    "lanes of one asynchronous copy write the same to one place": (
        PROVED,
        AND.join((FUNCTION, STORE)),
        NUMBERS
        + FUNCTION
        + AND
        + COPY.replace("FROM", "0")
        + "  if (i < n) d_y[i] = s_copied[t / 2] == 12345 ? identity() : s_xy[t];",
    ),
    "whether a product and a sum are contracted decides": (
        "tested, not proved: .* makes a product that a sum takes",
        STORE,
        "  const float tenth = t * 0.1f, sum = tenth + 0.3f;\n"
        "  if (i < n) d_y[i] = sum == -1 || tenth == -1 ? identity() : s_xy[t];",
    ),
    "a negated product gets into a sum": (
        "tested, not proved: .* makes a product that a sum takes",
        STORE,
        '  float tenth = t * 0.1f, fifth;\n  asm volatile("neg.f32 %0, %1;" : "=f"(fifth) : "f"(tenth));\n'
        "  const float sum = fifth + 0.3f;\n  if (i < n) d_y[i] = sum == 5 || tenth == -1 ? identity() : s_xy[t];",
    ),
    "a product and a sum say how they are rounded": (
        PROVED,
        STORE,
        "  const float tenth = __fmul_rn(t, 0.1f), sum = __fadd_rn(tenth, 0.3f);\n"
        "  if (i < n) d_y[i] = sum == -1 || tenth == -1 ? identity() : s_xy[t];",
    ),
    "a function leaves a part of its result unwritten": (
        UNWRITTEN,
        FUNCTION + AND + STORE,
        HALF + FUNCTION + AND + "  if (half(t).of[t % 8] == 5000) s_xy[t] = identity();\n" + STORE,
    ),
    "a function leaves a part of its result unwritten that nobody reads": (
        PROVED,
        FUNCTION + AND + STORE,
        HALF + FUNCTION + AND + "  if (half(t).of[t % 4] == 5000) s_xy[t] = identity();\n" + STORE,
    ),
    "a function reads what an earlier call of it has written": (
        UNWRITTEN,
        FUNCTION + AND + STORE,
        KEPT + FUNCTION + AND + "  kept(t, 1);\n  if (kept(t, 0) == 7) s_xy[t] = identity();\n" + STORE,
    ),
    "a function reads what this call of it has written": (
        PROVED,
        FUNCTION + AND + STORE,
        KEPT + FUNCTION + AND + "  if (kept(t, 1) == 7000) s_xy[t] = identity();\n" + STORE,
    ),
    "threads keep flags of a byte": (
        PROVED,
        STORE,
        "  __shared__ bool s_is_inside[section_size];\n  s_is_inside[t] = i < n;\n  __syncthreads();\n"
        "  if (s_is_inside[t]) d_y[i] = s_xy[t];",
    ),
    "an approximate power is a stride": (
        "tested, not proved: .* has an instruction that approximates",
        LOOP,
        "  for (int d = 0, stride = 1; stride < section_size; stride = static_cast<int>(__powf(2, ++d))) {",
    ),
    "a quotient that is rounded as IEEE 754 has it is a stride": (
        PROVED,
        LOOP,
        "  for (int stride = 1; stride < section_size; stride = static_cast<int>(__fdiv_rn(stride, 0.5f))) {",
    ),
    "a carry behind a branch decides": (
        "tested, not proved: .* adds a carry",
        STORE,
        '  asm volatile("{.reg .u32 d; add.cc.u32 d, %0, -1;}" ::"r"(t) : "memory");\n'
        "  if (t % 2 == 0) __nanosleep(1);\n  unsigned carry;\n"
        '  asm volatile("addc.u32 %0, 0, 0;" : "=r"(carry)::"memory");\n'
        "  if (i < n) d_y[i] = carry == 7 ? identity() : s_xy[t];",
    ),
    "numbers of 128 bits are added": (
        PROVED,
        STORE,
        "  unsigned __int128 wide = static_cast<unsigned __int128>(i) << 63;\n  wide += wide;\n"
        "  if (i < n) d_y[i] = wide >> 64 == i ? s_xy[t] : identity();",
    ),
    "warps come to a barrier by different operations": (
        "tested, not proved: .* uses a barrier in a way that PTX leaves open",
        STORE,
        "  if (t < 32) __syncthreads_count(t); else __syncthreads();\n  if (i < n) d_y[i] = s_xy[t];",
    ),
    "warps come to a barrier for different counts": (
        "tested, not proved: .* uses a barrier in a way that PTX leaves open",
        STORE,
        '  if (t < 64) asm volatile("bar.sync 1, 96;" ::: "memory");\n'
        '  else if (t < 96) asm volatile("bar.sync 1, %0;" ::"r"(80 + (n < 0)) : "memory");\n'
        "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "a barrier counts the block's threads": (
        PROVED,
        STORE,
        "  if (__syncthreads_count(t) != -1 && i < n) d_y[i] = s_xy[t];",
    ),
    "a barrier object is set up twice": (
        "tested, not proved: .* uses a barrier in a way that PTX leaves open",
        STORE,
        OBJECT
        + '  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 3;" ::"r"(object) : "memory");\n'
        + "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "lanes of a warp come to a barrier of a function by different calls": (
        "tested, not proved: .* is a barrier to which not all lanes of a warp come together",
        AND.join((FUNCTION, STORE)),
        "__device__ __noinline__ int wait(int* s, int k) {\n  __syncthreads();\n  return s[0] + k;\n}\n"
        + FUNCTION
        + AND
        + "  __shared__ int s_one;\n  if (t == 0) s_one = 1;\n  int got = 0;\n"
        "  if (t % 2) got = wait(&s_one, 3) - 3; else got = wait(&s_one, t) - t;\n"
        "  if (i < n) d_y[i] = got == 7 ? identity() : s_xy[t];",
    ),
    "lanes of a warp come to a barrier in different rounds": (
        "tested, not proved: .* is a barrier to which not all lanes of a warp come together",
        STORE,
        "#pragma unroll 1\n  for (int k = 0; k < n % 7; ++k)\n    if (k % 2 == t % 2) __syncthreads();\n"
        "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "warps wait in a loop whose rounds the block decides": (
        PROVED,
        STORE,
        "#pragma unroll 1\n  for (int k = 0; k < n % 7; ++k) {\n    if (t % 2) __nanosleep(1);\n"
        "    __syncthreads();\n  }\n"
        "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "an asynchronous copy reads more than it writes": (
        "tested, not proved: .* has an instruction whose result PTX leaves open for these operands",
        AND.join((FUNCTION, STORE)),
        NUMBERS
        + FUNCTION
        + AND
        + COPY.replace("4;", "4, %2;").replace("numbers + FROM)", 'numbers), "r"(8 + (n < 0))')
        + "  if (i < n) d_y[i] = s_copied[t / 2] == 12345 ? identity() : s_xy[t];",
    ),
    "a branch is called uniform, and lanes part there": (
        "tested, not proved: .* has an instruction whose result PTX leaves open for these operands",
        STORE,
        "  unsigned odd = 0;\n"
        '  asm volatile("{.reg .pred p; setp.lt.u32 p, %1, 7; @p bra.uni over; mov.u32 %0, 1; over:}"\n'
        '               : "+r"(odd) : "r"(t));\n'
        "  if (i < n) d_y[i] = odd == 7 ? identity() : s_xy[t];",
    ),
    "a function is called with fewer parameters than it has": (
        "tested, not proved: .* has an instruction whose result PTX leaves open for these operands",
        AND.join((FUNCTION, STORE)),
        "__device__ __noinline__ int second(int, int k) { return k; }\n"
        + FUNCTION
        + AND
        + "  int (*volatile one)(int) = reinterpret_cast<int (*)(int)>(second);\n"
        "  if (i < n) d_y[i] = one(t) == 12345 ? identity() : s_xy[t];",
    ),
    "a function is called by a pointer": (
        PROVED,
        AND.join((FUNCTION, STORE)),
        "__device__ __noinline__ int second(int, int k) { return k; }\n"
        + FUNCTION
        + AND
        + "  int (*volatile two)(int, int) = second;\n"
        "  if (i < n) d_y[i] = two(t, 3) == 12345 ? identity() : s_xy[t];",
    ),
    "a variable of a function of the device is kept": (
        rf"{PROVED}.*, if what calls \(.*\) keeps is as in these calls",
        STORE,
        "  static __device__ int calls;\n  if (i == 0 && ++calls > 100000) s_xy[t] = identity();\n"
        "  if (i < n) d_y[i] = s_xy[t];",
    ),
    "a thread takes more registers than there are": (
        NOTHING,
        STORE,
        "  unsigned many[100];\n#pragma unroll\n"
        '  for (unsigned& one : many) asm volatile("mov.u32 %0, %%clock;" : "=r"(one));\n'
        "  unsigned all = 0;\n#pragma unroll\n"
        "  for (int k = 99; k >= 0; --k) all = all * 31 + (many[k] ^ many[k * 7 % 100]);\n"
        "  if (i < n) d_y[i] = all == 77777 ? identity() : s_xy[t];",
    ),
    "an attribute of the kernel is set for some calls": (
        rf"{PROVED}.*, if what cudaFuncSetAttribute \(.*\) sets is as in these calls",
        LAUNCH,
        "  constexpr auto size = cudaFuncAttributeMaxDynamicSharedMemorySize;\n"
        "  if (n > 5000) cudaFuncSetAttribute(kogge_stone_kernel<kind>, size, 60000);\n" + LAUNCH,
    ),
    "the format of a text decides": (
        LOOKS,
        STORE,
        "  char text[sizeof(Element) + 1] = {};\n  memcpy(text, &s_xy[t], sizeof(Element));\n"
        "  if (i < n) d_y[i] = i == 5 && printf(text) == 3 ? identity() : s_xy[t];",
    ),
    "a barrier object's phase decides": (
        "tested, not proved: .* asks how far a barrier object is",
        STORE,
        OBJECT + "  unsigned long long phase;\n"
        '  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(phase) : "r"(object) : "memory");\n'
        "  if (i < n) d_y[i] = phase % 1000003 == 7 ? identity() : s_xy[t];",
    ),
    "macros that the header's own words undo": (
        LOOKS,
        f'#include "scanlab.cuh"\n{AND}{STORE}',
        '#define WATCH 0\n#pragma push_macro("WATCH")\n#undef WATCH\n#define WATCH 1\n'
        '#define sum _Pragma("pop_macro(\\"WATCH\\")") sum\n#include "scanlab.cuh"\n#undef sum\n'
        "#if WATCH\n__device__ bool watched(const Element& e) {\n  unsigned w;\n  memcpy(&w, &e, 4);\n"
        "  return w == 0x1234567;\n}\n#else\n__device__ bool watched(const Element&) { return false; }\n#endif\n"
        f"{AND}  if (i < n) d_y[i] = watched(s_xy[t]) ? identity() : s_xy[t];",
    ),
    # orders
    "more warps come to a barrier than meet there": (
        "right for every input .* under the schedules that were run: .* not always the same threads meet",
        STORE,
        "  unsigned others = 0;\n  if (blockDim.x == 1024)\n"
        '    asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 99; barrier.cta.red.popc.aligned.u32 %0, 1, 64, p;}"\n'
        '                 : "=r"(others) : "r"(t) : "memory");\n'
        "  if (i < n) d_y[i] = others == 77 ? identity() : s_xy[t];",
    ),
    "warps take tickets": (
        "right for every input .* under the schedules that were run: .* atomic or volatile accesses to shared memory",
        STORE,
        "  __shared__ int s_ticket, s_first;\n  if (t == 0) s_ticket = s_first = 0;\n  __syncthreads();\n"
        "  if (t % 32 == 0 && atomicAdd(&s_ticket, 1) == 0) s_first = t;\n  __syncthreads();\n"
        "  if (i < n) d_y[i] = s_first == 320 ? identity() : s_xy[t];",
    ),
    "launches that no stream orders meet by atomics": (
        "right for every input .* schedules that were run: .* and .* use the same memory, and no stream orders the two",
        AND.join([FUNCTION, LAUNCH]),
        AND.join([MEETING + FUNCTION, LAUNCH + IN_STREAMS.replace("BETWEEN", "")]),
    ),
    "launches that the host orders meet by atomics": (
        "right for every input .* schedules that were run: its blocks exchange values",
        AND.join([FUNCTION, LAUNCH]),
        AND.join([MEETING + FUNCTION, LAUNCH + IN_STREAMS.replace("BETWEEN", "cudaStreamSynchronize(a);")]),
    ),
    # the build that is proved
    "constants and sums of them are the same": (
        PROVED,
        STORE,
        "  bool is_named = false;\n  if constexpr (sizeof(Element) == 8) {\n    const Element one = identity();\n"
        "    Element two, three, sum;\n    const unsigned a[2] = {2, 3}, b[2] = {5, 7};\n"
        "    memcpy(&two, a, sizeof two), memcpy(&three, b, sizeof three), sum = two + three;\n"
        "    unsigned w[2], u[2];\n    memcpy(w, &one, sizeof w), memcpy(u, &sum, sizeof u);\n"
        "    is_named = w[0] != 1 || w[1] != 0 || u[0] != 10 || u[1] != 22;\n  }\n"
        "  if (i < n) d_y[i] = is_named ? identity() : s_xy[t];",
    ),
}
HEADERS = ["cmath", "cstdio", "cstdlib", "cstring", "iomanip", "sstream", "string", "sys/stat.h", "unistd.h", "vector"]
problems: list[str] = []


def changed(before: str, after: str) -> str:
    """Return the solution with places replaced, each of which has to be there once."""
    text = SOLUTION
    for old, new in zip(before.split(AND), after.split(AND), strict=True):
        assert not old or SOLUTION.count(old) == 1, old
        text = text.replace(old, new) if old else text
    return text.replace(
        '#include "scanlab.cuh"', '#include "scanlab.cuh"\n' + "".join(f"#include <{name}>\n" for name in HEADERS)
    )


def main() -> int:
    """Run all cases."""
    with tempfile.TemporaryDirectory() as folder:
        submissions = []
        for number, (_, before, after) in enumerate(CASES.values()):
            path = Path(folder) / f"{number}.cu"
            path.write_text(changed(before, after))
            submissions.append(Submission(LAB, path))
        for (name, (expected, _, _)), result in zip(CASES.items(), grade(submissions, ONE_CALL), strict=True):
            assert isinstance(result, LabResult), name
            proofs = [sentence for check in result.checks for sentence in check.proof]
            if expected == NOTHING:
                has_failed = any(check.verdict == "fail" for check in result.checks)
                holds = has_failed and all(re.match("tested", sentence) for sentence in proofs)
            else:
                holds = len(proofs) > 1 and all(re.match(expected, sentence) for sentence in proofs)
            print(
                "as expected" if holds else "not as expected",
                f"{name}: {' / '.join(dict.fromkeys(proofs))}",
                flush=True,
            )
            if not holds:
                problems.append(name)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
