// Everything that a kernel can take: all scalar types with their alignment, arrays within structs, empty structs, enum
// classes, pointers to pointers and to functions, 4 KB of parameters, __grid_constant__, parameters that kernels
// change.
#include <cstdint>
#include <cstdio>
#include <cstring>

struct Empty {};
struct __align__(16) Aligned {
  char c;
  int values[3];
};
struct Nested {
  short s;
  Aligned inner;
  Empty nothing;
  bool flags[3];
  double d;
};
enum class Mode : unsigned char { plus = 3, minus = 7 };
union Either {
  double d;
  uint32_t words[2];
};

__global__ void scalars(bool b, char c, short s, Mode m, int i, unsigned char uc, long long l, float f, char last,
                        double d, uint16_t u, void* p, Empty e, int8_t n, long long* out) {
  out[0] = b;
  out[1] = c;
  out[2] = s;
  out[3] = static_cast<int>(m);
  out[4] = i;
  out[5] = uc;
  out[6] = l;
  out[7] = (long long)(f * 4);
  out[8] = last;
  out[9] = (long long)(d * 8);
  out[10] = u;
  out[11] = p == out;
  out[12] = sizeof e;
  out[13] = n;
}

__global__ void structs(Nested a, Either e, float3 v, Nested b, uchar3 small, long long* out) {
  const int k = threadIdx.x;
  out[k] = a.inner.values[k % 3] + b.inner.values[(k + 1) % 3] * 1000 + a.flags[k % 3] * 1000000;  // index at run time
  if (k == 0) {
    out[3] = a.s + a.inner.c + (long long)(a.d * 2) + e.words[1];
    out[4] = (long long)(v.x + v.y * 10 + v.z * 100) + small.z * 1000;
    out[5] = reinterpret_cast<uintptr_t>(&a.inner) % 16 + sizeof(Nested);
  }
}

// A parameter is the thread's own: it may write to it and take its address.
__device__ __noinline__ void shift(int* a, int n) {
  const int first = a[0];
  for (int k = 1; k < n; ++k) a[k - 1] = a[k];
  a[n - 1] = first;
}
struct Array {
  int a[9];
};
__global__ void changed(Array p, int n, long long* out) {
  for (int k = 0; k < threadIdx.x; ++k) shift(p.a, 9);
  n += threadIdx.x;
  p.a[n % 9] += 100 * n;
  long long sum = 0;
  for (int k = 0; k < 9; ++k) sum = sum * 7 + p.a[k];
  out[threadIdx.x] = sum;
}

struct Huge {
  int values[1021];
};
__global__ void huge(const Huge h, int stride, long long* out) {
  long long sum = 0;
  for (int k = threadIdx.x; k < 1021; k += stride) sum += h.values[k];
  out[threadIdx.x] = sum;
}
__global__ void constant(const __grid_constant__ Huge h, long long* out) {
  const int* p = h.values;  // no copy in local memory
  out[threadIdx.x] = p[1020 - threadIdx.x];
}

__global__ void pointers(int*** ppp, int** const* table, const int (*rows)[5], int (&first)[2], long long* out) {
  out[0] = ***ppp;
  out[1] = *table[0][1];
  out[2] = rows[2][3];
  out[3] = reinterpret_cast<uintptr_t>(&first) == 0x1000;
}

template <class... Ts>
__global__ void pack(long long* out, Ts... values) {
  int k = 0;
  ((out[k++] = static_cast<long long>(values)), ...);
}

int main() {
  long long *out, h[32];
  cudaMalloc(&out, sizeof h);
  const auto print = [&](const char* name, int n) {
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    printf("%s:", name);
    for (int k = 0; k < n; ++k) printf(" %lld", h[k]);
    printf("\n");
  };
  scalars<<<1, 1>>>(true, -2, -300, Mode::minus, 1 << 30, 250, -5000000000ll, 1.75f, 'z', -0.125, 65535, out, Empty(),
                    -128, out);
  print("scalars", 14);

  Nested a = {-5, {'A', {1, 2, 3}}, {}, {true, false, true}, 2.5}, b = a;
  b.inner.values[0] = 7;
  Either e;
  e.words[0] = 0, e.words[1] = 1000;
  structs<<<1, 3>>>(a, e, make_float3(1, 2, 3), b, make_uchar3(1, 2, 200), out);
  print("structs", 6);

  Array p;
  for (int k = 0; k < 9; ++k) p.a[k] = k;
  changed<<<1, 10>>>(p, 2, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int t = 0; t < 10; ++t) {
    int q[9];
    for (int k = 0; k < 9; ++k) q[k] = (k + t) % 9;
    q[(2 + t) % 9] += 100 * (2 + t);
    long long sum = 0;
    for (int v : q) sum = sum * 7 + v;
    wrong += h[t] != sum;
  }
  printf("changed: %d wrong\n", wrong);

  Huge huge_values;
  long long expected[3] = {};
  for (int k = 0; k < 1021; ++k) expected[k % 3] += huge_values.values[k] = k * k;
  huge<<<1, 3>>>(huge_values, 3, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("huge: %d bytes, %s\n", int(sizeof(Huge)), memcmp(h, expected, sizeof expected) == 0 ? "right" : "wrong");
  constant<<<1, 2>>>(huge_values, out);
  print("constant", 2);

  int value = 42, *d_value, **d_pointer, ***d_pointers, rows[3][5] = {}, *d_rows;
  rows[2][3] = 23;
  cudaMalloc(&d_value, sizeof value);
  cudaMalloc(&d_pointer, 2 * sizeof d_value);
  cudaMalloc(&d_pointers, sizeof d_pointer);
  cudaMalloc(&d_rows, sizeof rows);
  int* const both[2] = {d_value, d_value};
  cudaMemcpy(d_value, &value, sizeof value, cudaMemcpyHostToDevice);
  cudaMemcpy(d_pointer, both, sizeof both, cudaMemcpyHostToDevice);
  cudaMemcpy(d_pointers, &d_pointer, sizeof d_pointer, cudaMemcpyHostToDevice);
  cudaMemcpy(d_rows, rows, sizeof rows, cudaMemcpyHostToDevice);
  pointers<<<1, 1>>>(d_pointers, d_pointers, reinterpret_cast<int(*)[5]>(d_rows), *reinterpret_cast<int(*)[2]>(0x1000),
                     out);
  print("pointers", 4);
  pack<<<1, 1>>>(out, 1, 2.9, 'c', -4.5f, 5ull, short(-6), true);
  print("pack", 7);

  // The same through cudaLaunchKernel, which takes the arguments' addresses.
  float x = 3.5f;
  int y = -9;
  void* arguments[] = {&out, &x, &y};
  cudaLaunchKernel((const void*)pack<float, int>, dim3(1), dim3(1), arguments, 0, nullptr);
  print("addresses", 2);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
