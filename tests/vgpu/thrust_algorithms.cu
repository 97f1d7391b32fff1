// test: nvcc --extended-lambda
// test: schedules in_order
// Thrust: vectors, scans, reductions, sorting, compaction, transformations.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

int main() {
  for (int n : {1, 100, 5000, 100000}) {
    thrust::host_vector<int> h(n);
    for (int i = 0; i < n; ++i) h[i] = (i * 7919LL) % 1009 - 500;
    const thrust::device_vector<int> d = h;
    thrust::device_vector<int> out(n);
    std::vector<int> expected(n);

    thrust::inclusive_scan(d.begin(), d.end(), out.begin());
    std::partial_sum(h.begin(), h.end(), expected.begin());
    thrust::host_vector<int> back = out;
    const bool inclusive = std::equal(expected.begin(), expected.end(), back.begin());

    thrust::exclusive_scan(d.begin(), d.end(), out.begin(), 7);
    back = out;
    bool exclusive = back[0] == 7;
    for (int i = 1; i < n; ++i) exclusive &= back[i] == expected[i - 1] + 7;

    const int sum = thrust::reduce(d.begin(), d.end());
    const int greatest = thrust::reduce(d.begin(), d.end(), -1000, thrust::maximum<int>());
    thrust::device_vector<int> sorted = d;
    thrust::sort(sorted.begin(), sorted.end());
    back = sorted;
    expected.assign(h.begin(), h.end());
    std::sort(expected.begin(), expected.end());
    const bool is_sorted = std::equal(expected.begin(), expected.end(), back.begin());

    const auto end = thrust::copy_if(d.begin(), d.end(), out.begin(), [] __device__(int x) { return x > 100; });
    const int kept = end - out.begin();
    thrust::transform(d.begin(), d.end(), out.begin(), [] __device__(int x) { return 2 * x + 1; });
    const int last = out[n - 1];
    printf("n = %d: %d %d %d %d %d %d %d\n", n, inclusive, exclusive, sum == std::accumulate(h.begin(), h.end(), 0),
           greatest == *std::max_element(h.begin(), h.end()), is_sorted,
           kept == std::count_if(h.begin(), h.end(), [](int x) { return x > 100; }), last == 2 * h[n - 1] + 1);
  }
}
