// Templates as libraries use them: template template parameters, packs and folds, if constexpr, constexpr tables, CRTP,
// policies, enable_if, variable templates, deduction, structured bindings, compile-time recursion.
#include <cstdio>
#include <type_traits>

#include "arrays.hpp"

template <class... Ts>
struct TypeList {
  static constexpr int size = sizeof...(Ts);
  static constexpr size_t bytes = (sizeof(Ts) + ... + 0);
};

// A table that the compiler fills.
template <int N>
struct Primes {
  int values[N] = {};
  constexpr Primes() {
    int found = 0;
    for (int candidate = 2; found < N; ++candidate) {
      bool prime = true;
      for (int k = 0; k < found && values[k] * values[k] <= candidate; ++k) prime = prime && candidate % values[k] != 0;
      if (prime) values[found++] = candidate;
    }
  }
};
__constant__ constexpr Primes<64> primes;
template <unsigned N>
inline constexpr unsigned log2_of = 1 + log2_of<N / 2>;
template <>
inline constexpr unsigned log2_of<1> = 0;

// CRTP: the base calls the derived class without virtual functions.
template <class Derived>
struct Expression {
  __device__ const Derived& self() const { return static_cast<const Derived&>(*this); }
  __device__ int operator[](int i) const { return self().at(i); }
};
struct Vector : Expression<Vector> {
  const int* data;
  __device__ explicit Vector(const int* d) : data(d) {}
  __device__ int at(int i) const { return data[i]; }
};
template <class A, class B, class Op>
struct Binary : Expression<Binary<A, B, Op>> {
  A a;
  B b;
  __device__ Binary(const A& x, const B& y) : a(x), b(y) {}
  __device__ int at(int i) const { return Op::apply(a[i], b[i]); }
};
struct Plus {
  static __device__ int apply(int a, int b) { return a + b; }
};
struct Times {
  static __device__ int apply(int a, int b) { return a * b; }
};
template <class A, class B>
__device__ Binary<A, B, Plus> operator+(const Expression<A>& a, const Expression<B>& b) {
  return {a.self(), b.self()};
}
template <class A, class B>
__device__ Binary<A, B, Times> operator*(const Expression<A>& a, const Expression<B>& b) {
  return {a.self(), b.self()};
}

// A container that is a parameter.
template <class T, int N>
struct Forward {
  T items[N];
  __device__ T& operator[](int k) { return items[k]; }
};
template <class T, int N>
struct Backward {
  T items[N];
  __device__ T& operator[](int k) { return items[N - 1 - k]; }
};
template <template <class, int> class Container, class T, int N>
__device__ T weighted() {
  Container<T, N> c;
  for (int k = 0; k < N; ++k) c[k] = T(k);
  T sum = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) sum += c.items[k] * T(k + 1);
  return sum;
}

template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
__device__ T halve(T v) {
  return v >> 1;
}
template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
__device__ T halve(T v) {
  return v / 2;
}

template <class T>
__device__ int describe(T) {
  if constexpr (std::is_pointer_v<T>)
    return 1000 + describe(std::remove_pointer_t<T>{});
  else if constexpr (std::is_same_v<T, bool>)
    return 1;
  else if constexpr (std::is_unsigned_v<T>)
    return 200 + int(sizeof(T));
  else
    return 100 + int(sizeof(T));
}

template <int... I>
struct Sequence {};
template <int N, int... I>
struct Make : Make<N - 1, N - 1, I...> {};
template <int... I>
struct Make<0, I...> {
  using type = Sequence<I...>;
};
template <int... I>
__device__ int dot(const int* a, Sequence<I...>) {
  return ((a[I] * (I + 1)) + ...);
}

// Unrolled by recursion over the template's argument; the step of a warp reduction.
template <int Delta>
__device__ int warp_sum(int v) {
  v += __shfl_xor_sync(0xffffffff, v, Delta);
  if constexpr (Delta > 1) return warp_sum<Delta / 2>(v);
  return v;
}

struct Minmax {
  int low, high;
};
template <class First, class... Rest>
__device__ Minmax minmax(First first, Rest... rest) {
  Minmax r{first, first};
  ((r.low = rest < r.low ? rest : r.low, r.high = rest > r.high ? rest : r.high), ...);
  return r;
}

template <class T, template <class> class Policy>
__global__ void policy_kernel(T* out) {
  out[threadIdx.x] = Policy<T>::value(threadIdx.x);
}
template <class T>
struct Squares {
  static __device__ T value(T x) { return x * x; }
};
template <class T>
struct PrimesOf {
  static __device__ T value(T x) { return primes.values[int(x)]; }
};

__global__ void features(int* out, const int* a) {
  const Vector x(a), y(a + 8), z(a + 16);
  const auto e = x * y + z * x + y;
  out[threadIdx.x] = e[threadIdx.x];
  out += 32;
  const int sum = warp_sum<16>(a[threadIdx.x]);
  if (threadIdx.x) return;
  out[0] = sum;
  out[1] = weighted<Forward, int, 5>();
  out[2] = weighted<Backward, float, 5>();
  out[3] = halve(7);
  out[4] = halve(7.0f) * 2;
  out[5] = describe('c') * 1 + describe(1ull) * 1000;
  out[6] = describe((bool*)nullptr) + describe((short**)nullptr);
  out[7] = dot(a, Make<6>::type{});
  const auto [low, high] = minmax(5, -3, 17, 4);
  out[8] = low * 100 + high;
  out[9] = TypeList<int, char, double>::size * 100 + TypeList<int, char, double>::bytes;
  out[10] = log2_of<1024>;
}

int main() {
  std::vector<int> h(64);
  for (int i = 0; i < 64; ++i) h[i] = i % 10;
  const Array<int> a(h), out(64);
  features<<<1, 32>>>(out, a);
  int wrong = 0;
  const auto r = out.read();
  for (int i = 0; i < 32; ++i) wrong += r[i] != h[i] * h[i + 8] + h[i + 16] * h[i] + h[i + 8];
  printf("expressions: %d wrong\n", wrong);
  for (int k = 0; k < 11; ++k) printf("%d ", r[32 + k]);
  printf("\n");
  policy_kernel<int, Squares><<<1, 5>>>(a);
  const Array<float> primes(64);
  policy_kernel<float, PrimesOf><<<1, 64>>>(primes);
  h = a.read();
  const auto p = primes.read();
  printf("%d %d %d, primes %g %g %g\n", h[2], h[3], h[4], p[0], p[10], p[63]);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
