// A fault in one stream ends the work of all: every call that looks at the device reports it from then on, also those
// on other streams and events. Asking for the last error clears only what is remembered: the next call reports it
// again.
#include <cstdio>

__global__ void fault(int* x) {
  x[0] = *reinterpret_cast<int*>(threadIdx.x + 8ull);
}
__global__ void work(int* x) {
  x[threadIdx.x] = threadIdx.x;
}

void say(const char* what, cudaError_t e) {
  printf("%s: %s\n", what, e == cudaSuccess ? "success" : cudaGetErrorName(e));
}

int main() {
  cudaStream_t good, bad;
  cudaEvent_t before, after;
  int *x, *y, h[32] = {};
  cudaStreamCreate(&good);
  cudaStreamCreate(&bad);
  cudaEventCreate(&before);
  cudaEventCreate(&after);
  cudaMalloc(&x, sizeof h);
  cudaMemset(x, 0, sizeof h);
  cudaEventRecord(before, good);
  work<<<1, 32, 0, good>>>(x);
  cudaEventRecord(after, good);
  say("good stream before", cudaStreamSynchronize(good));
  fault<<<1, 1, 0, bad>>>(x);
  say("bad stream", cudaStreamSynchronize(bad));
  say("good stream", cudaStreamSynchronize(good));
  work<<<1, 32, 0, good>>>(x);
  say("launch", cudaGetLastError());
  say("copy", cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, good));
  say("set", cudaMemset(x, 0, 4));
  say("event", cudaEventSynchronize(after));
  say("new stream", cudaStreamCreate(&good));
  say("allocation", cudaMalloc(&y, 4));
  say("peek", cudaPeekAtLastError());
  say("last", cudaGetLastError());
  say("last again", cudaGetLastError());
  say("free", cudaFree(x));
}
