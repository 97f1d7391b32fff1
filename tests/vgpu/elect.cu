// test: vgpu
// elect.sync as inline PTX: a leader of the warp, of each side of a branch, and of those that come late. It needs
// compute capability 9.0, so no GPU runs it here; an H100 elects the same lanes.
#include <cstdio>

#include "arrays.hpp"

/// The leader's lane, and 100 more in the leader itself.
__device__ unsigned elect(unsigned members) {
  unsigned leader, is_leader;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync %0|p, %2;\n"
      "selp.u32 %1, 1, 0, p;\n"
      "}"
      : "=r"(leader), "=r"(is_leader)
      : "r"(members));
  return leader + 100 * is_leader;
}

/// Whether this lane is the leader: as libraries ask, who do not need its number.
__device__ bool is_elected(unsigned members) {
  unsigned is_leader;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, %1;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(is_leader)
      : "r"(members));
  return is_leader != 0;
}

__global__ void leaders(unsigned* out) {
  const unsigned t = threadIdx.x, lane = t % 32;
  out[t] = elect(0xffffffff);
  out[64 + t] = lane % 2 == 0 ? elect(0x55555555) : elect(0xaaaaaaaa);
  out[128 + t] = lane < 5 ? 7 : elect(0xffffffe0);
  if (is_elected(0xffffffff)) out[192 + t] = 1;
}

int main() {
  const Array<unsigned> d_out(256);
  cudaMemset(d_out, 0, 256 * sizeof(unsigned));
  leaders<<<1, 64>>>(d_out);
  const auto out = d_out.read();
  for (int k = 0; k < 4; k++) {
    printf("election %d:", k);
    for (int t = 32; t < 40; t++) printf(" %u", out[64 * k + t]);
    printf("\n");
  }
  return cudaDeviceSynchronize();
}
