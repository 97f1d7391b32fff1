// Mark Harris's reductions: interleaved, sequential, the last warp with volatile shared memory and no barrier,
// templates.
// test: races
#include <cstdio>
#include <cstdlib>
#include <functional>

__global__ void reduce0(int* g_idata, int* g_odata) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = g_idata[i];
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) {
      sdata[tid] += sdata[tid + s];
    }
    __syncthreads();
  }
  if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

__device__ void warpReduce(volatile int* sdata, int tid) {
  sdata[tid] += sdata[tid + 32];
  sdata[tid] += sdata[tid + 16];
  sdata[tid] += sdata[tid + 8];
  sdata[tid] += sdata[tid + 4];
  sdata[tid] += sdata[tid + 2];
  sdata[tid] += sdata[tid + 1];
}

__global__ void reduce4(int* g_idata, int* g_odata) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
  sdata[tid] = g_idata[i] + g_idata[i + blockDim.x];
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid < 32) warpReduce(sdata, tid);
  if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

template <class T>
struct SharedMemory {
  __device__ inline operator T*() {
    extern __shared__ int __smem[];
    return (T*)__smem;
  }
};
template <>
struct SharedMemory<double> {
  __device__ inline operator double*() {
    extern __shared__ double __smem_d[];
    return (double*)__smem_d;
  }
};

template <class T, unsigned int blockSize>
__global__ void reduce6(T* g_idata, T* g_odata, unsigned int n) {
  T* sdata = SharedMemory<T>();
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (blockSize * 2) + tid;
  unsigned int gridSize = blockSize * 2 * gridDim.x;
  T mySum = 0;
  while (i < n) {
    mySum += g_idata[i];
    if (i + blockSize < n) mySum += g_idata[i + blockSize];
    i += gridSize;
  }
  sdata[tid] = mySum;
  __syncthreads();
  if (blockSize >= 512) {
    if (tid < 256) sdata[tid] = mySum = mySum + sdata[tid + 256];
    __syncthreads();
  }
  if (blockSize >= 256) {
    if (tid < 128) sdata[tid] = mySum = mySum + sdata[tid + 128];
    __syncthreads();
  }
  if (blockSize >= 128) {
    if (tid < 64) sdata[tid] = mySum = mySum + sdata[tid + 64];
    __syncthreads();
  }
  if (tid < 32) {
    if (blockSize >= 64) mySum += sdata[tid + 32];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) mySum += __shfl_down_sync(0xffffffff, mySum, offset);
  }
  if (tid == 0) g_odata[blockIdx.x] = mySum;
}

template <class T>
void reduce(int threads, int blocks, T* d_in, T* d_out, unsigned n) {
  const size_t smem = threads * sizeof(T);
  switch (threads) {
    case 512:
      reduce6<T, 512><<<blocks, threads, smem>>>(d_in, d_out, n);
      break;
    case 256:
      reduce6<T, 256><<<blocks, threads, smem>>>(d_in, d_out, n);
      break;
    case 128:
      reduce6<T, 128><<<blocks, threads, smem>>>(d_in, d_out, n);
      break;
    case 64:
      reduce6<T, 64><<<blocks, threads, smem>>>(d_in, d_out, n);
      break;
  }
}

__device__ unsigned int retirementCount = 0;

// threadFenceReduction: the last block that ends adds up the blocks' sums.
__global__ void reduce_single_pass(const float* in, volatile float* partial, float* out, int n) {
  __shared__ float s[256];
  __shared__ bool am_last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int k = 128; k > 0; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    unsigned int ticket = atomicInc(&retirementCount, gridDim.x);
    am_last = (ticket == gridDim.x - 1);
  }
  __syncthreads();
  if (am_last && threadIdx.x == 0) {
    float total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += partial[b];
    *out = total;
    retirementCount = 0;
  }
}

template <class T>
void test(const char* name, int n) {
  T* h = (T*)malloc(n * sizeof(T));
  T sum = 0, *d_in, *d_out, out[16];
  for (int i = 0; i < n; ++i) sum += h[i] = T(i % 13);
  cudaMalloc(&d_in, n * sizeof(T));
  cudaMalloc(&d_out, sizeof out);
  cudaMemcpy(d_in, h, n * sizeof(T), cudaMemcpyHostToDevice);
  for (int threads = 64; threads <= 512; threads *= 2) {
    reduce<T>(threads, 16, d_in, d_out, n);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    T total = 0;
    for (T x : out) total += x;
    printf("%s, %d threads: %s, %.0f\n", name, threads, total == sum ? "OK" : "WRONG", double(total));
  }
  free(h);
  cudaFree(d_in);
  cudaFree(d_out);
}

int main() {
  const int n = 4096;
  int h[n], out[32], *d_in, *d_out, total;
  for (int i = 0; i < n; ++i) h[i] = i;
  cudaMalloc(&d_in, sizeof h);
  cudaMalloc(&d_out, sizeof out);
  cudaMemcpy(d_in, h, sizeof h, cudaMemcpyHostToDevice);
  reduce0<<<32, 128, 128 * sizeof(int)>>>(d_in, d_out);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  total = 0;
  for (int x : out) total += x;
  printf("reduce0: %d\n", total);
  reduce4<<<16, 128, 128 * sizeof(int)>>>(d_in, d_out);
  cudaMemcpy(out, d_out, 16 * sizeof(int), cudaMemcpyDeviceToHost);
  total = 0;
  for (int k = 0; k < 16; ++k) total += out[k];
  printf("reduce4: %d\n", total);
  test<int>("int", 100000);
  test<float>("float", 100000);
  test<double>("double", 100001);

  float *d_x, *d_partial, *d_sum, x[3000], sum;
  for (int i = 0; i < 3000; ++i) x[i] = i % 2 ? 0.5f : 1.0f;
  cudaMalloc(&d_x, sizeof x);
  cudaMalloc(&d_partial, 8 * sizeof(float));
  cudaMalloc(&d_sum, sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  for (int repeat = 0; repeat < 2; ++repeat) {
    reduce_single_pass<<<8, 256>>>(d_x, d_partial, d_sum, 3000);
    cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost);
    printf("single pass: %g\n", sum);
  }
}
