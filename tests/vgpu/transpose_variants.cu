// Transpositions of rectangles: naive, padded tile, blocks renumbered along diagonals, one warp by shuffles, and a
// square in place. For several types.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "arrays.hpp"

enum Variant { kNaive, kTiled, kDiagonal };

template <class T, int TileDim, int Rows, Variant variant>
__global__ void transpose(T* out, const T* in, int width, int height) {
  int bx = blockIdx.x, by = blockIdx.y;
  if (variant == kDiagonal) {
    const int id = blockIdx.x + gridDim.x * blockIdx.y;
    by = id % gridDim.y;
    bx = (id / gridDim.y + by) % gridDim.x;
  }
  int x = bx * TileDim + threadIdx.x, y = by * TileDim + threadIdx.y;
  if constexpr (variant == kNaive) {
    for (int j = 0; j < TileDim; j += Rows)
      if (x < width && y + j < height) out[x * height + y + j] = in[(y + j) * width + x];
  } else {
    __shared__ T tile[TileDim][TileDim + 1];
#pragma unroll
    for (int j = 0; j < TileDim; j += Rows)
      if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = by * TileDim + threadIdx.x, y = bx * TileDim + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TileDim; j += Rows)
      if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
  }
}

// Swaps tiles above the diagonal with those below it, so half of the blocks have nothing to do.
__global__ void in_place(double* a, int n) {
  __shared__ double upper[8][9], lower[8][9];
  if (blockIdx.x < blockIdx.y) return;
  const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const int u = blockIdx.y * 8 + threadIdx.x, v = blockIdx.x * 8 + threadIdx.y;
  if (x < n && y < n) upper[threadIdx.y][threadIdx.x] = a[y * n + x];
  if (u < n && v < n) lower[threadIdx.y][threadIdx.x] = a[v * n + u];
  __syncthreads();
  if (x < n && y < n) a[y * n + x] = lower[threadIdx.x][threadIdx.y];
  if (u < n && v < n) a[v * n + u] = upper[threadIdx.x][threadIdx.y];
}

// 32 x 32 in registers: lane c holds column c; log2(32) exchanges.
__global__ void by_shuffles(int* a) {
  int column[32];
#pragma unroll
  for (int r = 0; r < 32; ++r) column[r] = a[r * 32 + threadIdx.x];
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
#pragma unroll
    for (int r = 0; r < 32; ++r)
      if ((r & d) == 0) {
        const bool high = threadIdx.x & d;
        const int send = high ? column[r] : column[r | d];
        const int got = __shfl_xor_sync(0xffffffff, send, d);
        (high ? column[r] : column[r | d]) = got;
      }
#pragma unroll
  for (int r = 0; r < 32; ++r) a[r * 32 + threadIdx.x] = column[r];
}

template <class T, int TileDim, int Rows, Variant variant>
int test(int width, int height) {
  std::vector<T> h(width * height);
  std::iota(h.begin(), h.end(), T(1));
  const Array<T> out(h.size());
  const dim3 grid((width + TileDim - 1) / TileDim, (height + TileDim - 1) / TileDim);
  transpose<T, TileDim, Rows, variant><<<grid, dim3(TileDim, Rows)>>>(out, Array(h), width, height);
  const auto r = out.read();
  int wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) wrong += r[x * height + y] != h[y * width + x];
  return wrong;
}

int main() {
  for (auto [w, h] : {std::pair(1, 1), {32, 32}, {33, 31}, {100, 5}, {7, 200}}) {
    printf("%d x %d:", w, h);
    printf(" %d", test<float, 32, 8, kNaive>(w, h));
    printf(" %d", test<float, 32, 8, kTiled>(w, h));
    printf(" %d", test<short, 16, 16, kTiled>(w, h));
    printf(" %d", test<double, 32, 4, kDiagonal>(w, h));
    printf(" %d", test<unsigned char, 9, 3, kDiagonal>(w, h));
    printf(" wrong\n");
  }
  const int n = 37;
  std::vector<double> square(n * n);
  std::iota(square.begin(), square.end(), 0);
  const Array d_square(square);
  in_place<<<dim3(5, 5), dim3(8, 8)>>>(d_square, n);
  const auto result = d_square.read();
  int wrong = 0;
  for (int k = 0; k < n * n; ++k) wrong += result[k] != square[k % n * n + k / n];
  std::vector<int> a(1024);
  std::iota(a.begin(), a.end(), 0);
  const Array d_a(a);
  by_shuffles<<<1, 32>>>(d_a);
  a = d_a.read();
  int shuffled = 0;
  for (int k = 0; k < 1024; ++k) shuffled += a[k] != k % 32 * 32 + k / 32;
  printf("in place: %d wrong, by shuffles: %d wrong\n", wrong, shuffled);
  return cudaDeviceSynchronize();
}
