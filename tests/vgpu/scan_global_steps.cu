// The simplest parallel scan there is: no shared memory, one launch for each step of Hillis and Steele, two arrays that
// change places.
#include <stdio.h>
#include <stdlib.h>

#define THREADS 192

__global__ void step(const int* from, int* to, unsigned offset, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  to[i] = i < offset ? from[i] : from[i - offset] + from[i];
}

/* The same, each thread loops over the array. */
__global__ void step_strided(const int* from, int* to, unsigned offset, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = from[i] + (i >= offset ? from[i - offset] : 0);
}

static int launches;

static int* scan(int* a, int* b, unsigned n, int strided) {
  unsigned offset;
  launches = 0;
  for (offset = 1; offset < n; offset *= 2) {
    int* t;
    if (strided)
      step_strided<<<3, 50>>>(a, b, offset, n);
    else
      step<<<(n + THREADS - 1) / THREADS, THREADS>>>(a, b, offset, n);
    t = a;
    a = b;
    b = t;
    ++launches;
  }
  return a;
}

int main(void) {
  unsigned sizes[] = {1, 2, 31, 32, 33, 191, 192, 193, 1000, 4096, 4097};
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    unsigned n = sizes[s], i;
    int *h = (int*)malloc(n * sizeof(int)), *r = (int*)malloc(n * sizeof(int)), *a, *b;
    cudaMalloc((void**)&a, n * sizeof(int));
    cudaMalloc((void**)&b, n * sizeof(int));
    for (i = 0; i < n; ++i) h[i] = (int)(i * i % 101) - 40;
    printf("n = %u:", n);
    for (int strided = 0; strided < 2; ++strided) {
      int sum = 0, wrong = 0;
      cudaMemcpy(a, h, n * sizeof(int), cudaMemcpyHostToDevice);
      cudaMemcpy(r, scan(a, b, n, strided), n * sizeof(int), cudaMemcpyDeviceToHost);
      for (i = 0; i < n; ++i) {
        sum += h[i];
        wrong += r[i] != sum;
      }
      printf(" %d launches, %d wrong", launches, wrong);
    }
    printf("\n");
    cudaFree(a);
    cudaFree(b);
    free(h);
    free(r);
  }
  return cudaDeviceSynchronize();
}
