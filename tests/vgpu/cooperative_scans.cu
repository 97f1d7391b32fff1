// Scans, reductions and partitions of cooperative groups beyond sums of int: operators, wide types, structs, groups of
// lanes that a branch or a label made, and the update form that adds to a counter once for the whole group.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cstdint>
#include <cstdio>
#include <cuda/atomic>

#include "arrays.hpp"

namespace cg = cooperative_groups;

struct Pair {
  int64_t a;
  int32_t b;
};

template <unsigned size>
__global__ void operators(uint64_t* out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  const unsigned i = threadIdx.x;
  out += i * 8;
  out[0] = cg::inclusive_scan(tile, uint64_t(i) * 0x100000001, cg::plus<uint64_t>());
  out[1] = cg::inclusive_scan(tile, (i * 29) % 31, cg::greater<unsigned>());
  out[2] = cg::exclusive_scan(tile, 1u << (i % 32), cg::bit_or<unsigned>());
  out[3] = cg::reduce(tile, i * 5u, cg::bit_xor<unsigned>());
  out[4] = cg::reduce(tile, double(i) + 0.5, cg::plus<double>()) * 2;
  // No operator of the library: the greatest common divisor of what is left of the lane.
  out[5] = cg::inclusive_scan(tile, 60 * (i % 7 + 1), [](unsigned a, unsigned b) {
    while (b) {
      const unsigned r = a % b;
      a = b, b = r;
    }
    return a;
  });
  const Pair p = cg::reduce(tile, Pair{int64_t(i) << 40, int32_t(i)}, [](const Pair& x, const Pair& y) {
    return Pair{x.a + y.a, x.b > y.b ? x.b : y.b};
  });
  out[6] = p.a;
  out[7] = p.b;
}

__global__ void partitions(unsigned* out, unsigned* counters) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned i = threadIdx.x;
  auto half = cg::binary_partition(warp, i % 3 == 0);
  out[i * 4] = half.size() * 100 + half.thread_rank();
  auto same = cg::labeled_partition(warp, i % 5);
  out[i * 4 + 1] = cg::reduce(same, i, cg::plus<unsigned>());
  out[i * 4 + 2] = ~0u;
  if (i % 4 == 1) {
    auto active = cg::coalesced_threads();
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(counters[0]);
    // Each lane wants its rank plus one places: one addition a group, and the places do not overlap.
    out[i * 4 + 2] = cg::exclusive_scan_update(active, counter, active.thread_rank() + 1, cg::plus<unsigned>());
  }
  warp.sync();
  out[i * 4 + 3] = cg::inclusive_scan(same, 1u);
}

template <unsigned size>
int check_operators() {
  const int n = 96;
  const Array<uint64_t> d(n * 8);
  operators<size><<<1, n>>>(d);
  const auto h = d.read();
  int wrong = 0;
  for (unsigned i = 0; i < n; ++i) {
    const unsigned first = i / size * size;
    uint64_t sum = 0, greatest = 0, bits = 0, parity = 0, twice = 0, divisor = 0, a = 0;
    for (unsigned k = first; k < first + size; ++k) {
      if (k <= i) {
        sum += k * 0x100000001ull;
        if ((k * 29) % 31 > greatest) greatest = (k * 29) % 31;
        if (k < i) bits |= 1u << (k % 32);
        uint64_t x = divisor, y = 60 * (k % 7 + 1);
        while (y) {
          const uint64_t r = x % y;
          x = y, y = r;
        }
        divisor = x;
      }
      parity ^= k * 5;
      twice += 2 * k + 1;
      a += uint64_t(k) << 40;
    }
    const uint64_t expected[8] = {sum, greatest, bits, parity, twice, divisor, a, first + size - 1};
    for (int k = 0; k < 8; ++k) wrong += h[i * 8 + k] != expected[k];
  }
  return wrong;
}

int main() {
  printf("tiles of 32: %d wrong\n", check_operators<32>());
  printf("tiles of 8: %d wrong\n", check_operators<8>());
  printf("tiles of 2: %d wrong\n", check_operators<2>());
  printf("tiles of 1: %d wrong\n", check_operators<1>());

  const Array<unsigned> d(128), counter(1, 0);
  partitions<<<1, 32>>>(d, counter);
  const auto h = d.read();
  int wrong = 0;
  for (unsigned i = 0; i < 32; ++i) {
    unsigned size = 0, rank = 0, sum = 0, before = 0;
    for (unsigned k = 0; k < 32; ++k) {
      if ((k % 3 == 0) == (i % 3 == 0)) size++, rank += k < i;
      if (k % 5 == i % 5) sum += k, before += k <= i;
    }
    wrong += h[i * 4] != size * 100 + rank;
    wrong += h[i * 4 + 1] != sum;
    const unsigned r = i / 4;  // 0 + 1 + ... of the ranks before
    wrong += h[i * 4 + 2] != (i % 4 == 1 ? r * (r + 1) / 2 : ~0u);
    wrong += h[i * 4 + 3] != before;
  }
  printf("partitions: %d wrong, counter %u\n", wrong, counter.read()[0]);
  return cudaDeviceSynchronize();
}
