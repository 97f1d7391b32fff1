// Switches, loops with break, continue and goto, nested divergence, early returns before barriers, long unrolled code.
#include <cstdio>

#include "arrays.hpp"

__host__ __device__ int by_switch(int x) {
  switch (x % 12) {
    case 0:
      return 7;
    case 1:
      x += 3;  // fall through
    case 2:
      x *= 5;
      break;
    case 3:
      x -= 11;
      break;
    case 4:
      x ^= 0x55;
      break;
    case 5:
      return x * x;
    case 6:
      x = x << 2 | 1;
      break;
    case 7:
      x = ~x;
      break;
    case 8:
    case 9:
      x /= 3;
      break;
    case 10:
      x %= 7;
      break;
    default:
      x = -x;
  }
  return x + 1;
}

__host__ __device__ int loops(int x) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    if (i * x % 7 == 3) continue;
    if (sum > 500 + x) break;
    int k = 0;
    while (true) {
      ++k;
      if (k % 2 == 0) continue;
      if (k > i % 5 + x % 3) break;
      sum += k;
    }
    do {
      sum += i & 1;
    } while (--k > x % 4);
  }
  return sum;
}

__host__ __device__ int with_goto(int x) {
  int steps = 0;
again:
  if (x == 1) goto done;
  if (steps > 60) goto too_long;
  ++steps;
  if (x & 1) {
    x = 3 * x + 1;
    goto again;
  }
  x >>= 1;
  goto again;
too_long:
  return -x;
done:
  return steps;
}

__host__ __device__ int nested(int x) {
  int r = 0;
  if (x & 1) {
    if (x & 2) {
      for (int k = 0; k < (x & 7); ++k)
        if (k & 1)
          r += k;
        else if (x & 16)
          r ^= x;
        else
          return r + 1000;
    } else if ((x & 4) || (x & 8 && x & 16)) {
      r = x > 20 ? x < 40 ? 3 : 5 : 7;
    }
  } else {
    while (x > 0) {
      x -= (x & 3) + 1;
      r++;
    }
  }
  return r;
}

__host__ __device__ int unrolled(int x) {
  int a[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) a[k] = x * k + k * k;
#pragma unroll
  for (int round = 0; round < 8; ++round)
#pragma unroll
    for (int k = 0; k < 16; ++k) a[k] = a[k] * 3 + a[(k + round + 1) % 16];
  int sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum ^= a[k];
  return sum;
}

template <int (*function)(int)>
__global__ void apply(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = function(i);
}

template <int (*function)(int)>
void test(const char* name, const Array<int>& d) {
  const int n = 1000;
  apply<function><<<(n + 127) / 128, 128>>>(d, n);
  const auto h = d.read(n);
  int wrong = 0;
  for (int i = 1; i < n; ++i) wrong += h[i] != function(i);
  printf("%s: %d wrong\n", name, wrong);
}

// Threads without work return first: on a GPU a barrier does not wait for threads that have ended.
__global__ void early_return(const int* in, int* out, int n) {
  __shared__ int s[256];
  const int i = threadIdx.x;
  if (i >= n) return;
  s[i] = in[i];
  __syncthreads();
  out[i] = s[n - 1 - i];
}

// A barrier in both branches, and one in a loop whose count is the same for all threads.
__global__ void barriers(int* out, int flag) {
  __shared__ int s[96];
  const int t = threadIdx.x;
  s[t] = t;
  if (flag > 0)
    __syncthreads();
  else
    __syncthreads();
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    const int v = s[(t + 33) % 96];
    __syncthreads();
    s[t] = v + 1;
    sum += v;
    __syncthreads();
  }
  out[t] = sum;
}

// A divergent loop within which a part of the warp stays together and shuffles.
__global__ void shuffles_in_loop(int* out) {
  const int lane = threadIdx.x;
  int sum = lane;
  for (int k = 0; k < 4; ++k) {
    const bool takes_part = k <= lane / 8;
    const unsigned mask = __ballot_sync(0xffffffffu, takes_part);
    if (takes_part) sum += __shfl_sync(mask, lane, 31);
  }
  out[lane] = sum;
}

__device__ int depth_first(int n, int depth) {
  if (n <= 0 || depth > 6) return depth;
  int sum = 0;
  for (int k = 1; k <= n % 3 + 1; ++k) sum += depth_first(n / 2 - k, depth + 1);
  return sum + 1;
}
int depth_first_host(int n, int depth) {
  if (n <= 0 || depth > 6) return depth;
  int sum = 0;
  for (int k = 1; k <= n % 3 + 1; ++k) sum += depth_first_host(n / 2 - k, depth + 1);
  return sum + 1;
}
__global__ void recursive(int* out) {
  out[threadIdx.x] = depth_first(threadIdx.x, 0);
}

int main() {
  const Array<int> d(1024);
  test<by_switch>("switch", d);
  test<loops>("loops", d);
  test<with_goto>("goto", d);
  test<nested>("nested", d);
  test<unrolled>("unrolled", d);

  std::vector<int> in(256);
  for (int i = 0; i < 256; ++i) in[i] = i * 3;
  early_return<<<1, 256>>>(Array(in), d, 100);
  auto h = d.read();
  printf("early return: %d %d\n", h[0], h[99]);

  barriers<<<1, 96>>>(d, 1);
  h = d.read();
  int s[96], sums[96] = {}, wrong = 0;
  for (int t = 0; t < 96; ++t) s[t] = t;
  for (int round = 0; round < 5; ++round) {
    int next[96];
    for (int t = 0; t < 96; ++t) sums[t] += s[(t + 33) % 96], next[t] = s[(t + 33) % 96] + 1;
    for (int t = 0; t < 96; ++t) s[t] = next[t];
  }
  for (int t = 0; t < 96; ++t) wrong += h[t] != sums[t];
  printf("barriers: %d wrong\n", wrong);

  shuffles_in_loop<<<1, 32>>>(d);
  h = d.read();
  printf("shuffles in a loop: %d %d %d\n", h[0], h[8], h[31]);

  recursive<<<1, 64>>>(d);
  h = d.read();
  wrong = 0;
  for (int t = 0; t < 64; ++t) wrong += h[t] != depth_first_host(t, 0);
  printf("recursion: %d wrong\n", wrong);
  return cudaDeviceSynchronize();
}
