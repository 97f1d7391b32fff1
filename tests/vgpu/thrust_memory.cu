// test: nvcc --extended-lambda
// Thrust with memory of every kind and with streams: universal and pinned vectors, execution policies, pools.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/mr/allocator.h>
#include <thrust/mr/disjoint_pool.h>
#include <thrust/mr/new.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/memory_resource.h>
#include <thrust/transform.h>
#include <thrust/universal_vector.h>

#include <cstdio>

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};

int main() {
  constexpr int n = 3000;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

  // Universal memory: filled by the host, scanned on the device, read by the host.
  thrust::universal_vector<int> universal(n);
  for (int i = 0; i < n; ++i) universal[i] = i % 7;
  thrust::inclusive_scan(thrust::cuda::par.on(stream), universal.begin(), universal.end(), universal.begin());
  cudaStreamSynchronize(stream);
  int wrong = 0, sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += i % 7;
    wrong += universal[i] != sum;
  }
  std::printf("universal: %d wrong\n", wrong);

  // Pinned memory as the source and destination of algorithms on the device.
  thrust::universal_host_pinned_vector<int> pinned(n);
  thrust::sequence(thrust::cuda::par.on(stream), pinned.begin(), pinned.end(), 5);
  thrust::transform(thrust::cuda::par_nosync.on(stream), pinned.begin(), pinned.end(), pinned.begin(), Square());
  cudaStreamSynchronize(stream);
  wrong = 0;
  for (int i = 0; i < n; ++i) wrong += pinned[i] != (i + 5) * (i + 5);
  std::printf("pinned: %d wrong\n", wrong);

  // Device vectors, copies to and from them, a reduction and a sort in a stream.
  thrust::host_vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = (i * 7919) % n;
  thrust::device_vector<int> device = host;
  const int total = thrust::reduce(thrust::cuda::par.on(stream), device.begin(), device.end());
  thrust::sort(thrust::cuda::par.on(stream), device.begin(), device.end());
  thrust::copy(device.begin(), device.end(), host.begin());
  wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host[i] != i;
  std::printf("sum %d, sorted: %d wrong\n", total, wrong);
  std::printf("one element: %d\n", static_cast<int>(device[1234]));
  device[1234] = -1;
  std::printf("set: %d\n", static_cast<int>(device[1234]));

  // A pool of the library's own over cudaMalloc.
  using Resource = thrust::device_ptr_memory_resource<thrust::system::cuda::memory_resource>;
  Resource resource;
  thrust::mr::new_delete_resource bookkeeping;
  thrust::mr::disjoint_unsynchronized_pool_resource<Resource, thrust::mr::new_delete_resource> pool(&resource,
                                                                                                    &bookkeeping);
  using Allocator = thrust::mr::allocator<int, decltype(pool)>;
  int good = 0;
  for (int round = 1; round <= 4; ++round) {
    thrust::device_vector<int, Allocator> pooled(100 * round, round, Allocator(&pool));
    good += thrust::reduce(pooled.begin(), pooled.end()) == 100 * round * round;
  }
  std::printf("pooled: %d of 4 right\n", good);
  cudaStreamDestroy(stream);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
