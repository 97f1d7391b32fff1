// Blocks less than a warp wide, in all shapes: a warp is several of their rows. Scans along rows and along columns,
// transposition, tiled products of matrices whose sides no tile divides, at several widths of elements; each compared
// with the host, and printed as a hash.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t e = call;                                                      \
    if (e != cudaSuccess) printf("%s: %s\n", #call, cudaGetErrorString(e)), exit(1); \
  } while (0)

// An inclusive scan of each row of a tile, by distances that double.
template <class T, int X, int Y, int Z>
__global__ void scan_rows(const T* in, T* out, int width, int height) {
  __shared__ T s_row[Z][Y][X];
  const int x = blockIdx.x * X + threadIdx.x, y = blockIdx.y * Y + threadIdx.y, z = threadIdx.z;
  const bool is_inside = x < width && y < height;
  const size_t i = ((size_t)z * height + y) * width + x;
  s_row[z][threadIdx.y][threadIdx.x] = is_inside ? in[i] : T(0);
  for (int distance = 1; distance < X; distance *= 2) {
    __syncthreads();
    T sum = s_row[z][threadIdx.y][threadIdx.x];
    if ((int)threadIdx.x >= distance) sum = s_row[z][threadIdx.y][threadIdx.x - distance] + sum;
    __syncthreads();
    s_row[z][threadIdx.y][threadIdx.x] = sum;
  }
  if (is_inside) out[i] = s_row[z][threadIdx.y][threadIdx.x];
}

// The same along columns; a thread adds up what is above it.
template <class T, int X, int Y, int Z>
__global__ void scan_columns(const T* in, T* out, int width, int height) {
  __shared__ T s_tile[Z][Y][X];
  const int x = blockIdx.x * X + threadIdx.x, y = blockIdx.y * Y + threadIdx.y, z = threadIdx.z;
  const size_t plane = (size_t)z * height * width;
  s_tile[z][threadIdx.y][threadIdx.x] = x < width && y < height ? in[plane + y * width + x] : T(0);
  __syncthreads();
  T sum = 0;
  for (int above = 0; above < Y; ++above)
    if (above <= (int)threadIdx.y) sum += s_tile[z][above][threadIdx.x];
  if (x < width && y < height) out[plane + y * width + x] = sum;
}

// Through a square tile, X by X, that a block X wide reads in strips of Y rows.
template <class T, int X, int Y>
__global__ void transpose(const T* in, T* out, int width, int height) {
  __shared__ T s_tile[X][X + 1];
  for (int strip = 0; strip < X; strip += Y) {
    const int x = blockIdx.x * X + threadIdx.x, y = blockIdx.y * X + strip + threadIdx.y;
    if (strip + threadIdx.y < X && x < width && y < height)
      s_tile[strip + threadIdx.y][threadIdx.x] = in[y * width + x];
  }
  __syncthreads();
  for (int strip = 0; strip < X; strip += Y) {
    const int x = blockIdx.y * X + threadIdx.x, y = blockIdx.x * X + strip + threadIdx.y;
    if (strip + threadIdx.y < X && x < height && y < width)
      out[y * height + x] = s_tile[threadIdx.x][strip + threadIdx.y];
  }
}

template <class T, int X>
__global__ void product(const T* a, const T* b, T* c, int rows, int inner, int columns) {
  __shared__ T s_a[X][X], s_b[X][X];
  const int x = blockIdx.x * X + threadIdx.x, y = blockIdx.y * X + threadIdx.y;
  T sum = 0;
  for (int tile = 0; tile < inner; tile += X) {
    const int ax = tile + threadIdx.x, by = tile + threadIdx.y;
    s_a[threadIdx.y][threadIdx.x] = y < rows && ax < inner ? a[y * inner + ax] : T(0);
    s_b[threadIdx.y][threadIdx.x] = by < inner && x < columns ? b[by * columns + x] : T(0);
    __syncthreads();
    for (int k = 0; k < X; ++k) sum += s_a[threadIdx.y][k] * s_b[k][threadIdx.x];
    __syncthreads();
  }
  if (y < rows && x < columns) c[y * columns + x] = sum;
}

template <class T>
std::vector<T> values(size_t n, unsigned factor) {
  std::vector<T> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = T(int(i * factor >> 3 & 15) - 5);  // sums of these are exact
  return v;
}

template <class T>
void report(const char* what, int x, int y, int z, const Array<T>& d_out, const std::vector<T>& expected) {
  CHECK(cudaGetLastError());
  const std::vector<T> out = d_out.read();
  uint64_t hash = 1469598103934665603ull;
  for (const T& v : out) hash = (hash ^ (uint64_t)(int64_t)v) * 1099511628211ull;
  printf("%s of %zu bytes, %d x %d x %d: %016llx, %d wrong\n", what, sizeof(T), x, y, z, (unsigned long long)hash,
         count_wrong(out, expected));
}

template <class T, int X, int Y, int Z>
void scans(int width, int height) {
  const size_t n = (size_t)width * height * Z;
  const std::vector<T> in = values<T>(n, 2654435761u);
  std::vector<T> rows(n), columns(n);
  for (int z = 0; z < Z; ++z)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const size_t i = ((size_t)z * height + y) * width + x;
        rows[i] = in[i] + (x % X ? rows[i - 1] : T(0));
        columns[i] = in[i] + (y % Y ? columns[i - width] : T(0));
      }
  const Array<T> d_in(in), d_out(n);
  const dim3 block(X, Y, Z), grid((width + X - 1) / X, (height + Y - 1) / Y);
  scan_rows<T, X, Y, Z><<<grid, block>>>(d_in, d_out, width, height);
  report("rows", X, Y, Z, d_out, rows);
  scan_columns<T, X, Y, Z><<<grid, block>>>(d_in, d_out, width, height);
  report("columns", X, Y, Z, d_out, columns);
}

template <class T, int X, int Y>
void transpositions(int width, int height) {
  const std::vector<T> in = values<T>((size_t)width * height, 40503u);
  std::vector<T> expected(in.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) expected[x * height + y] = in[y * width + x];
  const Array<T> d_in(in), d_out(in.size());
  transpose<T, X, Y><<<dim3((width + X - 1) / X, (height + X - 1) / X), dim3(X, Y)>>>(d_in, d_out, width, height);
  report("transpose", X, Y, 1, d_out, expected);
}

template <class T, int X>
void products(int rows, int inner, int columns) {
  const std::vector<T> a = values<T>((size_t)rows * inner, 97u), b = values<T>((size_t)inner * columns, 193u);
  std::vector<T> expected((size_t)rows * columns);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      T sum = 0;
      for (int k = 0; k < inner; ++k) sum += a[y * inner + k] * b[k * columns + x];
      expected[y * columns + x] = sum;
    }
  const Array<T> d_a(a), d_b(b), d_c(expected.size());
  product<T, X><<<dim3((columns + X - 1) / X, (rows + X - 1) / X), dim3(X, X)>>>(d_a, d_b, d_c, rows, inner, columns);
  report("product", X, X, 1, d_c, expected);
}

template <class T>
void all() {
  scans<T, 16, 16, 1>(70, 50);
  scans<T, 16, 6, 1>(33, 29);
  scans<T, 8, 8, 1>(20, 41);
  scans<T, 8, 4, 3>(17, 9);
  scans<T, 4, 32, 1>(11, 100);
  scans<T, 4, 8, 2>(30, 10);
  scans<T, 2, 64, 1>(9, 70);
  scans<T, 16, 3, 2>(40, 7);  // the last warp is half full, and rows of two planes meet in the second
  scans<T, 4, 4, 4>(10, 10);  // a warp is two planes
  scans<T, 1, 64, 1>(3, 130);
  scans<T, 24, 4, 1>(50, 9);  // rows and warps do not fit
  scans<T, 32, 4, 1>(70, 9);
  transpositions<T, 16, 16>(45, 30);
  transpositions<T, 16, 4>(31, 64);
  transpositions<T, 8, 8>(9, 70);
  transpositions<T, 4, 8>(13, 21);
  products<T, 16>(40, 33, 50);
  products<T, 8>(17, 40, 9);
  products<T, 4>(9, 7, 5);
}

int main() {
  all<int>();
  all<float>();
  all<double>();
  all<short>();
  all<long long>();
  CHECK(cudaDeviceSynchronize());
}
