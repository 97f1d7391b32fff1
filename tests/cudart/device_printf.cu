// The device's printf appears when the host waits for the device, and in order with the host's own.
#include <cstdio>

__global__ void hello(int round) {
  printf("round %d: thread %d of %d\n", round, threadIdx.x, blockDim.x);
}
__global__ void formats(double x, const char* text, long long big) {
  printf("%5.2f|%-6s|%lld|%x|%c|%%|%e\n", x, text, big, 255u, 'z', 12345.678);
}
#define FLAGS "%05d|%-+8d|%+.3e|%08.3f|% d|%.0f|%*d|%-10.2s|\n", 42, 42, 1.5, -2.25, 7, 2.5, 6, 42, "abc"
__global__ void flags() {
  printf(FLAGS);
}
__device__ char d_text[4] = "abc";

int main() {
  std::printf("first\n");
  hello<<<1, 3>>>(1);
  cudaDeviceSynchronize();
  std::printf("between\n");
  hello<<<1, 1>>>(2);
  char* text;
  cudaGetSymbolAddress((void**)&text, d_text);
  formats<<<1, 1>>>(3.14159, text, -1234567890123LL);
  char copy[4];
  cudaMemcpyFromSymbol(copy, d_text, sizeof copy);
  flags<<<1, 1>>>();
  cudaDeviceSynchronize();
  std::printf(FLAGS);
  std::printf("last: %s\n", copy);
  return cudaDeviceSynchronize() != cudaSuccess;
}
