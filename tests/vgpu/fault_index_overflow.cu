// row * width no longer fits in an int, becomes negative, and the address lies gigabytes before the array.
#include <cstdio>

__global__ void clear_row(float* image, int width, int row) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) image[row * width + x] = 0;
}

int main() {
  const int width = 50000;
  float* image;
  cudaMalloc(&image, 1000 * sizeof(float));  // a window that begins at row 0
  clear_row<<<1, 32>>>(image, width, 0);
  printf("row 0: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  clear_row<<<2, 32>>>(image, width, 50000);
  printf("row 50000: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
