// Bitonic sort of keys with values: short strides in shared memory, long ones in global memory, one launch a step; and
// the odd-even merge network for one warp by shuffles.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "arrays.hpp"

#define SHARED_SIZE 256

__device__ inline void Comparator(uint& keyA, uint& valA, uint& keyB, uint& valB, uint dir) {
  uint t;
  if ((keyA > keyB) == dir) {
    t = keyA;
    keyA = keyB;
    keyB = t;
    t = valA;
    valA = valB;
    valB = t;
  }
}

// Sorts pieces of SHARED_SIZE, every other one downwards.
__global__ void bitonicSortShared(uint* keys, uint* vals) {
  __shared__ uint s_key[SHARED_SIZE];
  __shared__ uint s_val[SHARED_SIZE];
  keys += blockIdx.x * SHARED_SIZE + threadIdx.x;
  vals += blockIdx.x * SHARED_SIZE + threadIdx.x;
  s_key[threadIdx.x] = keys[0];
  s_val[threadIdx.x] = vals[0];
  s_key[threadIdx.x + SHARED_SIZE / 2] = keys[SHARED_SIZE / 2];
  s_val[threadIdx.x + SHARED_SIZE / 2] = vals[SHARED_SIZE / 2];
  for (uint size = 2; size <= SHARED_SIZE; size <<= 1) {
    uint ddd = size < SHARED_SIZE ? (threadIdx.x & (size / 2)) == 0 : (blockIdx.x & 1) == 0;
    for (uint stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      Comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], ddd);
    }
  }
  __syncthreads();
  keys[0] = s_key[threadIdx.x];
  vals[0] = s_val[threadIdx.x];
  keys[SHARED_SIZE / 2] = s_key[threadIdx.x + SHARED_SIZE / 2];
  vals[SHARED_SIZE / 2] = s_val[threadIdx.x + SHARED_SIZE / 2];
}

__global__ void bitonicMergeGlobal(uint* keys, uint* vals, uint size, uint stride) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  uint ddd = (i & (size / 2)) == 0;
  uint pos = 2 * i - (i & (stride - 1));
  Comparator(keys[pos], vals[pos], keys[pos + stride], vals[pos + stride], ddd);
}

// Each lane holds one key; lane ^ d is its partner.
__global__ void warpSort(int* keys, int n) {
  const int lane = threadIdx.x & 31, i = blockIdx.x * blockDim.x + threadIdx.x;
  int key = i < n ? keys[i] : INT_MAX;
  for (int size = 2; size <= 32; size *= 2)
    for (int d = size / 2; d > 0; d /= 2) {
      const int other = __shfl_xor_sync(0xffffffffu, key, d);
      const bool up = (lane & size) == 0 || size == 32, low = (lane & d) == 0;
      key = up == low ? min(key, other) : max(key, other);
    }
  if (i < n) keys[i] = key;
}

int main(int argc, char** argv) {
  for (uint n : {256u, 512u, 4096u}) {
    std::vector<uint> keys(n), vals(n);
    for (uint i = 0; i < n; i++) keys[i] = (i * 2654435761u) >> 20, vals[i] = i;
    const Array<uint> d_key(keys), d_val(vals);
    bitonicSortShared<<<n / SHARED_SIZE, SHARED_SIZE / 2>>>(d_key, d_val);
    for (uint size = 2 * SHARED_SIZE; size <= n; size <<= 1)
      for (uint stride = size / 2; stride > 0; stride >>= 1)
        bitonicMergeGlobal<<<n / 128, 64>>>(d_key, d_val, size, stride);
    std::vector<uint> k = d_key.read(), v = d_val.read();
    bool pairs = true;
    for (uint i = 0; i < n; i++) pairs = pairs && keys[v[i]] == k[i];
    std::sort(keys.begin(), keys.end());
    std::sort(v.begin(), v.end());
    printf("%u: %s, %s, %s\n", n, k == keys ? "sorted" : "not sorted", pairs ? "values follow" : "values lost",
           v == vals ? "a permutation" : "no permutation");
  }
  for (int n : {1, 5, 32, 50, 1000}) {
    std::vector<int> keys(n);
    for (int i = 0; i < n; i++) keys[i] = (i * 7919) % 501 - 250;
    const Array d(keys);
    warpSort<<<(n + 63) / 64, 64>>>(d, n);
    for (int i = 0; i < n; i += 32) std::sort(&keys[i], &keys[0] + std::min(n, i + 32));
    printf("warps of %d: %s\n", n, d.read() == keys ? "sorted" : "not sorted");
  }
  return cudaGetLastError();
}
