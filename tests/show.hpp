// What a call of CUDA has returned, as the tests' programs print it.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

inline void show(const char* what, cudaError_t error) {
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
}
