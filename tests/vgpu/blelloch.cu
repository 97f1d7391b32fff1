// The work-efficient exclusive scan of GPU Gems 3 (example 39-2), plain and with the padding that avoids bank
// conflicts.
#include <stdio.h>
#include <stdlib.h>

#define NUM_BANKS 32
#define LOG_NUM_BANKS 5
#ifdef ZERO_BANK_CONFLICTS
#define CONFLICT_FREE_OFFSET(n) ((n) >> NUM_BANKS + (n) >> (2 * LOG_NUM_BANKS))
#else
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)
#endif

__global__ void prescan_plain(float* g_odata, float* g_idata, int n) {
  extern __shared__ float temp[];  // allocated on invocation
  int thid = threadIdx.x;
  int offset = 1;
  temp[2 * thid] = g_idata[2 * thid];
  temp[2 * thid + 1] = g_idata[2 * thid + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (thid < d) {
      int ai = offset * (2 * thid + 1) - 1;
      int bi = offset * (2 * thid + 2) - 1;
      temp[bi] += temp[ai];
    }
    offset *= 2;
  }
  if (thid == 0) temp[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thid < d) {
      int ai = offset * (2 * thid + 1) - 1;
      int bi = offset * (2 * thid + 2) - 1;
      float t = temp[ai];
      temp[ai] = temp[bi];
      temp[bi] += t;
    }
  }
  __syncthreads();
  g_odata[2 * thid] = temp[2 * thid];
  g_odata[2 * thid + 1] = temp[2 * thid + 1];
}

__global__ void prescan_padded(float* g_odata, float* g_idata, int n) {
  extern __shared__ float temp[];
  int thid = threadIdx.x;
  int offset = 1;
  int ai = thid;
  int bi = thid + (n / 2);
  int bankOffsetA = CONFLICT_FREE_OFFSET(ai);
  int bankOffsetB = CONFLICT_FREE_OFFSET(bi);
  temp[ai + bankOffsetA] = g_idata[ai];
  temp[bi + bankOffsetB] = g_idata[bi];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (thid < d) {
      int ai = offset * (2 * thid + 1) - 1;
      int bi = offset * (2 * thid + 2) - 1;
      ai += CONFLICT_FREE_OFFSET(ai);
      bi += CONFLICT_FREE_OFFSET(bi);
      temp[bi] += temp[ai];
    }
    offset *= 2;
  }
  if (thid == 0) {
    temp[n - 1 + CONFLICT_FREE_OFFSET(n - 1)] = 0;
  }
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thid < d) {
      int ai = offset * (2 * thid + 1) - 1;
      int bi = offset * (2 * thid + 2) - 1;
      ai += CONFLICT_FREE_OFFSET(ai);
      bi += CONFLICT_FREE_OFFSET(bi);
      float t = temp[ai];
      temp[ai] = temp[bi];
      temp[bi] += t;
    }
  }
  __syncthreads();
  g_odata[ai] = temp[ai + bankOffsetA];
  g_odata[bi] = temp[bi + bankOffsetB];
}

int main() {
  float *h_in, *h_out, *d_in, *d_out;
  for (int n = 2; n <= 2048; n *= 4) {
    h_in = (float*)malloc(n * sizeof(float));
    h_out = (float*)malloc(n * sizeof(float));
    for (int i = 0; i < n; i++) h_in[i] = i + 1;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaMemcpy(d_in, h_in, n * sizeof(float), cudaMemcpyHostToDevice);
    for (int padded = 0; padded < 2; padded++) {
      if (padded)
        prescan_padded<<<1, n / 2, (n + n / NUM_BANKS) * sizeof(float)>>>(d_out, d_in, n);
      else
        prescan_plain<<<1, n / 2, n * sizeof(float)>>>(d_out, d_in, n);
      cudaMemcpy(h_out, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
      bool ok = true;
      float sum = 0;
      for (int i = 0; i < n; i++) {
        ok = ok && h_out[i] == sum;
        sum += h_in[i];
      }
      printf("n = %d, %s: %s, last = %.0f\n", n, padded ? "padded" : "plain", ok ? "PASSED" : "FAILED", h_out[n - 1]);
    }
    cudaFree(d_in);
    cudaFree(d_out);
    free(h_in);
    free(h_out);
  }
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  cudaDeviceReset();
}
