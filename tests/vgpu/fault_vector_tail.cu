// test: vgpu
// test: runs float4 copy shared
// Vector accesses that begin inside an array and end outside: n is not a multiple of 4; eight bytes of the last four; a
// 16-byte asynchronous copy into too short a buffer.
#include <cstdio>
#include <cstring>

__global__ void add4(const float4* a, float4* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i < n) {
    const float4 v = a[i];
    b[i] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
  }
}

__global__ void copy8(const char* from, char* to, int n) {
  for (int i = threadIdx.x * 8; i < n; i += blockDim.x * 8) *(long long*)(to + i) = *(const long long*)(from + i);
}

__global__ void shared(const int4* in, int4* out) {
  __shared__ __align__(16) int s[127];
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(s + 4 * threadIdx.x)),
      "l"(in + threadIdx.x));
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = make_int4(s[threadIdx.x], 0, 0, 0);
}

int main(int, char** argv) {
  const char* kind = argv[1];
  void *a, *b;
  cudaMalloc(&a, 1024);
  cudaMemset(a, 0, 1024);
  cudaMalloc(&b, 1020);
  cudaMemset(b, 0, 1020);
  if (!strcmp(kind, "float4")) {
    add4<<<2, 32>>>((float4*)a, (float4*)b, 252);
    printf("252: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    add4<<<2, 32>>>((float4*)a, (float4*)b, 255);
  }
  if (!strcmp(kind, "copy")) copy8<<<1, 32>>>((char*)b, (char*)a, 1020);
  if (!strcmp(kind, "shared")) shared<<<1, 32>>>((int4*)a, (int4*)a);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
