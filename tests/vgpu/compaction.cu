// Stream compaction (scan of flags; ballots; aggregated atomics), a radix sort by one-bit splits, a segmented scan.
#include <algorithm>
#include <cstdio>
#include <vector>

#define CUDA_CHECK(x)                                                                                       \
  do {                                                                                                      \
    cudaError_t err_ = (x);                                                                                 \
    if (err_ != cudaSuccess) {                                                                              \
      fprintf(stderr, "CUDA error %d (%s) at %s:%d\n", err_, cudaGetErrorString(err_), __FILE__, __LINE__); \
      exit(EXIT_FAILURE);                                                                                   \
    }                                                                                                       \
  } while (0)

struct is_even {
  __host__ __device__ bool operator()(int x) const { return (x & 1) == 0; }
};

template <typename Predicate>
__global__ void compact_ordered(const int* in, int* out, int* counts, const int* offsets, int n, Predicate keep) {
  __shared__ int warp_counts[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool flag = i < n && keep(in[i]);
  const unsigned ballot = __ballot_sync(0xffffffff, flag);
  const int rank = __popc(ballot & ((1u << lane) - 1));
  if (lane == 0) warp_counts[warp] = __popc(ballot);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) {
      const int c = warp_counts[w];
      warp_counts[w] = sum;
      sum += c;
    }
    if (!offsets) counts[blockIdx.x] = sum;
  }
  __syncthreads();
  if (offsets && flag) out[offsets[blockIdx.x] + warp_counts[warp] + rank] = in[i];
}

__device__ int atomicAggInc(int* ctr) {
  unsigned mask = __activemask();
  int leader = __ffs(mask) - 1, lane = threadIdx.x & 31, res;
  if (lane == leader) res = atomicAdd(ctr, __popc(mask));
  res = __shfl_sync(mask, res, leader);
  return res + __popc(mask & ((1 << lane) - 1));
}

__global__ void filter_k(int* dst, int* nres, const int* src, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  if (src[i] > 0) dst[atomicAggInc(nres)] = src[i];
}

// One block sorts 1024 keys, a split for each bit.
__global__ void radix_sort(unsigned* keys, int bits) {
  __shared__ unsigned s_keys[1024];
  __shared__ int s_scan[1024];
  const int t = threadIdx.x;
  s_keys[t] = keys[t];
  __syncthreads();
  for (int bit = 0; bit < bits; ++bit) {
    const unsigned key = s_keys[t];
    const int one = key >> bit & 1;
    s_scan[t] = !one;
    __syncthreads();
    for (int d = 1; d < 1024; d <<= 1) {
      const int left = t >= d ? s_scan[t - d] : 0;
      __syncthreads();
      s_scan[t] += left;
      __syncthreads();
    }
    const int zeros = s_scan[1023], before = s_scan[t] - !one;
    s_keys[one ? zeros + t - before : before] = key;
    __syncthreads();
  }
  keys[t] = s_keys[t];
}

struct Segment {
  int head;
  int value;
};
__device__ Segment operator+(const Segment& a, const Segment& b) {
  return Segment{a.head | b.head, b.head ? b.value : a.value + b.value};
}

__global__ void segmented_scan(const int* heads, const int* values, int* out) {
  __shared__ Segment s[512];
  const int t = threadIdx.x;
  s[t] = {heads[t], values[t]};
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    Segment sum = s[t];
    if (t >= d) sum = s[t - d] + sum;
    __syncthreads();
    s[t] = sum;
    __syncthreads();
  }
  out[t] = s[t].value;
}

int main() {
  const int n = 10007, blocks = (n + 255) / 256;
  std::vector<int> in(n), out(n, -1), expected;
  for (int i = 0; i < n; ++i) in[i] = (i * 7919) % 1009 - 300;
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), is_even());
  int *d_in, *d_out, *d_counts;
  CUDA_CHECK(cudaMalloc(&d_in, n * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&d_out, n * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&d_counts, blocks * sizeof(int)));
  CUDA_CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  compact_ordered<<<blocks, 256>>>(d_in, d_out, d_counts, nullptr, n, is_even());
  std::vector<int> counts(blocks);
  CUDA_CHECK(cudaMemcpy(counts.data(), d_counts, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  int sum = 0;
  for (int& c : counts) {
    const int count = c;
    c = sum;
    sum += count;
  }
  CUDA_CHECK(cudaMemcpy(d_counts, counts.data(), blocks * sizeof(int), cudaMemcpyHostToDevice));
  compact_ordered<<<blocks, 256>>>(d_in, d_out, (int*)nullptr, d_counts, n, is_even());
  CUDA_CHECK(cudaMemcpy(out.data(), d_out, sum * sizeof(int), cudaMemcpyDeviceToHost));
  out.resize(sum);
  printf("even numbers: %s\n", out == expected ? "as std::copy_if" : "wrong");

  int* d_count;
  CUDA_CHECK(cudaMalloc(&d_count, sizeof(int)));
  CUDA_CHECK(cudaMemset(d_count, 0, sizeof(int)));
  filter_k<<<blocks, 256>>>(d_out, d_count, d_in, n);
  int count = 0;
  CUDA_CHECK(cudaMemcpy(&count, d_count, sizeof(int), cudaMemcpyDeviceToHost));
  out.resize(count);
  CUDA_CHECK(cudaMemcpy(out.data(), d_out, count * sizeof(int), cudaMemcpyDeviceToHost));
  std::vector<int> positive;
  std::copy_if(in.begin(), in.end(), std::back_inserter(positive), [](int x) { return x > 0; });
  std::sort(out.begin(), out.end());
  std::sort(positive.begin(), positive.end());
  printf("positive numbers: %s\n", out == positive ? "the same set" : "wrong");

  std::vector<unsigned> keys(1024);
  for (int i = 0; i < 1024; ++i) keys[i] = i * 2654435761u >> 12;
  unsigned* d_keys;
  CUDA_CHECK(cudaMalloc(&d_keys, 1024 * sizeof(unsigned)));
  CUDA_CHECK(cudaMemcpy(d_keys, keys.data(), 1024 * sizeof(unsigned), cudaMemcpyHostToDevice));
  radix_sort<<<1, 1024>>>(d_keys, 20);
  std::vector<unsigned> sorted(1024);
  CUDA_CHECK(cudaMemcpy(sorted.data(), d_keys, 1024 * sizeof(unsigned), cudaMemcpyDeviceToHost));
  std::sort(keys.begin(), keys.end());
  printf("radix sort: %s\n", sorted == keys ? "sorted" : "wrong");

  int heads[512], values[512], scanned[512], *d_heads, *d_values;
  for (int i = 0; i < 512; ++i) heads[i] = i % 50 == 0, values[i] = i % 50;
  CUDA_CHECK(cudaMalloc(&d_heads, sizeof heads));
  CUDA_CHECK(cudaMalloc(&d_values, sizeof values));
  CUDA_CHECK(cudaMemcpy(d_heads, heads, sizeof heads, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice));
  segmented_scan<<<1, 512>>>(d_heads, d_values, d_out);
  CUDA_CHECK(cudaMemcpy(scanned, d_out, sizeof scanned, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 512; ++i) wrong += scanned[i] != (i % 50) * (i % 50 + 1) / 2;
  printf("segmented scan: %d wrong, %d %d %d\n", wrong, scanned[49], scanned[50], scanned[51]);
  return 0;
}
