// What `reports.py` runs: its argument says how it goes wrong.
#include <cstdio>
#include <cstring>

__global__ void spin(unsigned* p, unsigned end) {
  unsigned x = 0;
  for (unsigned turn = 0; turn != end; ++turn) {
    x = x * 1664525u + 1013904223u;
    p[threadIdx.x] = x;
  }
}

__global__ void outside(unsigned* p) {
  p[threadIdx.x + 1000] = 1;
}

int main(int, char** argv) {
  unsigned* p = nullptr;
  printf("%s begins\n", argv[0]);
  if (std::strcmp(argv[1], "memory") == 0) {
    for (int k = 0; k < 3; ++k) printf("%s\n", cudaGetErrorName(cudaMalloc(&p, 1ull << 36)));
    return 1;
  }
  cudaMalloc(&p, 256);
  if (std::strcmp(argv[1], "refused") == 0) {
    for (int k = 0; k < 5; ++k) spin<<<1, 5000>>>(p, 1);
  } else if (std::strcmp(argv[1], "fault") == 0) {
    outside<<<1, 1>>>(p);
    printf("launched\n");
    for (int k = 0; k < 3; ++k) printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 5;
  } else {
    fflush(stdout);
    spin<<<3, 64>>>(p, ~0u);
    cudaDeviceSynchronize();
  }
  printf("ends\n");
  return cudaGetLastError() != cudaSuccess;
}
