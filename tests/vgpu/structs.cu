// Structs as kernel parameters and as results of device functions, unions, bit fields, enums, local arrays, alignment.
#include <cstdint>
#include <cstdio>
#include <cstring>

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
  int data[3] = {5, 6, 7}, *d_data;
  double out[8], *d_out;
  cudaMalloc(&d_data, 64 * sizeof(int));
  cudaMalloc(&d_out, sizeof out);
  cudaMemcpy(d_data, data, sizeof data, cudaMemcpyHostToDevice);
  Params p = {'A', 2.75, {1, -2, 3}, {{4, 5}, {6, 7}}, d_data, true};
  use_params<<<1, 1>>>(p, d_out);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  for (double x : out) printf("%g ", x);
  printf("\n");

  Big b;
  for (int k = 0; k < 40; ++k) b.v[k] = k * k;
  int h[64], wrong = 0;
  use_big<<<1, 32>>>(b, d_data);
  cudaMemcpy(h, d_data, 32 * sizeof(int), cudaMemcpyDeviceToHost);
  for (int t = 0; t < 32; ++t) wrong += h[t] != b.v[t * 7 % 40];
  float z[64], *d_z;
  cudaMalloc(&d_z, sizeof z);
  results<<<1, 32>>>(b, d_data, d_z);
  cudaMemcpy(h, d_data, 32 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(z, d_z, sizeof z, cudaMemcpyDeviceToHost);
  for (int t = 0; t < 32; ++t) wrong += h[t] != b.v[39 - t] + b.v[t % 3];
  printf("big: %d wrong; (1 + i)^2 = %g + %gi, (1 + i)^7 = %g + %gi\n", wrong, z[4], z[5], z[14], z[15]);

  Flags f[3], *d_f;
  Bits bits[3], *d_bits;
  Color colors[3], *d_colors;
  for (int k = 0; k < 3; ++k) f[k] = Flags{unsigned(6 + k) & 7, 4000u + k, 3 - k, 1ull << k};
  cudaMalloc(&d_f, sizeof f);
  cudaMalloc(&d_bits, sizeof bits);
  cudaMalloc(&d_colors, sizeof colors);
  cudaMemcpy(d_f, f, sizeof f, cudaMemcpyHostToDevice);
  fields<<<1, 3>>>(d_f, d_bits, d_colors);
  cudaMemcpy(f, d_f, sizeof f, cudaMemcpyDeviceToHost);
  cudaMemcpy(bits, d_bits, sizeof bits, cudaMemcpyDeviceToHost);
  cudaMemcpy(colors, d_colors, sizeof colors, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 3; ++k)
    printf("%u %u %d %llx, %08x, %d\n", f[k].low, f[k].middle, f[k].high, (unsigned long long)f[k].wide, bits[k].u,
           int(colors[k]));

  Matrix A = {5, 3, 8, nullptr}, B = {3, 5, 4, nullptr};
  float a[24], t[20];
  for (int k = 0; k < 24; ++k) a[k] = k;
  cudaMalloc(&A.elements, sizeof a);
  cudaMalloc(&B.elements, sizeof t);
  cudaMemcpy(A.elements, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemset(B.elements, 0, sizeof t);
  transpose<<<1, dim3(8, 8)>>>(A, B);
  cudaMemcpy(t, B.elements, sizeof t, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 20; ++k) printf("%g%c", t[k], k % 4 == 3 ? '\n' : ' ');

  local_arrays<<<1, 32>>>(d_data);
  cudaMemcpy(h, d_data, sizeof h, cudaMemcpyDeviceToHost);
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
