// test: nvcc -fmad=false
// The Mandelbrot set, one of the most divergent loops there are: iteration counts of float and double against the
// host's, bit for bit, since no multiplication is fused; blocks of odd shape; a work queue instead of a grid.
#include <cstdio>
#include <vector>

template <class Real>
__host__ __device__ int escape(Real cr, Real ci, int limit) {
  Real zr = 0, zi = 0;
  int k = 0;
  while (k < limit && zr * zr + zi * zi <= Real(4)) {
    const Real t = zr * zr - zi * zi + cr;
    zi = Real(2) * zr * zi + ci;
    zr = t;
    ++k;
  }
  return k;
}

struct View {
  double left, top, step;
  int width, height, limit;
};

template <class Real>
__global__ void draw(View v, int* image) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < v.width && y < v.height)
    image[y * v.width + x] = escape<Real>(Real(v.left + x * v.step), Real(v.top + y * v.step), v.limit);
}

__device__ unsigned next_row;

// Each warp takes rows until there are none left.
template <class Real>
__global__ void draw_rows(View v, int* image) {
  for (;;) {
    unsigned row;
    if (threadIdx.x == 0) row = atomicAdd(&next_row, 1);
    row = __shfl_sync(0xffffffff, row, 0);
    if (row >= v.height) break;
    for (int x = threadIdx.x; x < v.width; x += 32)
      image[row * v.width + x] = escape<Real>(Real(v.left + x * v.step), Real(v.top + row * v.step), v.limit);
  }
}

template <class Real>
void test(const char* name, const View& v) {
  const int n = v.width * v.height;
  std::vector<int> expected(n), image(n);
  for (int y = 0; y < v.height; ++y)
    for (int x = 0; x < v.width; ++x)
      expected[y * v.width + x] = escape<Real>(Real(v.left + x * v.step), Real(v.top + y * v.step), v.limit);
  int* d;
  cudaMalloc(&d, n * sizeof(int));
  printf("%s:", name);
  for (dim3 block : {dim3(16, 16), dim3(5, 7), dim3(1, 1), dim3(1, 64)}) {
    cudaMemset(d, 0, n * sizeof(int));
    draw<Real><<<dim3((v.width + block.x - 1) / block.x, (v.height + block.y - 1) / block.y), block>>>(v, d);
    cudaMemcpy(image.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost);
    printf(" %s", image == expected ? "right" : "wrong");
  }
  cudaMemset(d, 0, n * sizeof(int));
  const unsigned zero = 0;
  cudaMemcpyToSymbol(next_row, &zero, sizeof zero);
  draw_rows<Real><<<5, 32>>>(v, d);
  cudaMemcpy(image.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost);
  int members = 0;
  for (int k : image) members += k == v.limit;
  printf(" %s, %s\n", image == expected ? "right" : "wrong", members > n / 10 && members < n / 2 ? "a set" : "no set");
  cudaFree(d);
}

int main() {
  const View whole{-2.0, -1.2, 0.05, 52, 48, 60};
  test<float>("float", whole);
  test<double>("double", whole);
  return cudaDeviceSynchronize();
}
