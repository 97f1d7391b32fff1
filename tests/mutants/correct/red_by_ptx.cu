// expect: pass 09_atomic_block_sums | reductions in inline PTX (red), vectors of four floats with a tail, and warp
// scans with
// __shfl_up_sync

#include "scanlab.cuh"

constexpr int kThreads = 256;

__device__ __forceinline__ void reduce_add(float* address, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "f"(value)
               : "memory");
}

__device__ __forceinline__ float4 load4(const float* x, int i, int n) {
  if (i <= n - 4) return *reinterpret_cast<const float4*>(x + i);
  float4 r = make_float4(0.f, 0.f, 0.f, 0.f);
  if (i < n) r.x = x[i];
  if (i + 1 < n) r.y = x[i + 1];
  if (i + 2 < n) r.z = x[i + 2];
  return r;
}

__device__ __forceinline__ void store4(float* y, int i, int n, float4 v) {
  if (i <= n - 4) {
    *reinterpret_cast<float4*>(y + i) = v;
    return;
  }
  if (i < n) y[i] = v.x;
  if (i + 1 < n) y[i + 1] = v.y;
  if (i + 2 < n) y[i + 2] = v.z;
}

__global__ void __launch_bounds__(kThreads)
    scan_sections(const float* x, float* y, float* offsets, int n, bool exclusive) {
  __shared__ float warp_sum[kThreads / 32];
  const int t = threadIdx.x, lane = t & 31, i = blockIdx.x * section_size + 4 * t;
  const float4 v = load4(x, i, n);
  const float own = (v.x + v.y) + (v.z + v.w);
  float sum = own;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const float other = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += other;
  }
  if (lane == 31) warp_sum[t >> 5] = sum;
  __syncthreads();
  float before = 0.f, total = 0.f;
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w == t >> 5) before = total;
    total += warp_sum[w];
  }
  for (int later = blockIdx.x + 1 + t; later < gridDim.x; later += kThreads) reduce_add(&offsets[later], total);

  const float left = __shfl_up_sync(~0u, sum, 1);
  if (lane > 0) before += left;
  float4 r;
  r.x = before + v.x;
  r.y = r.x + v.y;
  r.z = r.y + v.z;
  r.w = r.z + v.w;
  if (exclusive) r = make_float4(before, r.x, r.y, r.z);
  store4(y, i, n, r);
}

__global__ void add_offsets(float* y, const float* __restrict__ offsets, int n) {
  const float offset = __ldg(&offsets[blockIdx.x]);
  const int i = blockIdx.x * section_size + 4 * threadIdx.x;
  float4 v = load4(y, i, n);
  v.x += offset, v.y += offset, v.z += offset, v.w += offset;
  store4(y, i, n, v);
}

static void scan(const float* x, float* y, int n, bool exclusive) {
  if (n == 0) return;
  const int sections = (n + section_size - 1) / section_size;
  float* offsets;
  SCANLAB_CUDA_CHECK(cudaMalloc(&offsets, sections * sizeof(float)));
  SCANLAB_CUDA_CHECK(cudaMemset(offsets, 0, sections * sizeof(float)));
  scan_sections<<<sections, kThreads>>>(x, y, offsets, n, exclusive);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  add_offsets<<<sections, kThreads>>>(y, offsets, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(offsets));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, false);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, true);
}
