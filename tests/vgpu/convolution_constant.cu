// Convolutions with the mask in constant memory: 1D basic, 1D tiled with halo cells, 2D tiled with blocks as large as
// the input tile, separable passes; parts of symbols written at an offset.
#include <stdio.h>
#include <stdlib.h>

#define MAX_MASK_WIDTH 11
#define TILE_SIZE 64
#define O_TILE_WIDTH 12
#define MASK_2D 5
__constant__ float M[MAX_MASK_WIDTH];
__constant__ float M2[MASK_2D][MASK_2D];

__global__ void convolution_1D_basic(const float* N, float* P, int Mask_Width, int Width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= Width) return;
  float Pvalue = 0;
  int start = i - Mask_Width / 2;
  for (int j = 0; j < Mask_Width; j++)
    if (start + j >= 0 && start + j < Width) Pvalue += N[start + j] * M[j];
  P[i] = Pvalue;
}

__global__ void convolution_1D_tiled(const float* N, float* P, int Mask_Width, int Width) {
  __shared__ float N_ds[TILE_SIZE + MAX_MASK_WIDTH - 1];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int n = Mask_Width / 2;
  int left = (blockIdx.x - 1) * blockDim.x + threadIdx.x;
  if (threadIdx.x >= blockDim.x - n) N_ds[threadIdx.x - (blockDim.x - n)] = left < 0 ? 0 : N[left];
  N_ds[n + threadIdx.x] = i < Width ? N[i] : 0;
  int right = (blockIdx.x + 1) * blockDim.x + threadIdx.x;
  if (threadIdx.x < n) N_ds[n + blockDim.x + threadIdx.x] = right >= Width ? 0 : N[right];
  __syncthreads();
  float Pvalue = 0;
  for (int j = 0; j < Mask_Width; j++) Pvalue += N_ds[threadIdx.x + j] * M[j];
  if (i < Width) P[i] = Pvalue;
}

__global__ void convolution_2D_tiled(const float* N, float* P, int height, int width, int pitch) {
  __shared__ float N_ds[O_TILE_WIDTH + MASK_2D - 1][O_TILE_WIDTH + MASK_2D - 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row_o = blockIdx.y * O_TILE_WIDTH + ty, col_o = blockIdx.x * O_TILE_WIDTH + tx;
  int row_i = row_o - MASK_2D / 2, col_i = col_o - MASK_2D / 2;
  if (row_i >= 0 && row_i < height && col_i >= 0 && col_i < width)
    N_ds[ty][tx] = N[row_i * pitch + col_i];
  else
    N_ds[ty][tx] = 0.0f;
  __syncthreads();
  if (ty < O_TILE_WIDTH && tx < O_TILE_WIDTH) {
    float output = 0.0f;
    for (int i = 0; i < MASK_2D; i++)
      for (int j = 0; j < MASK_2D; j++) output += M2[i][j] * N_ds[i + ty][j + tx];
    if (row_o < height && col_o < width) P[row_o * width + col_o] = output;
  }
}

int main() {
  float mask[MAX_MASK_WIDTH], mask2[MASK_2D][MASK_2D];
  for (int j = 0; j < MAX_MASK_WIDTH; j++) mask[j] = j - 3;
  for (int i = 0; i < MASK_2D; i++)
    for (int j = 0; j < MASK_2D; j++) mask2[i][j] = i * 2 - j;
  // In two parts, the second first.
  cudaMemcpyToSymbol(M, mask + 4, (MAX_MASK_WIDTH - 4) * sizeof(float), 4 * sizeof(float));
  cudaMemcpyToSymbol(M, mask, 4 * sizeof(float), 0, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(M2, mask2, sizeof(mask2));
  float back[3];
  cudaMemcpyFromSymbol(back, M, sizeof(back), 3 * sizeof(float));
  printf("mask from 3 on: %g %g %g\n", back[0], back[1], back[2]);

  const int sizes[] = {1, 5, 63, 64, 65, 300};
  for (int width : sizes)
    for (int mask_width = 1; mask_width <= MAX_MASK_WIDTH; mask_width += 10) {
      float h[300], p[300], *N, *P;
      for (int i = 0; i < width; i++) h[i] = i * 3 % 20;
      cudaMalloc(&N, width * sizeof(float));
      cudaMalloc(&P, width * sizeof(float));
      cudaMemcpy(N, h, width * sizeof(float), cudaMemcpyHostToDevice);
      for (int tiled = 0; tiled < 2; tiled++) {
        if (tiled)
          convolution_1D_tiled<<<(width + TILE_SIZE - 1) / TILE_SIZE, TILE_SIZE>>>(N, P, mask_width, width);
        else
          convolution_1D_basic<<<(width + 31) / 32, 32>>>(N, P, mask_width, width);
        cudaMemcpy(p, P, width * sizeof(float), cudaMemcpyDeviceToHost);
        int wrong = 0;
        for (int i = 0; i < width; i++) {
          float sum = 0;
          for (int j = 0; j < mask_width; j++) {
            int k = i - mask_width / 2 + j;
            if (k >= 0 && k < width) sum += h[k] * mask[j];
          }
          wrong += p[i] != sum;
        }
        if (wrong) printf("width %d, mask %d, tiled %d: %d wrong\n", width, mask_width, tiled, wrong);
      }
      cudaFree(N);
      cudaFree(P);
    }

  const int height = 29, width = 41;
  static float image[height][width], result[height][width];
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) image[y][x] = (x * y + x) % 13;
  float *d_image, *d_result;
  size_t pitch;
  cudaMallocPitch(&d_image, &pitch, width * sizeof(float), height);
  cudaMalloc(&d_result, sizeof(result));
  cudaMemcpy2D(d_image, pitch, image, width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice);
  dim3 block(O_TILE_WIDTH + MASK_2D - 1, O_TILE_WIDTH + MASK_2D - 1);
  dim3 grid((width - 1) / O_TILE_WIDTH + 1, (height - 1) / O_TILE_WIDTH + 1);
  convolution_2D_tiled<<<grid, block>>>(d_image, d_result, height, width, pitch / sizeof(float));
  cudaMemcpy(result, d_result, sizeof(result), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      float sum = 0;
      for (int i = 0; i < MASK_2D; i++)
        for (int j = 0; j < MASK_2D; j++) {
          int v = y + i - 2, u = x + j - 2;
          if (u >= 0 && v >= 0 && u < width && v < height) sum += mask2[i][j] * image[v][u];
        }
      wrong += result[y][x] != sum;
    }
  printf("2D: %d wrong\n%s\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
