// expect: pass 07_domino | ld.acquire and st.release in inline PTX; 64 threads with runs of 16, dynamic shared memory,
// and 64-bit indices

#include "scanlab.cuh"

using index_t = unsigned long long;

namespace ptx {

__device__ inline unsigned load_acquire(const unsigned* address) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(address)) : "memory");
  return value;
}

__device__ inline void store_release(unsigned* address, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "r"(value) : "memory");
}

}  // namespace ptx

enum : unsigned { threads = 64, run = section_size / threads, pitch = run + 1 };

struct Scratch {
  unsigned* next;   // the next tile to take
  unsigned* ready;  // by tile
  Element* prefix;  // by tile
};

__global__ void chained_scan(const Element* __restrict__ in, Element* __restrict__ out, Scratch scratch, index_t n,
                             unsigned shift) {
  extern __shared__ __align__(8) unsigned char s_memory[];
  auto* const s_items = reinterpret_cast<Element*>(s_memory);  // threads * pitch
  auto* const s_sums = s_items + threads * pitch;              // threads
  auto* const s_before = s_sums + threads;                     // 1
  auto* const s_tile = reinterpret_cast<unsigned*>(s_before + 1);
  const unsigned t = threadIdx.x;

  if (t == 0) *s_tile = atomicInc(scratch.next, 0xffffffffu);
  __syncthreads();
  const unsigned tile = *s_tile;
  const index_t base = index_t{tile} * section_size;

  for (unsigned p = t; p < section_size; p += threads) {
    const index_t i = base + p;
    s_items[p / run * pitch + p % run] = i >= shift && i < n ? in[i - shift] : identity();
  }
  __syncthreads();
  Element* const own = s_items + t * pitch;
  for (unsigned k = 1; k < run; ++k) own[k] = own[k - 1] + own[k];
  s_sums[t] = own[run - 1];
  for (unsigned d = 1; d < threads; d *= 2) {
    __syncthreads();
    const Element sum = t >= d ? s_sums[t - d] + s_sums[t] : s_sums[t];
    __syncthreads();
    s_sums[t] = sum;
  }
  if (t == threads - 1) {  // it knows the total without a barrier
    Element before = identity();
    if (tile > 0) {
      while (!ptx::load_acquire(scratch.ready + tile - 1)) __nanosleep(20);
      before = scratch.prefix[tile - 1];
    }
    scratch.prefix[tile] = before + s_sums[t];
    ptx::store_release(scratch.ready + tile, 1);
    *s_before = before;
  }
  __syncthreads();
  const Element before = t > 0 ? *s_before + s_sums[t - 1] : *s_before;
  for (unsigned k = 0; k < run; ++k) own[k] = before + own[k];
  __syncthreads();
  for (unsigned p = t; p < section_size; p += threads) {
    if (base + p >= n) break;
    out[base + p] = s_items[p / run * pitch + p % run];
  }
}

static void scan(const Element* in, Element* out, int n, unsigned shift) {
  if (n == 0) return;
  const unsigned tiles = (n - 1u) / section_size + 1u;
  const size_t shared = (threads * pitch + threads + 1) * sizeof(Element) + sizeof(unsigned);
  unsigned char* memory;  // prefixes, flags and the counter in one piece
  const size_t prefixes = tiles * sizeof(Element), flags = (tiles + 1) * sizeof(unsigned);
  SCANLAB_CUDA_CHECK(cudaMalloc(&memory, prefixes + flags));
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(memory + prefixes, 0, flags, 0));
  const Scratch scratch{reinterpret_cast<unsigned*>(memory + prefixes),
                        reinterpret_cast<unsigned*>(memory + prefixes) + 1, reinterpret_cast<Element*>(memory)};
  chained_scan<<<tiles, threads, shared>>>(in, out, scratch, n, shift);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(memory));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 1);
}
