// test: nvcc -ldl
// Programs that mark what they do for a profiler: NVTX is headers only, and without a profiler does nothing.
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

__global__ void square(int* x) {
  x[threadIdx.x] *= x[threadIdx.x];
}

int main() {
  nvtxNameOsThreadA(0, "main");
  nvtxRangePushA("set up");
  int* x = nullptr;
  cudaMallocManaged(&x, 32 * sizeof(int));
  for (int i = 0; i < 32; ++i) x[i] = i;
  nvtxRangePop();

  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xff00ff00;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "kernel";
  const nvtxRangeId_t range = nvtxRangeStartEx(&attributes);
  cudaProfilerStart();
  square<<<1, 32>>>(x);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaProfilerStop();
  nvtxRangeEnd(range);
  nvtxMarkA("done");
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("scan");
  nvtxDomainMarkEx(domain, &attributes);
  nvtxDomainDestroy(domain);

  int wrong = 0;
  for (int i = 0; i < 32; ++i) wrong += x[i] != i * i;
  std::printf("%s, %d wrong\n", cudaGetErrorName(error), wrong);
  cudaFree(x);
  return 0;
}
