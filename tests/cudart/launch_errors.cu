// Launches that the device refuses: returned by cudaGetLastError, once, and nothing is broken afterwards.
#include <cstdio>

__global__ void set(int* x) {
  *x = 1 + threadIdx.x;
}

__global__ void __launch_bounds__(128) bounded(int* x) {
  *x = 2;
}

__global__ void with_shared(int* x) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *x = s[blockDim.x - 1];
}

// CUDA 12 distinguishes refused launches (cudaErrorInvalidConfiguration, cudaErrorLaunchOutOfResources), CUDA 13 does
// not.
static const char* name(cudaError_t error) {
  const bool refused = error == cudaErrorInvalidConfiguration || error == cudaErrorLaunchOutOfResources ||
                       error == cudaErrorInvalidValue;
  return refused ? "refused" : cudaGetErrorName(error);
}

static void show(const char* what) {
  const cudaError_t peeked = cudaPeekAtLastError();
  const cudaError_t error = cudaGetLastError();
  const cudaError_t again = cudaGetLastError();
  std::printf("%s: %s%s, then %s\n", what, name(error), peeked == error ? "" : ", peek differs",
              cudaGetErrorName(again));
}

int main() {
  int* d_x;
  cudaMalloc(&d_x, sizeof(int));
  set<<<0, 32>>>(d_x);
  show("no blocks");
  set<<<1, 0>>>(d_x);
  show("no threads");
  set<<<1, 1025>>>(d_x);
  show("1025 threads");
  set<<<1, dim3(1, 1, 65)>>>(d_x);
  show("65 threads in z");
  set<<<dim3(1, 65536, 1), 32>>>(d_x);
  show("65536 blocks in y");
  bounded<<<1, 256>>>(d_x);
  show("more than the launch bound");
  with_shared<<<1, 32, 1 << 20>>>(d_x);
  show("1 MiB of shared memory");
  with_shared<<<1, 32, 64 << 10>>>(d_x);
  show("64 KiB without asking");
  std::printf("asking for 64 KiB: %s\n", cudaGetErrorName(cudaFuncSetAttribute(
                                             with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10)));
  with_shared<<<1, 32, 64 << 10>>>(d_x);
  show("64 KiB after asking");
  int x = 0;
  cudaMemcpy(&x, d_x, sizeof x, cudaMemcpyDeviceToHost);
  std::printf("x = %d\n", x);

  const cudaError_t no_kernel = cudaLaunchKernel((const void*)show, dim3(1), dim3(1), nullptr, 0, 0);
  std::printf("launch through a pointer that is no kernel: %s\n", no_kernel == cudaSuccess ? "accepted" : "an error");
  cudaGetLastError();
  set<<<1, 1>>>(d_x);
  std::printf("synchronise: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaMemcpy(&x, d_x, sizeof x, cudaMemcpyDeviceToHost);
  std::printf("x = %d\n", x);
  std::printf("cudaMalloc of 0 bytes: %s", cudaGetErrorName(cudaMalloc(&d_x, 0)));
  std::printf(", %s\n", d_x == nullptr ? "null" : "not null");
  std::printf("cudaFree of null: %s\n", cudaGetErrorName(cudaFree(nullptr)));
  std::printf("cudaMalloc of far too much: %s\n", cudaGetErrorName(cudaMalloc(&d_x, size_t(1) << 46)));
  show("last error");
  return 0;
}
