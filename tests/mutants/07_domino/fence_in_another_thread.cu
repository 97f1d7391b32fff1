// expect: fail inclusive,exclusive fence.missing | thread 1 makes the fence, between two barriers, for a prefix that
// thread 0 writes behind
// them
// expect on gpu: pass/fail inclusive,exclusive | the GPU happens to make the prefix visible in time

#include <climits>

#include "scanlab.cuh"

#define THREADS 256
#define PER_THREAD (section_size / THREADS)
#define MAX_SECTIONS (INT_MAX / section_size + 1)

__device__ int g_ticket;
__device__ volatile int g_flag[MAX_SECTIONS];
__device__ unsigned g_prefix[MAX_SECTIONS][sizeof(Element) / sizeof(unsigned)];

__device__ void put_prefix(int section, Element e) {
  unsigned w[sizeof(e) / sizeof(unsigned)];
  memcpy(w, &e, sizeof e);
  for (int k = 0; k < sizeof(e) / sizeof(unsigned); ++k) __stcg(&g_prefix[section][k], w[k]);
}

__device__ Element get_prefix(int section) {
  Element e;
  unsigned w[sizeof(e) / sizeof(unsigned)];
  for (int k = 0; k < sizeof(e) / sizeof(unsigned); ++k) w[k] = __ldcg(&g_prefix[section][k]);
  memcpy(&e, w, sizeof e);
  return e;
}

__global__ void domino(const Element* x, Element* y, int n, int shift, int call, int sections) {
  __shared__ Element tile[section_size + section_size / PER_THREAD];
  __shared__ Element sums[THREADS];
  __shared__ Element before;
  __shared__ int section;
  int t = threadIdx.x;

  if (t == 0) {
    section = atomicAdd(&g_ticket, 1);
    if (section == sections - 1) atomicExch(&g_ticket, 0);
  }
  __syncthreads();
  int base = section * section_size;
  for (int j = 0; j < PER_THREAD; j++) {
    int p = j * THREADS + t;
    int i = base + p;
    tile[p + p / PER_THREAD] = (i < n && i >= shift) ? x[i - shift] : identity();
  }
  __syncthreads();

  Element *mine = &tile[t * (PER_THREAD + 1)], *end = mine + PER_THREAD;
  for (Element* e = mine + 1; e != end; ++e) *e = e[-1] + *e;
  sums[t] = end[-1];
  for (unsigned s = 1; s < THREADS; s <<= 1) {
    __syncthreads();
    unsigned p = (t + 1) * 2 * s - 1;
    if (p < THREADS) sums[p] = sums[p - s] + sums[p];
  }
  for (unsigned s = THREADS / 4; s >= 1; s >>= 1) {
    __syncthreads();
    unsigned p = (t + 1) * 2 * s - 1;
    if (p + s < THREADS) sums[p + s] = sums[p] + sums[p + s];
  }
  __syncthreads();

  if (t == 0) {
    Element b = identity();
    if (section != 0) {
      while (g_flag[section - 1] != call) {
      }
      __threadfence();
      b = get_prefix(section - 1);
    }
    put_prefix(section, b + sums[THREADS - 1]);
    g_flag[section] = call;
    before = b;
  }
  if (t == 1) __threadfence();
  __syncthreads();

  Element b = before;
  if (t > 0) b = b + sums[t - 1];
  for (Element* e = mine; e != end; ++e) *e = b + *e;
  __syncthreads();
  for (int p = t; p < section_size && base + p < n; p += THREADS) y[base + p] = tile[p + p / PER_THREAD];
}

static void scan(const Element* x, Element* y, int n, int shift) {
  static int call = 0;
  if (n == 0) return;
  int sections = (n - 1) / section_size + 1;
  if (++call == INT_MAX) {
    void* flags;
    SCANLAB_CUDA_CHECK(cudaGetSymbolAddress(&flags, g_flag));
    SCANLAB_CUDA_CHECK(cudaMemset(flags, 0, MAX_SECTIONS * sizeof(int)));
    call = 1;
  }
  domino<<<sections, THREADS>>>(x, y, n, shift, call, sections);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 1);
}
