// 8, 16 and 64-bit integers, double, half, vector types, conversions: against the same arithmetic on the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "arrays.hpp"

int wrong_total = 0;

template <class T>
void expect(const char* what, const std::vector<T>& got, const std::vector<T>& expected) {
  int wrong = 0;
  for (size_t k = 0; k < expected.size(); ++k) wrong += std::memcmp(&got[k], &expected[k], sizeof(T)) != 0;
  wrong_total += wrong;
  std::printf("%s: %d wrong of %zu\n", what, wrong, expected.size());
}

template <class Out, class In, class F>
__global__ void map(const In* in, Out* out, int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(in[i], in[(i * 7 + 3) % n]);
}

template <class Out, class In, class F>
std::vector<Out> on_device(const std::vector<In>& in, F f) {
  const int n = in.size();
  const Array<Out> out(n);
  map<Out><<<(n + 63) / 64, 64>>>(Array<In>(in).get(), out.get(), n, f);
  return out.read();
}

template <class Out, class In, class F>
void test(const char* what, const std::vector<In>& in, F f) {
  std::vector<Out> expected;
  for (size_t i = 0; i < in.size(); ++i) expected.push_back(f(in[i], in[(i * 7 + 3) % in.size()]));
  expect(what, on_device<Out>(in, f), expected);
}

template <class T>
struct Arithmetic {
  __host__ __device__ T operator()(T a, T b) const {
    T r = a + b;
    r = T(r * b) - T(a >> 1);
    if (b != 0 && b != T(-1)) r = T(r ^ T(a / b)) + T(a % b);
    r |= T(T(a << 3) & ~b);
    return a < b ? r : T(-r);
  }
};
struct Mixed {
  __host__ __device__ double operator()(double a, double b) const {
    return (a * b + (a > 0 ? sqrt(a) : -a)) / (1 + fabs(b)) - floor(a) + fmin(a, b) + ceil(b / 3) + trunc(a) + rint(b);
  }
};
struct ToInt {
  __host__ __device__ long long operator()(double a, double b) const {
    return (long long)a + (int)(float)b + (unsigned char)(int)a + (short)(int)b;
  }
};
struct ToFloat {
  __host__ __device__ float operator()(int64_t a, int64_t b) const {
    return float(a) + float(uint32_t(b)) + float(int8_t(a));
  }
};
struct MultiplyHigh {
  __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const {
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b) + __umulhi(uint32_t(a), uint32_t(b)) + __mulhi(int(a), int(b)) + __mul24(int(a), int(b)) +
           __sad(int(a), int(b), 9u);
#else
    const int x = int(a << 8) >> 8, y = int(b << 8) >> 8, ia = int(a), ib = int(b);
    const uint32_t sad = 9u + (ia > ib ? uint32_t(ia) - uint32_t(ib) : uint32_t(ib) - uint32_t(ia));
    return uint64_t((unsigned __int128)a * b >> 64) + uint64_t(uint32_t(uint64_t(uint32_t(a)) * uint32_t(b) >> 32)) +
           int(int64_t(int(a)) * int(b) >> 32) + int(uint32_t(x) * uint32_t(y)) + sad;
#endif
  }
};
struct Wide {
  __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const {
    unsigned __int128 w = (unsigned __int128)a * b;
    w += (unsigned __int128)b << 31;
    w -= a;
    return uint64_t(w >> 50) ^ uint64_t(w);
  }
};

__global__ void halves(const float* x, float* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const __half h = __float2half(x[i]), two = __float2half(2.0f);
  out[i] = __half2float(__hadd(__hmul(h, two), __float2half(1.0f)));
  const __half2 pair = __floats2half2_rn(x[i], -x[i]);
  const __half2 r = __hfma2(pair, __half2half2(two), __float2half2_rn(0.5f));
  out[n + i] = __low2float(r);
  out[2 * n + i] = __high2float(r);
  out[3 * n + i] = __hgt(h, two) ? 1.0f : 0.0f;
  out[4 * n + i] = __bfloat162float(__float2bfloat16(x[i]) + __float2bfloat16(1.0f));
  out[5 * n + i] = float(h / two - __half(0.25f));
  out[6 * n + i] = float(__half2int_rz(h) + __half2short_rn(h));
}

__global__ void vectors(const uchar4* c, const float4* f, const int2* p, const double2* d, float4* out,
                        uchar4* pixels) {
  const int i = threadIdx.x;
  const uchar4 pixel = c[i];
  const float4 v = f[i];
  const int2 q = p[i];
  const double2 w = d[i];
  out[i] = make_float4(v.x + pixel.x, v.y * pixel.y, v.z - q.x + q.y, float(v.w + w.x * w.y));
  pixels[i] = make_uchar4(pixel.w, pixel.z, pixel.y + 200, (unsigned char)(v.x));
}

int main() {
  std::vector<int8_t> i8;
  std::vector<uint16_t> u16;
  std::vector<uint32_t> u32;
  std::vector<int64_t> i64;
  std::vector<uint64_t> u64;
  std::vector<double> f64;
  uint64_t state = 88172645463325252ull;
  for (int k = 0; k < 300; ++k) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    i8.push_back(state), u16.push_back(state >> 5), u32.push_back(state >> 9);
    i64.push_back(int64_t(state) >> (k % 50 + 2)), u64.push_back(state >> k % 64);
    f64.push_back((int64_t(state) >> 30) / 1048576.0);
  }
  test<int8_t>("int8", i8, Arithmetic<int8_t>());
  test<uint16_t>("uint16", u16, Arithmetic<uint16_t>());
  test<uint32_t>("uint32", u32, Arithmetic<uint32_t>());
  test<uint64_t>("uint64", u64, Arithmetic<uint64_t>());
  test<uint64_t>("high products", u64, MultiplyHigh());
  test<uint64_t>("128 bits", u64, Wide());
  test<long long>("double to integers", f64, ToInt());
  test<float>("integers to float", i64, ToFloat());
  // One multiplication and addition may be fused on the device, so not to the last bit.
  const auto got = on_device<double>(f64, Mixed());
  int wrong = 0;
  for (size_t k = 0; k < f64.size(); ++k) {
    const double expected = Mixed()(f64[k], f64[(k * 7 + 3) % f64.size()]);
    wrong += !(std::fabs(got[k] - expected) <= 1e-14 * (1 + std::fabs(f64[k]) + std::fabs(expected)));
  }
  std::printf("double: %d wrong\n", wrong);

  const int n = 8;
  const Array<float> x({0, 1, -1, 0.333251953125f, 2.5f, 100, 2049, 3.75f}), results(7 * n);
  halves<<<1, 32>>>(x, results, n);
  const auto out = results.read();
  for (int row = 0; row < 7; ++row) {
    for (int k = 0; k < n; ++k) std::printf("%s%.7g", k ? " " : "", out[row * n + k]);
    std::printf("\n");
  }

  const Array<uchar4> bytes({{1, 2, 100, 255}, {9, 8, 7, 6}}), pixels(2);
  const Array<float4> floats({{0.5f, 1.5f, 2.5f, 3.5f}, {200, -1, -2, -3}}), sums(2);
  const Array<int2> pairs({{10, 20}, {-5, 5}});
  const Array<double2> doubles({{0.25, 4}, {2, 3}});
  vectors<<<1, 2>>>(bytes, floats, pairs, doubles, sums, pixels);
  const auto r = sums.read();
  const auto c = pixels.read();
  for (int k = 0; k < 2; ++k)
    std::printf("%g %g %g %g, %d %d %d %d\n", r[k].x, r[k].y, r[k].z, r[k].w, c[k].x, c[k].y, c[k].z, c[k].w);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
