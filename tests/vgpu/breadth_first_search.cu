// Breadth-first search: by levels with a flag on the host, and with frontier queues that each block first collects in
// shared memory; then shortest paths by atomicMin and components by hooking and pointer jumping.
// test: races
#include <algorithm>
#include <climits>
#include <cstdio>
#include <numeric>
#include <queue>

#include "arrays.hpp"

struct Graph {
  std::vector<int> first, to, weight;
};

__global__ void bfs_level(const int* first, const int* to, int n, int* level, int current, bool* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || level[v] != current) return;
  for (int e = first[v]; e < first[v + 1]; ++e)
    if (level[to[e]] == -1) {
      level[to[e]] = current + 1;  // several threads may, all with the same value
      *changed = true;
    }
}

#define LOCAL_QUEUE 16  // small on purpose: it overflows
__global__ void bfs_queue(const int* first, const int* to, int* level, const int* frontier, int size, int* next,
                          int* next_size, int current) {
  __shared__ int queue[LOCAL_QUEUE], count, base;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size)
    for (int v = frontier[i], e = first[v]; e < first[v + 1]; ++e)
      if (atomicCAS(&level[to[e]], -1, current + 1) == -1) {
        const int k = atomicAdd(&count, 1);
        if (k < LOCAL_QUEUE)
          queue[k] = to[e];
        else
          next[atomicAdd(next_size, 1)] = to[e];
      }
  __syncthreads();
  const int kept = min(count, LOCAL_QUEUE);
  if (threadIdx.x == 0) base = atomicAdd(next_size, kept);
  __syncthreads();
  for (int k = threadIdx.x; k < kept; k += blockDim.x) next[base + k] = queue[k];
}

__global__ void relax(const int* first, const int* to, const int* weight, int n, int* distance, int* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  const int d = *(volatile int*)&distance[v];
  if (d == INT_MAX) return;
  for (int e = first[v]; e < first[v + 1]; ++e)
    if (atomicMin(&distance[to[e]], d + weight[e]) > d + weight[e]) *changed = 1;
}

__global__ void hook(const int* first, const int* to, int n, int* label, int* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  for (int e = first[v]; e < first[v + 1]; ++e) {
    const int a = ((volatile int*)label)[v], b = ((volatile int*)label)[to[e]];
    if (a != b) {
      atomicMin(&label[max(a, b)], min(a, b));
      *changed = 1;
    }
  }
}
__global__ void jump(int n, int* label) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) {
    volatile int* l = label;
    int root = l[v];
    while (l[root] != root) root = l[root];
    l[v] = root;
  }
}

int main() {
  for (int n : {1, 40, 1000}) {
    std::vector<std::vector<int>> edges(n);
    unsigned seed = 7;
    // Each vertex has neighbours near it and in the same residue class, so that there are several components.
    for (int v = 0; v < n; ++v)
      for (int k = 0; k < int(v % 17 == 0 ? 40 : 2); ++k) {
        seed = seed * 1664525 + 1013904223;
        const int u = (v + 3 * (seed >> 24)) % (n - n % 3 + (n < 3));
        if (u % 3 == v % 3 && v / 3 % 10) edges[v].push_back(u), edges[u].push_back(v);
      }
    Graph g{{0}, {}, {}};
    for (auto& list : edges) {
      for (int u : list) g.to.push_back(u), g.weight.push_back(g.to.size() % 9 + 1);
      g.first.push_back(g.to.size());
    }
    std::vector<int> level(n, -1), distance(n, INT_MAX), label(n), got(n);
    std::queue<int> q({0});
    for (level[0] = 0; !q.empty(); q.pop())
      for (int u : edges[q.front()])
        if (level[u] < 0) level[u] = level[q.front()] + 1, q.push(u);
    std::priority_queue<std::pair<int, int>> heap;
    heap.push({0, 0}), distance[0] = 0;
    while (!heap.empty()) {
      const auto [d, v] = heap.top();
      heap.pop();
      if (-d != distance[v]) continue;
      for (int e = g.first[v]; e < g.first[v + 1]; ++e)
        if (distance[g.to[e]] > g.weight[e] - d)
          distance[g.to[e]] = g.weight[e] - d, heap.push({d - g.weight[e], g.to[e]});
    }
    std::iota(label.begin(), label.end(), 0);
    for (bool again = true; again;) {
      again = false;
      for (int v = 0; v < n; ++v)
        for (int u : edges[v])
          if (label[u] < label[v]) label[v] = label[u], again = true;
    }

    const Array<int> first(g.first), to(g.to), weight(g.weight), result(n),
        frontier[2] = {Array<int>(n), Array<int>(n)};
    const Array<int> flag(1);
    const int blocks = (n + 63) / 64;
    const auto set = [](const Array<int>& a, int v) { a.write(&v, 1); };
    const auto same = [&](const std::vector<int>& expected) { return result.read() == expected ? "right" : "wrong"; };

    const int depth = *std::max_element(level.begin(), level.end());
    const int reached = n - std::count(level.begin(), level.end(), -1);
    printf("%d vertices, %s:", n,
           n == 1 || (depth > 2 && reached > n / 5 && reached < n) ? "some in reach" : "too simple");
    result.set(0xff);
    set(result, 0);
    const Array<char> changed(1);
    int current = 0;
    do {
      changed.set(0);
      bfs_level<<<blocks, 64>>>(first, to, n, result, current++, reinterpret_cast<bool*>(changed.get()));
    } while (changed.read()[0]);
    printf(" levels %s,", same(level));

    result.set(0xff);
    set(result, 0);
    set(frontier[0], 0);
    for (int current = 0, size = 1; size; ++current) {
      set(flag, 0);
      bfs_queue<<<(size + 31) / 32, 32>>>(first, to, result, frontier[current % 2], size, frontier[(current + 1) % 2],
                                          flag, current);
      size = flag.read()[0];
    }
    printf(" queues %s,", same(level));

    std::fill(got.begin(), got.end(), INT_MAX);
    got[0] = 0;
    result.write(got.data(), n);
    do {
      set(flag, 0);
      relax<<<blocks, 64>>>(first, to, weight, n, result, flag);
    } while (flag.read()[0]);
    printf(" paths %s,", same(distance));

    std::iota(got.begin(), got.end(), 0);
    result.write(got.data(), n);
    do {
      set(flag, 0);
      hook<<<blocks, 64>>>(first, to, n, result, flag);
      jump<<<blocks, 64>>>(n, result);
    } while (flag.read()[0]);
    printf(" components %s\n", same(label));
  }
  return cudaDeviceSynchronize();
}
