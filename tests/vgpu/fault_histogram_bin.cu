// test: vgpu
// test: runs shared below global sixteen
// Atomics outside the bins: a value that was not clamped, a negative char as an index, 257 bins' worth of data.
#include <cstdio>
#include <cstring>

__global__ void in_shared(const int* data, int* bins) {
  __shared__ int local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&local[data[threadIdx.x] / 10], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void of_chars(const char* text, unsigned* bins) {
  atomicAdd(&bins[text[threadIdx.x]], 1u);
}

__global__ void in_global(const unsigned short* data, unsigned long long* bins) {
  atomicAdd(&bins[data[threadIdx.x]], 1ull);
}

// The narrowest: a compare-and-swap of 16 bits.
__global__ void narrow(unsigned short* flags, int n) {
  atomicCAS(&flags[n - threadIdx.x], 0, 1);
}

int main(int, char** argv) {
  const char* kind = argv[1];
  int h[64], *data, *bins;
  for (int i = 0; i < 64; ++i) h[i] = i == 50 ? 160 : i;
  char text[64];
  memset(text, 'x', sizeof text);
  text[41] = char(0xe9);  // é in Latin-1, and -23 as a signed char
  unsigned short wide[64] = {};
  wide[63] = 256;
  cudaMalloc(&data, sizeof h);
  cudaMalloc(&bins, 256 * sizeof(unsigned long long));
  cudaMemset(bins, 0, 256 * sizeof(unsigned long long));
  if (!strcmp(kind, "shared")) {
    cudaMemcpy(data, h, sizeof h, cudaMemcpyHostToDevice);
    in_shared<<<1, 64>>>(data, bins);
  }
  if (!strcmp(kind, "below")) {
    cudaMemcpy(data, text, sizeof text, cudaMemcpyHostToDevice);
    of_chars<<<1, 64>>>((const char*)data, (unsigned*)bins);
  }
  if (!strcmp(kind, "global")) {
    cudaMemcpy(data, wide, sizeof wide, cudaMemcpyHostToDevice);
    in_global<<<1, 64>>>((const unsigned short*)data, (unsigned long long*)bins);
  }
  if (!strcmp(kind, "sixteen")) narrow<<<1, 1>>>((unsigned short*)data, 128);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
