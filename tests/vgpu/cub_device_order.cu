// test: nvcc --extended-lambda
// test: schedules in_order
// CUB on whole arrays, ordering and choosing: pairs sorted downwards by some bits, doubles, partitions,
// flagged and unique elements, minima, scans of another operator and in place.
#include <algorithm>
#include <cstdio>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <numeric>
#include <vector>

template <class Call>
bool two_calls(Call call) {
  void* scratch = nullptr;
  size_t bytes = 0;
  if (call(nullptr, bytes) != cudaSuccess || cudaMalloc(&scratch, bytes) != cudaSuccess) return false;
  const bool fine = call(scratch, bytes) == cudaSuccess;
  return cudaFree(scratch) == cudaSuccess && fine;
}
template <class T>
T* device(const std::vector<T>& h) {
  T* d;
  cudaMalloc(&d, h.size() * sizeof(T));
  cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}
template <class T>
std::vector<T> host(const T* d, size_t n) {
  std::vector<T> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  return h;
}

struct Greatest {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

int main() {
  for (int n : {1, 257, 9001}) {
    std::vector<unsigned> keys(n);
    std::vector<int> ids(n), order(n);
    std::vector<double> numbers(n);
    for (int i = 0; i < n; ++i)
      keys[i] = i * 2654435761u >> 11, ids[i] = i, numbers[i] = (i * 37 % 1009 - 500) * 1e10 / 3;
    unsigned *d_keys = device(keys), *d_keys_out = device(keys);
    int *d_ids = device(ids), *d_out = device(ids), *d_count = device(std::vector<int>(1));
    double *d_numbers = device(numbers), *d_numbers_out = device(numbers);

    // Bits 4 to 15 only.
    bool fine = two_calls([&](void* s, size_t& b) {
      return cub::DeviceRadixSort::SortPairsDescending(s, b, d_keys, d_keys_out, d_ids, d_out, n, 4, 16);
    });
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return (keys[a] >> 4 & 0xfff) > (keys[b] >> 4 & 0xfff); });
    printf("%d: %d", n, fine && host(d_out, n) == order);

    fine = two_calls(
        [&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeys(s, b, d_numbers, d_numbers_out, n); });
    std::vector<double> sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    printf(" %d", fine && host(d_numbers_out, n) == sorted);

    fine = two_calls([&](void* s, size_t& b) {
      return cub::DevicePartition::If(s, b, d_ids, d_out, d_count, n,
                                      [] __device__(int v) -> bool { return v % 3 == 0; });
    });
    std::vector<int> parts = ids;
    const auto middle = std::stable_partition(parts.begin(), parts.end(), [](int v) { return v % 3 == 0; });
    std::reverse(middle, parts.end());  // CUB gives the others back to front
    printf(" %d", fine && host(d_count, 1)[0] == middle - parts.begin() && host(d_out, n) == parts);

    std::vector<unsigned char> flags(n);
    std::vector<int> chosen, shallow(n), unique;
    for (int i = 0; i < n; ++i) {
      if ((flags[i] = i % 5 == 1)) chosen.push_back(i);
      shallow[i] = i / 3;
      if (i % 3 == 0) unique.push_back(i / 3);
    }
    unsigned char* d_flags = device(flags);
    fine = two_calls(
        [&](void* s, size_t& b) { return cub::DeviceSelect::Flagged(s, b, d_ids, d_flags, d_out, d_count, n); });
    printf(" %d", fine && host(d_count, 1)[0] == int(chosen.size()) && host(d_out, chosen.size()) == chosen);
    int* d_shallow = device(shallow);
    fine = two_calls([&](void* s, size_t& b) { return cub::DeviceSelect::Unique(s, b, d_shallow, d_out, d_count, n); });
    printf(" %d", fine && host(d_count, 1)[0] == int(unique.size()) && host(d_out, unique.size()) == unique);

    double* d_least = device(numbers);
    fine = two_calls([&](void* s, size_t& b) { return cub::DeviceReduce::Min(s, b, d_numbers, d_least, n); });
    printf(" %d", fine && host(d_least, 1)[0] == sorted[0]);

    fine = two_calls(
        [&](void* s, size_t& b) { return cub::DeviceScan::InclusiveScan(s, b, d_numbers, d_numbers, Greatest(), n); });
    for (int i = 1; i < n; ++i) numbers[i] = std::max(numbers[i - 1], numbers[i]);
    printf(" %d\n", fine && host(d_numbers, n) == numbers);
    for (void* p : {(void*)d_keys, (void*)d_keys_out, (void*)d_ids, (void*)d_out, (void*)d_count, (void*)d_numbers,
                    (void*)d_numbers_out, (void*)d_flags, (void*)d_shallow, (void*)d_least})
      cudaFree(p);
  }
  return cudaDeviceSynchronize();
}
