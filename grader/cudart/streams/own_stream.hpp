// Programs compiled with --default-stream per-thread: the null stream is the thread's own default stream.
#pragma once

#include <cuda_runtime_api.h>

inline cudaStream_t own(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}
