// Preprocessed at build time: make_stubs.py reads off which functions this machine's CUDA runtime declares.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
