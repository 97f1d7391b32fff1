// test: vgpu
// test: apart
// test: exit 7
// The same in a program that asks, and goes another way: it ends as it likes.
#include <cstdio>

__global__ void sum(unsigned* p) {
  unsigned all;
  asm volatile("multimem.ld_reduce.global.add.u32 %0, [%1];" : "=r"(all) : "l"(p));
  *p = all;
}

int main() {
  unsigned* d_p;
  cudaMalloc(&d_p, sizeof(unsigned));
  sum<<<1, 1>>>(d_p);
  if (cudaGetLastError() != cudaSuccess) {
    printf("another way\n");
    return 7;
  }
  return 0;
}
