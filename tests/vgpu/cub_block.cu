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
void test_scan(const char* name, const int* in, int* d_out, int* d_total, Launch launch) {
  static int out[n];
  int total, wrong = 0, sum = 0;
  cudaMemset(d_out, 0, sizeof out);
  launch();
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  cudaMemcpy(&total, d_total, sizeof total, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) {
    wrong += out[i] != sum;
    sum += in[i];
  }
  printf("%s: %d wrong, total %s\n", name, wrong, total == sum ? "right" : "wrong");
}

template <int width>
void test_warp(const int* in, const int* d_in, int* d_out) {
  int out[2 * threads], wrong = 0;
  warp_scan<width><<<1, threads>>>(d_in, d_out);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  int sum = 0;
  for (int i = 0; i < threads; ++i) {
    sum = (i % width ? sum : 0) + in[i];
    wrong += out[i] != sum;
    if (i % width == width - 1) wrong += out[threads + i / width * width] != sum;
  }
  printf("warp collectives of %d: %d wrong\n", width, wrong);
}

int main() {
  int in[n], *d_in, *d_out, *d_total;
  for (int i = 0; i < n; ++i) in[i] = (i * 31) % 17 - 5;
  cudaMalloc(&d_in, sizeof in);
  cudaMalloc(&d_out, sizeof in);
  cudaMalloc(&d_total, sizeof(int));
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  test_scan("raking", in, d_out, d_total,
            [&] { block_scan<cub::BLOCK_SCAN_RAKING><<<1, threads>>>(d_in, d_out, d_total); });
  test_scan("memoize", in, d_out, d_total,
            [&] { block_scan<cub::BLOCK_SCAN_RAKING_MEMOIZE><<<1, threads>>>(d_in, d_out, d_total); });
  test_scan("warp scans", in, d_out, d_total,
            [&] { block_scan<cub::BLOCK_SCAN_WARP_SCANS><<<1, threads>>>(d_in, d_out, d_total); });

  Affine maps[threads], scanned[threads], *d_maps, *d_scanned;
  for (unsigned i = 0; i < threads; ++i) maps[i] = {i * 2 + 1, i * 7};
  cudaMalloc(&d_maps, sizeof maps);
  cudaMalloc(&d_scanned, sizeof maps);
  cudaMemcpy(d_maps, maps, sizeof maps, cudaMemcpyHostToDevice);
  affine_scan<<<1, threads>>>(d_maps, d_scanned);
  cudaMemcpy(scanned, d_scanned, sizeof maps, cudaMemcpyDeviceToHost);
  int wrong = 0;
  Affine sum = {1, 0};
  for (int i = 0; i < threads; ++i) {
    sum = Compose()(sum, maps[i]);
    wrong += scanned[i].a != sum.a || scanned[i].b != sum.b;
  }
  printf("affine maps: %d wrong\n", wrong);

  int expected = 0, got[2];
  for (int i = 0; i < threads; ++i) expected += in[i];
  block_reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, threads>>>(d_in, d_out);
  block_reduce<cub::BLOCK_REDUCE_RAKING><<<1, threads>>>(d_in, d_out + 1);
  cudaMemcpy(got, d_out, sizeof got, cudaMemcpyDeviceToHost);
  printf("reductions: %s %s\n", got[0] == expected ? "right" : "wrong", got[1] == expected ? "right" : "wrong");

  test_warp<32>(in, d_in, d_out);
  test_warp<8>(in, d_in, d_out);

  unsigned keys[n], *d_keys;
  for (unsigned i = 0; i < n; ++i) keys[i] = i * 2654435761u;
  cudaMalloc(&d_keys, sizeof keys);
  cudaMemcpy(d_keys, keys, sizeof keys, cudaMemcpyHostToDevice);
  sort<<<1, threads>>>(d_keys);
  cudaMemcpy(keys, d_keys, sizeof keys, cudaMemcpyDeviceToHost);
  int descents = 0;
  for (int i = 1; i < n; ++i) descents += keys[i - 1] > keys[i];
  unsigned check = 0;
  for (unsigned i = 0; i < n; ++i) check += keys[i] - i * 2654435761u;
  printf("radix sort: %d descents, sum %s\n", descents, check == 0 ? "kept" : "lost");
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
