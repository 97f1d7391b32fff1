// expect: pass 08_warp_shuffle | rows of eight lanes: shuffles with a width, then over the last lanes of the groups;
// Sklansky within them

#include "scanlab.cuh"

namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr int kWarps = 16, kThreads = kWarps * 32, kItems = section_size / kThreads;
static_assert(kItems == 2);

/// An element as what shuffles move.
union Words {
  Element element;
  unsigned words[sizeof(Element) / sizeof(unsigned)];

  __device__ explicit Words(Element e) : element(e) {}
  __device__ Element from(int lane, int width) const {
    Words result(*this);
    for (int k = 0; k < sizeof(Element) / sizeof(unsigned); ++k)
      result.words[k] = __shfl_sync(kAll, words[k], lane, width);
    return result.element;
  }
  __device__ Element swapped(int mask) const {
    Words result(*this);
    for (int k = 0; k < sizeof(Element) / sizeof(unsigned); ++k)
      result.words[k] = __shfl_xor_sync(kAll, words[k], mask);
    return result.element;
  }
};

template <int Width>
__device__ Element scan_group(Element element) {
#pragma unroll
  for (int half = 1; half < Width; half *= 2) {
    const Element lower = Words(element).from((threadIdx.x % Width & -half) - 1, Width);
    if (threadIdx.x & half) element = lower + element;
  }
  return element;
}

__device__ Element scan_warp(Element element) {
  const int lane = threadIdx.x % 32, group = lane / 8;
  element = scan_group<8>(element);
  // Lane k of each group of four takes what group k sums up to; then every lane asks lane `group - 1`.
  const Element sums = scan_group<4>(Words(element).from(lane % 4 * 8 + 7, 32));
  const Element before = Words(sums).from(group - 1, 4);
  return group > 0 ? before + element : element;
}

/// The sum of all lanes, in their order, in each of them.
__device__ Element sum_warp(Element element) {
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) {
    const Element other = Words(element).swapped(mask);
    element = (threadIdx.x & mask) != 0 ? other + element : element + other;
  }
  return element;
}

struct alignas(2 * sizeof(Element)) Pair {
  Element a, b;
};

template <Kind kind>
__global__ void scan_section(const Element* d_x, Element* d_y, volatile unsigned* d_ready, unsigned* d_taken,
                             Element* d_prefixes, int n) {
  __shared__ Element s_sums[32];  // those of warps that do not exist are identities
  __shared__ Element s_before;
  __shared__ unsigned s_section;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) s_section = atomicAdd(d_taken, 1u);
  if (threadIdx.x < 32 && threadIdx.x >= kWarps) s_sums[threadIdx.x] = identity();
  __syncthreads();
  const unsigned section = s_section;
  const int i = section * section_size + kItems * threadIdx.x;

  Pair x{identity(), identity()};
  if (i + 1 < n) {
    x = *reinterpret_cast<const Pair*>(d_x + i);
  } else if (i < n) {
    x.a = d_x[i];
  }
  const Element scanned = scan_warp(x.a + x.b);
  if (lane == 31) s_sums[warp] = scanned;
  __syncthreads();
  Element before = sum_warp(lane < warp ? s_sums[lane] : identity());  // each warp sums up the earlier ones by itself
  if (warp == kWarps - 1) {
    if (lane == 31) {
      const Element total = before + scanned;
      Element earlier = identity();
      if (section != 0) {
        while (d_ready[section - 1] == 0u) continue;
        __threadfence();
        earlier = d_prefixes[section - 1];
      }
      d_prefixes[section] = earlier + total;
      __threadfence();
      d_ready[section] = 1u;
      s_before = earlier;
    }
  }
  __syncthreads();
  before = s_before + before;
  const Element left = Words(scanned).from(lane - 1, 32);
  if (lane > 0) before = before + left;
  const Element first = before + x.a;
  const Pair y = kind == Kind::inclusive ? Pair{first, first + x.b} : Pair{before, first};
  if (i + 1 < n) {
    *reinterpret_cast<Pair*>(d_y + i) = y;
  } else if (i < n) {
    d_y[i] = y.a;
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const unsigned sections = (n - 1) / section_size + 1;
  static unsigned* d_ready = nullptr;
  static Element* d_prefixes = nullptr;
  static unsigned room = 0;
  if (room < sections) {
    cudaFree(d_ready);
    cudaFree(d_prefixes);
    SCANLAB_CUDA_CHECK(cudaMalloc(&d_ready, (sections + 1) * sizeof(unsigned)));
    SCANLAB_CUDA_CHECK(cudaMalloc(&d_prefixes, sections * sizeof(Element)));
    room = sections;
  }
  SCANLAB_CUDA_CHECK(cudaMemset(d_ready, 0, (room + 1) * sizeof(unsigned)));
  scan_section<kind><<<sections, kThreads>>>(d_x, d_y, d_ready, d_ready + room, d_prefixes, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

}  // namespace
