// test: vgpu
// test: runs async swapped scope reset pinned heap
// Memory used after it was freed: in stream order, under the other name of swapped pointers, after the end of a scope
// that owned it, and after the device was reset; pinned memory, and memory of a kernel's own malloc().
#include <cstdio>
#include <cstring>
#include <utility>

__global__ void increment(int* x) {
  x[threadIdx.x] += 1;
}

__global__ void on_the_heap() {
  int* const x = static_cast<int*>(malloc(64));
  free(x);
  x[0] = 1;
}

struct Owner {
  int* p;
  explicit Owner(int n) {
    cudaMalloc(&p, n * sizeof(int));
    cudaMemset(p, 0, n * sizeof(int));
  }
  ~Owner() { cudaFree(p); }
};

int main(int, char** argv) {
  const char* kind = argv[1];
  int *x, *y;
  cudaMalloc(&x, 128);
  cudaMalloc(&y, 256);
  cudaMemset(x, 0, 128);
  cudaMemset(y, 0, 256);
  increment<<<1, 32>>>(x);
  if (!strcmp(kind, "async")) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    increment<<<1, 32, 0, stream>>>(x);
    cudaFreeAsync(x, stream);
    increment<<<1, 32, 0, stream>>>(x);
  }
  if (!strcmp(kind, "swapped")) {
    int* const in = x;
    std::swap(x, y);
    cudaFree(y);  // what was called x
    increment<<<1, 32>>>(in);
  }
  if (!strcmp(kind, "scope")) {
    int* kept;
    {
      Owner owner(32);
      kept = owner.p;
      increment<<<1, 32>>>(kept);
    }
    Owner other(32);  // the same size, but no longer the same memory
    increment<<<1, 32>>>(kept);
  }
  if (!strcmp(kind, "reset")) {
    printf("reset: %s\n", cudaGetErrorName(cudaDeviceReset()));
    increment<<<1, 32>>>(x);
  }
  if (!strcmp(kind, "pinned")) {
    int* pinned;
    cudaMallocHost(&pinned, 128);
    cudaFreeHost(pinned);
    increment<<<1, 32>>>(pinned);
  }
  if (!strcmp(kind, "heap")) on_the_heap<<<1, 1>>>();
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
