// Whole arrays: three kernels, the same recursively, and the warp-then-block scan; timed with events as tutorials do.
#include <cstdio>
#include <numeric>
#include <vector>

#define BLOCK_SIZE 512

inline void gpuAssert(cudaError_t code, const char* file, int line, bool abort = true) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    if (abort) exit(code);
  }
}
#define gpuErrchk(ans) \
  { gpuAssert((ans), __FILE__, __LINE__); }

__global__ void scan_blocks(const int* in, int* out, int* sums, int n) {
  extern __shared__ int s[];
  const int tid = threadIdx.x, gid = blockIdx.x * blockDim.x + tid;
  s[tid] = gid < n ? in[gid] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int v = tid >= d ? s[tid - d] : 0;
    __syncthreads();
    s[tid] += v;
    __syncthreads();
  }
  if (gid < n) out[gid] = s[tid];
  if (sums && tid == blockDim.x - 1) sums[blockIdx.x] = s[tid];
}

__global__ void add_sums(int* out, const int* sums, int n) {
  const int gid = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && gid < n) out[gid] += sums[blockIdx.x - 1];
}

void scan_recursive(const int* d_in, int* d_out, int n) {
  const int blocks = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
  if (blocks <= 1) {
    scan_blocks<<<1, BLOCK_SIZE, BLOCK_SIZE * sizeof(int)>>>(d_in, d_out, NULL, n);
    return;
  }
  int* d_sums;
  gpuErrchk(cudaMalloc(&d_sums, blocks * sizeof(int)));
  scan_blocks<<<blocks, BLOCK_SIZE, BLOCK_SIZE * sizeof(int)>>>(d_in, d_out, d_sums, n);
  gpuErrchk(cudaPeekAtLastError());
  scan_recursive(d_sums, d_sums, blocks);
  add_sums<<<blocks, BLOCK_SIZE>>>(d_out, d_sums, n);
  gpuErrchk(cudaFree(d_sums));
}

__device__ int warp_scan(int value) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int offset = 1; offset < warpSize; offset <<= 1) {
    const int other = __shfl_up_sync(0xffffffff, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

// Grid-stride over tiles, one block: the running sum stays in shared memory.
__global__ void scan_by_one_block(const int* in, int* out, int n) {
  __shared__ int warp_sums[32];
  __shared__ int running;
  if (threadIdx.x == 0) running = 0;
  for (int base = 0; base < n; base += blockDim.x) {
    const int i = base + threadIdx.x;
    int value = warp_scan(i < n ? in[i] : 0);
    if (threadIdx.x % 32 == 31) warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
      const int sum = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0;
      warp_sums[threadIdx.x] = warp_scan(sum);
    }
    __syncthreads();
    if (threadIdx.x >= 32) value += warp_sums[threadIdx.x / 32 - 1];
    value += running;
    if (i < n) out[i] = value;
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) running = value;
    __syncthreads();
  }
}

int main() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  printf("warp size %d\n", prop.warpSize);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  for (int n : {0, 1, 511, 512, 513, 262144, 262145, 1000000}) {
    std::vector<int> in(n), out(n), expected(n);
    for (int i = 0; i < n; i++) in[i] = i & 3;
    std::partial_sum(in.begin(), in.end(), expected.begin());
    int *d_in = nullptr, *d_out = nullptr;
    gpuErrchk(cudaMalloc((void**)&d_in, n * sizeof(int)));
    gpuErrchk(cudaMalloc((void**)&d_out, n * sizeof(int)));
    gpuErrchk(cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    cudaEventRecord(start);
    if (n > 0) scan_recursive(d_in, d_out, n);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float ms = -1;
    cudaEventElapsedTime(&ms, start, stop);
    gpuErrchk(cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    printf("n = %d: recursive %s", n, out == expected && ms >= 0 ? "OK" : "WRONG");
    gpuErrchk(cudaMemset(d_out, 0, n * sizeof(int)));
    scan_by_one_block<<<1, 1024>>>(d_in, d_out, n);
    gpuErrchk(cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    printf(", one block %s, total %d\n", out == expected ? "OK" : "WRONG", n ? out[n - 1] : 0);
    cudaFree(d_in);
    cudaFree(d_out);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return 0;
}
