// expect: pass 07_domino | scratch memory in __device__ arrays; flags are the number of the call, so nobody clears
// them, and the prefixes go past the L1 cache (__stcg, __ldcg)

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
    // The thread that takes the last ticket resets the counter for the next call: none asks for one after that.
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
  // reduction, then distribution
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
    __threadfence();
    g_flag[section] = call;
    before = b;
  }
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
  if (++call == INT_MAX) {  // the numbers are used up: start again
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
