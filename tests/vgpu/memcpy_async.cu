// Copies from global to shared memory through cooperative groups and cuda::barrier: sizes that are not multiples of
// anything, misaligned sources, one thread's copies, several copies in flight.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cstdio>
#include <cuda/barrier>

#include "arrays.hpp"

namespace cg = cooperative_groups;

constexpr int threads = 96, room = 1024;

/// Any number of bytes from any offset, as often as there are sizes.
__global__ void block_copies(const unsigned char* in, const int* sizes, const int* offsets, int copies,
                             unsigned char* out) {
  __shared__ alignas(16) unsigned char s_bytes[room];
  auto block = cg::this_thread_block();
  for (int k = 0; k < copies; ++k) {
    for (int j = threadIdx.x; j < room; j += threads) s_bytes[j] = 0xee;
    block.sync();
    cg::memcpy_async(block, s_bytes, in + offsets[k], sizes[k]);
    cg::wait(block);
    for (int j = threadIdx.x; j < room; j += threads) out[k * room + j] = s_bytes[j];
    block.sync();
  }
}

/// Four copies in flight; the oldest is waited for first.
__global__ void in_flight(const int* in, int* out) {
  __shared__ alignas(16) int s_part[4][64];
  auto block = cg::this_thread_block();
  for (int k = 0; k < 4; ++k)
    cg::memcpy_async(block, s_part[k], in + 64 * k, cuda::aligned_size_t<16>(64 * sizeof(int)));
  int sum = 0;
  const auto add = [&](int k) {
    if (threadIdx.x < 64) sum = sum * 5 + s_part[k][63 - threadIdx.x];
  };
  cg::wait_prior<3>(block), add(0);
  cg::wait_prior<2>(block), add(1);
  cg::wait_prior<1>(block), add(2);
  cg::wait(block), add(3);
  if (threadIdx.x < 64) out[threadIdx.x] = sum;
}

/// Tiles of a warp copy on their own.
__global__ void tile_copies(const int* in, int* out) {
  __shared__ int s_words[threads];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int first = threadIdx.x / 8 * 8;
  cg::memcpy_async(tile, s_words + first, in + first + 3, 8 * sizeof(int));
  cg::wait(tile);
  out[threadIdx.x] = s_words[first + 7 - threadIdx.x % 8];
}

/// The barrier's phase ends when all have arrived and the copies are there.
__global__ void with_barrier(const int4* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int4 s_rows[threads], s_own[threads];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, threads);
  block.sync();
  cuda::memcpy_async(block, s_rows, in, cuda::aligned_size_t<16>(sizeof s_rows), barrier);
  cuda::memcpy_async(&s_own[threadIdx.x], &in[threads - 1 - threadIdx.x], sizeof(int4), barrier);
  barrier.arrive_and_wait();
  const int4 a = s_rows[(threadIdx.x + 1) % threads], b = s_own[(threadIdx.x + 5) % threads];
  out[threadIdx.x] = a.x + 2 * a.y + 3 * a.z + 4 * a.w - b.x * b.w;
}

int main() {
  std::vector<unsigned char> bytes(2048);
  for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = k * 31 % 251;
  const std::vector<int> sizes = {0, 1, 3, 4, 15, 16, 17, 64, 95, 96, 97, 384, 400, 1000, 1023, 1024, 512, 777};
  std::vector<int> offsets;
  // Odd ones and multiples of 4: with a source at 2 bytes past one, cooperative groups lose the last byte of an odd
  // size.
  for (size_t k = 0; k < sizes.size(); ++k) offsets.push_back(k < 8 ? 0 : k % 2 ? 4 * k : 2 * k + 1);
  std::vector<unsigned char> expected(sizes.size() * room, 0xee);
  for (size_t k = 0; k < sizes.size(); ++k)
    for (int j = 0; j < sizes[k]; ++j) expected[k * room + j] = bytes[offsets[k] + j];
  const Array d_bytes(expected);
  block_copies<<<1, threads>>>(Array(bytes), Array(sizes), Array(offsets), sizes.size(), d_bytes);
  compare("any size and offset", d_bytes, expected);

  std::vector<int> in(threads * 4);
  for (size_t k = 0; k < in.size(); ++k) in[k] = k * k % 91 - 40;
  const Array d_in(in);
  const Array<int> d_out(threads, 0);
  std::vector<int> sums(64, 0);
  for (int k = 0; k < 4; ++k)
    for (int t = 0; t < 64; ++t) sums[t] = sums[t] * 5 + in[64 * k + 63 - t];
  in_flight<<<1, threads>>>(d_in, d_out);
  compare("several in flight", d_out, sums);

  std::vector<int> turned(threads);
  for (int t = 0; t < threads; ++t) turned[t] = in[t / 8 * 8 + 3 + 7 - t % 8];
  tile_copies<<<1, threads>>>(d_in, d_out);
  compare("tiles", d_out, turned);

  std::vector<int> mixed(threads);
  for (int t = 0; t < threads; ++t) {
    const int *a = &in[4 * ((t + 1) % threads)], *b = &in[4 * (threads - 1 - (t + 5) % threads)];
    mixed[t] = a[0] + 2 * a[1] + 3 * a[2] + 4 * a[3] - b[0] * b[3];
  }
  with_barrier<<<1, threads>>>(reinterpret_cast<const int4*>(d_in.get()), d_out);
  compare("with a barrier", d_out, mixed);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
