// test: nvcc --extended-lambda
// CUB's other collectives: discontinuities, adjacent differences, exchange of arrangements, histograms, shuffles,
// ranked sorting of pairs downwards, a running prefix by callback, reductions of parts of a warp, blocks of three
// dimensions.
#include <algorithm>
#include <cstdio>
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <functional>
#include <numeric>

#include "arrays.hpp"

constexpr int kThreads = 96, kItems = 3, kTile = kThreads * kItems;

struct NotEqual {
  __host__ __device__ bool operator()(int a, int b) const { return a != b; }
};
struct Minus {
  __host__ __device__ int operator()(int a, int b) const { return a - b; }
};

__global__ void flags_and_differences(const int* in, int* flags, int* differences, int* striped, unsigned* bins) {
  using Discontinuity = cub::BlockDiscontinuity<int, kThreads>;
  using Difference = cub::BlockAdjacentDifference<int, kThreads>;
  using Exchange = cub::BlockExchange<int, kThreads, kItems>;
  using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 16, cub::BLOCK_HISTO_SORT>;
  __shared__ union {
    typename Discontinuity::TempStorage discontinuity;
    typename Difference::TempStorage difference;
    typename Exchange::TempStorage exchange;
    typename Histogram::TempStorage histogram;
  } temp;
  __shared__ unsigned s_bins[16];
  int v[kItems], r[kItems];
  for (int k = 0; k < kItems; ++k) v[k] = in[threadIdx.x * kItems + k];
  Discontinuity(temp.discontinuity).FlagHeads(r, v, NotEqual());
  for (int k = 0; k < kItems; ++k) flags[threadIdx.x * kItems + k] = r[k];
  __syncthreads();
  Difference(temp.difference).SubtractLeft(v, r, Minus());
  for (int k = 0; k < kItems; ++k) differences[threadIdx.x * kItems + k] = r[k];
  __syncthreads();
  Exchange(temp.exchange).BlockedToStriped(v, r);
  for (int k = 0; k < kItems; ++k) striped[k * kThreads + threadIdx.x] = r[k];
  __syncthreads();
  unsigned char small[kItems];
  for (int k = 0; k < kItems; ++k) small[k] = v[k] % 16;
  Histogram(temp.histogram).Histogram(small, s_bins);
  __syncthreads();
  if (threadIdx.x < 16) bins[threadIdx.x] = s_bins[threadIdx.x];
}

// The carry from tile to tile, in the first warp's hands.
struct Running {
  int total;
  __device__ int operator()(int aggregate) {
    const int before = total;
    total += aggregate;
    return before;
  }
};
__global__ void long_scan(const int* in, int* out, int n) {
  using Scan = cub::BlockScan<int, 8, cub::BLOCK_SCAN_WARP_SCANS, 4, 3>;  // 8 x 4 x 3 threads
  __shared__ typename Scan::TempStorage temp;
  const int t = threadIdx.x + 8 * (threadIdx.y + 4 * threadIdx.z);
  Running running{0};
  for (int first = 0; first < n; first += kThreads) {
    int v = first + t < n ? in[first + t] : 0;
    Scan(temp).InclusiveSum(v, v, running);
    __syncthreads();
    if (first + t < n) out[first + t] = v;
  }
}

__global__ void sort_pairs(int* keys, short* values) {
  using Sort = cub::BlockRadixSort<int, kThreads, kItems, short>;
  __shared__ typename Sort::TempStorage temp;
  int k[kItems];
  short v[kItems];
  for (int i = 0; i < kItems; ++i) {
    k[i] = keys[threadIdx.x * kItems + i];
    v[i] = values[threadIdx.x * kItems + i];
  }
  Sort(temp).SortDescendingBlockedToStriped(k, v);
  for (int i = 0; i < kItems; ++i) {
    keys[i * kThreads + threadIdx.x] = k[i];
    values[i * kThreads + threadIdx.x] = v[i];
  }
}

// Only `count` of the 192 places hold something.
__global__ void merge_sort(double* numbers, int count) {
  using Sort = cub::BlockMergeSort<double, 64, 3>;
  __shared__ typename Sort::TempStorage temp;
  double d[3];
  for (int i = 0; i < 3; ++i) d[i] = threadIdx.x * 3 + i < count ? numbers[threadIdx.x * 3 + i] : 0;
  Sort(temp).Sort(
      d, [](double a, double b) { return a < b; }, count, 1e300);
  for (int i = 0; i < 3; ++i)
    if (threadIdx.x * 3 + i < count) numbers[threadIdx.x * 3 + i] = d[i];
}

__global__ void parts_of_warps(const int* in, int* out) {
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage temp[kThreads / 32];
  const int warp = threadIdx.x / 32;
  const int sum = Reduce(temp[warp]).Sum(in[threadIdx.x], 10 + warp);  // the first lanes only
  __syncwarp();
  const int segment = Reduce(temp[warp]).HeadSegmentedSum(in[threadIdx.x], threadIdx.x % 7 == 0);
  if (threadIdx.x % 32 == 0) out[warp] = sum;
  out[3 + threadIdx.x] = segment;
}

int main() {
  std::vector<int> in(1000), flags(kTile), differences(kTile);
  for (int i = 0; i < 1000; ++i) in[i] = i / 4 * 5 % 23;
  const Array<int> d_in(in), d_a(in), d_b(in), d_c(in);
  const Array<unsigned> d_bins(std::vector<unsigned>(16));
  flags_and_differences<<<1, kThreads>>>(d_in, d_a, d_b, d_c, d_bins);
  std::vector<unsigned> bins(16);
  for (int i = 0; i < kTile; ++i) {
    flags[i] = i == 0 || in[i] != in[i - 1];
    differences[i] = i ? in[i] - in[i - 1] : in[0];
    ++bins[in[i] % 16];
  }
  printf("flags %d, differences %d, striped %d, histogram %d\n", d_a.read(kTile) == flags,
         d_b.read(kTile) == differences, d_c.read(kTile) == std::vector<int>(in.begin(), in.begin() + kTile),
         d_bins.read(16) == bins);

  std::vector<int> sums(1000);
  std::partial_sum(in.begin(), in.end(), sums.begin());
  long_scan<<<1, dim3(8, 4, 3)>>>(d_in, d_a, 1000);
  printf("long scan %d\n", d_a.read(1000) == sums);

  std::vector<int> keys(in.begin(), in.begin() + kTile), order(kTile);
  std::vector<short> values(kTile), sorted_values(kTile);
  std::vector<double> numbers(kTile);
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < kTile; ++i) keys[i] -= 10, values[i] = i, numbers[i] = (i * 77 % 301 - 150) / 3.0;
  const Array<int> d_keys(keys);
  const Array<short> d_values(values);
  const Array<double> d_numbers(numbers);
  sort_pairs<<<1, kThreads>>>(d_keys, d_values);
  merge_sort<<<1, 64>>>(d_numbers, 177);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] > keys[b]; });
  for (int i = 0; i < kTile; ++i) sorted_values[i] = order[i];
  std::sort(keys.begin(), keys.end(), std::greater<int>());
  std::sort(numbers.begin(), numbers.begin() + 177);
  printf("pairs %d, values %d, merge sort %d\n", d_keys.read(kTile) == keys, d_values.read(kTile) == sorted_values,
         d_numbers.read(kTile) == numbers);

  parts_of_warps<<<1, kThreads>>>(d_in, d_a);
  const auto got = d_a.read(3 + kThreads);
  int wrong = 0;
  for (int w = 0; w < 3; ++w) wrong += got[w] != std::accumulate(&in[32 * w], &in[32 * w + 10 + w], 0);
  for (int i = 0; i < kThreads; ++i)
    if (i % 7 == 0 || i % 32 == 0) {
      int sum = in[i];
      for (int k = i + 1; k % 7 && k % 32; ++k) sum += in[k];
      wrong += got[3 + i] != sum;
    }
  printf("parts of warps: %d wrong\n%s\n", wrong, cudaGetErrorName(cudaDeviceSynchronize()));
}
