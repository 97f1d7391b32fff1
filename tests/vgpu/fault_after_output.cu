// test: vgpu
// test: runs lines many
// What a kernel printed before its fault is shown, up to the fault, and in order; nothing of what would have followed.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void lines(const int* limits) {
  for (int step = 0;; ++step) {
    printf("step %d\n", step);
    if (step == *limits) *(volatile int*)nullptr = step;
  }
}

__global__ void many(int* x) {
  if (threadIdx.x == 0) {
    for (int k = 0; k < 3; ++k) printf("line %d of block %d\n", k, blockIdx.x);
    assert(x[0] == 1 && "prepared");
    printf("never\n");
  }
}

int main(int, char** argv) {
  int* x;
  cudaMalloc(&x, sizeof(int));
  const int value = 2;
  cudaMemcpy(x, &value, sizeof value, cudaMemcpyHostToDevice);
  if (!strcmp(argv[1], "lines")) lines<<<1, 1>>>(x);
  if (!strcmp(argv[1], "many")) many<<<1, 32>>>(x);
  const cudaError_t error = cudaDeviceSynchronize();
  printf("%s: %s\n", argv[1], cudaGetErrorName(error));
}
