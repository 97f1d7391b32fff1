// test: vgpu
// test: races
// test: runs sums swapped backwards
// Guards that are missing or wrong in a scan of several kernels: the scan of the block sums reads as many as it has
// threads, the rows and columns of a guard are swapped, a suffix scan runs below zero.
#include <cstdio>
#include <cstring>

__global__ void scan_sums(int* sums, int count) {
  __shared__ int s[64];
  s[threadIdx.x] = sums[threadIdx.x];  // count of them exist
  for (int d = 1; d < 64; d *= 2) {
    __syncthreads();
    const int v = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
    __syncthreads();
    s[threadIdx.x] += v;
  }
  if (threadIdx.x < count) sums[threadIdx.x] = s[threadIdx.x];
}

__global__ void double_image(int* image, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < height && y < width) image[y * width + x] *= 2;
}

__global__ void suffix(const int* in, int* out, int n) {
  int sum = 0;
  const int t = threadIdx.x;
  for (unsigned i = n - 1; i >= t; --i) sum += in[i];  // for t = 0 the unsigned i never gets below
  out[t] = sum;
}

int main(int, char** argv) {
  const char* kind = argv[1];
  int* x;
  cudaMalloc(&x, 40 * sizeof(int));
  cudaMemset(x, 0, 40 * sizeof(int));
  if (!strcmp(kind, "sums")) scan_sums<<<1, 64>>>(x, 40);
  if (!strcmp(kind, "swapped")) {
    double_image<<<1, dim3(8, 4)>>>(x, 5, 8);  // five columns, eight rows
    cudaDeviceSynchronize();
    double_image<<<1, dim3(8, 4)>>>(x, 8, 5);
    printf("8 x 5: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    double_image<<<dim3(1, 2), dim3(8, 8)>>>(x, 20, 2);
  }
  if (!strcmp(kind, "backwards")) suffix<<<1, 32>>>(x, x, 40);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
