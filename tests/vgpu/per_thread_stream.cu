// test: nvcc --default-stream per-thread -Xcompiler -pthread
// Per-thread default streams: each host thread has its own, and the handle cudaStreamPerThread names it.
#include <cstdio>
#include <thread>
#include <vector>

__global__ void fill(int* data, int n, int value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = value;
}
__global__ void add(int* data, int n, int summand) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] += summand;
}

constexpr int n = 4096, threads = 4;

static int wrong[threads];

static void work(int id) {
  int* data = nullptr;
  cudaMalloc(&data, n * sizeof(int));
  fill<<<1, 128>>>(data, n, id);  // this thread's default stream
  for (int i = 0; i < 10; ++i) add<<<1, 128, 0, cudaStreamPerThread>>>(data, n, 100);
  std::vector<int> host(n);
  cudaMemcpyAsync(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaStreamSynchronize(0);
  for (int i = 0; i < n; ++i) wrong[id] += host[i] != id + 1000;
  cudaMemset(data, 0, n * sizeof(int));
  cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) wrong[id] += host[i] != 0;
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaEventRecord(event);
  wrong[id] += cudaEventSynchronize(event) != cudaSuccess;
  cudaEventDestroy(event);
  cudaFree(data);
}

static void capture(int id) {
  int* data = nullptr;
  cudaMalloc(&data, n * sizeof(int));
  cudaMemset(data, 0, n * sizeof(int));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  wrong[id] += cudaStreamBeginCapture(0, cudaStreamCaptureModeThreadLocal) != cudaSuccess;
  add<<<1, 128>>>(data, n, id + 1);
  add<<<1, 128, 0, cudaStreamPerThread>>>(data, n, 1);
  wrong[id] += cudaStreamEndCapture(cudaStreamPerThread, &graph) != cudaSuccess;
  wrong[id] += cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess;
  for (int i = 0; i < 5; ++i) cudaGraphLaunch(executable, 0);
  std::vector<int> host(n);
  cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) wrong[id] += host[i] != 5 * (id + 2);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaFree(data);
}

int main() {
  std::vector<std::thread> all;
  for (int id = 0; id < threads; ++id) all.emplace_back(work, id);
  for (std::thread& thread : all) thread.join();
  for (int id = 0; id < threads; ++id) std::printf("thread %d: %d wrong\n", id, wrong[id]);

  // The legacy stream has a handle too; it and the per-thread stream wait for each other.
  int* data = nullptr;
  int value = 0;
  cudaMallocManaged(&data, sizeof(int));
  fill<<<1, 1, 0, cudaStreamLegacy>>>(data, 1, 5);
  add<<<1, 1>>>(data, 1, 2);
  add<<<1, 1, 0, cudaStreamLegacy>>>(data, 1, 10);
  cudaMemcpyAsync(&value, data, sizeof value, cudaMemcpyDefault, cudaStreamPerThread);
  std::printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(cudaStreamPerThread)));
  std::printf("legacy and per-thread: %d\n", value);

  // Each thread captures its own default stream; the others go on.
  std::vector<std::thread> capturing;
  for (int id = 0; id < threads; ++id) capturing.emplace_back(capture, id);
  for (std::thread& thread : capturing) thread.join();
  for (int id = 0; id < threads; ++id) std::printf("graph of thread %d: %d wrong\n", id, wrong[id]);
  std::printf("query: %s\n", cudaGetErrorName(cudaStreamQuery(0)));
  cudaFree(data);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
