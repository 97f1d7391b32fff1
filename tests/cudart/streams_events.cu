// Streams, events that order them, callbacks, and the errors of wrong handles.
#include "show.hpp"

__global__ void add(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
}
__global__ void multiply(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= value;
}

static void CUDART_CB called(void* data) {
  std::printf("host function: %d\n", *(int*)data);
}

int main() {
  const int n = 1000;
  int *h_x, *d_x;
  show("pinned memory", cudaMallocHost(&h_x, n * sizeof(int)));
  cudaMalloc(&d_x, n * sizeof(int));
  for (int i = 0; i < n; ++i) h_x[i] = i;

  cudaStream_t first, second;
  show("stream", cudaStreamCreate(&first));
  show("stream with flags", cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t copied, added, timing_off;
  cudaEventCreate(&copied);
  cudaEventCreate(&added);
  cudaEventCreateWithFlags(&timing_off, cudaEventDisableTiming);

  cudaMemcpyAsync(d_x, h_x, n * sizeof(int), cudaMemcpyHostToDevice, first);
  cudaEventRecord(copied, first);
  add<<<4, 256, 0, first>>>(d_x, 3, n);
  cudaEventRecord(added, first);
  cudaStreamWaitEvent(second, added, 0);
  multiply<<<4, 256, 0, second>>>(d_x, 2, n);
  cudaMemcpyAsync(h_x, d_x, n * sizeof(int), cudaMemcpyDeviceToHost, second);
  int answer = 42;
  const cudaError_t launched = cudaLaunchHostFunc(second, called, &answer);
  show("wait for the second", cudaStreamSynchronize(second));
  show("host function", launched);
  std::printf("%d %d %d\n", h_x[0], h_x[1], h_x[n - 1]);
  show("query", cudaStreamQuery(first));
  show("event query", cudaEventQuery(added));

  float milliseconds = -1;
  show("elapsed", cudaEventElapsedTime(&milliseconds, copied, added));
  std::printf("%s\n", milliseconds >= 0 ? "not negative" : "negative");
  cudaEventRecord(timing_off, first);
  cudaDeviceSynchronize();
  show("elapsed without timing", cudaEventElapsedTime(&milliseconds, copied, timing_off));
  cudaEvent_t never;
  cudaEventCreate(&never);
  show("elapsed of an event never recorded", cudaEventElapsedTime(&milliseconds, never, added));
  show("query of an event never recorded", cudaEventQuery(never));
  show("null event", cudaEventRecord(nullptr));
  show("last error", cudaGetLastError());
  show("then", cudaGetLastError());

  unsigned flags = 0;
  cudaStreamGetFlags(second, &flags);
  std::printf("flags of the second: %s\n", flags == cudaStreamNonBlocking ? "non-blocking" : "other");
  show("destroy", cudaStreamDestroy(first));
  show("destroy", cudaStreamDestroy(second));
  show("destroy event", cudaEventDestroy(never));
  show("free pinned", cudaFreeHost(h_x));
  show("free", cudaFree(d_x));
  return 0;
}
