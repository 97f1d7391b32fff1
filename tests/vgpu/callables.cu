// test: nvcc --extended-lambda
// Template kernels, functors, lambdas from the host, device function pointers, recursion, virtual functions.
#include <cstdio>
#include <new>
#include <type_traits>

struct Plus {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
struct Saxpy {
  const float a;
  explicit Saxpy(float a) : a(a) {}
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};

template <int threads, class T, class Op>
__global__ void scan_kernel(const T* in, T* out, Op op) {
  __shared__ T s[2][threads];
  int from = 0;
  s[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int d = 1; d < threads; d *= 2) {
    s[1 - from][threadIdx.x] =
        threadIdx.x >= d ? op(s[from][threadIdx.x - d], s[from][threadIdx.x]) : s[from][threadIdx.x];
    from = 1 - from;
    __syncthreads();
  }
  out[threadIdx.x] = s[from][threadIdx.x];
}

template <class F>
__global__ void for_each(int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

template <class... Args>
__device__ int sum_of(Args... args) {
  return (args + ... + 0);
}

typedef int (*Operation)(int, int);
__device__ int add(int a, int b) {
  return a + b;
}
__device__ int multiply(int a, int b) {
  return a * b;
}
__device__ int subtract(int a, int b) {
  return a - b;
}
__device__ Operation d_multiply = multiply;
__device__ Operation operations[3] = {add, multiply, subtract};

__global__ void by_pointer(Operation op, int* out) {
  out[threadIdx.x] = op(threadIdx.x, 3);
}
__global__ void by_table(int* out) {
  out[threadIdx.x] = operations[threadIdx.x % 3](threadIdx.x, 3);
}

__device__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) {
  return n == 0 ? true : is_odd(n - 1);
}
__device__ __noinline__ bool is_odd(unsigned n) {
  return n == 0 ? false : is_even(n - 1);
}
__device__ void quicksort(int* a, int low, int high) {
  if (low >= high) return;
  int i = low, j = high, pivot = a[(low + high) / 2];
  while (i <= j) {
    while (a[i] < pivot) ++i;
    while (a[j] > pivot) --j;
    if (i <= j) {
      int t = a[i];
      a[i++] = a[j];
      a[j--] = t;
    }
  }
  quicksort(a, low, j);
  quicksort(a, i, high);
}
__global__ void recursion(int* out, int* a) {
  out[threadIdx.x] = fibonacci(threadIdx.x % 20);
  if (threadIdx.x == 31) out[32] = ackermann(2, 3);
  if (threadIdx.x < 2) out[33 + threadIdx.x] = is_even(40 + threadIdx.x);
  if (threadIdx.x == 5) quicksort(a, 0, 99);
}

class Shape {
 public:
  __device__ virtual float area() const = 0;
  __device__ virtual const char* name() const { return "shape"; }
  __device__ virtual ~Shape() {}
};
class Square : public Shape {
  float side_;

 public:
  __device__ Square(float side) : side_(side) {}
  __device__ float area() const override { return side_ * side_; }
  __device__ const char* name() const override { return "square"; }
};
class Triangle final : public Shape {
  float base_, height_;

 public:
  __device__ Triangle(float base, float height) : base_(base), height_(height) {}
  __device__ float area() const override { return base_ * height_ / 2; }
};

__global__ void shapes(float* out) {
  __shared__ __align__(16) char storage[2][32];
  Shape* shape;
  if (threadIdx.x % 2)
    shape = new (storage[1]) Triangle(3, 4);
  else
    shape = new Square(threadIdx.x + 1);
  out[threadIdx.x] = shape->area();
  if (threadIdx.x < 2) printf("%s of area %g\n", shape->name(), shape->area());
  if (threadIdx.x % 2 == 0) delete shape;
}

template <class T>
struct Trait;
template <>
struct Trait<float> {
  static constexpr int code = 1;
};
template <>
struct Trait<double> {
  static constexpr int code = 2;
};
template <class T>
__global__ void traits(int* out) {
  if constexpr (std::is_same_v<T, float>)
    out[0] = Trait<T>::code * 10 + sum_of(1, 2, 3);
  else
    out[0] = Trait<T>::code * 10 + sum_of();
}

template <class T>
void print(const char* name, T* d, int count) {
  T h[64];
  cudaMemcpy(h, d, count * sizeof(T), cudaMemcpyDeviceToHost);
  printf("%s:", name);
  for (int k = 0; k < count; ++k) printf(" %g", double(h[k]));
  printf("\n");
}

int main() {
  int in[64], *d_in, *d_out;
  for (int i = 0; i < 64; ++i) in[i] = (i * 29) % 31;
  cudaMalloc(&d_in, 100 * sizeof(int));
  cudaMalloc(&d_out, 64 * sizeof(int));
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  scan_kernel<16><<<1, 16>>>(d_in, d_out, Plus());
  print("plus", d_out, 16);
  scan_kernel<32, int><<<1, 32>>>(d_in, d_out, Max{});
  print("max", d_out, 16);
  scan_kernel<8><<<1, 8>>>(d_in, d_out, [] __device__(int a, int b) { return a * 2 + b; });
  print("lambda", d_out, 2);

  float *d_x, *d_y;
  cudaMalloc(&d_x, 8 * sizeof(float));
  cudaMalloc(&d_y, 8 * sizeof(float));
  const float scale = 2.5f;
  for_each<<<1, 32>>>(8, [=] __device__(int i) { d_x[i] = i, d_y[i] = 1; });
  const Saxpy saxpy(scale);
  for_each<<<1, 32>>>(8, [=] __host__ __device__(int i) { d_y[i] = saxpy(d_x[i], d_y[i]); });
  print("saxpy", d_y, 8);

  Operation op;
  cudaMemcpyFromSymbol(&op, d_multiply, sizeof op);
  by_pointer<<<1, 6>>>(op, d_out);
  print("by pointer", d_out, 6);
  by_table<<<1, 9>>>(d_out);
  print("by table", d_out, 9);

  int a[100];
  for (int i = 0; i < 100; ++i) a[i] = i * 37 % 100;
  cudaMemcpy(d_in, a, sizeof a, cudaMemcpyHostToDevice);
  recursion<<<1, 32>>>(d_out, d_in);
  print("recursion", d_out, 35);
  cudaMemcpy(a, d_in, sizeof a, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 100; ++i) wrong += a[i] != i;
  printf("quicksort: %d wrong\n", wrong);

  shapes<<<1, 8>>>(d_x);
  print("areas", d_x, 8);
  traits<float><<<1, 1>>>(d_out);
  print("float", d_out, 1);
  traits<double><<<1, 1>>>(d_out);
  print("double", d_out, 1);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
