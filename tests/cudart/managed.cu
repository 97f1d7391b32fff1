// Managed memory: one pointer for host and device; a __managed__ variable; mapped host memory.
#include "show.hpp"

__managed__ int total = 3;

__global__ void add(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += x[i];
}
__global__ void count(int* mapped) {
  atomicAdd(&total, 2);
  atomicAdd(mapped, 1);
}

int main() {
  const int n = 100000;
  float *x, *y;
  show("managed", cudaMallocManaged(&x, n * sizeof(float)));
  show("managed", cudaMallocManaged(&y, n * sizeof(float)));
  for (int i = 0; i < n; ++i) {
    x[i] = 1;
    y[i] = i;
  }
  add<<<8, 256>>>(x, y, n);
  add<<<8, 256>>>(x, y, n);  // no wait between them: the second sees what the first did
  show("wait", cudaDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != i + 2;
  std::printf("%d wrong\n", wrong);

  float part[3] = {};
  show("copy from it", cudaMemcpy(part, y + 10, sizeof part, cudaMemcpyDeviceToHost));
  std::printf("%g %g %g\n", part[0], part[1], part[2]);
  show("set", cudaMemset(y, 0, 8 * sizeof(float)));
  add<<<1, 32>>>(x, y, 8);
  show("wait", cudaDeviceSynchronize());
  std::printf("%g %g\n", y[7], y[8]);

  int *mapped, *d_mapped;
  show("mapped host memory", cudaHostAlloc(&mapped, sizeof(int), cudaHostAllocMapped));
  *mapped = 100;
  show("its device pointer", cudaHostGetDevicePointer(&d_mapped, mapped, 0));
  total += 10;
  count<<<2, 64>>>(d_mapped);
  show("wait", cudaDeviceSynchronize());
  std::printf("total %d, mapped %d\n", total, *mapped);

  cudaPointerAttributes a;
  cudaPointerGetAttributes(&a, x);
  std::printf("managed: %s\n", a.type == cudaMemoryTypeManaged ? "yes" : "no");
  show("free", cudaFree(x));
  show("free", cudaFree(y));
  show("free mapped", cudaFreeHost(mapped));
  show("last error", cudaGetLastError());
  return 0;
}
