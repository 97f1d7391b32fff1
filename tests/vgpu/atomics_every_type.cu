// Every atomic operation in every type that has it, in global and in shared memory, for the block, the device and the
// system; and as inline PTX with orders. The results do not depend on the order of the threads.
// test: races
#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

constexpr int threads = 96;

__host__ __device__ uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ull;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44dull;
  return x ^ (x >> 33);
}
template <class T>
__host__ __device__ T value_of(int t) {
  return T(mixed(t + 1) >> (t % 5));
}
template <>
__host__ __device__ float value_of<float>(int t) {
  return int(mixed(t) % 1000) - 500;
}
template <>
__host__ __device__ double value_of<double>(int t) {
  return int64_t(mixed(t) % 2000000) - 1000000;
}

int failures = 0;
void report(const char* what, const char* type, bool right) {
  failures += !right;
  if (!right) std::printf("%s of %s is wrong\n", what, type);
}

/// Operations whose result is the same in any order; `apply` is the sequential meaning.
#define OPERATION(NAME, FUNCTION, MEANING)         \
  struct NAME {                                    \
    static constexpr const char* name = #FUNCTION; \
    template <class T>                             \
    __device__ static void global(T* p, T v) {     \
      FUNCTION(p, v);                              \
    }                                              \
    template <class T>                             \
    __device__ static void block(T* p, T v) {      \
      FUNCTION##_block(p, v);                      \
    }                                              \
    template <class T>                             \
    __device__ static void system(T* p, T v) {     \
      FUNCTION##_system(p, v);                     \
    }                                              \
    template <class T>                             \
    static T apply(T a, T b) {                     \
      return MEANING;                              \
    }                                              \
  };
OPERATION(Add, atomicAdd, T(a + b))
OPERATION(Min, atomicMin, std::min(a, b))
OPERATION(Max, atomicMax, std::max(a, b))
OPERATION(And, atomicAnd, T(a& b))
OPERATION(Or, atomicOr, T(a | b))
OPERATION(Xor, atomicXor, T(a ^ b))

template <class Op, class T>
__global__ void all_threads(T* out, T start) {
  __shared__ T s_cell[2];
  if (threadIdx.x < 2) s_cell[threadIdx.x] = start;
  __syncthreads();
  const T v = value_of<T>(blockIdx.x * blockDim.x + threadIdx.x);
  Op::global(&out[0], v);
  Op::system(&out[1], v);
  Op::global(&s_cell[0], v);
  Op::block(&s_cell[1], v);
  __syncthreads();
  if (threadIdx.x < 2 && blockIdx.x == 0) out[2 + threadIdx.x] = s_cell[threadIdx.x];
}

template <class Op, class T>
void check(const char* type, T start) {
  const Array d_out({start, start, start, start});
  all_threads<Op, T><<<2, threads>>>(d_out, start);
  const std::vector<T> out = d_out.read();
  T all = start, first = start;
  for (int t = 0; t < 2 * threads; ++t) {
    all = Op::apply(all, value_of<T>(t));
    if (t < threads) first = Op::apply(first, value_of<T>(t));
  }
  report(Op::name, type, out[0] == all && out[1] == all && out[2] == first && out[3] == first);
}

template <class T>
void check_integers(const char* type) {
  check<Min, T>(type, T(mixed(77)));
  check<Max, T>(type, T(mixed(78)));
  check<And, T>(type, T(-1));
  check<Or, T>(type, T(0));
  check<Xor, T>(type, T(12345));
}

/// One thread, one after the other: old values and new ones.
__global__ void counters(unsigned* out) {
  unsigned cell = 3;
  __shared__ unsigned s_cell;
  s_cell = 3;
  for (int k = 0; k < 6; ++k) out[k] = atomicInc(&s_cell, 5);
  for (int k = 6; k < 14; ++k) out[k] = atomicDec(&s_cell, 4);
  out[14] = s_cell;
  s_cell = 100;
  out[15] = atomicDec(&s_cell, 7);
  out[16] = atomicInc(&s_cell, 2);
  out[17] = s_cell + cell;
}

template <class T>
__global__ void exchanges(T* cell, T* out) {
  // Every value goes in once and comes out once.
  out[threadIdx.x] = atomicExch(cell, T(threadIdx.x + 1));
}
template <class T>
__global__ void swaps(T* cell, T* out) {
  T seen = *cell, before;
  do {
    before = seen;
    seen = atomicCAS(cell, before, T(before * 3 + 1));
  } while (seen != before);
  out[threadIdx.x] = before;
}

template <class T>
void check_swaps(const char* type) {
  const Array<T> cell(1, 0), d_out(threads);
  exchanges<T><<<1, threads>>>(cell, d_out);
  std::vector<T> out = d_out.read();
  out.push_back(cell.read()[0]);
  std::sort(out.begin(), out.end());
  bool right = true;
  for (int k = 0; k <= threads; ++k) right &= out[k] == T(k);
  report("atomicExch", type, right);

  if constexpr (std::is_integral_v<T>) {
    cell.set(0);
    swaps<T><<<1, threads>>>(cell, d_out);
    out = d_out.read();
    std::vector<T> chain;
    T x = 0;
    for (int k = 0; k < threads; ++k) chain.push_back(x), x = T(x * 3 + 1);
    std::sort(chain.begin(), chain.end());
    std::sort(out.begin(), out.end());
    report("atomicCAS", type, out == chain && cell.read()[0] == x);
  }
}

/// The same cell through every order and scope that PTX has; each adds 1 a thread.
__global__ void orders(unsigned* global, unsigned long long* wide, float* single) {
  __shared__ unsigned s_cell;
  if (threadIdx.x == 0) s_cell = 0;
  __syncthreads();
  const unsigned shared = __cvta_generic_to_shared(&s_cell);
  unsigned old;
#define ATOM(FORM) asm volatile("atom." FORM ".add.u32 %0, [%1], 1;" : "=r"(old) : "l"(global) : "memory");
#define RED(FORM) asm volatile("red." FORM ".add.u32 [%0], 1;" ::"l"(global) : "memory");
#define SHARED(FORM) asm volatile("atom." FORM ".add.u32 %0, [%1], 1;" : "=r"(old) : "r"(shared) : "memory");
#define SCOPES(MACRO, ORDER, SPACE) MACRO(ORDER ".cta" SPACE) MACRO(ORDER ".gpu" SPACE) MACRO(ORDER ".sys" SPACE)
  SCOPES(ATOM, "relaxed", ".global")
  SCOPES(ATOM, "acquire", ".global")
  SCOPES(ATOM, "release", ".global")
  SCOPES(ATOM, "acq_rel", ".global")
  SCOPES(ATOM, "acq_rel", "")
  SCOPES(RED, "relaxed", ".global")
  SCOPES(RED, "release", "")
  SCOPES(SHARED, "relaxed", ".shared")
  SCOPES(SHARED, "acq_rel", ".shared::cta")
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], 3;" ::"l"(wide) : "memory");
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], 0f3f000000;" ::"l"(single) : "memory");
  asm volatile("red.shared.add.u32 [%0], 5;" ::"r"(shared) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(global + 1, s_cell);
}

int main() {
  check<Add, int>("int", -7);
  check<Add, unsigned>("unsigned", 7);
  check<Add, unsigned long long>("unsigned long long", 7);
  check<Add, float>("float", 3);
  check<Add, double>("double", -9);
  check_integers<int>("int");
  check_integers<unsigned>("unsigned");
  check_integers<long long>("long long");
  check_integers<unsigned long long>("unsigned long long");
  check_swaps<int>("int");
  check_swaps<unsigned>("unsigned");
  check_swaps<unsigned long long>("unsigned long long");
  check_swaps<float>("float");

  const Array<unsigned> out(18);
  counters<<<1, 1>>>(out);
  for (unsigned x : out.read()) std::printf("%u ", x);
  std::printf("\n");

  const Array<unsigned> d_cells(2, 0);
  const Array<unsigned long long> wide(1, 0);
  const Array<float> single(1, 0);
  orders<<<2, 64>>>(d_cells, wide, single);
  const auto cells = d_cells.read();
  std::printf("orders: %u %u %llu %g\n", cells[0], cells[1], wide.read()[0], single.read()[0]);
  std::printf("%d failures, %s\n", failures, cudaGetErrorName(cudaDeviceSynchronize()));
}
