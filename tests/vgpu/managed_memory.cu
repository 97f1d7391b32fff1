// Managed memory: variables, structures that point to each other, hints, both sides in turn.
#include "show.hpp"

struct Node {
  int value;
  Node* next;
};

__managed__ int counter = 5;
__managed__ float table[4] = {1, 2, 3, 4};
__managed__ Node* list = nullptr;
__device__ __managed__ double precise;

__global__ void use_variables() {
  atomicAdd(&counter, 1);
  if (threadIdx.x < 4) table[threadIdx.x] *= 10;
  if (threadIdx.x == 0) precise = 0.125;
}

__global__ void double_list(int* length) {
  int n = 0;
  for (Node* node = list; node != nullptr; node = node->next) {
    node->value *= 2;
    ++n;
  }
  *length = n;
}

__global__ void increment(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++data[i];
}

int main() {
  counter += 10;
  use_variables<<<1, 32>>>();
  show("variables", cudaDeviceSynchronize());
  std::printf("%d, %g %g %g %g, %g\n", counter, table[0], table[1], table[2], table[3], precise);

  // A list that the host builds, the device walks and the host reads.
  Node* nodes = nullptr;
  int* length = nullptr;
  cudaMallocManaged(&nodes, 10 * sizeof(Node));
  cudaMallocManaged(&length, sizeof(int), cudaMemAttachGlobal);
  for (int i = 0; i < 10; ++i) nodes[i] = {i, i < 9 ? &nodes[i + 1] : nullptr};
  list = nodes;
  double_list<<<1, 1>>>(length);
  show("list", cudaDeviceSynchronize());
  int sum = 0;
  for (const Node* node = list; node != nullptr; node = node->next) sum += node->value;
  std::printf("%d nodes, sum %d\n", *length, sum);

  // Both sides in turn.
  constexpr int n = 3000;
  int* data = nullptr;
  cudaMallocManaged(&data, n * sizeof(int));
  for (int i = 0; i < n; ++i) data[i] = i;
  for (int round = 0; round < 5; ++round) {
    increment<<<(n + 255) / 256, 256>>>(data, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; ++i) data[i] += 100;
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += data[i] != i + 505;
  std::printf("in turn: %d wrong\n", wrong);

  // Copies and sets take managed memory as either side.
  int part[4] = {-1, -2, -3, -4};
  cudaMemcpy(data, part, sizeof part, cudaMemcpyHostToDevice);
  cudaMemcpy(part, data + 2, 2 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(data + 10, data, 2 * sizeof(int), cudaMemcpyDefault);
  cudaMemset(data + 20, 0xff, sizeof(int));
  cudaDeviceSynchronize();
  std::printf("copies: %d %d, %d %d, %d\n", part[0], part[1], data[10], data[11], data[20]);

  // Hints are accepted for managed memory.
#if CUDART_VERSION >= 13000
  const cudaMemLocation device{cudaMemLocationTypeDevice, {0}}, host{cudaMemLocationTypeHost, {0}};
  show("prefetch", cudaMemPrefetchAsync(data, n * sizeof(int), device, 0));
  show("advise", cudaMemAdvise(data, n * sizeof(int), cudaMemAdviseSetReadMostly, device));
  show("prefetch back", cudaMemPrefetchAsync(data, n * sizeof(int), host, 0));
#else
  show("prefetch", cudaMemPrefetchAsync(data, n * sizeof(int), 0));
  show("advise", cudaMemAdvise(data, n * sizeof(int), cudaMemAdviseSetReadMostly, 0));
  show("prefetch back", cudaMemPrefetchAsync(data, n * sizeof(int), cudaCpuDeviceId));
#endif
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  show("attach", cudaStreamAttachMemAsync(stream, data, 0, cudaMemAttachSingle));
  increment<<<1, 256, 0, stream>>>(data, 1);
  show("stream", cudaStreamSynchronize(stream));
  std::printf("%d\n", data[0]);
  cudaStreamDestroy(stream);

  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, data + 1);
  std::printf("managed: %s, both addresses: %s\n", attributes.type == cudaMemoryTypeManaged ? "yes" : "no",
              attributes.hostPointer == data + 1 && attributes.devicePointer == data + 1 ? "yes" : "no");
  show("no bytes", cudaMallocManaged(&data, 0));
  cudaGetLastError();
  cudaFree(nodes);
  cudaFree(length);
  show("last error", cudaGetLastError());
  return 0;
}
