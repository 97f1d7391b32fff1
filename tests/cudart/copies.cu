// Copies and sets in all directions, rows with a pitch, and pointers on the wrong side.
#include <cstring>
#include <vector>

#include "show.hpp"

__global__ void increment(unsigned char* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) ++x[i];
}

int main() {
  unsigned char h[16], back[16] = {};
  for (int i = 0; i < 16; ++i) h[i] = i;
  unsigned char *d_a, *d_b;
  cudaMalloc(&d_a, 16);
  cudaMalloc(&d_b, 16);
  show("to the device", cudaMemcpy(d_a, h, 16, cudaMemcpyHostToDevice));
  show("on the device", cudaMemcpy(d_b, d_a, 16, cudaMemcpyDeviceToDevice));
  increment<<<1, 16>>>(d_b, 16);
  show("to the host", cudaMemcpy(back, d_b, 16, cudaMemcpyDeviceToHost));
  std::printf("%d %d %d\n", back[0], back[7], back[15]);
  show("on the host", cudaMemcpy(back, h, 16, cudaMemcpyHostToHost));
  std::printf("%d %d %d\n", back[0], back[7], back[15]);
  show("default to the host", cudaMemcpy(back, d_b + 4, 8, cudaMemcpyDefault));
  std::printf("%d %d %d\n", back[0], back[7], back[15]);
  show("default to the device", cudaMemcpy(d_a + 1, back, 2, cudaMemcpyDefault));
  show("set", cudaMemset(d_a + 8, 0x1ff, 8));
  show("async", cudaMemcpyAsync(back, d_a, 16, cudaMemcpyDeviceToHost, 0));
  cudaDeviceSynchronize();
  std::printf("%d %d %d %d %d\n", back[0], back[1], back[2], back[3], back[8]);
  show("nothing", cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));

  // More than travels at once.
  const int n = 40000000;
  std::vector<unsigned char> large(n), large_back(n);
  for (int i = 0; i < n; ++i) large[i] = (unsigned char)(i * 2654435761u >> 24);
  unsigned char* d_large;
  show("allocation", cudaMalloc(&d_large, n));
  show("large to the device", cudaMemcpy(d_large, large.data(), n, cudaMemcpyHostToDevice));
  show("large to the host", cudaMemcpy(large_back.data(), d_large, n, cudaMemcpyDeviceToHost));
  std::printf("%s\n", large == large_back ? "equal" : "different");

  // A 5 x 3 rectangle in rows of the device's own pitch.
  unsigned char* d_rows;
  size_t pitch = 0;
  show("pitched allocation", cudaMallocPitch(&d_rows, &pitch, 5, 3));
  std::printf("pitch %s\n", pitch >= 5 && pitch % 32 == 0 ? "as it should be" : "wrong");
  show("set rows", cudaMemset2D(d_rows, pitch, 9, 5, 3));
  show("rows to the device", cudaMemcpy2D(d_rows, pitch, h, 4, 4, 3, cudaMemcpyHostToDevice));
  show("rows to the host", cudaMemcpy2D(back, 5, d_rows, pitch, 5, 3, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 15; ++i) std::printf("%d%c", back[i], i % 5 == 4 ? '\n' : ' ');
  show("rows wider than the pitch", cudaMemcpy2D(back, 4, d_rows, pitch, 5, 3, cudaMemcpyDeviceToHost));
  show("wrong kind", cudaMemcpy(d_a, h, 16, (cudaMemcpyKind)17));
  show("free", cudaFree(d_large));
  show("last error", cudaGetLastError());
  return 0;
}
