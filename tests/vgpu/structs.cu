// Structs as kernel parameters and as results of device functions, unions, bit fields, enums, local arrays, alignment.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

struct Params {
  char tag;
  double scale;
  short counts[3];
  struct {
    int x, y;
  } inner[2];
  const int* data;
  bool flag;
};

struct Flags {
  unsigned low : 3;
  unsigned middle : 13;
  int high : 16;
  unsigned long long wide : 40;
};

union Bits {
  float f;
  unsigned u;
  unsigned char b[4];
};

enum class Color : unsigned char { red, green = 7, blue };

struct Big {
  int v[40];
};

struct Matrix {
  int width, height, stride;
  float* elements;
};

struct Complex {
  float re, im;
  __device__ Complex(float re, float im = 0) : re(re), im(im) {}
  __device__ Complex operator*(const Complex& o) const { return Complex(re * o.re - im * o.im, re * o.im + im * o.re); }
  __device__ Complex operator+(const Complex& o) const { return Complex(re + o.re, im + o.im); }
  __device__ float magnitude2() const { return re * re + im * im; }
};

__global__ void use_params(Params p, double* out) {
  out[0] = p.tag;
  out[1] = p.scale;
  for (int k = 0; k < 3; ++k) out[2 + k] = p.counts[k];
  out[5] = p.inner[threadIdx.x].x * 100 + p.inner[threadIdx.x + 1].y;
  out[6] = p.data[2];
  out[7] = p.flag;
}

// An index known only at run time: the parameter is read from parameter or local memory.
__global__ void use_big(const Big b, int* out) {
  out[threadIdx.x] = b.v[(threadIdx.x * 7) % 40];
}

__device__ __noinline__ Big reversed(Big b) {
  Big r;
  for (int k = 0; k < 40; ++k) r.v[k] = b.v[39 - k];
  return r;
}
__device__ __noinline__ Complex power(Complex c, int n) {
  return n == 0 ? Complex(1) : c * power(c, n - 1);
}

__global__ void results(Big b, int* out, float* z) {
  const Big r = reversed(b);
  out[threadIdx.x] = r.v[threadIdx.x] + b.v[threadIdx.x % 3];
  const Complex c = power(Complex(1, 1), threadIdx.x % 9);
  z[2 * threadIdx.x] = c.re;
  z[2 * threadIdx.x + 1] = c.im;
}

__global__ void fields(Flags* f, Bits* bits, Color* colors) {
  const int t = threadIdx.x;
  Flags mine = f[t];
  mine.low += 1;
  mine.middle = mine.middle * 2 + 1;
  mine.high -= 5;
  mine.wide += (1ull << 39) - 1;
  f[t] = mine;
  Bits b;
  b.f = 1.0f + t;
  b.b[0] |= 1;
  b.u ^= 0x80000000u;
  bits[t] = b;
  colors[t] = t == 0 ? Color::red : t == 1 ? Color::green : Color::blue;
}

// The programming guide's matrix with GetElement / SetElement.
__device__ float get_element(const Matrix A, int row, int col) {
  return A.elements[row * A.stride + col];
}
__device__ void set_element(Matrix A, int row, int col, float value) {
  A.elements[row * A.stride + col] = value;
}
__global__ void transpose(Matrix A, Matrix B) {
  const int row = threadIdx.y, col = threadIdx.x;
  if (row < A.height && col < A.width) set_element(B, col, row, get_element(A, row, col));
}

__global__ void local_arrays(int* out) {
  int stack[64];
  int top = 0;
  for (int k = 0; k <= threadIdx.x; ++k) {
    stack[top++] = k * k;
    if (k % 3 == 2) --top;
  }
  int sum = 0;
  while (top > 0) sum += stack[--top];
  char text[16] = "local";
  text[threadIdx.x % 5] = 'X';
  int hash = 0;
  for (const char* c = text; *c; ++c) hash = hash * 31 + *c;
  out[threadIdx.x] = sum;
  out[32 + threadIdx.x] = hash;
}

int main() {
  const Array<int> data({5, 6, 7}), ints(64);
  const Array<double> out(8);
  const Params p = {'A', 2.75, {1, -2, 3}, {{4, 5}, {6, 7}}, data, true};
  use_params<<<1, 1>>>(p, out);
  for (double x : out.read()) printf("%g ", x);
  printf("\n");

  Big b;
  for (int k = 0; k < 40; ++k) b.v[k] = k * k;
  int wrong = 0;
  use_big<<<1, 32>>>(b, ints);
  std::vector<int> h = ints.read(32);
  for (int t = 0; t < 32; ++t) wrong += h[t] != b.v[t * 7 % 40];
  const Array<float> complex(64);
  results<<<1, 32>>>(b, ints, complex);
  h = ints.read(32);
  const auto z = complex.read();
  for (int t = 0; t < 32; ++t) wrong += h[t] != b.v[39 - t] + b.v[t % 3];
  printf("big: %d wrong; (1 + i)^2 = %g + %gi, (1 + i)^7 = %g + %gi\n", wrong, z[4], z[5], z[14], z[15]);

  Flags start[3];
  for (int k = 0; k < 3; ++k) start[k] = Flags{unsigned(6 + k) & 7, 4000u + k, 3 - k, 1ull << k};
  const Array flags(start);
  const Array<Bits> bits(3);
  const Array<Color> colors(3);
  fields<<<1, 3>>>(flags, bits, colors);
  for (int k = 0; k < 3; ++k) {
    const Flags f = flags.read()[k];
    printf("%u %u %d %llx, %08x, %d\n", f.low, f.middle, f.high, (unsigned long long)f.wide, bits.read()[k].u,
           int(colors.read()[k]));
  }

  std::vector<float> elements(24);
  for (int k = 0; k < 24; ++k) elements[k] = k;
  const Array a(elements);
  const Array<float> turned(20, 0);
  transpose<<<1, dim3(8, 8)>>>({5, 3, 8, a}, {3, 5, 4, turned});
  for (int k = 0; k < 20; ++k) printf("%g%c", turned.read()[k], k % 4 == 3 ? '\n' : ' ');

  local_arrays<<<1, 32>>>(ints);
  h = ints.read();
  wrong = 0;
  for (int thread = 0; thread < 32; ++thread) {
    int sum = 0, hash = 0;
    for (int k = 0; k <= thread; ++k)
      if (k % 3 != 2) sum += k * k;
    char text[] = "local";
    text[thread % 5] = 'X';
    for (const char* c = text; *c; ++c) hash = hash * 31 + *c;
    wrong += h[thread] != sum;
    wrong += h[32 + thread] != hash;
  }
  printf("local arrays: %d wrong, %d\n", wrong, h[4]);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
