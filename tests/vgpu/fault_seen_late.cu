// test: exit 3
// The usual macro after every call, but not after the launch: the error of a kernel shows in the next call that waits,
// which has done nothing wrong. What was copied before stays right, and the program ends with its own exit code.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const cudaError_t status = (call);                                                             \
    if (status != cudaSuccess) {                                                                   \
      printf("%s failed: %s (%s)\n", #call, cudaGetErrorString(status), cudaGetErrorName(status)); \
      cudaDeviceReset();                                                                           \
      exit(3);                                                                                     \
    }                                                                                              \
  } while (0)

__global__ void increment(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
__global__ void follow(int** list) {
  **list = 1;
}  // a null pointer after cudaMemset

int main() {
  int *x, **list, h[100];
  CHECK(cudaMalloc(&x, sizeof h));
  CHECK(cudaMalloc(&list, sizeof *list));
  CHECK(cudaMemset(x, 0, sizeof h));
  CHECK(cudaMemset(list, 0, sizeof *list));
  increment<<<4, 32>>>(x, 100);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost));
  printf("first: %d %d\n", h[0], h[99]);
  follow<<<1, 1>>>(list);
  increment<<<4, 32>>>(x, 100);
  CHECK(cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost));
  printf("never reached\n");
}
