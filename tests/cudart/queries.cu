// What programs ask about devices, kernels and pointers before they compute anything.
#include "show.hpp"

__global__ void kernel(float* x, int n, char c) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = s[31 - threadIdx.x] + c;
}

static const char* yes(bool b) {
  return b ? "yes" : "no";
}

int main() {
  int count = 0, device = -1, value = 0;
  show("count", cudaGetDeviceCount(&count));
  std::printf("devices: %s\n", yes(count >= 1));
  show("set", cudaSetDevice(0));
  show("get", cudaGetDevice(&device));
  std::printf("device %d\n", device);
  show("set one that does not exist", cudaSetDevice(count));
  show("last error", cudaGetLastError());

  cudaDeviceProp p;
  show("properties", cudaGetDeviceProperties(&p, 0));
  std::printf("warp %d, threads a block %d, block (%d, %d, %d), grid (%d, %d, %d)\n", p.warpSize, p.maxThreadsPerBlock,
              p.maxThreadsDim[0], p.maxThreadsDim[1], p.maxThreadsDim[2], p.maxGridSize[0], p.maxGridSize[1],
              p.maxGridSize[2]);
  std::printf("shared %zu, constant %zu, registers %d\n", p.sharedMemPerBlock, p.totalConstMem, p.regsPerBlock);
  std::printf("name %s, memory %s, capability at least 8.0 %s\n", yes(p.name[0] != 0), yes(p.totalGlobalMem > 1 << 30),
              yes(p.major >= 8));
  show("attribute", cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  std::printf("multiprocessors agree: %s\n", yes(value == p.multiProcessorCount && value > 0));
  show("attribute that does not exist", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)5000, 0));

  cudaFuncAttributes f;
  show("kernel", cudaFuncGetAttributes(&f, kernel));
  std::printf("shared %zu, threads %d, registers %s\n", f.sharedSizeBytes, f.maxThreadsPerBlock, yes(f.numRegs > 0));
  show("cache", cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
  int blocks = 0, grid = 0, block = 0;
  show("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 0));
  std::printf("blocks of 1024 threads: %d\n", blocks);
  show("best block", cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 0));
  std::printf("block %s, grid %s\n", yes(block % 32 == 0 && block > 0), yes(grid >= p.multiProcessorCount));

  float *d_x, *h_x;
  int local = 0;
  cudaMalloc(&d_x, 128);
  cudaMallocHost(&h_x, 128);
  cudaPointerAttributes a;
  show("device pointer", cudaPointerGetAttributes(&a, d_x + 3));
  std::printf("device: %s\n", yes(a.type == cudaMemoryTypeDevice && a.devicePointer == d_x + 3 && a.device == 0));
  show("pinned pointer", cudaPointerGetAttributes(&a, h_x));
  std::printf("host: %s\n", yes(a.type == cudaMemoryTypeHost && a.hostPointer == h_x));
  show("ordinary pointer", cudaPointerGetAttributes(&a, &local));
  std::printf("unregistered: %s\n", yes(a.type == cudaMemoryTypeUnregistered));
  size_t free_bytes = 0, total = 0;
  show("memory", cudaMemGetInfo(&free_bytes, &total));
  std::printf("%s\n", yes(free_bytes > 0 && free_bytes < total));
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::printf("versions: %s\n", yes(runtime == CUDART_VERSION && driver >= 12000));
  std::printf("names: %s, %s, %s\n", cudaGetErrorName(cudaErrorNotReady), cudaGetErrorString(cudaErrorNotReady),
              cudaGetErrorString((cudaError_t)123456));
  return 0;
}
