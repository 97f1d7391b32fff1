// A stable radix sort of many blocks, four bits a pass: histograms of digits by block, a scan over them in digit-major
// order, a scatter whose ranks come from __match_any_sync. Signed, unsigned and float keys through bit tricks.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "arrays.hpp"

constexpr int kDigits = 16, kBlock = 160, kWarps = kBlock / 32;

__host__ __device__ inline unsigned to_bits(unsigned k) {
  return k;
}
__host__ __device__ inline unsigned to_bits(int k) {
  return static_cast<unsigned>(k) ^ 0x80000000u;
}
__device__ inline unsigned to_bits(float k) {
  const unsigned b = __float_as_uint(k);
  return b & 0x80000000u ? ~b : b | 0x80000000u;
}
template <class T>
__device__ T from_bits(unsigned b);
template <>
__device__ unsigned from_bits(unsigned b) {
  return b;
}
template <>
__device__ int from_bits(unsigned b) {
  return static_cast<int>(b ^ 0x80000000u);
}
template <>
__device__ float from_bits(unsigned b) {
  return __uint_as_float(b & 0x80000000u ? b & 0x7fffffffu : ~b);
}

template <class T>
__global__ void encode(const T* in, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = to_bits(in[i]);
}
template <class T>
__global__ void decode(const unsigned* in, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = from_bits<T>(in[i]);
}

__global__ void histogram(const unsigned* keys, int* counts, int n, int shift) {
  __shared__ int s_counts[kDigits];
  if (threadIdx.x < kDigits) s_counts[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) atomicAdd(&s_counts[keys[i] >> shift & (kDigits - 1)], 1);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = s_counts[threadIdx.x];
}

__global__ void exclusive_scan(int* counts, int n) {
  int running = 0;
  for (int first = 0; first < n; first += 32) {
    const int i = first + threadIdx.x, mine = i < n ? counts[i] : 0;
    int sum = mine;
    for (int d = 1; d < 32; d *= 2) {
      const int left = __shfl_up_sync(~0u, sum, d);
      if (threadIdx.x >= d) sum += left;
    }
    if (i < n) counts[i] = running + sum - mine;
    running += __shfl_sync(~0u, sum, 31);
  }
}

__global__ void scatter(const unsigned* keys, const int* values, unsigned* keys_out, int* values_out,
                        const int* offsets, int n, int shift) {
  __shared__ int of_warp[kWarps][kDigits];
  const int i = blockIdx.x * kBlock + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane < kDigits) of_warp[warp][lane] = 0;
  __syncwarp();
  const unsigned key = i < n ? keys[i] : 0;
  const int digit = i < n ? int(key >> shift & (kDigits - 1)) : -1;
  const unsigned peers = __match_any_sync(0xffffffffu, digit);
  const int rank = __popc(peers & ((1u << lane) - 1));
  if (digit >= 0 && rank == 0) of_warp[warp][digit] = __popc(peers);
  __syncthreads();
  if (i >= n) return;
  int position = offsets[digit * gridDim.x + blockIdx.x] + rank;
  for (int w = 0; w < warp; ++w) position += of_warp[w][digit];
  keys_out[position] = key;
  values_out[position] = values[i];
}

template <class T>
bool test(std::vector<T> keys) {
  const int n = keys.size(), blocks = (n + kBlock - 1) / kBlock;
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  const Array<T> d_keys(keys);
  const Array<unsigned> k0(n), k1(n);
  const Array<int> v0(order), v1(n), counts(kDigits * blocks);
  unsigned* k[2] = {k0, k1};
  int* v[2] = {v0, v1};
  encode<T><<<blocks, kBlock>>>(d_keys, k[0], n);
  for (int shift = 0; shift < 32; shift += 4) {
    histogram<<<blocks, kBlock>>>(k[0], counts, n, shift);
    exclusive_scan<<<1, 32>>>(counts, kDigits * blocks);
    scatter<<<blocks, kBlock>>>(k[0], v[0], k[1], v[1], counts, n, shift);
    std::swap(k[0], k[1]);
    std::swap(v[0], v[1]);
  }
  decode<T><<<blocks, kBlock>>>(k[0], d_keys, n);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  std::stable_sort(keys.begin(), keys.end());
  // After eight passes the results are where they began.
  return memcmp(d_keys.read().data(), keys.data(), n * sizeof(T)) == 0 && v0.read() == order;
}

int main() {
  for (int n : {1, 159, 160, 161, 2500}) {
    std::vector<unsigned> u(n);
    std::vector<int> s(n);
    std::vector<float> f(n);
    for (int i = 0; i < n; ++i) {
      u[i] = i * 2654435769u;
      s[i] = (i * 7919) % 61 - 30;
      f[i] = (i * 31 % 1001 - 500) * 0.37f + 0.01f;
    }
    printf("%d: %s %s %s\n", n, test(u) ? "sorted" : "wrong", test(s) ? "sorted" : "wrong",
           test(f) ? "sorted" : "wrong");
  }
  return cudaDeviceSynchronize();
}
