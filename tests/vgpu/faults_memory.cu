// test: vgpu
// test: schedules in_order
// test: runs shared dynamic global before freed null constant float4 local host
// Accesses outside memory, one classic bug a run. The report names kernel, line, block, thread and variable.
#include <cstdio>
#include <cstring>

// if (i <= n) instead of i < n: one element too many.
__global__ void one_too_many(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = 2 * x[i];
}

// The left neighbour of element 0.
__global__ void left_neighbour(const int* x, int* y) {
  const int i = threadIdx.x;
  y[i] = x[i] + x[i - 1];
}

// The halo of a stencil was forgotten.
__global__ void halo(int* y) {
  __shared__ int tile[64];
  __shared__ int other[64];
  tile[threadIdx.x] = threadIdx.x;
  other[threadIdx.x] = 0;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x + 1] + other[threadIdx.x];
}

// Launched with half of the dynamic shared memory that it needs.
__global__ void dynamic_shared(float* y) {
  extern __shared__ float buffer[];
  buffer[2 * threadIdx.x] = 1;
  buffer[2 * threadIdx.x + 1] = 2;
  __syncthreads();
  y[threadIdx.x] = buffer[2 * threadIdx.x];
}

__global__ void read_one(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

__constant__ float weights[4];
__global__ void write_constant(float* y) {
  float* w = const_cast<float*>(weights);
  asm volatile("" : "+l"(w));
  w[2] = y[0];
}

// A float4 wants 16-byte alignment.
__global__ void as_float4(const float* x, float4* y) {
  y[threadIdx.x] = *reinterpret_cast<const float4*>(x + threadIdx.x);
}

__device__ __noinline__ int element(const int* a, int k) {
  return a[k];
}
__global__ void local_array(int* y, int k) {
  int a[8];
  for (int i = 0; i < 8; ++i) a[i] = y[i];
  y[threadIdx.x] = element(a, k * 1024);
}

int main(int, char** argv) {
  const char* kind = argv[1];
  float *x, *y;
  int *a, *b, host[100] = {};
  cudaMalloc(&x, 100 * sizeof(float));
  cudaMalloc(&y, 100 * sizeof(float));
  cudaMalloc(&a, sizeof host);
  cudaMalloc(&b, sizeof host);
  cudaMemset(x, 0, 100 * sizeof(float));
  cudaMemset(y, 0, 100 * sizeof(float));
  cudaMemset(a, 0, sizeof host);
  cudaMemset(b, 0, sizeof host);
  if (!strcmp(kind, "shared")) halo<<<3, 64>>>(a);
  if (!strcmp(kind, "dynamic")) dynamic_shared<<<1, 32, 32 * sizeof(float)>>>(y);
  if (!strcmp(kind, "global")) one_too_many<<<4, 32>>>(x, y, 100);
  if (!strcmp(kind, "before")) left_neighbour<<<1, 32>>>(a, b);
  if (!strcmp(kind, "freed")) {
    cudaFree(a);
    read_one<<<1, 1>>>(a, b);
  }
  if (!strcmp(kind, "null")) read_one<<<1, 32>>>(nullptr, b);
  if (!strcmp(kind, "constant")) write_constant<<<1, 1>>>(y);
  if (!strcmp(kind, "float4")) as_float4<<<1, 4>>>(x, (float4*)y);
  if (!strcmp(kind, "local")) local_array<<<1, 2>>>(a, 5);
  if (!strcmp(kind, "host")) read_one<<<1, 32>>>(host, b);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
