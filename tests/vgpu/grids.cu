// Grids and blocks of two and three dimensions, many blocks, grid-stride loops; matrices, images, stencils.
#include <cstdio>
#include <cstdlib>

#define TILE_DIM 32
#define BLOCK_ROWS 8
#define TILE_WIDTH 16
#define RADIUS 3

__global__ void indices(int* seen, int3 size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < size.x && y < size.y && z < size.z) atomicAdd(&seen[(z * size.y + y) * size.x + x], 1);
}

__global__ void many_blocks(int* count, int* last) {
  if (threadIdx.x == 0) atomicAdd(count, 1);
  if (blockIdx.x == gridDim.x - 1) *last = blockIdx.x;
}

__global__ void transpose(float* odata, const float* idata) {
  __shared__ float tile[TILE_DIM][TILE_DIM + 1];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void matrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  int Row = by * TILE_WIDTH + ty;
  int Col = bx * TILE_WIDTH + tx;
  float Pvalue = 0;
  for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
    if ((Row < Width) && (ph * TILE_WIDTH + tx) < Width)
      Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
    else
      Mds[ty][tx] = 0;
    if ((ph * TILE_WIDTH + ty) < Width && Col < Width)
      Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
    else
      Nds[ty][tx] = 0;
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
    __syncthreads();
  }
  if ((Row < Width) && (Col < Width)) P[Row * Width + Col] = Pvalue;
}

__global__ void stencil_1d(const int* in, int* out, int n) {
  __shared__ int temp[128 + 2 * RADIUS];
  int gindex = threadIdx.x + blockIdx.x * blockDim.x;
  int lindex = threadIdx.x + RADIUS;
  temp[lindex] = gindex < n ? in[gindex] : 0;
  if (threadIdx.x < RADIUS) {
    temp[lindex - RADIUS] = gindex >= RADIUS ? in[gindex - RADIUS] : 0;
    temp[lindex + 128] = gindex + 128 < n ? in[gindex + 128] : 0;
  }
  __syncthreads();
  int result = 0;
  for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
  if (gindex < n) out[gindex] = result;
}

struct rgb {
  unsigned char r, g, b;
};
__global__ void grayscale(unsigned char* out, rgb* in, int width, int height) {
  int col = threadIdx.x + blockIdx.x * blockDim.x;
  int row = threadIdx.y + blockIdx.y * blockDim.y;
  if (col < width && row < height) {
    rgb p = in[row * width + col];
    out[row * width + col] = 0.25f * p.r + 0.5f * p.g + 0.25f * p.b;
  }
}

int main(int argc, char* argv[]) {
  int3 size = {50, 21, 9};
  int *d_seen, *seen = (int*)calloc(size.x * size.y * size.z, sizeof(int)), wrong = 0;
  cudaMalloc((void**)&d_seen, size.x * size.y * size.z * sizeof(int));
  cudaMemset(d_seen, 0, size.x * size.y * size.z * sizeof(int));
  dim3 block(8, 4, 2);
  dim3 grid((size.x + block.x - 1) / block.x, (size.y + block.y - 1) / block.y, (size.z + block.z - 1) / block.z);
  indices<<<grid, block>>>(d_seen, size);
  cudaMemcpy(seen, d_seen, size.x * size.y * size.z * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < size.x * size.y * size.z; i++) wrong += seen[i] != 1;
  printf("grid %u x %u x %u: %d wrong\n", grid.x, grid.y, grid.z, wrong);

  cudaMemset(d_seen, 0, 2 * sizeof(int));
  many_blocks<<<65536, 32>>>(d_seen, d_seen + 1);
  cudaMemcpy(seen, d_seen, 2 * sizeof(int), cudaMemcpyDeviceToHost);
  printf("blocks %d, last %d\n", seen[0], seen[1]);

  const int w = 96;
  float *a = (float*)malloc(w * w * 4), *b = (float*)malloc(w * w * 4), *d_a, *d_b, *d_c;
  for (int i = 0; i < w * w; i++) a[i] = i % 17;
  cudaMalloc(&d_a, w * w * 4);
  cudaMalloc(&d_b, w * w * 4);
  cudaMalloc(&d_c, w * w * 4);
  cudaMemcpy(d_a, a, w * w * 4, cudaMemcpyHostToDevice);
  transpose<<<dim3(w / TILE_DIM, w / TILE_DIM), dim3(TILE_DIM, BLOCK_ROWS)>>>(d_b, d_a);
  cudaMemcpy(b, d_b, w * w * 4, cudaMemcpyDeviceToHost);
  wrong = 0;
  for (int y = 0; y < w; y++)
    for (int x = 0; x < w; x++) wrong += b[x * w + y] != a[y * w + x];
  printf("transpose: %d wrong\n", wrong);

  const int m = 70;
  matrixMulKernel<<<dim3((m + 15) / 16, (m + 15) / 16, 1), dim3(16, 16, 1)>>>(d_a, d_b, d_c, m);
  float* c = (float*)malloc(m * m * 4);
  cudaMemcpy(c, d_c, m * m * 4, cudaMemcpyDeviceToHost);
  wrong = 0;
  for (int y = 0; y < m; y++)
    for (int x = 0; x < m; x++) {
      float sum = 0;
      for (int k = 0; k < m; k++) sum += a[y * m + k] * b[k * m + x];
      wrong += c[y * m + x] != sum;
    }
  printf("matrix product: %d wrong\n", wrong);

  const int n = 1000;
  int in[n], out[n], *d_in, *d_out;
  for (int i = 0; i < n; i++) in[i] = i;
  cudaMalloc(&d_in, sizeof(in));
  cudaMalloc(&d_out, sizeof(out));
  cudaMemcpy(d_in, in, sizeof(in), cudaMemcpyHostToDevice);
  stencil_1d<<<(n + 127) / 128, 128>>>(d_in, d_out, n);
  cudaMemcpy(out, d_out, sizeof(out), cudaMemcpyDeviceToHost);
  printf("stencil: %d %d %d %d\n", out[0], out[127], out[128], out[999]);

  rgb image[35 * 20], *d_image;
  unsigned char gray[35 * 20], *d_gray;
  for (int i = 0; i < 35 * 20; i++) image[i] = {(unsigned char)i, (unsigned char)(2 * i), (unsigned char)(i / 3)};
  cudaMalloc(&d_image, sizeof(image));
  cudaMalloc(&d_gray, sizeof(gray));
  cudaMemcpy(d_image, image, sizeof(image), cudaMemcpyHostToDevice);
  grayscale<<<dim3(3, 2), dim3(16, 16)>>>(d_gray, d_image, 35, 20);
  cudaMemcpy(gray, d_gray, sizeof(gray), cudaMemcpyDeviceToHost);
  wrong = 0;
  for (int i = 0; i < 35 * 20; i++)
    wrong += gray[i] != (unsigned char)(0.25f * image[i].r + 0.5f * image[i].g + 0.25f * image[i].b);
  printf("gray: %d wrong, %d\n", wrong, gray[100]);
  free(seen);
  free(a);
  free(b);
  free(c);
  return cudaDeviceSynchronize();
}
