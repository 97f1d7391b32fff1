// expect: pass 07_domino | cuda::atomic objects in device memory: a baton with the tile whose turn it is, waited for
// with wait() and handed on with notify

#include <cuda/atomic>

#include "scanlab.cuh"

template <class T>
using device_atomic = cuda::atomic<T, cuda::thread_scope_device>;

struct Baton {
  device_atomic<int> taken{0};
  device_atomic<int> turn{0};
  Element sum;  // of all tiles before `turn`: the block whose turn it is may read and write it
};

constexpr int threads = 128, items = section_size / threads;

template <bool exclusive>
__global__ void scan_kernel(const Element* d_x, Element* d_y, Baton* d_baton, int n) {
  __shared__ Element s_tile[items][threads + threads / items], s_sum[2][threads], s_before;
  __shared__ int s_index;
  const int t = threadIdx.x;
  const auto at = [](Element(&tile)[items][threads + threads / items], int p) -> Element& {
    return (&tile[0][0])[p + p / items];  // a free place after each run
  };
  if (t == 0) s_index = d_baton->taken.fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();
  const int index = s_index, first = index * section_size;

  for (int p = t; p < section_size; p += threads) {
    const int i = first + p - exclusive;
    at(s_tile, p) = i >= 0 && first + p < n ? d_x[i] : identity();
  }
  __syncthreads();
  Element run[items];
  for (int k = 0; k < items; ++k) {
    run[k] = at(s_tile, t * items + k);
    if (k > 0) run[k] = run[k - 1] + run[k];
  }
  int in = 0;
  s_sum[0][t] = run[items - 1];
  for (int d = 1; d < threads; d <<= 1) {
    __syncthreads();
    s_sum[1 - in][t] = t >= d ? s_sum[in][t - d] + s_sum[in][t] : s_sum[in][t];
    in = 1 - in;
  }
  __syncthreads();
  if (t == 0) {
    for (int turn; (turn = d_baton->turn.load(cuda::memory_order_acquire)) != index;) {
      d_baton->turn.wait(turn, cuda::memory_order_relaxed);
    }
    s_before = index > 0 ? d_baton->sum : identity();
    d_baton->sum = s_before + s_sum[in][threads - 1];
    d_baton->turn.store(index + 1, cuda::memory_order_release);
    d_baton->turn.notify_all();
  }
  __syncthreads();
  const Element before = t > 0 ? s_before + s_sum[in][t - 1] : s_before;
  for (int k = 0; k < items; ++k) at(s_tile, t * items + k) = before + run[k];
  __syncthreads();
  for (int p = t; p < section_size; p += threads) {
    if (first + p < n) d_y[first + p] = at(s_tile, p);
  }
}

template <bool exclusive>
void scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  static Baton* const d_baton = [] {
    void* memory;
    SCANLAB_CUDA_CHECK(cudaMalloc(&memory, sizeof(Baton)));
    return static_cast<Baton*>(memory);
  }();
  SCANLAB_CUDA_CHECK(cudaMemset(d_baton, 0, sizeof(Baton)));
  scan_kernel<exclusive><<<(n - 1) / section_size + 1, threads>>>(d_x, d_y, d_baton, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<false>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<true>(d_x, d_y, n);
}
