// Launches that are refused and not looked at: the results simply are the old ones. The sum of static and dynamic
// shared memory, block shapes whose product is too large, and nothing to do at all.
#include <cstdio>

__global__ void set(int* x, int v) {
  __shared__ char ballast[40 << 10];
  extern __shared__ char more[];
  ballast[threadIdx.x] = v;
  more[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x == 0) *x = ballast[0] + more[0];
}

int read(const int* x) {
  int v = -1;
  cudaMemcpy(&v, x, sizeof v, cudaMemcpyDeviceToHost);
  return v;
}

int main() {
  int* x;
  const int n = 0;
  cudaMalloc(&x, sizeof(int));
  cudaMemset(x, 0, sizeof(int));
  set<<<1, 32, 8 << 10>>>(x, 1);
  printf("40 and 8 KB: %d, %s\n", read(x), cudaGetErrorName(cudaGetLastError()));
  set<<<1, 32, (8 << 10) + 1>>>(x, 2);
  printf("one byte more: %d, %s\n", read(x), cudaPeekAtLastError() == cudaSuccess ? "accepted" : "refused");
  cudaGetLastError();
  set<<<1, dim3(32, 8, 4), 1024>>>(x, 3);
  printf("32 x 8 x 4: %d, %s\n", read(x), cudaGetErrorName(cudaGetLastError()));
  set<<<1, dim3(32, 8, 5), 1024>>>(x, 4);
  printf("32 x 8 x 5: %d, %s\n", read(x), cudaPeekAtLastError() == cudaSuccess ? "accepted" : "refused");
  cudaGetLastError();
  set<<<(n + 255) / 256, 256, 1024>>>(x, 5);
  printf("n = 0: %d, %s\n", read(x), cudaPeekAtLastError() == cudaSuccess ? "accepted" : "refused");
  cudaGetLastError();
  printf("more than any: %s\n",
         cudaFuncSetAttribute(set, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == cudaSuccess ? "accepted"
                                                                                                        : "refused");
  cudaGetLastError();
  set<<<1, 32, 1024>>>(x, 6);
  printf("at last: %d, %s\n", read(x), cudaGetErrorName(cudaDeviceSynchronize()));
}
