// test: nvcc --extended-lambda
// CUB's block and warp collectives.
#include <cstdio>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include "arrays.hpp"

constexpr int threads = 128, items = 4, n = threads * items;

template <cub::BlockScanAlgorithm algorithm>
__global__ void block_scan(const int* in, int* out, int* total) {
  using Load = cub::BlockLoad<int, threads, items, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, threads, items, cub::BLOCK_STORE_TRANSPOSE>;
  using Scan = cub::BlockScan<int, threads, algorithm>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
  } temp;
  int v[items], sum;
  Load(temp.load).Load(in, v);
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(v, v, sum);
  __syncthreads();
  Store(temp.store).Store(out, v);
  if (threadIdx.x == 0) *total = sum;
}

struct Affine {
  unsigned a, b;
};
struct Compose {
  __host__ __device__ Affine operator()(const Affine& e, const Affine& l) const { return {e.a * l.a, l.a * e.b + l.b}; }
};

__global__ void affine_scan(const Affine* in, Affine* out) {
  using Scan = cub::BlockScan<Affine, threads>;
  __shared__ typename Scan::TempStorage temp;
  Affine result;
  Scan(temp).InclusiveScan(in[threadIdx.x], result, Compose());
  out[threadIdx.x] = result;
}

template <cub::BlockReduceAlgorithm algorithm>
__global__ void block_reduce(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, threads, algorithm>;
  __shared__ typename Reduce::TempStorage temp;
  const int sum = Reduce(temp).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}

template <int width>
__global__ void warp_scan(const int* in, int* out) {
  using Scan = cub::WarpScan<int, width>;
  using Reduce = cub::WarpReduce<int, width>;
  __shared__ typename Scan::TempStorage scan[threads / width];
  __shared__ typename Reduce::TempStorage reduce[threads / width];
  const int group = threadIdx.x / width;
  int result;
  Scan(scan[group]).InclusiveSum(in[threadIdx.x], result);
  const int sum = Reduce(reduce[group]).Sum(in[threadIdx.x]);
  out[threadIdx.x] = result;
  if (threadIdx.x % width == 0) out[threads + threadIdx.x] = sum;
}

__global__ void sort(unsigned* keys) {
  using Sort = cub::BlockRadixSort<unsigned, threads, items>;
  __shared__ typename Sort::TempStorage temp;
  unsigned mine[items];
  for (int k = 0; k < items; ++k) mine[k] = keys[threadIdx.x * items + k];
  Sort(temp).Sort(mine);
  for (int k = 0; k < items; ++k) keys[threadIdx.x * items + k] = mine[k];
}

template <class Launch>
void test_scan(const char* name, const int* in, Launch launch) {
  const Array<int> d_out(n, 0), d_total(1);
  int wrong = 0, sum = 0;
  launch(d_out.get(), d_total.get());
  const auto out = d_out.read();
  for (int i = 0; i < n; ++i) {
    wrong += out[i] != sum;
    sum += in[i];
  }
  printf("%s: %d wrong, total %s\n", name, wrong, d_total.read()[0] == sum ? "right" : "wrong");
}

template <int width>
void test_warp(const int* in, const int* d_in) {
  const Array<int> d_out(2 * threads);
  warp_scan<width><<<1, threads>>>(d_in, d_out);
  const auto out = d_out.read();
  int wrong = 0, sum = 0;
  for (int i = 0; i < threads; ++i) {
    sum = (i % width ? sum : 0) + in[i];
    wrong += out[i] != sum;
    if (i % width == width - 1) wrong += out[threads + i / width * width] != sum;
  }
  printf("warp collectives of %d: %d wrong\n", width, wrong);
}

int main() {
  int in[n];
  for (int i = 0; i < n; ++i) in[i] = (i * 31) % 17 - 5;
  const Array d_in(in);
  test_scan("raking", in,
            [&](int* out, int* total) { block_scan<cub::BLOCK_SCAN_RAKING><<<1, threads>>>(d_in, out, total); });
  test_scan("memoize", in, [&](int* out, int* total) {
    block_scan<cub::BLOCK_SCAN_RAKING_MEMOIZE><<<1, threads>>>(d_in, out, total);
  });
  test_scan("warp scans", in,
            [&](int* out, int* total) { block_scan<cub::BLOCK_SCAN_WARP_SCANS><<<1, threads>>>(d_in, out, total); });

  Affine maps[threads];
  for (unsigned i = 0; i < threads; ++i) maps[i] = {i * 2 + 1, i * 7};
  const Array<Affine> d_scanned(threads);
  affine_scan<<<1, threads>>>(Array(maps), d_scanned);
  const auto scanned = d_scanned.read();
  int wrong = 0;
  Affine sum = {1, 0};
  for (int i = 0; i < threads; ++i) {
    sum = Compose()(sum, maps[i]);
    wrong += scanned[i].a != sum.a || scanned[i].b != sum.b;
  }
  printf("affine maps: %d wrong\n", wrong);

  int expected = 0;
  const Array<int> d_sums(2);
  for (int i = 0; i < threads; ++i) expected += in[i];
  block_reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, threads>>>(d_in, d_sums);
  block_reduce<cub::BLOCK_REDUCE_RAKING><<<1, threads>>>(d_in, d_sums + 1);
  const auto got = d_sums.read();
  printf("reductions: %s %s\n", got[0] == expected ? "right" : "wrong", got[1] == expected ? "right" : "wrong");

  test_warp<32>(in, d_in);
  test_warp<8>(in, d_in);

  std::vector<unsigned> keys(n);
  for (unsigned i = 0; i < n; ++i) keys[i] = i * 2654435761u;
  const Array d_keys(keys);
  sort<<<1, threads>>>(d_keys);
  keys = d_keys.read();
  int descents = 0;
  for (int i = 1; i < n; ++i) descents += keys[i - 1] > keys[i];
  unsigned check = 0;
  for (unsigned i = 0; i < n; ++i) check += keys[i] - i * 2654435761u;
  printf("radix sort: %d descents, sum %s\n", descents, check == 0 ? "kept" : "lost");
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
