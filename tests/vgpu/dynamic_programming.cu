// Tables whose cells depend on each other: edit distance along anti-diagonals in one block, all pairs of shortest paths
// in tiles with dependent phases, a knapsack in rows, longest increasing chains by one warp, a matrix chain.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

#include "arrays.hpp"

// Three diagonals in shared memory; any number of threads.
__global__ void edit_distance(const char* a, int m, const char* b, int n, int* result) {
  extern __shared__ int diagonals[];
  const int size = m + 1;
  for (int d = 0; d <= m + n; ++d) {
    int *now = diagonals + d % 3 * size, *last = diagonals + (d + 2) % 3 * size,
        *older = diagonals + (d + 1) % 3 * size;
    for (int i = max(0, d - n) + threadIdx.x; i <= min(m, d); i += blockDim.x) {
      const int j = d - i;
      int v = i == 0 ? j : j == 0 ? i : older[i - 1] + (a[i - 1] != b[j - 1]);
      if (i && j) v = min(v, 1 + min(last[i - 1], last[i]));
      now[i] = v;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = diagonals[(m + n) % 3 * size + m];
}

constexpr int kTile = 8, kFar = 1 << 28;
// Phase 0: the tile on the diagonal; 1: its row and column; 2: all others.
template <int phase>
__global__ void floyd_warshall(int* d, int n, int pivot) {
  __shared__ int mine[kTile][kTile], row[kTile][kTile], column[kTile][kTile];
  int bx = pivot, by = pivot;
  if (phase == 1) (blockIdx.y ? by : bx) = blockIdx.x;
  if (phase == 2) bx = blockIdx.x, by = blockIdx.y;
  if (phase == 1 && blockIdx.x == pivot) return;
  if (phase == 2 && (bx == pivot || by == pivot)) return;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const auto at = [&](int ty_, int tx_) -> int& { return d[(ty_ * kTile + ty) * n + tx_ * kTile + tx]; };
  mine[ty][tx] = at(by, bx);
  row[ty][tx] = at(pivot, bx);
  column[ty][tx] = at(by, pivot);
  __syncthreads();
  for (int k = 0; k < kTile; ++k) {
    // In phase 1 one of the operands is the tile itself, in phase 0 both are.
    const int left = phase == 0 || (phase == 1 && bx == pivot) ? mine[ty][k] : column[ty][k];
    const int right = phase == 0 || (phase == 1 && by == pivot) ? mine[k][tx] : row[k][tx];
    const int through = left + right;
    __syncthreads();
    if (through < mine[ty][tx]) mine[ty][tx] = through;
    __syncthreads();
  }
  at(by, bx) = mine[ty][tx];
}

__global__ void knapsack_row(const int* before, int* after, int capacity, int weight, int value) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c > capacity) return;
  after[c] = c >= weight ? max(before[c], before[c - weight] + value) : before[c];
}

// tails[l]: the smallest end of a chain of length l + 1, spread over the lanes; a ballot is the search.
__global__ void longest_increasing(const int* a, int n, int* result) {
  int tail = INT_MAX;
  for (int i = 0; i < n; ++i) {
    const int v = a[i];
    const unsigned smaller = __ballot_sync(0xffffffff, tail < v);
    if (threadIdx.x == __popc(smaller)) tail = v;
  }
  *result = __popc(__ballot_sync(0xffffffff, tail != INT_MAX));
}

// Cost of multiplying matrices i..j, by lengths of the chain; one block.
__global__ void matrix_chain(const int* sizes, int n, int* cost) {
  for (int length = 2; length <= n; ++length) {
    for (int i = threadIdx.x; i + length <= n; i += blockDim.x) {
      const int j = i + length - 1;
      int best = INT_MAX;
      for (int k = i; k < j; ++k)
        best = min(best, cost[i * n + k] + cost[(k + 1) * n + j] + sizes[i] * sizes[k + 1] * sizes[j + 1]);
      cost[i * n + j] = best;
    }
    __syncthreads();
  }
}

int main() {
  const Array<int> result(1);
  for (auto [a, b] : {std::pair<std::string, std::string>{"kitten", "sitting"},
                      {"", "abc"},
                      {"intention", "execution"},
                      {std::string(100, 'a'), std::string(77, 'a')}}) {
    const Array d_a(std::vector<char>(a.begin(), a.end())), d_b(std::vector<char>(b.begin(), b.end()));
    for (int threads : {1, 33, 256}) {
      edit_distance<<<1, threads, 3 * (a.size() + 1) * sizeof(int)>>>(d_a, a.size(), d_b, b.size(), result);
      printf("%d ", result.read()[0]);
    }
  }

  const int n = 5 * kTile;
  std::vector<int> graph(n * n, kFar);
  for (int i = 0; i < n; ++i) {
    graph[i * n + i] = 0;
    for (int k = 1; k <= 3; ++k) graph[i * n + (i * k * 7 + k) % n] = i == (i * k * 7 + k) % n ? 0 : i % 5 + 3 * k;
  }
  const Array d_graph(graph);
  for (int p = 0; p < n / kTile; ++p) {
    const dim3 block(kTile, kTile);
    floyd_warshall<0><<<1, block>>>(d_graph, n, p);
    floyd_warshall<1><<<dim3(n / kTile, 2), block>>>(d_graph, n, p);
    floyd_warshall<2><<<dim3(n / kTile, n / kTile), block>>>(d_graph, n, p);
  }
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) graph[i * n + j] = std::min(graph[i * n + j], graph[i * n + k] + graph[k * n + j]);
  printf("\npaths: %s\n", d_graph.read() == graph ? "right" : "wrong");

  const int capacity = 500;
  std::vector<int> best(capacity + 1);
  const Array<int> rows[2] = {Array<int>(capacity + 1, 0), Array<int>(capacity + 1)};
  for (int item = 0; item < 40; ++item) {
    const int weight = item * 37 % 60 + 1, value = item * 53 % 97;
    knapsack_row<<<(capacity + 64) / 64, 64>>>(rows[item % 2], rows[1 - item % 2], capacity, weight, value);
    for (int c = capacity; c >= weight; --c) best[c] = std::max(best[c], best[c - weight] + value);
  }
  printf("knapsack: %s\n", rows[0].read() == best ? "right" : "wrong");

  const Array chain({10, 9, 2, 5, 3, 7, 101, 18, 4, 5, 6, 1});
  longest_increasing<<<1, 32>>>(chain, 12, result);
  printf("longest increasing: %d\n", result.read()[0]);

  const Array sizes({30, 35, 15, 5, 10, 20, 25});  // six matrices
  const Array<int> cost(36, 0);
  matrix_chain<<<1, 32>>>(sizes, 6, cost);
  printf("matrix chain: %d\n", cost.read()[5]);
  return cudaDeviceSynchronize();
}
