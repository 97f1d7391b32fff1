// test: apart (includes a file by its place)
// Calls of older textbooks: other names, and settings that newer devices take as hints or not at all.
#include <cuda_profiler_api.h>

#include "../../grader/cudart/old_names.cuh"
#include "show.hpp"

__constant__ float factor;

__global__ void scale(float* x) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = factor * buffer[blockDim.x - 1 - threadIdx.x];
}

int main() {
  show("cudaThreadSetCacheConfig", cudaThreadSetCacheConfig(cudaFuncCachePreferShared));
  cudaFuncCache cache = cudaFuncCachePreferNone;
  show("cudaThreadGetCacheConfig", cudaThreadGetCacheConfig(&cache));
  show("cudaFuncSetCacheConfig", cudaFuncSetCacheConfig(scale, cudaFuncCachePreferL1));
  std::size_t heap = 0;
  show("cudaThreadGetLimit", cudaThreadGetLimit(&heap, cudaLimitMallocHeapSize));
  std::printf("heap of 8 MiB or more: %s\n", heap >= 8u << 20 ? "yes" : "no");
  show("cudaThreadSetLimit", cudaThreadSetLimit(cudaLimitMallocHeapSize, 16u << 20));
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  std::printf("heap: %d MiB\n", static_cast<int>(heap >> 20));
  std::size_t fifo = 0;
  show("printf buffer", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4u << 20));
  cudaDeviceGetLimit(&fifo, cudaLimitPrintfFifoSize);
  std::printf("printf buffer: %d MiB\n", static_cast<int>(fifo >> 20));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  show("cudaDeviceSetSharedMemConfig", cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte));
  cudaSharedMemConfig banks;
  show("cudaDeviceGetSharedMemConfig", cudaDeviceGetSharedMemConfig(&banks));
  std::printf("banks of four bytes: %s\n", banks == cudaSharedMemBankSizeFourByte ? "yes" : "no");
  show("cudaFuncSetSharedMemConfig", cudaFuncSetSharedMemConfig(scale, cudaSharedMemBankSizeDefault));
#pragma GCC diagnostic pop

  show("cudaProfilerStart", cudaProfilerStart());
  float host[32];
  for (int i = 0; i < 32; ++i) host[i] = static_cast<float>(i);
  const float two = 2;
  float* device = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&device), sizeof host);
  cudaMemcpyToSymbol(factor, &two, sizeof two);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  scale<<<1, 32, sizeof host>>>(device);
  show("cudaThreadSynchronize", cudaThreadSynchronize());
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 32; ++i) wrong += host[i] != 2.0f * static_cast<float>(31 - i);
  std::printf("%d wrong\n", wrong);
  show("cudaProfilerStop", cudaProfilerStop());
  cudaFree(device);
  show("cudaThreadExit", cudaThreadExit());

  // A fresh start: everything is as it was at the beginning.
  show("after it", cudaMalloc(reinterpret_cast<void**>(&device), sizeof host));
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  float value = -1;
  cudaMemcpyFromSymbol(&value, factor, sizeof value);
  std::printf("heap: %d MiB, the constant: %g\n", static_cast<int>(heap >> 20), value);
  cudaFree(device);
  show("last error", cudaGetLastError());
  return 0;
}
