// test: signal SIGSEGV
// A host function reads device memory: the program dies, as on a GPU, and a message says why.
#include <cstdio>

__attribute__((noinline)) float first_element(const float* x) {
  return *x;
}

int main() {
  float *d_x, *d_y;
  cudaMalloc(&d_x, 256);
  cudaMalloc(&d_y, 64);
  std::printf("before\n");
  std::fflush(stdout);
  const float value = first_element(d_y + 2);
  std::printf("after: %g\n", value);
  return 0;
}
