// Several streams and events, asynchronous copies, managed and pinned memory, 2D copies, device queries, peer errors.
#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                        \
  do {                                                                                                     \
    const cudaError_t e = (call);                                                                          \
    if (e != cudaSuccess) printf("%s:%d: %s: %s\n", "streams.cu", __LINE__, #call, cudaGetErrorString(e)); \
  } while (0)

__global__ void add(float* x, float value, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += value;
}
__global__ void scale(float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

static void CUDART_CB called(void* data) {
  ++*static_cast<int*>(data);
}

int main() {
  const int streams = 4, chunk = 1000, n = streams * chunk;
  cudaStream_t stream[streams];
  cudaEvent_t start, stop, ready;
  float *h, *d;
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMallocHost(&h, n * sizeof(float)));
  CHECK(cudaMalloc(&d, n * sizeof(float)));
  for (int i = 0; i < n; ++i) h[i] = i;
  for (auto& s : stream) CHECK(cudaStreamCreate(&s));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CHECK(cudaEventRecord(start, 0));
  for (int k = 0; k < streams; ++k) {
    float* part = d + k * chunk;
    CHECK(cudaMemcpyAsync(part, h + k * chunk, chunk * sizeof(float), cudaMemcpyHostToDevice, stream[k]));
    add<<<4, 64, 0, stream[k]>>>(part, 1, chunk);
    scale<<<(chunk + 127) / 128, 128, 0, stream[k]>>>(part, 2, chunk);
    CHECK(cudaMemcpyAsync(h + k * chunk, part, chunk * sizeof(float), cudaMemcpyDeviceToHost, stream[k]));
  }
  int calls = 0;
  CHECK(cudaLaunchHostFunc(stream[1], called, &calls));
  CHECK(cudaEventRecord(ready, stream[0]));
  CHECK(cudaStreamWaitEvent(stream[1], ready, 0));
  for (auto& s : stream) CHECK(cudaStreamSynchronize(s));
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += h[i] != (i + 1) * 2.0f;
  printf("streams: %d wrong, time %s, callbacks %d\n", wrong, ms >= 0 ? "measured" : "missing", calls);
  printf("query: %s %s\n", cudaGetErrorName(cudaStreamQuery(stream[0])), cudaGetErrorName(cudaEventQuery(stop)));

  float* m;
  CHECK(cudaMallocManaged(&m, n * sizeof(float)));
  for (int i = 0; i < n; ++i) m[i] = i;
  add<<<8, 128>>>(m, 5, n);
  CHECK(cudaDeviceSynchronize());
  wrong = 0;
  for (int i = 0; i < n; ++i) wrong += m[i] != i + 5;
  m[7] = -1;
  scale<<<(n + 127) / 128, 128>>>(m, 3, n);
  CHECK(cudaDeviceSynchronize());
  printf("managed: %d wrong, %g %g\n", wrong, m[7], m[8]);
  CHECK(cudaFree(m));

  int *d_i, h_i[10];
  CHECK(cudaMalloc(&d_i, sizeof h_i));
  CHECK(cudaMemset(d_i, 0xff, sizeof h_i));
  CHECK(cudaMemsetAsync(d_i + 5, 0x01, 2 * sizeof(int), stream[2]));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h_i, d_i, sizeof h_i, cudaMemcpyDefault));
  printf("memset: %d %d %#x %d\n", h_i[0], h_i[4], h_i[5], h_i[7]);

  char *pitched, rows[3][10], back[3][10];
  size_t pitch;
  for (int r = 0; r < 3; ++r) snprintf(rows[r], 10, "row %d", r);
  CHECK(cudaMallocPitch((void**)&pitched, &pitch, 10, 3));
  CHECK(cudaMemcpy2D(pitched, pitch, rows, 10, 10, 3, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(back, 10, pitched, pitch, 10, 3, cudaMemcpyDeviceToHost));
  printf("2D: %s, pitch %s\n", back[2], pitch >= 10 && pitch % 32 == 0 ? "aligned" : "odd");

  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, scale));
  int blocks = 0, grid = 0, block = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
  cudaPointerAttributes pointer;
  CHECK(cudaPointerGetAttributes(&pointer, d));
  printf("memory %d, threads %d, occupancy %d %d, pointer %d\n", free_bytes > 0 && free_bytes <= total,
         attributes.maxThreadsPerBlock, blocks > 0, grid > 0 && block % 32 == 0, pointer.type == cudaMemoryTypeDevice);
  int driver = 0, runtime = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaFuncSetCacheConfig(scale, cudaFuncCachePreferShared));
  printf("devices %d, versions %d\n", count, driver >= runtime && runtime >= 12000);

  for (auto& s : stream) CHECK(cudaStreamDestroy(s));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaEventDestroy(ready));
  CHECK(cudaFreeHost(h));
  CHECK(cudaFree(d));
  printf("set device 9: %s\n", cudaGetErrorName(cudaSetDevice(9)));
  printf("freed twice: %s\n", cudaGetErrorName(cudaFree(d)));
  printf("too much: %s\n", cudaGetErrorName(cudaMalloc(&d, size_t(1) << 60)));
  printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("then: %s\n", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaDeviceReset());
}
