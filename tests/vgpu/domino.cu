// One pass over the whole array: blocks take their number from an atomic counter and wait for the block before.
#include <cstdio>
#include <cstdlib>

#define THREADS 256

__global__ void domino_kernel(const float* x, float* y, volatile float* scan_value, volatile int* flags,
                              int* blockCounter, int n) {
  __shared__ float XY[THREADS];
  __shared__ unsigned int bid_s;
  __shared__ float previous_sum;
  if (threadIdx.x == 0) bid_s = atomicAdd(blockCounter, 1);
  __syncthreads();
  const unsigned int bid = bid_s;
  const unsigned int i = bid * blockDim.x + threadIdx.x;
  XY[threadIdx.x] = i < n ? x[i] : 0.0f;
  for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    float t = 0;
    if (threadIdx.x >= stride) t = XY[threadIdx.x - stride];
    __syncthreads();
    XY[threadIdx.x] += t;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (bid > 0)
      while (flags[bid] == 0) {
      }
    __threadfence();
    previous_sum = bid > 0 ? scan_value[bid] : 0.0f;
    scan_value[bid + 1] = previous_sum + XY[blockDim.x - 1];
    __threadfence();
    flags[bid + 1] = 1;
  }
  __syncthreads();
  if (i < n) y[i] = XY[threadIdx.x] + previous_sum;
}

// The book's form: atomicAdd(&flags[bid], 0) == 0 as the wait, atomicAdd to publish.
__global__ void domino_atomic_kernel(const float* x, float* y, float* scan_value, int* flags, int* blockCounter,
                                     int n) {
  __shared__ float XY[THREADS];
  __shared__ unsigned int bid_s;
  __shared__ float previous_sum;
  if (threadIdx.x == 0) bid_s = atomicAdd(blockCounter, 1);
  __syncthreads();
  const unsigned int bid = bid_s;
  const unsigned int i = bid * blockDim.x + threadIdx.x;
  XY[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 1; k < THREADS; ++k) XY[k] += XY[k - 1];
  __syncthreads();
  if (threadIdx.x == 0) {
    while (bid != 0 && atomicAdd(&flags[bid], 0) == 0) {
    }
    previous_sum = scan_value[bid];
    scan_value[bid + 1] = previous_sum + XY[blockDim.x - 1];
    __threadfence();
    atomicAdd(&flags[bid + 1], 1);
  }
  __syncthreads();
  if (i < n) y[i] = XY[threadIdx.x] + previous_sum;
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 50000;
  int blocks = (n + THREADS - 1) / THREADS;
  float *x, *y, *d_x, *d_y, *d_values;
  int *d_flags, *d_counter;
  cudaMallocHost(&x, n * sizeof(float));
  cudaHostAlloc(&y, n * sizeof(float), cudaHostAllocDefault);
  for (int i = 0; i < n; ++i) x[i] = float(i % 5) - 1;
  cudaMalloc(&d_x, n * sizeof(float));
  cudaMalloc(&d_y, n * sizeof(float));
  cudaMalloc(&d_values, (blocks + 1) * sizeof(float));
  cudaMalloc(&d_flags, (blocks + 1) * sizeof(int));
  cudaMalloc(&d_counter, sizeof(int));
  cudaMemcpy(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice);
  for (int kind = 0; kind < 2; ++kind) {
    cudaMemset(d_values, 0, (blocks + 1) * sizeof(float));
    cudaMemset(d_flags, 0, (blocks + 1) * sizeof(int));
    cudaMemset(d_counter, 0, sizeof(int));
    if (kind == 0)
      domino_kernel<<<blocks, THREADS>>>(d_x, d_y, d_values, d_flags, d_counter, n);
    else
      domino_atomic_kernel<<<blocks, THREADS>>>(d_x, d_y, d_values, d_flags, d_counter, n);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) printf("kernel failed: %s\n", cudaGetErrorString(error));
    cudaMemcpy(y, d_y, n * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    float sum = 0;
    for (int i = 0; i < n; ++i) {
      sum += x[i];
      if (fabsf(y[i] - sum) > 1e-5f * n) ++wrong;
    }
    printf("%s: %d wrong, y[n - 1] = %.1f\n", kind ? "atomic" : "volatile", wrong, y[n - 1]);
  }
  cudaFreeHost(x);
  cudaFreeHost(y);
  cudaFree(d_x), cudaFree(d_y), cudaFree(d_values), cudaFree(d_flags), cudaFree(d_counter);
  return 0;
}
