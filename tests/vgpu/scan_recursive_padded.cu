// A work-efficient scan of arrays of any length: shared memory padded against bank conflicts by macros, sums of blocks
// scanned by recursion on the host, then added; the last block, which is not full, is padded with zeros.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(index) ((index) >> LOG_NUM_BANKS)
#define BLOCK_SIZE 64
#define ELEMENTS (2 * BLOCK_SIZE)

template <bool storeSum, bool isNP2>
__global__ void prescan(int* g_odata, const int* g_idata, int* g_blockSums, int n) {
  extern __shared__ int s_data[];
  int base = blockIdx.x * ELEMENTS;
  int ai = threadIdx.x, bi = threadIdx.x + blockDim.x;
  int posA = ai + CONFLICT_FREE_OFFSET(ai), posB = bi + CONFLICT_FREE_OFFSET(bi);
  s_data[posA] = !isNP2 || base + ai < n ? g_idata[base + ai] : 0;
  s_data[posB] = !isNP2 || base + bi < n ? g_idata[base + bi] : 0;

  unsigned int stride = 1;
  for (int d = blockDim.x; d > 0; d >>= 1) {
    __syncthreads();
    if (threadIdx.x < d) {
      int i = __mul24(__mul24(2, stride), threadIdx.x);
      int left = i + stride - 1, right = left + stride;
      left += CONFLICT_FREE_OFFSET(left);
      right += CONFLICT_FREE_OFFSET(right);
      s_data[right] += s_data[left];
    }
    stride *= 2;
  }
  if (threadIdx.x == 0) {
    int last = ELEMENTS - 1 + CONFLICT_FREE_OFFSET(ELEMENTS - 1);
    if (storeSum) g_blockSums[blockIdx.x] = s_data[last];
    s_data[last] = 0;
  }
  for (int d = 1; d <= blockDim.x; d *= 2) {
    stride >>= 1;
    __syncthreads();
    if (threadIdx.x < d) {
      int i = __mul24(__mul24(2, stride), threadIdx.x);
      int left = i + stride - 1, right = left + stride;
      left += CONFLICT_FREE_OFFSET(left);
      right += CONFLICT_FREE_OFFSET(right);
      int t = s_data[left];
      s_data[left] = s_data[right];
      s_data[right] += t;
    }
  }
  __syncthreads();
  if (!isNP2 || base + ai < n) g_odata[base + ai] = s_data[posA];
  if (!isNP2 || base + bi < n) g_odata[base + bi] = s_data[posB];
}

__global__ void uniformAdd(int* g_data, const int* uniforms, int n) {
  __shared__ int uni;
  if (threadIdx.x == 0) uni = uniforms[blockIdx.x];
  unsigned int address = blockIdx.x * ELEMENTS + threadIdx.x;
  __syncthreads();
  if (address < n) g_data[address] += uni;
  if (address + blockDim.x < n) g_data[address + blockDim.x] += uni;
}

static int deepest;

void prescanArrayRecursive(int* out, const int* in, int n, int level) {
  deepest = level > deepest ? level : deepest;
  int blocks = (n + ELEMENTS - 1) / ELEMENTS;
  size_t bytes = (ELEMENTS + CONFLICT_FREE_OFFSET(ELEMENTS)) * sizeof(int);
  if (blocks == 1) {
    if (n == ELEMENTS)
      prescan<false, false><<<1, BLOCK_SIZE, bytes>>>(out, in, nullptr, n);
    else
      prescan<false, true><<<1, BLOCK_SIZE, bytes>>>(out, in, nullptr, n);
    return;
  }
  int* sums;
  cudaMalloc(&sums, blocks * sizeof(int));
  if (n % ELEMENTS == 0)
    prescan<true, false><<<blocks, BLOCK_SIZE, bytes>>>(out, in, sums, n);
  else
    prescan<true, true><<<blocks, BLOCK_SIZE, bytes>>>(out, in, sums, n);
  prescanArrayRecursive(sums, sums, blocks, level + 1);
  uniformAdd<<<blocks, BLOCK_SIZE>>>(out, sums, n);
  cudaFree(sums);
}

int main() {
  for (int n : {1, 2, 127, 128, 129, 1000, 16384, 16385, 20011}) {
    std::vector<int> h(n), r(n);
    for (int i = 0; i < n; ++i) h[i] = i % 23 - 9;
    int *in, *out;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    deepest = 0;
    prescanArrayRecursive(out, in, n, 1);
    cudaMemcpy(r.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
    int sum = 0, wrong = 0;
    for (int i = 0; i < n; sum += h[i++]) wrong += r[i] != sum;
    printf("n = %d: %d levels, %d wrong\n", n, deepest, wrong);
    cudaFree(in);
    cudaFree(out);
  }
  return cudaGetLastError() != cudaSuccess;
}
