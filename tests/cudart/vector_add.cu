// The first program of every course: allocate, copy, launch, time with events, copy back, compare.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t error = (call);                                                       \
    if (error != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 100001;
  const size_t bytes = n * sizeof(float);
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = i;
    b[i] = 0.5f * i;
  }
  float *d_a, *d_b, *d_c;
  CHECK(cudaMalloc(&d_a, bytes));
  CHECK(cudaMalloc(&d_b, bytes));
  CHECK(cudaMalloc(&d_c, bytes));
  CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start));
  vector_add<<<(n + 255) / 256, 256>>>(d_a, d_b, d_c, n);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));

  CHECK(cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != a[i] + b[i];
  std::printf("%d of %d wrong\n", wrong, n);
  std::printf("the kernel took %s\n", milliseconds > 0 ? "some time" : "no time");

  // Many small launches, one after the other.
  for (int k = 0; k < 1000; ++k) vector_add<<<1, 32>>>(d_c, d_b, d_c, 32);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(c.data(), d_c, 32 * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("after 1000 more: %g %g %g\n", c[0], c[1], c[31]);

  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaFree(d_a));
  CHECK(cudaFree(d_b));
  CHECK(cudaFree(d_c));
  return wrong != 0;
}
