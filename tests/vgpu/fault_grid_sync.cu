// test: vgpu
// grid.sync() in a kernel that was launched with <<<...>>>: the blocks were never promised to run together. With
// cudaLaunchCooperativeKernel the same kernel works.
#include <cooperative_groups.h>

#include <cstdio>

namespace cg = cooperative_groups;

__global__ void neighbours(int* x, int* y) {
  cg::grid_group grid = cg::this_grid();
  x[grid.thread_rank()] = grid.thread_rank();
  grid.sync();
  y[grid.thread_rank()] = x[(grid.thread_rank() + 1) % grid.size()];
}

int main() {
  int *x, *y, last;
  cudaMalloc(&x, 256 * sizeof(int));
  cudaMalloc(&y, 256 * sizeof(int));
  void* arguments[] = {&x, &y};
  cudaLaunchCooperativeKernel((void*)neighbours, dim3(4), dim3(64), arguments, 0, nullptr);
  cudaMemcpy(&last, y + 255, sizeof last, cudaMemcpyDeviceToHost);
  printf("cooperative: %d\n", last);
  neighbours<<<4, 64>>>(x, y);
  printf("ordinary: %s\n", cudaDeviceSynchronize() == cudaSuccess ? "no error" : "an error");
}
