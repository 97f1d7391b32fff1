// The driver's functions as libraries get them, without linking the driver: by name, from the runtime.
#include <cuda.h>

#include <cstdio>

__global__ void fill(int* x, int value) {
  x[threadIdx.x] = value + static_cast<int>(threadIdx.x);
}

static cudaError_t look_up(const char* name, void** function, cudaDriverEntryPointQueryResult* found) {
#if CUDART_VERSION >= 12050
  return cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, found);
#else
  return cudaGetDriverEntryPoint(name, function, cudaEnableDefault, found);
#endif
}

template <class Function>
static Function find(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = look_up(name, &function, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) std::printf("%s is not there\n", name);
  return reinterpret_cast<Function>(function);
}

int main() {
  int* x = nullptr;
  cudaMallocManaged(&x, 32 * sizeof(int));  // the runtime makes the context

  const auto count = find<CUresult (*)(int*)>("cuDeviceGetCount");
  const auto get = find<CUresult (*)(CUdevice*, int)>("cuDeviceGet");
  const auto attribute = find<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
  const auto current = find<CUresult (*)(CUcontext*)>("cuCtxGetCurrent");
  const auto launch = find<CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                        unsigned, CUstream, void**, void**)>("cuLaunchKernel");
  const auto wait = find<CUresult (*)(CUstream)>("cuStreamSynchronize");
  const auto set = find<CUresult (*)(CUdeviceptr, unsigned char, std::size_t, CUstream)>("cuMemsetD8Async");
  const auto occupancy =
      find<CUresult (*)(int*, CUfunction, int, std::size_t)>("cuOccupancyMaxActiveBlocksPerMultiprocessor");

  int devices = 0, warp = 0, runtime_warp = 0;
  CUdevice device = -1;
  std::printf("results %d %d %d\n", count(&devices), get(&device, 0),
              attribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  cudaDeviceGetAttribute(&runtime_warp, cudaDevAttrWarpSize, 0);
  std::printf("devices: %s, device %d, warps of %d and %d\n", devices >= 1 ? "yes" : "no", device, warp, runtime_warp);
  CUcontext context = nullptr;
  std::printf("result %d, ", current(&context));
  std::printf("a context: %s\n", context != nullptr ? "yes" : "no");

  cudaFunction_t function = nullptr;
  cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(fill));
  int value = 100, blocks = 0;
  void* arguments[] = {&x, &value};
  std::printf("launch %d", launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  std::printf(", wait %d\n", wait(nullptr));
  int wrong = 0;
  for (int i = 0; i < 32; ++i) wrong += x[i] != 100 + i;
  std::printf("%d wrong\n", wrong);
  std::printf("set %d", set(reinterpret_cast<CUdeviceptr>(x), 1, 4, nullptr));
  std::printf(", wait %d", wait(nullptr));
  std::printf(", %x %d\n", static_cast<unsigned>(x[0]), x[1]);
  std::printf("occupancy %d", occupancy(&blocks, function, 32, 0));
  std::printf(", some blocks: %s\n", blocks > 0 ? "yes" : "no");

  void* none = &x;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
  const cudaError_t error = look_up("cuThereIsNoSuchFunction", &none, &found);
  std::printf("no such function: %s, %s\n", found == cudaDriverEntryPointSymbolNotFound ? "not found" : "found",
              none == nullptr ? "null" : "not null");
  (void)error;
  cudaGetLastError();
  cudaFree(x);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
