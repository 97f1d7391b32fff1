// test: nvcc --extended-lambda
// test: schedules in_order
// CUB's algorithms for whole arrays, in CUB's two calls: for the size of the scratch memory, then for the work.
#include <algorithm>
#include <cstdio>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <numeric>
#include <vector>

struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

template <class Call>
void with_scratch(Call call) {
  void* scratch = nullptr;
  size_t bytes = 0;
  call(scratch, bytes);
  cudaMalloc(&scratch, bytes);
  const cudaError_t error = call(scratch, bytes);
  if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error));
  cudaFree(scratch);
}

int main() {
  const int n = 30000;
  std::vector<int> in(n), out(n), expected(n);
  for (int i = 0; i < n; ++i) in[i] = (i * 31) % 101;
  int *d_in, *d_out, *d_count;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, n * sizeof(int));
  cudaMalloc(&d_count, sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const auto fetch = [&] { cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost); };

  with_scratch([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, d_in, d_out, n); });
  fetch();
  std::partial_sum(in.begin(), in.end(), expected.begin());
  printf("inclusive: %s\n", out == expected ? "right" : "wrong");

  with_scratch([&](void* s, size_t& b) { return cub::DeviceScan::ExclusiveSum(s, b, d_in, d_out, n); });
  fetch();
  std::exclusive_scan(in.begin(), in.end(), expected.begin(), 0);
  printf("exclusive: %s\n", out == expected ? "right" : "wrong");

  int count = 0, sum = 0;
  with_scratch([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, d_in, d_count, n); });
  cudaMemcpy(&sum, d_count, sizeof sum, cudaMemcpyDeviceToHost);
  printf("sum: %s\n", sum == std::accumulate(in.begin(), in.end(), 0) ? "right" : "wrong");

  with_scratch([&](void* s, size_t& b) { return cub::DeviceSelect::If(s, b, d_in, d_out, d_count, n, IsOdd()); });
  cudaMemcpy(&count, d_count, sizeof count, cudaMemcpyDeviceToHost);
  fetch();
  out.resize(count);
  expected.clear();
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), IsOdd());
  printf("select: %s\n", out == expected ? "right" : "wrong");

  out.resize(n);
  with_scratch([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeys(s, b, d_in, d_out, n); });
  fetch();
  std::sort(in.begin(), in.end());
  printf("sort: %s\n", out == in ? "right" : "wrong");
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
