// expect: pass 04_brent_kung | Blelloch's up-sweep and down-sweep, padded; the inclusive scan is the exclusive one,
// shifted

#include "scanlab.cuh"

#define NUM_BANKS 32
#define LOG_NUM_BANKS 5
#define PADDED(k) ((k) + ((k) >> LOG_NUM_BANKS))
#define N 1024

// Work-efficient scan (Blelloch 1990). The tree is built in place: first sums go up, then prefixes come down.
__global__ void prescan(Element* g_odata, const Element* g_idata, int n, bool inclusive) {
  __shared__ Element temp[N + N / NUM_BANKS];
  const int thid = threadIdx.x;
  const int base = blockIdx.x * N;

  // load two elements, half a section apart
  const int ai = thid, bi = thid + N / 2;
  temp[PADDED(ai)] = base + ai < n ? g_idata[base + ai] : identity();
  temp[PADDED(bi)] = base + bi < n ? g_idata[base + bi] : identity();

  // up-sweep
  int offset = 1;
  for (int d = N >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (thid < d) {
      const int l = PADDED(offset * (2 * thid + 1) - 1);
      const int r = PADDED(offset * (2 * thid + 2) - 1);
      temp[r] = temp[l] + temp[r];
    }
    offset *= 2;
  }

  // clear the root: the thread that wrote it does so
  Element total;
  if (thid == 0) {
    total = temp[PADDED(N - 1)];
    temp[PADDED(N - 1)] = identity();
  }

  // down-sweep
  for (int d = 1; d < N; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thid < d) {
      const int l = PADDED(offset * (2 * thid + 1) - 1);
      const int r = PADDED(offset * (2 * thid + 2) - 1);
      const Element left = temp[l], prefix = temp[r];
      temp[l] = prefix;
      temp[r] = prefix + left;  // the left child's sum comes after all that is before both
    }
  }
  __syncthreads();

  if (!inclusive) {
    if (base + ai < n) g_odata[base + ai] = temp[PADDED(ai)];
    if (base + bi < n) g_odata[base + bi] = temp[PADDED(bi)];
    return;
  }
  if (base + ai < n) g_odata[base + ai] = temp[PADDED(ai + 1)];
  if (base + bi < n && bi + 1 < N) g_odata[base + bi] = temp[PADDED(bi + 1)];
  if (thid == 0 && base + N - 1 < n) g_odata[base + N - 1] = total;
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) prescan<<<(n + N - 1) / N, N / 2>>>(d_y, d_x, n, true);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) prescan<<<(n + N - 1) / N, N / 2>>>(d_y, d_x, n, false);
}
