// test: vgpu
// test: alone
// Started by itself, a program linked for the virtual GPU finds no device, and a message says how to start.
#include "show.hpp"

__global__ void kernel() {}

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
