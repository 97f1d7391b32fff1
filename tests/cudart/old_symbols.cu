// test: vgpu
// test: nvcc -Xcompiler -pthread
// Programs that older compilers made call functions that CUDA 13 no longer declares: they link. And what a host
// function may not do.
#include <cstdio>

extern "C" cudaError_t cudaThreadSynchronize(void);
extern "C" cudaError_t cudaThreadSetCacheConfig(cudaFuncCache configuration);
extern "C" cudaError_t cudaThreadGetLimit(std::size_t* value, cudaLimit limit);
extern "C" cudaError_t cudaThreadExit(void);

__global__ void set(int* x) {
  *x = 7;
}

static cudaError_t inside = cudaSuccess;
static void CUDART_CB call_cuda(void*) {
  void* pointer = nullptr;
  inside = cudaMalloc(&pointer, 4);
}

int main() {
  int *x = nullptr, value = 0;
  std::size_t stack = 0;
  cudaMalloc(&x, sizeof(int));
  std::printf("%s\n", cudaGetErrorName(cudaThreadSetCacheConfig(cudaFuncCachePreferL1)));
  const cudaError_t limit = cudaThreadGetLimit(&stack, cudaLimitStackSize);
  std::printf("%s, %d\n", cudaGetErrorName(limit), static_cast<int>(stack));
  set<<<1, 1>>>(x);
  std::printf("%s\n", cudaGetErrorName(cudaThreadSynchronize()));
  cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost);
  std::printf("%d\n", value);
  cudaLaunchHostFunc(nullptr, call_cuda, nullptr);
  cudaDeviceSynchronize();
  std::printf("a host function calls CUDA: %s\n", cudaGetErrorName(inside));
  std::printf("%s\n", cudaGetErrorName(cudaThreadExit()));
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
