// test: nvcc --extended-lambda
// test: schedules in_order
// Thrust's iterators that compute: counting, constant, zip, permutation; and what is built from
// them: gather and scatter, partitions, algorithms on raw pointers.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/partition.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/tabulate.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/tuple.h>

#include <cstdio>

struct Square {
  __host__ __device__ long long operator()(long long x) const { return x * x; }
};

int main() {
  const int n = 3001;
  const thrust::counting_iterator<long long> from_one(1);
  printf("squares %lld\n", thrust::transform_reduce(from_one, from_one + n, Square(), 0ll, thrust::plus<long long>()));
  thrust::device_vector<int> x(n), z(n);
  thrust::tabulate(x.begin(), x.end(), [] __device__(int i) { return i * 37 % 101; });
  const auto pairs =
      thrust::make_zip_iterator(thrust::make_tuple(x.begin(), thrust::counting_iterator<int>(0), z.begin()));
  thrust::for_each(pairs, pairs + n, [] __device__(thrust::tuple<const int&, const int&, int&> t) {
    thrust::get<2>(t) = thrust::get<0>(t) * 1000 + thrust::get<1>(t) % 1000;
  });
  printf("zip %d %d\n", int(z[1]), int(z[n - 1]));

  const int order[] = {3000, 0, 5, 5, 101};
  const thrust::device_vector<int> map(order, order + 5);
  thrust::device_vector<int> few(5);
  const auto chosen = thrust::make_permutation_iterator(z.begin(), map.begin());
  thrust::copy(chosen, chosen + 5, few.begin());
  thrust::host_vector<int> h = few;
  printf("permutation %d %d %d %d %d\n", h[0], h[1], h[2], h[3], h[4]);
  thrust::gather(map.begin(), map.end(), x.begin(), few.begin());
  thrust::scatter(thrust::constant_iterator<int>(-1), thrust::constant_iterator<int>(-1) + 5, map.begin(), z.begin());
  printf("gather %d, scatter %d %d\n", int(few[4]), int(z[101]), int(z[102]));

  thrust::transform_inclusive_scan(
      x.begin(), x.end(), z.begin(), [] __device__(int v) -> int { return v % 2; }, thrust::plus<int>());
  printf("odd so far %d %d\n", int(z[9]), int(z[n - 1]));
  thrust::device_vector<int> p = x;
  const auto middle = thrust::stable_partition(p.begin(), p.end(), [] __device__(int v) { return v >= 50; });
  printf("partition %d, %d %d | %d %d\n", int(middle - p.begin()), int(p[0]), int(p[1]), int(*middle),
         int(*(middle + 1)));
  // Raw pointers of the runtime API and Thrust's algorithms on the same memory.
  int* raw;
  cudaMalloc(&raw, n * sizeof(int));
  const thrust::device_ptr<int> wrapped(raw);
  thrust::sequence(wrapped, wrapped + n);
  thrust::transform(thrust::device, raw, raw + n, raw, raw, thrust::multiplies<int>());
  int last;
  cudaMemcpy(&last, raw + n - 1, sizeof last, cudaMemcpyDeviceToHost);
  printf("last %d\n", last);
  return cudaFree(raw);
}
