// expect: pass 06_hierarchical | C style: memory for all levels is allocated before, and freed behind; 512 threads,
// padded Blelloch trees

#include <assert.h>
#include <stdlib.h>

#include "scanlab.cuh"

#define BLOCK 1024
#define HALF (BLOCK / 2)
#define PAD(k) ((k) + ((k) >> 5))

#define CHECK(call)                                                                             \
  do {                                                                                          \
    cudaError_t status = (call);                                                                \
    if (status != cudaSuccess) {                                                                \
      fprintf(stderr, "%s failed at line %d: %s\n", #call, __LINE__, cudaGetErrorName(status)); \
    }                                                                                           \
  } while (0)

static Element** g_block_sums = NULL;
static int g_levels = 0;

static int blocks_for(int n) {
  return n / BLOCK + (n % BLOCK != 0 ? 1 : 0);
}

static void prealloc_block_sums(int n) {
  int level = 0, m = n;
  while (m > BLOCK) {
    m = blocks_for(m);
    level++;
  }
  assert(g_block_sums == NULL);
  g_block_sums = (Element**)malloc((level + 1) * sizeof(Element*));
  g_levels = level;
  for (level = 0, m = n; level < g_levels; level++) {
    m = blocks_for(m);
    CHECK(cudaMalloc((void**)&g_block_sums[level], m * sizeof(Element)));
  }
}

static void dealloc_block_sums(void) {
  for (int level = 0; level < g_levels; level++) CHECK(cudaFree(g_block_sums[level]));
  free(g_block_sums);
  g_block_sums = NULL;
  g_levels = 0;
}

// Exclusive scan of BLOCK elements in padded shared memory; thread 0 gets the total.
__device__ Element prescan_block(Element* s) {
  Element total = identity();
  int stride = 1;
  for (int d = HALF; d > 0; d >>= 1, stride <<= 1) {
    __syncthreads();
    if (threadIdx.x < d) {
      int i = stride * (2 * threadIdx.x + 1) - 1, j = i + stride;
      s[PAD(j)] = s[PAD(i)] + s[PAD(j)];
    }
  }
  if (threadIdx.x == 0) {
    total = s[PAD(BLOCK - 1)];
    s[PAD(BLOCK - 1)] = identity();
  }
  for (int d = 1; d <= HALF; d <<= 1) {
    stride >>= 1;
    __syncthreads();
    if (threadIdx.x < d) {
      int i = stride * (2 * threadIdx.x + 1) - 1, j = i + stride;
      Element t = s[PAD(i)];
      s[PAD(i)] = s[PAD(j)];
      s[PAD(j)] = s[PAD(j)] + t;
    }
  }
  __syncthreads();
  return total;
}

// INCLUSIVE reads the place to the right, whose exclusive sum is this one's inclusive sum.
template <bool INCLUSIVE>
__global__ void prescan(Element* out, const Element* in, Element* sums, int n) {
  __shared__ Element s[PAD(BLOCK) + 1];
  int base = blockIdx.x * BLOCK;
  for (int p = threadIdx.x; p < BLOCK; p += blockDim.x) s[PAD(p)] = base + p < n ? in[base + p] : identity();
  Element total = prescan_block(s);
  if (threadIdx.x == 0) {
    s[PAD(BLOCK)] = total;
    if (sums) sums[blockIdx.x] = total;
  }
  __syncthreads();
  for (int p = threadIdx.x; p < BLOCK; p += blockDim.x) {
    if (base + p < n) out[base + p] = s[PAD(p + (INCLUSIVE ? 1 : 0))];
  }
}

__global__ void uniform_add(Element* data, const Element* before, int n) {
  __shared__ Element uni;
  if (threadIdx.x == 0) uni = before[blockIdx.x];
  __syncthreads();
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) data[i] = uni + data[i];
  if (i + HALF < n) data[i + HALF] = uni + data[i + HALF];
}

template <bool INCLUSIVE>
static void prescan_array_recursive(Element* out, const Element* in, int n, int level) {
  int blocks = blocks_for(n);
  if (blocks == 1) {
    prescan<INCLUSIVE><<<1, HALF>>>(out, in, NULL, n);
  } else {
    Element* sums = g_block_sums[level];
    prescan<INCLUSIVE><<<blocks, HALF>>>(out, in, sums, n);
    prescan_array_recursive<false>(sums, sums, blocks, level + 1); /* in place */
    uniform_add<<<blocks, HALF>>>(out, sums, n);
  }
  CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  prealloc_block_sums(n);
  prescan_array_recursive<true>(d_y, d_x, n, 0);
  dealloc_block_sums();
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  prealloc_block_sums(n);
  prescan_array_recursive<false>(d_y, d_x, n, 0);
  dealloc_block_sums();
}
