// test: nvcc --extended-lambda
// test: schedules in_order
// CUB on whole arrays with structure: run lengths, segments, keys; histograms of several channels and uneven levels.
#include <cstdio>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
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
class Array {
 public:
  explicit Array(size_t n) { cudaMalloc(&p_, n * sizeof(T)); }
  explicit Array(const std::vector<T>& h) : Array(h.size()) {
    cudaMemcpy(p_, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  Array(const Array&) = delete;
  ~Array() { cudaFree(p_); }
  operator T*() const { return p_; }
  std::vector<T> host(size_t n) const {
    std::vector<T> h(n);
    cudaMemcpy(h.data(), p_, n * sizeof(T), cudaMemcpyDeviceToHost);
    return h;
  }

 private:
  T* p_ = nullptr;
};

int main() {
  for (int n : {1, 100, 12345}) {
    std::vector<int> keys(n), values(n);
    for (int i = 0; i < n; ++i) keys[i] = i * i / 300 % 50, values[i] = i % 17 - 5;
    const Array<int> d_keys(keys), d_values(values), unique(n), lengths(n), out(n), count(1);

    std::vector<int> runs, counts, sums, scan(n);
    for (int i = 0; i < n; ++i) {
      if (i == 0 || keys[i] != keys[i - 1]) runs.push_back(keys[i]), counts.push_back(0), sums.push_back(0);
      scan[i] = sums.back();
      ++counts.back();
      sums.back() += values[i];
    }
    printf("%d:", n);
    bool fine = two_calls([&](void* s, size_t& b) {
      return cub::DeviceRunLengthEncode::Encode(s, b, +d_keys, +unique, +lengths, +count, n);
    });
    const size_t m = count.host(1)[0];
    printf(" %d", fine && m == runs.size() && unique.host(m) == runs && lengths.host(m) == counts);
    fine = two_calls([&](void* s, size_t& b) {
      return cub::DeviceReduce::ReduceByKey(s, b, +d_keys, +unique, +d_values, +out, +count, ::cuda::std::plus<>{}, n);
    });
    printf(" %d", fine && count.host(1)[0] == int(runs.size()) && out.host(runs.size()) == sums);
    fine = two_calls(
        [&](void* s, size_t& b) { return cub::DeviceScan::ExclusiveSumByKey(s, b, +d_keys, +d_values, +out, n); });
    printf(" %d", fine && out.host(n) == scan);

    std::vector<int> offsets(counts.size() + 1);
    std::partial_sum(counts.begin(), counts.end(), offsets.begin() + 1);
    const Array<int> d_offsets(offsets);
    fine = two_calls([&](void* s, size_t& b) {
      return cub::DeviceSegmentedReduce::Sum(s, b, +d_values, +out, int(counts.size()), +d_offsets, d_offsets + 1);
    });
    printf(" %d", fine && out.host(counts.size()) == sums);

    const int bounds[] = {-5, -2, 0, 1, 9, 12};
    const Array<int> d_bounds(std::vector<int>(bounds, bounds + 6)), bins(5);
    std::vector<int> expected(5);
    for (int v : values)
      for (int k = 0; k < 5; ++k) expected[k] += v >= bounds[k] && v < bounds[k + 1];
    fine = two_calls([&](void* s, size_t& b) {
      return cub::DeviceHistogram::HistogramRange(s, b, +d_values, +bins, 6, +d_bounds, n);
    });
    printf(" %d\n", fine && bins.host(5) == expected);
  }

  // Red, green, blue of pixels of four bytes.
  const int pixels = 999;
  std::vector<unsigned char> image(4 * pixels);
  for (int i = 0; i < 4 * pixels; ++i) image[i] = i * i % 251;
  const Array<unsigned char> d_image(image);
  const Array<int> r(256), g(256), b(64);
  int* bins[3] = {r, g, b};
  const int levels[3] = {257, 257, 65};
  const int low[3] = {0, 0, 0}, high[3] = {256, 256, 128};
  bool right = two_calls([&](void* s, size_t& bytes) {
    return cub::DeviceHistogram::MultiHistogramEven<4, 3>(s, bytes, +d_image, bins, levels, low, high, pixels);
  });
  std::vector<int> er(256), eg(256), eb(64);
  for (int i = 0; i < pixels; ++i) {
    ++er[image[4 * i]];
    ++eg[image[4 * i + 1]];
    if (image[4 * i + 2] < 128) ++eb[image[4 * i + 2] / 2];
  }
  printf("channels %d\n", right && r.host(256) == er && g.host(256) == eg && b.host(64) == eb);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
