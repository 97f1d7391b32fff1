// Searches in device code: queens on a board by recursion, by an explicit stack in local memory and by bit masks,
// towers of Hanoi, permutations, subset sums with a stack limit raised on the host; threads that end at different
// times.
#include <cstdio>

__device__ bool safe(const int* columns, int row, int c) {
  for (int r = 0; r < row; ++r) {
    const int d = columns[r] - c;
    if (d == 0 || d == row - r || d == r - row) return false;
  }
  return true;
}

__device__ int place(int* columns, int row, int n) {
  if (row == n) return 1;
  int count = 0;
  for (int c = 0; c < n; ++c) {
    if (!safe(columns, row, c)) continue;
    columns[row] = c;
    count += place(columns, row + 1, n);
  }
  return count;
}

// The first two rows' queens come from the thread's number.
__global__ void queens_recursive(int n, int* total) {
  int columns[12];
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * n) return;
  columns[0] = t / n;
  if (!safe(columns, 1, t % n)) return;
  columns[1] = t % n;
  atomicAdd(total, place(columns, 2, n));
}

__global__ void queens_stack(int n, int* total) {
  int columns[12];
  if (threadIdx.x >= n) return;
  columns[0] = threadIdx.x;
  columns[1] = -1;
  int row = 1, found = 0;
  while (row > 0) {
    int c = columns[row] + 1;
    while (c < n && !safe(columns, row, c)) c++;
    if (c == n) {
      --row;
      continue;
    }
    columns[row] = c;
    if (row == n - 1)
      ++found;
    else
      columns[++row] = -1;
  }
  atomicAdd(total, found);
}

__device__ int bit_queens(unsigned all, unsigned columns, unsigned left, unsigned right) {
  if (columns == all) return 1;
  int count = 0;
  for (unsigned free = all & ~(columns | left | right); free;) {
    const unsigned bit = free & -free;
    free ^= bit;
    count += bit_queens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return count;
}
__global__ void queens_bits(int n, int* total) {
  const unsigned bit = 1u << threadIdx.x;
  const int count = bit_queens((1u << n) - 1, bit, bit << 1, bit >> 1);
  atomicAdd(total, count);  // lanes whose recursions ended at different times need not meet again by themselves
}

__device__ void hanoi(int disks, int from, int to, int* pegs, int* moves) {
  if (disks == 0) return;
  const int other = 3 - from - to;
  hanoi(disks - 1, from, other, pegs, moves);
  if (pegs[disks - 1] == from) pegs[disks - 1] = to, ++*moves;
  hanoi(disks - 1, other, to, pegs, moves);
}
__global__ void towers(int* out) {
  int pegs[10] = {}, moves = 0;
  const int disks = threadIdx.x + 1;
  hanoi(disks, 0, 2, pegs, &moves);
  for (int d = 0; d < disks; ++d)
    if (pegs[d] != 2) moves = -1000;
  out[threadIdx.x] = moves;
}

// Frames of more than a kilobyte, 40 deep: more than the stack that threads have without a limit set.
__device__ __noinline__ long deep(int level, const int* above) {
  int mine[256];
  for (int k = 0; k < 256; ++k) mine[k] = above[(k + 1) % 256] + k % 3;
  return level == 0 ? mine[17] : deep(level - 1, mine) + mine[level];
}
__global__ void descend(long* out) {
  int zeros[256] = {};
  *out = deep(39, zeros);
}

static long deep_on_host(int level, const int* above) {
  int mine[256];
  for (int k = 0; k < 256; ++k) mine[k] = above[(k + 1) % 256] + k % 3;
  return level == 0 ? mine[17] : deep_on_host(level - 1, mine) + mine[level];
}

int main() {
  int *d, h[10];
  cudaMalloc(&d, sizeof h);
  const auto total = [&] {
    cudaMemcpy(h, d, sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemset(d, 0, sizeof(int));
    return h[0];
  };
  cudaMemset(d, 0, sizeof(int));
  for (int n : {4, 5, 6, 7}) {
    queens_recursive<<<2, 32>>>(n, d);
    printf("%d queens: %d", n, total());
    queens_stack<<<1, 32>>>(n, d);
    printf(" %d", total());
    queens_bits<<<1, n>>>(n, d);
    printf(" %d\n", total());
  }
  towers<<<1, 10>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("towers:");
  for (int moves : h) printf(" %d", moves);
  long result, *d_result;
  cudaMalloc(&d_result, sizeof result);
  cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10);
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitStackSize);
  descend<<<1, 1>>>(d_result);
  cudaMemcpy(&result, d_result, sizeof result, cudaMemcpyDeviceToHost);
  const int zeros[256] = {};
  printf("\ndeep: %s, limit %zu\n", result == deep_on_host(39, zeros) ? "right" : "wrong", limit);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
