// test: nvcc -ftz=false
// CUDA's mathematical functions within the errors that the programming guide states (in units in the last place).
#include <cmath>
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

template <class T, class F>
__global__ void apply(const T* x, T* y, int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}

double ulp_of(double exact, bool is_float) {
  const double size = std::fabs(exact);
  if (is_float) return std::max(std::ldexp(1.0, -149), std::ldexp(1.0, std::ilogb(size ? size : 1e-300) - 23));
  return std::ldexp(1.0, std::ilogb(size ? size : 1e-300) - 52);
}

template <class T, class F, class R>
void test(const char* name, double low, double high, double most_ulp, F f, R reference) {
  const int n = 2000;
  std::vector<T> x(n);
  for (int i = 0; i < n; ++i) x[i] = T(low + (high - low) * i / (n - 1));
  const Array<T> d_y(n);
  apply<T><<<(n + 255) / 256, 256>>>(Array(x), d_y, n, f);
  const auto y = d_y.read();
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    const double exact = double(reference((long double)x[i]));
    const double error = std::fabs(double(y[i]) - exact) / ulp_of(exact, sizeof(T) == 4);
    if (!(error <= worst)) worst = error;
  }
  if (worst <= most_ulp)
    std::printf("%s ok\n", name);
  else
    std::printf("%s off by %g ulp at most %g\n", name, worst, most_ulp);
}

// A name, the function on the device and on the host, from where to where it is tested, and the errors of float and
// double.
#define FUNCTIONS(F)                                         \
  F(Sin, sin(x), sinl(x), -100, 100, 2, 2)                   \
  F(Cos, cos(x), cosl(x), -100, 100, 2, 2)                   \
  F(Tan, tan(x), tanl(x), -1.5, 1.5, 4, 2)                   \
  F(Exp, exp(x), expl(x), -80, 80, 2, 1)                     \
  F(Exp2, exp2(x), exp2l(x), -100, 100, 2, 1)                \
  F(Log, log(x), logl(x), 0.001, 1000, 1, 1)                 \
  F(Log2, log2(x), log2l(x), 0.001, 1000, 1, 1)              \
  F(Log10, log10(x), log10l(x), 0.001, 1000, 2, 1)           \
  F(Log1p, log1p(x), log1pl(x), -0.9, 10, 1, 1)              \
  F(Sqrt, sqrt(x), sqrtl(x), 0, 1000, 0.5001, 0.5001)        \
  F(Rsqrt, rsqrt(x), 1 / sqrtl(x), 0.01, 1000, 2, 1)         \
  F(Cbrt, cbrt(x), cbrtl(x), -10, 10, 1, 1)                  \
  F(Reciprocal, T(1) / x, 1 / x, 0.1, 17, 0.5001, 0.5001)    \
  F(Tanh, tanh(x), tanhl(x), -5, 5, 2, 1)                    \
  F(Sinh, sinh(x), sinhl(x), -5, 5, 3, 2)                    \
  F(Atan, atan(x), atanl(x), -10, 10, 2, 2)                  \
  F(Asin, asin(x), asinl(x), -1, 1, 2, 2)                    \
  F(Atan2, atan2(x, T(0.75)), atan2l(x, 0.75L), -3, 3, 3, 2) \
  F(Erf, erf(x), erfl(x), -3, 3, 2, 2)                       \
  F(Gamma, tgamma(x), tgammal(x), 0.5, 10, 5, 10)            \
  F(Power, pow(x, T(2.5)), powl(x, 2.5L), 0.01, 50, 4, 2)    \
  F(Hypot, hypot(x, T(3)), hypotl(x, 3), -4, 4, 3, 2)        \
  F(Modulo, fmod(x, T(0.375)), fmodl(x, 0.375L), -4, 4, 0, 0)

#define DEFINE(name, device, host, low, high, ulp_float, ulp_double) \
  struct name {                                                      \
    template <class T>                                               \
    __device__ T operator()(T x) const {                             \
      return device;                                                 \
    }                                                                \
  };                                                                 \
  long double host_##name(long double x) {                           \
    return host;                                                     \
  }
FUNCTIONS(DEFINE)

struct FastSin {
  __device__ float operator()(float x) const { return __sinf(x); }
};
struct FastExp {
  __device__ float operator()(float x) const { return __expf(x); }
};
struct FastLog {
  __device__ float operator()(float x) const { return __logf(x); }
};
struct FastDivide {
  __device__ float operator()(float x) const { return __fdividef(x, 3.0f); }
};

__global__ void special(float* f, double* d, int* k) {
  const float zero = f[0], one = f[1];
  f[2] = one / zero;
  f[3] = sqrtf(-one);
  f[4] = fminf(f[3], 3.0f);
  f[5] = fmaf(0x1.000002p0f * one, 0x1.000002p0f, -1.0f);
  f[6] = roundf(2.5f * one);
  f[7] = rintf(2.5f * one);
  f[8] = nearbyintf(-3.5f * one);
  f[9] = truncf(-2.75f * one);
  f[10] = copysignf(3.0f, -one);
  f[11] = ldexpf(one, 10);
  f[12] = __fadd_rz(one, 0x1p-30f) + __fadd_ru(one, 0x1p-30f);
  f[13] = __frcp_rn(3.0f * one);
  f[14] = __saturatef(one * 1.5f);
  f[15] = 1e-40f * one;
  k[0] = isnan(f[3]);
  k[1] = isinf(f[2]);
  k[2] = signbit(-zero);
  k[3] = __float2int_rn(2.5f * one);
  k[4] = __float2int_rd(-2.5f * one);
  k[5] = (int)(3e9f * one);
  k[6] = lroundf(-2.5f * one);
  k[7] = __float_as_int(one);
  int exponent;
  f[16] = frexpf(48.0f * one, &exponent);
  k[8] = exponent;
  k[9] = (int)(unsigned char)(300.7f * one);
  d[0] = fma(1.0 + 0x1p-52, 1.0 + 0x1p-52, -1.0 * one);
  d[1] = __dadd_rd(1.0 * one, 0x1p-60) + __dadd_ru(1.0 * one, 0x1p-60);
  d[2] = modf(3.75 * one, &d[3]);
}

int main() {
#define TEST(name, device, host, low, high, ulp_float, ulp_double)   \
  test<float>(#name "f", low, high, ulp_float, name(), host_##name); \
  test<double>(#name, low, high, ulp_double, name(), host_##name);
  FUNCTIONS(TEST)
  test<float>("__sinf", -1, 1, 1e9, FastSin(), host_Sin);
  test<float>("__expf", -3, 3, 2 + 1.173 * 3, FastExp(), host_Exp);
  test<float>("__logf", 3, 100, 3, FastLog(), host_Log);
  test<float>("__fdividef", -5, 5, 2, FastDivide(), [](long double x) { return x / 3; });

  std::vector<float> f(17);
  f[1] = 1;
  const Array floats(f);
  const Array<double> doubles(4);
  const Array<int> integers(10);
  special<<<1, 1>>>(floats, doubles, integers);
  f = floats.read();
  const auto d = doubles.read();
  std::printf("%g %g %a %g %g %g %g %g %g\n", f[2], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11]);
  std::printf("%a %a %g %g %g\n", f[12], f[13], f[14], f[15], f[16]);
  for (int x : integers.read()) std::printf("%d ", x);
  std::printf("\n%a %a %g %g\n", d[0], d[1], d[2], d[3]);
}
