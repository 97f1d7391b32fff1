// Segmented scan of a whole array: within a warp, a ballot of the heads says how far left each lane may look; warps
// and blocks hand on a carry that stops at the first head.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

constexpr unsigned full = 0xffffffffu;
constexpr int warps = 6, block = warps * 32;

struct Carry {
  int open_sum;  // the sum since the last head, or of everything
  int has_head;
};

__device__ Carry combine(Carry left, Carry right) {
  return {right.has_head ? right.open_sum : left.open_sum + right.open_sum, left.has_head | right.has_head};
}

// Lanes below `first` belong to another segment.
__device__ int warp_segmented_scan(int value, bool head, uint32_t& heads) {
  const int lane = threadIdx.x & 31;
  heads = __ballot_sync(full, head);
  const uint32_t mine = heads & (full >> (31 - lane));
  const int first = mine ? 31 - __clz(mine) : 0;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const int left = __shfl_up_sync(full, value, d);
    if (lane - d >= first) value += left;
  }
  heads = mine;
  return value;
}

__global__ void scan_blocks(const int* values, const uint8_t* flags, int* out, Carry* totals, int n) {
  __shared__ Carry carries[warps];
  const int i = blockIdx.x * block + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t heads_so_far;
  int sum = warp_segmented_scan(i < n ? values[i] : 0, i < n && flags[i], heads_so_far);
  if (lane == 31) carries[warp] = {sum, heads_so_far != 0};
  __syncthreads();
  Carry before{0, 0};
  for (int w = 0; w < warp; ++w) before = combine(before, carries[w]);
  if (!heads_so_far) sum += before.open_sum;
  if (i < n) out[i] = sum;
  if (threadIdx.x == block - 1) totals[blockIdx.x] = combine(before, carries[warp]);
}

__global__ void scan_totals(Carry* totals, int blocks) {
  Carry running{0, 0};
  for (int b = 0; b < blocks; ++b) {
    const Carry mine = totals[b];
    totals[b] = running;
    running = combine(running, mine);
  }
}

// Only the elements up to the first head of a block belong to a segment that was open before.
__global__ void add_carries(const uint8_t* flags, int* out, const Carry* totals, int n) {
  __shared__ int first_head;
  if (threadIdx.x == 0) first_head = block;
  __syncthreads();
  const int i = blockIdx.x * block + threadIdx.x;
  if (i < n && flags[i]) atomicMin(&first_head, (int)threadIdx.x);
  __syncthreads();
  if (i < n && threadIdx.x < first_head) out[i] += totals[blockIdx.x].open_sum;
}

template <class T>
struct Buffer {
  T* data;
  explicit Buffer(size_t n) { cudaMalloc(&data, n * sizeof(T)); }
  ~Buffer() { cudaFree(data); }
};

int main() {
  for (int n : {1, 31, 33, 192, 193, 1000, 5003})
    for (int gap : {1, 7, 32, 500, 100000}) {
      std::vector<int> values(n), result(n);
      std::vector<uint8_t> flags(n);
      for (int i = 0; i < n; ++i)
        values[i] = i % 13 + 1, flags[i] = (i * 37 + 5) % gap == 0 || (gap > 1 && i % gap == 3);
      const int blocks = (n + block - 1) / block;
      Buffer<int> d_values(n), d_out(n);
      Buffer<uint8_t> d_flags(n);
      Buffer<Carry> d_totals(blocks);
      cudaMemcpy(d_values.data, values.data(), n * sizeof(int), cudaMemcpyDefault);
      cudaMemcpy(d_flags.data, flags.data(), n, cudaMemcpyDefault);
      scan_blocks<<<blocks, block>>>(d_values.data, d_flags.data, d_out.data, d_totals.data, n);
      scan_totals<<<1, 1>>>(d_totals.data, blocks);
      add_carries<<<blocks, block>>>(d_flags.data, d_out.data, d_totals.data, n);
      cudaMemcpy(result.data(), d_out.data, n * sizeof(int), cudaMemcpyDefault);
      int sum = 0, wrong = 0;
      for (int i = 0; i < n; ++i) {
        sum = flags[i] ? values[i] : sum + values[i];
        wrong += result[i] != sum;
      }
      if (wrong) printf("n = %d, gap %d: %d wrong\n", n, gap, wrong);
    }
  puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
