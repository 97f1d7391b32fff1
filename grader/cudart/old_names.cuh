// Names of CUDA before 4.0 that programs of older textbooks use and that the headers of CUDA 13 no longer declare.
// The command line adds this file to a program that needs it (nvcc -include); it does not need to be included by hand.
#pragma once

#include <cuda_runtime.h>

#if CUDART_VERSION >= 13000

static inline cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}
static inline cudaError_t cudaThreadExit() {
  return cudaDeviceReset();
}
static inline cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) {
  return cudaDeviceSetLimit(limit, value);
}
static inline cudaError_t cudaThreadGetLimit(size_t* value, cudaLimit limit) {
  return cudaDeviceGetLimit(value, limit);
}
static inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache configuration) {
  return cudaDeviceSetCacheConfig(configuration);
}
static inline cudaError_t cudaThreadGetCacheConfig(cudaFuncCache* configuration) {
  return cudaDeviceGetCacheConfig(configuration);
}

#endif
