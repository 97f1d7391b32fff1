// expect: fail inclusive,exclusive use_after_free | the flags are given back to the pool in front of the kernel that
// uses them
// expect on gpu: pass/fail inclusive,exclusive | the pool keeps the memory, and nobody else asks for it

#include "scanlab.cuh"

#define FULL 0xFFFFFFFFu

template <class T>
struct ShuffleStep {
  static_assert(sizeof(T) == 8, "two words");
  static __device__ __forceinline__ T apply(T value, int distance) {
    int2 mine, other;
    int has_lane;
    memcpy(&mine, &value, 8);
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  shfl.sync.up.b32 %0|p, %3, %5, 0, 0xffffffff;\n"
        "  shfl.sync.up.b32 %1, %4, %5, 0, 0xffffffff;\n"
        "  selp.s32 %2, 1, 0, p;\n"
        "}"
        : "=r"(other.x), "=r"(other.y), "=r"(has_lane)
        : "r"(mine.x), "r"(mine.y), "r"(distance));
    T earlier;
    memcpy(&earlier, &other, 8);
    return has_lane ? earlier + value : value;
  }
};

template <>
struct ShuffleStep<float> {
  static __device__ __forceinline__ float apply(float value, int distance) {
    asm volatile(
        "{\n"
        "  .reg .pred has_lane;\n"
        "  .reg .b32 word;\n"
        "  .reg .f32 other;\n"
        "  mov.b32 word, %0;\n"
        "  shfl.sync.up.b32 word|has_lane, word, %1, 0, %2;\n"
        "  mov.b32 other, word;\n"
        "  @has_lane add.f32 %0, other, %0;\n"
        "}"
        : "+f"(value)
        : "r"(distance), "n"(FULL));
    return value;
  }
};

__device__ __forceinline__ Element warp_scan(Element value) {
#pragma unroll
  for (int distance = 1; distance <= 16; distance <<= 1) value = ShuffleStep<Element>::apply(value, distance);
  return value;
}

__device__ __forceinline__ Element broadcast(Element value, int lane) {
  Element result;
  const int* from = reinterpret_cast<const int*>(&value);
  int* to = reinterpret_cast<int*>(&result);
#pragma unroll
  for (int w = 0; w < sizeof(Element) / sizeof(int); ++w) to[w] = __shfl_sync(FULL, from[w], lane);
  return result;
}

__device__ __forceinline__ unsigned lane_id() {
  unsigned id;
  asm("mov.u32 %0, %%laneid;" : "=r"(id));
  return id;
}

constexpr int Warps = 8, Rows = section_size / (Warps * 32);

__global__ void __launch_bounds__(Warps * 32)
    scan_kernel(const Element* x, Element* y, int* taken, int* flags, Element* prefixes, int n, int skip) {
  __shared__ Element totals[Warps + 1];
  __shared__ int s_section;
  const unsigned lane = lane_id(), warp = threadIdx.x >> 5;
  if (threadIdx.x == 0) s_section = atomicAdd(taken, 1);
  __syncthreads();
  const int section = s_section;
  const int first = (section * Warps + warp) * Rows * 32 + lane;

  Element sums[Rows], sum = identity();
  for (int r = 0; r < Rows; ++r) {
    const int i = first + r * 32;
    sums[r] = sum + warp_scan(i < skip || i >= n ? identity() : x[i - skip]);
    sum = broadcast(sums[r], 31);
  }
  if (lane == 31) totals[warp + 1] = sum;
  __syncthreads();
  if (warp == Warps - 1) {
    Element total = identity(), before = identity();
    for (int w = 1; w <= Warps; ++w) total = total + totals[w];
    if (section > 0 && lane == 0) {
      while (*reinterpret_cast<volatile int*>(&flags[section - 1]) == 0) __nanosleep(32);
      __threadfence();
      before = prefixes[section - 1];
    }
    before = broadcast(before, 0);
    if (lane == 0) {
      totals[0] = before;
      prefixes[section] = before + total;
      __threadfence();
      *reinterpret_cast<volatile int*>(&flags[section]) = 1;
    }
  }
  __syncthreads();
  Element before = totals[0];
  for (int w = 1; w <= warp; ++w) before = before + totals[w];
  for (int r = 0; r < Rows; ++r) {
    const int i = first + r * 32;
    if (i >= n) return;
    y[i] = before + sums[r];
  }
}

static void scan(const Element* x, Element* y, int n, int skip) {
  if (n == 0) return;
  const int sections = (n + section_size - 1) / section_size;
  int* flags;
  Element* prefixes;
  SCANLAB_CUDA_CHECK(cudaMallocAsync(&flags, (sections + 1) * sizeof(int), nullptr));
  SCANLAB_CUDA_CHECK(cudaMallocAsync(&prefixes, sections * sizeof(Element), nullptr));
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(flags, 0, (sections + 1) * sizeof(int), nullptr));
  SCANLAB_CUDA_CHECK(cudaFreeAsync(flags, nullptr));
  scan_kernel<<<sections, Warps * 32, 0, nullptr>>>(x, y, flags, flags + 1, prefixes, n, skip);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFreeAsync(prefixes, nullptr));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 1);
}
