// Brent-Kung with two elements a thread, and the coarsened scan in three phases (both after Kirk, Hwu and El Hajj).
#include <assert.h>
#include <stdio.h>

#include <vector>

constexpr int section_size = 2048;
constexpr int COARSE_FACTOR = 8;

__global__ void Brent_Kung_scan_kernel(const float* X, float* Y, unsigned int N) {
  __shared__ float XY[section_size];
  unsigned int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) XY[threadIdx.x] = X[i];
  if (i + blockDim.x < N) XY[threadIdx.x + blockDim.x] = X[i + blockDim.x];
  for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
    __syncthreads();
    unsigned int index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index < section_size) XY[index] += XY[index - stride];
  }
  for (int stride = section_size / 4; stride > 0; stride /= 2) {
    __syncthreads();
    unsigned int index = (threadIdx.x + 1) * stride * 2 - 1;
    if (index + stride < section_size) XY[index + stride] += XY[index];
  }
  __syncthreads();
  if (i < N) Y[i] = XY[threadIdx.x];
  if (i + blockDim.x < N) Y[i + blockDim.x] = XY[threadIdx.x + blockDim.x];
}

__global__ void coarsened_kernel(const int* input, int* output, int n) {
  __shared__ int s_tile[256 * COARSE_FACTOR];
  __shared__ int s_sums[256];
  const int tile = blockIdx.x * 256 * COARSE_FACTOR;
  // Phase 0: coalesced loads.
  for (int c = 0; c < COARSE_FACTOR; ++c) {
    const int i = c * blockDim.x + threadIdx.x;
    s_tile[i] = tile + i < n ? input[tile + i] : 0;
  }
  __syncthreads();
  // Phase 1: each thread its own part, in order.
  const int start = threadIdx.x * COARSE_FACTOR;
#pragma unroll
  for (int c = 1; c < COARSE_FACTOR; ++c) s_tile[start + c] += s_tile[start + c - 1];
  s_sums[threadIdx.x] = s_tile[start + COARSE_FACTOR - 1];
  __syncthreads();
  // Phase 2: the sums of the threads.
  for (int stride = 1; stride < 256; stride <<= 1) {
    int left = 0;
    if (threadIdx.x >= stride) left = s_sums[threadIdx.x - stride];
    __syncthreads();
    s_sums[threadIdx.x] += left;
    __syncthreads();
  }
  // Phase 3: what lies before the thread's part.
  if (threadIdx.x > 0) {
    const int before = s_sums[threadIdx.x - 1];
#pragma unroll
    for (int c = 0; c < COARSE_FACTOR; ++c) s_tile[start + c] += before;
  }
  __syncthreads();
  for (int c = 0; c < COARSE_FACTOR; ++c) {
    const int i = c * blockDim.x + threadIdx.x;
    if (tile + i < n) output[tile + i] = s_tile[i];
  }
}

template <typename T>
bool is_right(const std::vector<T>& x, const std::vector<T>& y, int section) {
  T sum{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum = i % section ? sum + x[i] : x[i];
    if (sum != y[i]) {
      printf("y[%zu] = %g, expected %g\n", i, double(y[i]), double(sum));
      return false;
    }
  }
  return true;
}

template <typename T, typename Launch>
void test(const char* name, int n, int section, Launch launch) {
  std::vector<T> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = T(i % 7 - 2);
  T *d_x = nullptr, *d_y = nullptr;
  cudaMalloc(&d_x, n * sizeof(T));
  cudaMalloc(&d_y, n * sizeof(T));
  cudaMemcpy(d_x, x.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  launch(d_x, d_y);
  assert(cudaDeviceSynchronize() == cudaSuccess);
  cudaMemcpy(y.data(), d_y, n * sizeof(T), cudaMemcpyDeviceToHost);
  printf("%s, %d elements: %s, last %g\n", name, n, is_right(x, y, section) ? "right" : "wrong", double(y.back()));
  cudaFree(d_x);
  cudaFree(d_y);
}

int main() {
  for (int n : {1, 1024, 2047, 2048, 2049, 10000}) {
    test<float>("Brent-Kung", n, section_size, [n](float* x, float* y) {
      Brent_Kung_scan_kernel<<<(n + section_size - 1) / section_size, section_size / 2>>>(x, y, n);
    });
    test<int>("coarsened", n, 256 * COARSE_FACTOR, [n](int* x, int* y) {
      const int tile = 256 * COARSE_FACTOR;
      coarsened_kernel<<<(n + tile - 1) / tile, 256>>>(x, y, n);
    });
  }
}
