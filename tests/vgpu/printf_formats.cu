// The device's printf: every conversion, flags, widths, many arguments, the return value, output in a loop;
// assert(true).
#include <assert.h>
#include <stdio.h>

struct Point {
  double x;
  int i;
};

__global__ void formats(const char* name) {
  printf("%d %i %u %5d|%-5d|%05d|%+d|% d\n", -1, 42, 4000000000u, 42, 42, 42, 42, 42);
  printf("%x %X %#x %o %#o %08x\n", 255, 255, 255, 8, 8, 0xbeef);
  printf("%ld %lu %lld %llu %llx %hd\n", -5l, 5ul, -5000000000ll, 5000000000ull, 0xabcdef0123ull, (short)-3);
  printf("%zu %zd\n", sizeof(Point), (ssize_t)-2);  // not CUDA's: printed as it stands
  printf("%f %.2f %10.3f|%-10.1f|%e %.3E %g %G %a\n", 1.5, 3.14159, 2.71828, 9.99, 12345.678, 0.00012, 1e-10, 1e20,
         1.0);
  printf("%c%c%c %s %10s|%-10s|%.2s\n", 'a', 'b', 'c', "text", "right", "left", "precision");
  printf("%s %d%%\n", name, 100);
  printf("%*d|%-*d|%.*f\n", 6, 42, 6, 42, 2, 1.23456);
  printf("float %f, char %d, bool %d, short %d\n", 0.25f, (signed char)-100, true, (short)-30000);
  printf("no arguments\n");
  printf("%p %s\n", (void*)0, "after a pointer");
  printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  const int returned = printf("four %d %d %d %s\n", 1, 2, 3, "s");
  const int none = printf("none\n");
  printf("returned %d %d\n", returned, none);
  printf("infinite %f %f, not a number %d\n", 1.0 / 0.0, -1.0 / 0.0, isnan(sqrt(-1.0)));
  Point p = {2.5, 7};
  printf("point %g %d\n", p.x, p.i);
  if (0) printf("");
}

__global__ void by_thread() {
  if (threadIdx.x % 2) printf("block %d, thread %d\n", blockIdx.x, threadIdx.x);
  for (int k = 0; k < 2; k++)
    if (threadIdx.x == 0) printf("%d:%d ", blockIdx.x, k);
  if (threadIdx.x == 0) printf("\n");
  assert(threadIdx.x < 4);
}

__device__ char d_name[] = "from the device";

int main() {
  void* name;
  cudaGetSymbolAddress(&name, d_name);
  formats<<<1, 1>>>((const char*)name);
  cudaDeviceSynchronize();
  printf("host\n");
  by_thread<<<1, 4>>>();
  cudaDeviceSynchronize();
  size_t size = 0;
  cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize);
  printf("buffer %d\n", size >= 1 << 20);
  return cudaGetLastError();
}
