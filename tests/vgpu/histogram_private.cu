// Histograms of bytes in the steps of a lecture: atomics in global memory, one copy a block in shared memory, one copy
// a warp, and a run-length trick that adds once for equal neighbours. Also a histogram of more bins than threads.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "arrays.hpp"

constexpr int kBins = 256;

__global__ void naive(const uint8_t* data, size_t size, unsigned* bins) {
  for (size_t i = threadIdx.x + size_t(blockIdx.x) * blockDim.x; i < size; i += size_t(blockDim.x) * gridDim.x)
    atomicAdd(bins + data[i], 1u);
}

__global__ void privatized(const uint8_t* data, size_t size, unsigned* bins) {
  __shared__ unsigned local[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0u;
  __syncthreads();
  for (size_t i = threadIdx.x + size_t(blockIdx.x) * blockDim.x; i < size; i += size_t(blockDim.x) * gridDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x)
    if (unsigned count = local[b]) atomicAdd(&bins[b], count);
}

// A copy a warp, of 16-bit counters in pairs: bin b is a half of word b / 2.
template <int Warps>
__global__ void per_warp(const uint8_t* data, size_t size, unsigned* bins) {
  __shared__ unsigned local[Warps][kBins / 2 + 1];
  for (int k = threadIdx.x; k < Warps * (kBins / 2 + 1); k += Warps * 32) (&local[0][0])[k] = 0;
  __syncthreads();
  unsigned* mine = local[threadIdx.x / 32];
  const size_t chunk = (size + gridDim.x - 1) / gridDim.x, end = min(size, chunk * (blockIdx.x + 1));
  for (size_t i = chunk * blockIdx.x + threadIdx.x; i < end; i += Warps * 32)
    atomicAdd(&mine[data[i] >> 1], data[i] & 1 ? 0x10000u : 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += Warps * 32) {
    unsigned sum = 0;
    for (int w = 0; w < Warps; ++w) sum += local[w][b >> 1] >> (b & 1 ? 16 : 0) & 0xffff;
    atomicAdd(&bins[b], sum);
  }
}

__global__ void runs(const uint8_t* data, size_t size, unsigned* bins) {
  unsigned accumulator = 0;
  int previous = -1;
  const size_t chunk = (size + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);
  const size_t first = chunk * (blockIdx.x * blockDim.x + threadIdx.x);
  for (size_t i = first; i < first + chunk && i < size; ++i) {
    if (data[i] == previous) {
      ++accumulator;
      continue;
    }
    if (accumulator) atomicAdd(&bins[previous], accumulator);
    accumulator = 1;
    previous = data[i];
  }
  if (accumulator > 0) atomicAdd(&bins[previous], accumulator);
}

// 10,000 bins in dynamic shared memory; values outside the range are counted together.
__global__ void many_bins(const int* values, int n, unsigned* bins, int bin_count, int low, int width) {
  extern __shared__ unsigned s[];
  for (int b = threadIdx.x; b <= bin_count; b += blockDim.x) s[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int bin = values[i] < low ? bin_count : (values[i] - low) / width;
    atomicAdd(&s[min(bin, bin_count)], 1);
  }
  __syncthreads();
  for (int b = threadIdx.x; b <= bin_count; b += blockDim.x) atomicAdd(&bins[b], s[b]);
}

template <class Launch>
void test(const std::string& name, const std::string& text, Launch launch) {
  const Array d_text(std::vector<uint8_t>(text.begin(), text.end()));
  const Array<unsigned> bins(kBins, 0);
  unsigned expected[kBins] = {};
  launch(d_text.get(), text.size(), bins.get());
  for (unsigned char c : text) ++expected[c];
  printf("%s: %s\n", name.c_str(), count_wrong(bins.read(), expected) == 0 ? "right" : "wrong");
}

int main() {
  std::mt19937 random(12345);
  std::string text(20011, ' '), flat(5000, 'x');
  for (char& c : text) c = random() % 7 == 0 ? char(random()) : "etaoin"[random() % 6];
  for (auto* t : {&text, &flat}) {
    test("global", *t, [](auto... args) { naive<<<7, 96>>>(args...); });
    test("shared", *t, [](auto... args) { privatized<<<5, 100>>>(args...); });
    test("a warp each", *t, [](auto... args) { per_warp<4><<<3, 128>>>(args...); });
    test("runs", *t, [](auto... args) { runs<<<2, 64>>>(args...); });
  }
  std::vector<int> values(30000);
  std::vector<unsigned> expected(10001);
  for (int& v : values) {
    v = int(random() % 110000) - 5000;
    ++expected[v < 0 || v >= 100000 ? 10000 : v / 10];
  }
  const Array<unsigned> bins(10001, 0);
  many_bins<<<2, 512, 10001 * sizeof(unsigned)>>>(Array(values), 30000, bins, 10000, 0, 10);
  printf("10000 bins: %s\n", bins.read() == expected ? "right" : "wrong");
  return cudaDeviceSynchronize();
}
