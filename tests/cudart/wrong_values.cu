// Calls with values that CUDA refuses. The expected output is that of an H200 with CUDA 13.0.
#include <cstdio>

#include "show.hpp"

__global__ void kernel() {}

int main() {
  cudaEvent_t event;
  cudaStream_t stream;
  cudaEventCreate(&event);
  cudaEventRecord(event);
  cudaStreamCreate(&stream);
  show("record for a graph, outside of one", cudaEventRecordWithFlags(event, 0, cudaEventRecordExternal));
  show("record with unknown flags", cudaEventRecordWithFlags(event, 0, 7));
  show("wait for a graph, outside of one", cudaStreamWaitEvent(0, event, cudaEventWaitExternal));
  show("wait with unknown flags", cudaStreamWaitEvent(0, event, 9));
  show("two ways to wait", cudaSetDeviceFlags(99));
  show("one way to wait", cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  show("capture in no mode", cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(9)));
  show("a kernel's cache", cudaFuncSetCacheConfig(kernel, static_cast<cudaFuncCache>(9)));
  show("the device's cache", cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(9)));
  show("wide fetches", cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 1000));
  show("a large part of L2", cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1ull << 40));
  show("a stack of 1 GiB", cudaDeviceSetLimit(cudaLimitStackSize, 1ull << 30));
  show("a stack of 512 KiB", cudaDeviceSetLimit(cudaLimitStackSize, 1ull << 19));
  show("a stack of 511.4 KiB", cudaDeviceSetLimit(cudaLimitStackSize, 523712));
  int* d_number;
  cudaMalloc(&d_number, sizeof(int));
  show("attach what is not managed", cudaStreamAttachMemAsync(stream, d_number, 0, cudaMemAttachSingle));
  for (const int code : {22, 27, 66, 67, 811, 911}) printf("%s\n", cudaGetErrorString(static_cast<cudaError_t>(code)));
}
