// test: vgpu
// test: runs next member row
// An index that leaves one array and lands in another: on a GPU nothing stops it and other data is overwritten. Here
// arrays of cudaMalloc lie apart; within one allocation nothing can be detected, as on a GPU.
#include <cstdio>
#include <cstring>

__global__ void fill(int* a, int first, int value) {
  a[first + threadIdx.x] = value;
}

struct Pair {
  int a[8], b[8];
};
__global__ void fill_member(Pair* p, int k) {
  if (threadIdx.x == 0) p->a[k] = 1;  // k = 8 is b[0]: the same allocation
}
__global__ void pitched(float* m, size_t pitch) {
  // The pitch is in bytes; here it counts floats.
  m[threadIdx.y * pitch + threadIdx.x] = 1;
}

int main(int, char** argv) {
  const char* kind = argv[1];
  if (!strcmp(kind, "next")) {
    int *a, *b;
    cudaMalloc(&a, 1024 * sizeof(int));
    cudaMalloc(&b, 1024 * sizeof(int));
    fill<<<1, 32>>>(a, int(b - a), 7);  // b, reached from a: fine for the hardware, and for the address space
    fill<<<1, 32>>>(a, 1000, 7);        // 8 of the 32 leave a
  }
  if (!strcmp(kind, "member")) {
    Pair* p;
    cudaMalloc(&p, sizeof(Pair));
    fill_member<<<1, 32>>>(p, 8);
    printf("member: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    fill_member<<<1, 32>>>(p, 16);
  }
  if (!strcmp(kind, "row")) {
    float* m;
    size_t pitch;
    cudaMallocPitch(&m, &pitch, 10 * sizeof(float), 4);
    pitched<<<1, dim3(10, 1)>>>(m, pitch);
    pitched<<<1, dim3(10, 2)>>>(m, pitch);
  }
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
