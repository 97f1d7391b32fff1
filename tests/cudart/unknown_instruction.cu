// test: vgpu
// test: apart
// test: exit 3
// A kernel that the virtual GPU cannot run, and a program that does not ask: whatever it prints is nothing that a GPU
// would print, so that it must not end as if all were well.
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
  printf("all is well\n");
  return 0;
}
