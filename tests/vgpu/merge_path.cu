// Merging of two sorted arrays by co-ranks: each thread finds by binary search what it has to merge; the tiled form
// with a circular buffer in shared memory; and a merge sort made of such merges. Stable, with empty inputs.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "arrays.hpp"

struct Item {
  int key, origin;
};
__host__ __device__ bool operator<(const Item& a, const Item& b) {
  return a.key < b.key;
}
bool operator==(const Item& a, const Item& b) {
  return a.key == b.key && a.origin == b.origin;
}

// How many of the first k elements of the merged array come from A.
__device__ int co_rank(int k, const Item* A, int m, const Item* B, int n) {
  int low = max(0, k - n), high = min(k, m);
  while (low < high) {
    const int i = (low + high) >> 1;
    if (B[k - i - 1] < A[i])
      high = i;
    else
      low = i + 1;
  }
  return low;
}

__device__ void merge_sequential(const Item* A, int m, const Item* B, int n, Item* C) {
  int i = 0, j = 0, k = 0;
  while (i < m && j < n) C[k++] = B[j] < A[i] ? B[j++] : A[i++];
  while (i < m) C[k++] = A[i++];
  while (j < n) C[k++] = B[j++];
}

__global__ void merge_basic(const Item* A, int m, const Item* B, int n, Item* C) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, threads = blockDim.x * gridDim.x;
  const int section = (m + n + threads - 1) / threads;
  const int k0 = min(tid * section, m + n), k1 = min((tid + 1) * section, m + n);
  const int i0 = co_rank(k0, A, m, B, n), i1 = co_rank(k1, A, m, B, n);
  merge_sequential(&A[i0], i1 - i0, &B[k0 - i0], (k1 - i1) - (k0 - i0), &C[k0]);
}

template <int kTile>
__global__ void merge_tiled(const Item* A, int m, const Item* B, int n, Item* C) {
  __shared__ Item sA[kTile], sB[kTile];
  __shared__ int first, last;
  const int section = (m + n + gridDim.x - 1) / gridDim.x;
  const int k0 = min(blockIdx.x * section, m + n), k1 = min(k0 + section, m + n);
  if (threadIdx.x == 0) {
    first = co_rank(k0, A, m, B, n);
    last = co_rank(k1, A, m, B, n);
  }
  __syncthreads();
  int a = first, b = k0 - first;
  const int a_end = last, b_end = k1 - last;
  for (int k = k0; k < k1;) {
    const int na = min(kTile, a_end - a), nb = min(kTile, b_end - b), nc = min(kTile, k1 - k);
    __syncthreads();
    for (int t = threadIdx.x; t < na; t += blockDim.x) sA[t] = A[a + t];
    for (int t = threadIdx.x; t < nb; t += blockDim.x) sB[t] = B[b + t];
    __syncthreads();
    const int each = (nc + blockDim.x - 1) / blockDim.x;
    const int c0 = min(int(threadIdx.x) * each, nc), c1 = min(c0 + each, nc);
    const int i0 = co_rank(c0, sA, na, sB, nb), i1 = co_rank(c1, sA, na, sB, nb);
    merge_sequential(sA + i0, i1 - i0, sB + (c0 - i0), (c1 - i1) - (c0 - i0), C + k + c0);
    const int used = co_rank(nc, sA, na, sB, nb);
    a += used;
    b += nc - used;
    k += nc;
  }
}

// One pair of runs a block.
__global__ void merge_runs(const Item* in, Item* out, int n, int run) {
  const int begin = blockIdx.x * 2 * run, middle = min(begin + run, n), end = min(begin + 2 * run, n);
  const Item *A = in + begin, *B = in + middle;
  const int m = middle - begin, l = end - middle;
  for (int k = threadIdx.x; k < m + l; k += blockDim.x) {
    const int i = co_rank(k, A, m, B, l), j = k - i;
    out[begin + k] = j >= l || (i < m && !(B[j] < A[i])) ? A[i] : B[j];
  }
}

std::vector<Item> make(int n, int origin, int keys) {
  std::vector<Item> v(n);
  for (int i = 0; i < n; ++i) v[i] = {int(i * 2654435761u >> 8) % keys, origin + i};
  return v;
}

int main() {
  for (auto [m, n] : {std::pair(0, 0), {0, 5}, {7, 0}, {1, 1}, {33, 1000}, {1000, 999}, {64, 64}}) {
    auto a = make(m, 0, 50), b = make(n, 10000, 70);
    std::stable_sort(a.begin(), a.end());
    std::stable_sort(b.begin(), b.end());
    std::vector<Item> c(m + n);
    std::merge(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    const Array<Item> A(a), B(b), C(m + n);
    printf("%d + %d:", m, n);
    for (int kind = 0; kind < 3; ++kind) {
      C.set(0xff);
      if (kind == 0) merge_basic<<<3, 40>>>(A, m, B, n, C);
      if (kind == 1) merge_tiled<64><<<5, 32>>>(A, m, B, n, C);
      if (kind == 2) merge_tiled<100><<<1, 1024>>>(A, m, B, n, C);
      printf(" %s", C.read() == c ? "merged" : "wrong");
    }
    printf("\n");
  }
  for (int n : {1, 2, 100, 1025}) {
    auto h = make(n, 0, 90);
    const Array<Item> one(h), other(n), *in = &one, *out = &other;
    for (int run = 1; run < n; run *= 2, std::swap(in, out))
      merge_runs<<<(n + 2 * run - 1) / (2 * run), 64>>>(*in, *out, n, run);
    std::stable_sort(h.begin(), h.end());
    printf("%d: %s\n", n, in->read() == h ? "sorted" : "wrong");
  }
  return cudaDeviceSynchronize();
}
