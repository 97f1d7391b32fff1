// Cooperative groups: the block, tiles of several sizes, coalesced threads, partitions, collectives, and the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cstdio>

namespace cg = cooperative_groups;

template <int size>
__global__ void tiles(int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<size> tile = cg::tiled_partition<size>(block);
  const int mine = block.thread_rank();
  const int sum = cg::reduce(tile, mine, cg::plus<int>());
  const int inclusive = cg::inclusive_scan(tile, mine, cg::plus<int>());
  const int exclusive = cg::exclusive_scan(tile, mine);
  const int greatest = cg::reduce(tile, mine * 13 % 29, cg::greater<int>());
  out[4 * mine] = sum;
  out[4 * mine + 1] = inclusive;
  out[4 * mine + 2] = exclusive;
  out[4 * mine + 3] = greatest;
}

__global__ void tile_members(int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  const int v = tile.shfl_down(int(threadIdx.x), 1) + tile.shfl_xor(int(threadIdx.x), 3) * 100;
  const int ballot = tile.ballot(threadIdx.x % 3 == 0);
  out[threadIdx.x * 5] = v;
  out[threadIdx.x * 5 + 1] = ballot;
  out[threadIdx.x * 5 + 2] = tile.any(threadIdx.x == 20) + 2 * tile.all(threadIdx.x < 32);
  out[threadIdx.x * 5 + 3] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
  tile.sync();
  auto four = cg::tiled_partition(block, 4u);
  out[threadIdx.x * 5 + 4] = four.thread_rank() * 10 + four.size();
}

__device__ int reduce_sum(cg::thread_group g, int* temp, int val) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = val;
    g.sync();
    if (lane < i) val += temp[lane + i];
    g.sync();
  }
  return val;
}

__global__ void sum_kernel_block(int* sum, const int* input, int n) {
  int my_sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) {
    int4 in = ((int4*)input)[i];
    my_sum += in.x + in.y + in.z + in.w;
  }
  extern __shared__ int temp[];
  auto g = cg::this_thread_block();
  int block_sum = reduce_sum(g, temp, my_sum);
  if (g.thread_rank() == 0) atomicAdd(sum, block_sum);
}

__global__ void coalesced(int* out, int* counter) {
  if (threadIdx.x % 3 == 1) {
    cg::coalesced_group active = cg::coalesced_threads();
    out[threadIdx.x] = active.thread_rank() + 100 * active.size();
    const int last = active.shfl(int(threadIdx.x), active.size() - 1);
    const int sum = cg::reduce(active, 1, cg::plus<int>());
    int base;
    if (active.thread_rank() == 0) base = atomicAdd(counter, active.size());
    out[32 + threadIdx.x] = active.shfl(base, 0) + active.thread_rank() + last * 100 + sum * 10000;
  } else {
    auto group = cg::labeled_partition(cg::coalesced_threads(), threadIdx.x % 2);
    out[threadIdx.x] = group.size();
    out[32 + threadIdx.x] = group.thread_rank();
  }
}

__global__ void whole_grid(int* data, int* result) {
  cg::grid_group grid = cg::this_grid();
  const unsigned i = grid.thread_rank();
  data[i] = i + 1;
  grid.sync();
  // What the thread at the other end of the grid has written.
  const int other = data[grid.size() - 1 - i];
  grid.sync();
  data[i] = other;
  cg::sync(grid);
  if (i == 0) {
    int sum = 0;
    for (unsigned k = 0; k < grid.size(); ++k) sum += data[k] * (k == 0 ? 1000 : 1);
    *result = sum;
  }
}

template <int size>
int count_wrong(const int* h) {
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    const int first = t / size * size;
    int sum = 0, inclusive = 0, greatest = 0;
    for (int k = first; k < first + size; ++k) {
      sum += k;
      if (k <= t) inclusive += k;
      greatest = k * 13 % 29 > greatest ? k * 13 % 29 : greatest;
    }
    wrong += h[4 * t] != sum;
    wrong += h[4 * t + 1] != inclusive;
    wrong += h[4 * t + 2] != inclusive - t;
    wrong += h[4 * t + 3] != greatest;
  }
  return wrong;
}

template <int size>
void test_tiles(int* h, int* d) {
  tiles<size><<<1, 64>>>(d);
  cudaMemcpy(h, d, 256 * sizeof(int), cudaMemcpyDeviceToHost);
  printf("tiles of %d: %d wrong\n", size, count_wrong<size>(h));
}

int main() {
  int h[1024], *d;
  cudaMalloc(&d, sizeof h);
  test_tiles<32>(h, d);
  test_tiles<16>(h, d);
  test_tiles<4>(h, d);
  tile_members<<<1, 32>>>(d);
  cudaMemcpy(h, d, 160 * sizeof(int), cudaMemcpyDeviceToHost);
  for (int t : {0, 15, 17}) {
    for (int k = 0; k < 5; ++k) printf("%d ", h[t * 5 + k]);
    printf("\n");
  }
  for (int i = 0; i < 1000; ++i) h[i] = i;
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  int sum = 0, *d_sum;
  cudaMalloc(&d_sum, sizeof(int));
  cudaMemset(d_sum, 0, sizeof(int));
  sum_kernel_block<<<2, 64, 64 * sizeof(int)>>>(d_sum, d, 1000);
  cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost);
  printf("sum %d\n", sum);

  cudaMemset(d_sum, 0, sizeof(int));
  coalesced<<<1, 32>>>(d, d_sum);
  cudaMemcpy(h, d, 64 * sizeof(int), cudaMemcpyDeviceToHost);
  printf("coalesced: %d %d, %d %d; labelled: %d %d, %d %d\n", h[1], h[31], h[32 + 1], h[32 + 31], h[0], h[3],
         h[32 + 30], h[32 + 9]);

  int blocks = 0, supported = 0;
  cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, whole_grid, 128, 0);
  int *d_data = d, *d_result = d_sum;
  void* args[] = {&d_data, &d_result};
  const cudaError_t error = cudaLaunchCooperativeKernel((void*)whole_grid, dim3(4), dim3(128), args, 0, nullptr);
  cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost);
  printf("grid: %d, supported %d, fits %d, %s\n", sum, supported, blocks >= 1, cudaGetErrorName(error));
  const cudaError_t too_many =
      cudaLaunchCooperativeKernel((void*)whole_grid, dim3(100000), dim3(1024), args, 0, nullptr);
  printf("too many: %s\n", cudaGetErrorName(too_many));
  cudaGetLastError();
  return cudaDeviceSynchronize();
}
