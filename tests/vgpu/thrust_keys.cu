// test: nvcc --extended-lambda
// test: schedules in_order
// Thrust with keys and segments: scans, reductions and unique by key, sorting of pairs downwards, binary searches.
#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

template <class T>
std::vector<T> host(const thrust::device_vector<T>& d, size_t n) {
  std::vector<T> h(n);
  thrust::copy_n(d.begin(), n, h.begin());
  return h;
}

int main() {
  for (int n : {1, 33, 1000, 20000}) {
    std::vector<int> keys(n), values(n);
    for (int i = 0; i < n; ++i) keys[i] = i / 7 % 5 + i / 500, values[i] = i * 31 % 101 - 20;
    const thrust::device_vector<int> d_keys(keys.begin(), keys.end()), d_values(values.begin(), values.end());
    thrust::device_vector<int> out(n), out_keys(n);
    std::vector<int> expected(n), expected_keys;

    thrust::inclusive_scan_by_key(d_keys.begin(), d_keys.end(), d_values.begin(), out.begin());
    for (int i = 0; i < n; ++i) expected[i] = values[i] + (i && keys[i] == keys[i - 1] ? expected[i - 1] : 0);
    printf("%d: %d", n, host(out, n) == expected);
    thrust::exclusive_scan_by_key(d_keys.begin(), d_keys.end(), d_values.begin(), out.begin(), 100);
    for (int i = 0; i < n; ++i) expected[i] = i && keys[i] == keys[i - 1] ? expected[i - 1] + values[i - 1] : 100;
    printf(" %d", host(out, n) == expected);

    const auto ends =
        thrust::reduce_by_key(d_keys.begin(), d_keys.end(), d_values.begin(), out_keys.begin(), out.begin());
    expected.clear();
    for (int i = 0; i < n; ++i) {
      if (i == 0 || keys[i] != keys[i - 1]) expected_keys.push_back(keys[i]), expected.push_back(0);
      expected.back() += values[i];
    }
    const size_t runs = ends.first - out_keys.begin();
    printf(" %d", runs == expected.size() && host(out_keys, runs) == expected_keys && host(out, runs) == expected);
    out_keys = d_keys;
    const auto last = thrust::unique(out_keys.begin(), out_keys.end());
    printf(" %d", host(out_keys, last - out_keys.begin()) == expected_keys);

    out_keys = d_values;
    thrust::sequence(out.begin(), out.end());
    thrust::stable_sort_by_key(out_keys.begin(), out_keys.end(), out.begin(), thrust::greater<int>());
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] > values[b]; });
    printf(" %d", host(out, n) == order);

    thrust::device_vector<int> a(n), b(n);
    thrust::sequence(a.begin(), a.end(), 0, 2);
    thrust::sequence(b.begin(), b.end(), 0, 3);
    thrust::lower_bound(a.begin(), a.end(), b.begin(), b.end(), out.begin());
    const auto found = host(out, n);
    bool right = true;
    for (int i = 0; i < n; ++i) right &= found[i] == std::min(n, (3 * i + 1) / 2);
    printf(" %d\n", right);
  }
}
