// A Fourier transform modulo a prime, so that every bit counts: Stockham steps in shared memory, 64-bit products,
// convolution of two sequences against the sum of products; Montgomery multiplication with __umulhi.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

constexpr uint32_t P = 998244353, G = 3;

__host__ __device__ constexpr uint32_t mul(uint32_t a, uint32_t b) {
  return static_cast<uint64_t>(a) * b % P;
}
__host__ __device__ constexpr uint32_t power(uint32_t base, uint32_t e) {
  uint32_t r = 1;
  for (; e; e >>= 1, base = mul(base, base))
    if (e & 1) r = mul(r, base);
  return r;
}
__host__ __device__ constexpr uint32_t negative_inverse() {  // of P modulo 2^32, by Newton's iteration
  uint32_t x = 1;
  for (int k = 0; k < 5; ++k) x *= 2 - P * x;
  return -x;
}
__device__ uint32_t montgomery(uint32_t a, uint32_t b) {
  const uint32_t low = a * b, high = __umulhi(a, b), q = low * negative_inverse();
  const uint32_t t = high + __umulhi(q, P) + (low != 0);
  return t >= P ? t - P : t;
}

template <int N>
__global__ void transform(uint32_t* data, bool inverse) {
  __shared__ uint32_t s[2][N];
  data += blockIdx.x * N;
  for (int i = threadIdx.x; i < N; i += blockDim.x) s[0][i] = data[i];
  int from = 0;
  for (int half = 1; half < N; half *= 2, from ^= 1) {
    __syncthreads();
    const uint32_t root = power(G, (P - 1) / (2 * half)), w1 = inverse ? power(root, P - 2) : root;
    for (int k = threadIdx.x; k < N / 2; k += blockDim.x) {
      const int j = k % half;
      const uint32_t a = s[from][k], b = mul(s[from][k + N / 2], power(w1, j));
      const int to = 2 * (k - j) + j;
      s[from ^ 1][to] = a + b >= P ? a + b - P : a + b;
      s[from ^ 1][to + half] = a >= b ? a - b : a + P - b;
    }
  }
  __syncthreads();
  const uint32_t scale = inverse ? power(N, P - 2) : 1;
  for (int i = threadIdx.x; i < N; i += blockDim.x) data[i] = mul(s[from][i], scale);
}

__global__ void pointwise(uint32_t* a, const uint32_t* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t r = (uint64_t(1) << 32) % P;
  // In and out of Montgomery's form around the product.
  if (i < n) a[i] = montgomery(montgomery(montgomery(a[i], mul(r, r)), montgomery(b[i], mul(r, r))), 1);
}

template <int N>
void test(int threads) {
  std::vector<uint32_t> a(3 * N), b(3 * N);
  for (int i = 0; i < 3 * N; ++i)
    if (i % N < N / 2) a[i] = i * 2654435761u % P, b[i] = (i * 40503u + 7) % P;
  const Array d_a(a), d_b(b);
  transform<N><<<3, threads>>>(d_a, false);
  transform<N><<<3, threads>>>(d_a, true);
  const auto back = d_a.read();
  transform<N><<<3, threads>>>(d_a, false);
  transform<N><<<3, threads>>>(d_b, false);
  pointwise<<<(3 * N + 99) / 100, 100>>>(d_a, d_b, 3 * N);
  transform<N><<<3, threads>>>(d_a, true);
  const auto c = d_a.read();
  int wrong = 0;
  for (int first = 0; first < 3 * N; first += N)
    for (int k = 0; k < N; ++k) {
      uint32_t sum = 0;
      for (int i = 0; i <= k; ++i) sum = (sum + mul(a[first + i], b[first + k - i])) % P;
      wrong += c[first + k] != sum;
    }
  printf("%d, %d threads: %s, %d wrong\n", N, threads, back == a ? "there and back" : "lost", wrong);
}

int main() {
  test<2>(32);
  test<64>(32);
  test<128>(50);
  test<256>(1024);
  return cudaDeviceSynchronize();
}
