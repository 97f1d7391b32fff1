// expect: pass 11_look_back | blocks stay and take tile after tile by a loop; statuses are cuda::atomic_ref with
// release and acquire, and a tile's threads wait at a cuda::barrier with arrive and wait apart

#include <cuda/atomic>
#include <cuda/barrier>
#include <utility>

#include "scanlab.cuh"

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

namespace tile {
constexpr int threads = 256;
constexpr int vectors = 4;
constexpr int lanes = 16 / sizeof(Element);
constexpr int size = threads * vectors * lanes;
}  // namespace tile

template <typename T>
struct alignas(16) Vector {
  T values[tile::lanes];
};

struct Status {
  Element sum[2];  // the aggregate, then the inclusive prefix
  int flag;        // 0, 1 or 2: how many of them are there
};

struct Scratch {
  Status* statuses;
  int* next;
};

__device__ void publish(Status& status, int which, Element sum) {
  status.sum[which] = sum;
  Flag(status.flag).store(which + 1, cuda::std::memory_order_release);
}

// Thread 0 walks back alone, from tile to tile.
__device__ Element sum_before(Scratch scratch, int tile) {
  Element before = identity();
  for (int earlier = tile - 1; earlier >= 0; --earlier) {
    Status& status = scratch.statuses[earlier];
    int flag;
    while ((flag = Flag(status.flag).load(cuda::std::memory_order_acquire)) == 0) __nanosleep(16);
    before = status.sum[flag - 1] + before;
    if (flag == 2) break;
  }
  return before;
}

__device__ Element shifted(Element element, int distance) {
  unsigned words[sizeof(Element) / sizeof(unsigned)];
  memcpy(words, &element, sizeof(words));
  for (unsigned& word : words) word = __shfl_up_sync(0xffffffffu, word, distance);
  memcpy(&element, words, sizeof(words));
  return element;
}

__device__ Element scan_warp(Element element) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const Element earlier = shifted(element, distance);
    if (threadIdx.x % 32 >= distance) element = earlier + element;
  }
  return element;
}

template <Kind kind>
__global__ void __launch_bounds__(tile::threads)
    persistent(const Element* d_x, Element* d_y, Scratch scratch, int n, int tiles) {
  __shared__ Element s_sums[tile::vectors][tile::threads / 32];
  __shared__ Element s_before;
  __shared__ int s_next;
  __shared__ alignas(Barrier) unsigned char s_barrier[sizeof(Barrier)];
  auto& barrier = *reinterpret_cast<Barrier*>(s_barrier);
  const int t = threadIdx.x;
  if (t == 0) {
    init(&barrier, tile::threads);
    s_next = atomicAdd(scratch.next, 1);
  }
  __syncthreads();
  for (int tile = s_next; tile < tiles; tile = s_next) {
    Vector<Element> vectors[tile::vectors];
    int next = 0;
    const int first = tile * tile::size + t * tile::lanes;
    Element before_vector[tile::vectors], aggregate = identity();
#pragma unroll
    for (int v = 0; v < tile::vectors; ++v) {
      const int i = first + v * tile::threads * tile::lanes;
      if (i + tile::lanes <= n) {
        vectors[v] = *reinterpret_cast<const Vector<Element>*>(d_x + i);
      } else {
        for (int k = 0; k < tile::lanes; ++k) vectors[v].values[k] = i + k < n ? d_x[i + k] : identity();
      }
    }
    // Each warp scans its vectors' sums, and publishes them; then each thread looks up what is before it.
#pragma unroll
    for (int v = 0; v < tile::vectors; ++v) {
      Element sum = identity();
      for (const Element& value : vectors[v].values) sum = sum + value;
      const Element scanned = scan_warp(sum);
      if (t % 32 == 31) s_sums[v][t / 32] = scanned;
      before_vector[v] = shifted(scanned, 1);
    }
    auto token = barrier.arrive();
    if (t == 0) next = atomicAdd(scratch.next, 1);  // under way while the others arrive
    barrier.wait(std::move(token));
#pragma unroll
    for (int v = 0; v < tile::vectors; ++v) {
      Element before = aggregate;
      for (int w = 0; w < tile::threads / 32; ++w) {
        if (w == t / 32) before = aggregate;
        aggregate = aggregate + s_sums[v][w];
      }
      before_vector[v] = t % 32 > 0 ? before + before_vector[v] : before;
    }
    if (t == 0) {
      Status& own = scratch.statuses[tile];
      publish(own, 0, aggregate);
      s_before = sum_before(scratch, tile);
      publish(own, 1, s_before + aggregate);
      s_next = next;
    }
    __syncthreads();
    const Element before = s_before;
#pragma unroll
    for (int v = 0; v < tile::vectors; ++v) {
      const int i = first + v * tile::threads * tile::lanes;
      Element running = before + before_vector[v];
      for (Element& value : vectors[v].values) {
        const Element with = running + value;
        value = kind == Kind::inclusive ? with : running;
        running = with;
      }
      if (i + tile::lanes <= n) {
        *reinterpret_cast<Vector<Element>*>(d_y + i) = vectors[v];
      } else {
        for (int k = 0; k < tile::lanes && i + k < n; ++k) d_y[i + k] = vectors[v].values[k];
      }
    }
    // All shared memory has been read before the last barrier, but s_before and s_next: these are written again behind
    // the next one.
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int tiles = (n - 1) / tile::size + 1;
  int device = 0, multiprocessors = 0;
  SCANLAB_CUDA_CHECK(cudaGetDevice(&device));
  SCANLAB_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  Scratch scratch{};
  SCANLAB_CUDA_CHECK(cudaMalloc(&scratch.statuses, tiles * sizeof(Status)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&scratch.next, sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMemset(scratch.statuses, 0, tiles * sizeof(Status)));
  SCANLAB_CUDA_CHECK(cudaMemset(scratch.next, 0, sizeof(int)));
  persistent<kind><<<min(tiles, 2 * multiprocessors), tile::threads>>>(d_x, d_y, scratch, n, tiles);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(scratch.statuses));
  SCANLAB_CUDA_CHECK(cudaFree(scratch.next));
}
