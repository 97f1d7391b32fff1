// test: vgpu
// test: runs beyond released twice middle foreign
// Mistakes with memory from malloc and new in device code: one element too many, use after free, free twice, free of
// the middle, and pointers that go to the wrong free.
#include <cstdio>
#include <cstring>

__global__ void beyond(int* out) {
  int* a = new int[10];
  for (int i = 0; i <= 10; ++i) a[i] = i;
  *out = a[threadIdx.x];
}
__global__ void released(int* out) {
  int* a = (int*)malloc(40);
  a[3] = 1;
  free(a);
  *out = *(volatile int*)&a[3];
}
__global__ void twice() {
  void* p = malloc(16);
  void* q = p;
  asm volatile("" : "+l"(q));  // the compiler may not see that they are the same
  free(p);
  free(q);
}
__global__ void middle() {
  char* p = (char*)malloc(16);
  asm volatile("" : "+l"(p));
  free(p + 8);
}
__global__ void give(int** out) {
  *out = (int*)malloc(64);
}
__global__ void take(int* p) {
  free(p);
}

int main(int, char** argv) {
  const char* kind = argv[1];
  int *x, *from_kernel;
  cudaMalloc(&x, 64);
  if (!strcmp(kind, "beyond")) beyond<<<1, 1>>>(x);
  if (!strcmp(kind, "released")) released<<<1, 1>>>(x);
  if (!strcmp(kind, "twice")) twice<<<1, 1>>>();
  if (!strcmp(kind, "middle")) middle<<<1, 1>>>();
  if (!strcmp(kind, "foreign")) {
    give<<<1, 1>>>((int**)x);
    cudaMemcpy(&from_kernel, x, sizeof from_kernel, cudaMemcpyDeviceToHost);
    printf("cudaFree: %s\n", cudaGetErrorName(cudaFree(from_kernel)));
    take<<<1, 1>>>(x);
  }
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
