// test: vgpu
// test: alone
// Started by itself, a program linked for the virtual GPU finds no device, and a message says how to start.
#include <cstdio>

__global__ void kernel() {}

static void show(const char* what, cudaError_t error) {
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
}

int main() {
  int count = -1;
  void* d_x;
  show("count", cudaGetDeviceCount(&count));
  std::printf("%d devices\n", count);
  show("allocation", cudaMalloc(&d_x, 4));
  kernel<<<1, 1>>>();
  show("launch", cudaGetLastError());
  show("synchronise", cudaDeviceSynchronize());
  return 0;
}
