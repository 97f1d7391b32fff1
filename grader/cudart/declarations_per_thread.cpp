// Preprocessed at build time: the names that programs with per-thread default streams use (…_ptsz, …_ptds).
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
