// Products of a matrix and a vector: a thread a row, a warp a row with read-only loads, a block a row, and columns with
// atomics; widths that are not a multiple of anything.
#include <cassert>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

template <typename T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& host) : size_(host.size()) {
    cudaMalloc(&data_, size_ * sizeof(T));
    cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  device_array(const device_array&) = delete;
  ~device_array() { cudaFree(data_); }
  operator T*() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> h(size_);
    cudaMemcpy(h.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
    return h;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

__global__ void thread_a_row(const int* a, const int* x, int* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int sum = 0;
  for (int c = 0; c < columns; ++c) sum += a[row * columns + c] * x[c];
  y[row] = sum;
}

template <int kWarps>
__global__ void __launch_bounds__(kWarps * 32, 4)
    warp_a_row(const int* __restrict__ a, const int* __restrict__ x, int* __restrict__ y, int rows, int columns) {
  const int row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;
  const int* mine = a + size_t(row) * columns;
  int sum = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < columns; c += 32) sum += __ldg(mine + c) * __ldg(x + c);
#pragma unroll
  for (int d = 16; d >= 1; d >>= 1) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (threadIdx.x == 0) y[row] = sum;
}

__global__ void block_a_row(const int* a, const int* x, int* y, int columns) {
  __shared__ int sums[128];
  int sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += a[blockIdx.x * columns + c] * x[c];
  sums[threadIdx.x] = sum;
  // The length of the block need not be a power of two: the upper part is folded onto the lower.
  for (int live = blockDim.x; live > 1;) {
    __syncthreads();
    const int half = (live + 1) / 2;
    if (threadIdx.x + half < live) sums[threadIdx.x] += sums[threadIdx.x + half];
    live = half;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}

__global__ void column_wise(const int* a, const int* x, int* y, int rows, int columns) {
  const int c = blockIdx.y * blockDim.y + threadIdx.y, row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && c < columns) atomicAdd(&y[row], a[row * columns + c] * x[c]);
}

}  // namespace

int main() {
  const int shapes[][2] = {{1, 1}, {3, 500}, {70, 33}, {129, 31}, {32, 64}};
  for (const auto& [rows, columns] : shapes) {
    std::vector<int> a(rows * columns), x(columns), expected(rows);
    for (int k = 0; k < rows * columns; ++k) a[k] = k % 21 - 10;
    for (int k = 0; k < columns; ++k) x[k] = k * k % 17;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) expected[r] += a[r * columns + c] * x[c];
    const device_array<int> d_a(a), d_x(x), d_y(std::vector<int>(rows, 0));
    printf("%d x %d:", rows, columns);
    thread_a_row<<<(rows + 63) / 64, 64>>>(d_a, d_x, d_y, rows, columns);
    printf(" %s", d_y.host() == expected ? "right" : "wrong");
    cudaMemset(d_y, 0xff, rows * sizeof(int));
    warp_a_row<3><<<(rows + 2) / 3, dim3(32, 3)>>>(d_a, d_x, d_y, rows, columns);
    printf(" %s", d_y.host() == expected ? "right" : "wrong");
    for (int threads : {1, 7, 100, 128}) {
      cudaMemset(d_y, 0xff, rows * sizeof(int));
      block_a_row<<<rows, threads>>>(d_a, d_x, d_y, columns);
      printf(" %s", d_y.host() == expected ? "right" : "wrong");
    }
    cudaMemset(d_y, 0, rows * sizeof(int));
    column_wise<<<dim3((rows + 15) / 16, (columns + 3) / 4), dim3(16, 4)>>>(d_a, d_x, d_y, rows, columns);
    printf(" %s\n", d_y.host() == expected ? "right" : "wrong");
  }
  return cudaDeviceSynchronize();
}
