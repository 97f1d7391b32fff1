// __device__ and __constant__ variables by their names: copies with offsets, addresses, sizes.
#include "show.hpp"

__constant__ float coefficients[4];
__device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ double scale = 2.5;
static int on_host;

__global__ void evaluate(float* y) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += coefficients[i] * table[i];
  *y = sum * (float)scale;
}

__global__ void square() {
  table[threadIdx.x] *= table[threadIdx.x];
}

int main() {
  const float h_coefficients[4] = {1, 10, 100, 1000};
  show("to constant", cudaMemcpyToSymbol(coefficients, h_coefficients, sizeof h_coefficients));
  float *d_y, y = 0;
  cudaMalloc(&d_y, sizeof(float));
  evaluate<<<1, 1>>>(d_y);
  cudaMemcpy(&y, d_y, sizeof y, cudaMemcpyDeviceToHost);
  std::printf("y = %g\n", y);

  const int replacement[2] = {-3, -4};
  show("to table + 2", cudaMemcpyToSymbol(table, replacement, sizeof replacement, 2 * sizeof(int)));
  square<<<1, 8>>>();
  int all[8], two[2];
  show("from table", cudaMemcpyFromSymbol(all, table, sizeof all));
  show("from table + 6", cudaMemcpyFromSymbol(two, table, sizeof two, 6 * sizeof(int)));
  for (int v : all) std::printf("%d ", v);
  std::printf("| %d %d\n", two[0], two[1]);

  int* d_table = nullptr;
  size_t bytes = 0;
  show("address", cudaGetSymbolAddress((void**)&d_table, table));
  show("size", cudaGetSymbolSize(&bytes, scale));
  std::printf("scale has %zu bytes\n", bytes);
  cudaMemcpy(two, d_table + 1, sizeof two, cudaMemcpyDeviceToHost);
  std::printf("by its address: %d %d\n", two[0], two[1]);
  show("device to device", cudaMemcpyToSymbol(table, d_table + 4, 2 * sizeof(int), 0, cudaMemcpyDeviceToDevice));
  cudaMemcpyFromSymbol(two, table, sizeof two);
  std::printf("table begins %d %d\n", two[0], two[1]);

  show("more than there is", cudaMemcpyToSymbol(scale, h_coefficients, 16));
  show("no symbol", cudaMemcpyToSymbol(on_host, &y, sizeof y));
  show("wrong direction", cudaMemcpyToSymbol(scale, h_coefficients, 8, 0, cudaMemcpyDeviceToHost));
  show("last error", cudaGetLastError());
  return 0;
}
