// Graphs made by stream capture: kernels, copies, sets and host functions, launched many times; a fork and a join;
// what may not be done while a stream is captured.
#include "show.hpp"

__global__ void multiply_add(int* x, int factor, int summand) {
  x[threadIdx.x] = x[threadIdx.x] * factor + summand;
}
__global__ void sum_up(int* result, const int* a, const int* b) {
  result[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

static void CUDART_CB count(void* argument) {
  ++*static_cast<int*>(argument);
}

int main() {
  constexpr int n = 32;
  constexpr std::size_t bytes = n * sizeof(int);
  int *a = nullptr, *b = nullptr, *result = nullptr, *host = nullptr;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&result, bytes);
  cudaMallocHost(&host, bytes);
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
  cudaMemset(b, 0, bytes);
  cudaDeviceSynchronize();  // the streams below do not wait for the default stream
  cudaStream_t stream, side;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEvent_t fork, join;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  int calls = 0;

  // stream: a = a + 1; side: b = 2 b + 1; both: result = a + b, to the host, a host function.
  show("begin", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(stream, &status);
  std::printf("capturing: %s\n", status == cudaStreamCaptureStatusActive ? "yes" : "no");
  show("fork", cudaEventRecord(fork, stream));
  show("fork", cudaStreamWaitEvent(side, fork, 0));
  multiply_add<<<1, n, 0, stream>>>(a, 1, 1);
  multiply_add<<<1, n, 0, side>>>(b, 2, 1);
  show("join", cudaEventRecord(join, side));
  show("join", cudaStreamWaitEvent(stream, join, 0));
  sum_up<<<1, n, 0, stream>>>(result, a, b);
  cudaMemcpyAsync(host, result, bytes, cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(stream, count, &calls);
  cudaGraph_t graph;
  show("end", cudaStreamEndCapture(stream, &graph));
  cudaStreamIsCapturing(stream, &status);
  std::printf("capturing: %s, nothing has run: %s\n", status == cudaStreamCaptureStatusNone ? "no" : "yes",
              host[0] == 0 && host[31] == 31 && calls == 0 ? "yes" : "no");

  std::size_t nodes = 0;
  cudaGraphGetNodes(graph, nullptr, &nodes);
  std::printf("nodes: %d\n", static_cast<int>(nodes));
  cudaGraphExec_t executable;
#if CUDART_VERSION >= 12000
  show("instantiate", cudaGraphInstantiate(&executable, graph, 0));
#else
  show("instantiate", cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
#endif
  show("destroy the graph", cudaGraphDestroy(graph));
  for (int round = 0; round < 10; ++round) cudaGraphLaunch(executable, stream);
  show("ten launches", cudaStreamSynchronize(stream));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host[i] != i + 10 + 1023;
  std::printf("%d wrong, host function called %d times\n", wrong, calls);
  show("in another stream", cudaGraphLaunch(executable, side));
  show("wait", cudaStreamSynchronize(side));
  std::printf("host[0] = %d\n", host[0]);
  show("destroy", cudaGraphExecDestroy(executable));

  // Waiting for a stream that is captured ends the capture.
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  multiply_add<<<1, n, 0, stream>>>(a, 1, 1);
  show("wait while capturing", cudaStreamSynchronize(stream));
  show("end", cudaStreamEndCapture(stream, &graph));
  std::printf("no graph: %s\n", graph == nullptr ? "yes" : "no");

  // A stream that joined and is never waited for.
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(side, fork, 0);
  multiply_add<<<1, n, 0, side>>>(a, 1, 1);
  show("not joined", cudaStreamEndCapture(stream, &graph));
  std::printf("the default stream cannot be captured: %s\n",
              cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal) != cudaSuccess ? "yes" : "no");
  cudaGetLastError();

  // After all that the streams work as before, and nothing of the failed captures has run.
  cudaMemcpyAsync(host, a, bytes, cudaMemcpyDeviceToHost, stream);
  show("wait", cudaStreamSynchronize(stream));
  std::printf("a[0] = %d\n", host[0]);
  cudaStreamDestroy(stream);
  cudaStreamDestroy(side);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  cudaFree(a);
  cudaFree(b);
  cudaFree(result);
  cudaFreeHost(host);
  show("at the end", cudaDeviceSynchronize());
  return 0;
}
