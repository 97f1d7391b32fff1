// Special registers as PTX reads them: places in block and grid, masks of lanes, sizes of shared memory, clocks.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

#define READ(NAME, VALUE) asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(VALUE))
#define READ3(NAME, VALUES)     \
  READ(NAME ".x", (VALUES)[0]); \
  READ(NAME ".y", (VALUES)[1]); \
  READ(NAME ".z", (VALUES)[2])
#define READ64(NAME, VALUE) asm volatile("mov.u64 %0, %%" NAME ";" : "=l"(VALUE))

constexpr int places = 12, masks = 6;

__global__ void where(unsigned* out) {
  unsigned r[places];
  READ3("tid", r);
  READ3("ntid", r + 3);
  READ3("ctaid", r + 6);
  READ3("nctaid", r + 9);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  for (int k = 0; k < places; ++k) out[(block * threads + thread) * places + k] = r[k];
}

__global__ void lanes(unsigned* out) {
  unsigned r[masks];
  READ("laneid", r[0]);
  READ("lanemask_eq", r[1]);
  READ("lanemask_lt", r[2]);
  READ("lanemask_le", r[3]);
  READ("lanemask_gt", r[4]);
  READ("lanemask_ge", r[5]);
  for (int k = 0; k < masks; ++k) out[threadIdx.x * masks + k] = r[k];
}

extern __shared__ int s_dynamic[];

/// What can be said of any GPU: 1 for each that holds.
__global__ void properties(unsigned* out) {
  __shared__ int s_static[100];
  s_static[threadIdx.x] = threadIdx.x;
  s_dynamic[threadIdx.x] = 2 * threadIdx.x;
  __syncthreads();
  unsigned total, dynamic, warp, warps, sm, sms, low, high, clock, clock_hi;
  uint64_t wide_clock, timer;
  READ("total_smem_size", total);
  READ("dynamic_smem_size", dynamic);
  READ("warpid", warp);
  READ("nwarpid", warps);
  READ("smid", sm);
  READ("nsmid", sms);
  READ64("clock64", wide_clock);
  READ64("globaltimer", timer);
  READ("clock", clock);
  READ("clock_hi", clock_hi);
  READ("globaltimer_lo", low);
  READ("globaltimer_hi", high);
  int k = 0;
  const auto note = [&](bool holds) { atomicAnd(&out[k++], unsigned(holds)); };
  note(s_static[63 - threadIdx.x] + s_dynamic[threadIdx.x] == 63 + threadIdx.x);
  note(dynamic == 1000);
  note(total >= 1400 && total % 128 == 0 && total <= 4096);
  note(warp < warps);
  note(sm < sms);
  uint64_t later, later_timer;
  READ64("clock64", later);
  READ64("globaltimer", later_timer);
  note(later > wide_clock);
  note(later_timer >= timer);
  note((uint64_t(high) << 32 | low) >= timer);
  note(uint32_t(later) - clock < 1u << 30);
  note((uint64_t(clock_hi) << 32 | clock) >= wide_clock);
  // The same through cvt, which takes special registers as well.
  uint64_t wide_tid;
  uint16_t short_tid;
  asm volatile("cvt.u64.u32 %0, %%tid.x;" : "=l"(wide_tid));
  asm volatile("cvt.u16.u32 %0, %%tid.x;" : "=h"(short_tid));
  note(wide_tid == threadIdx.x && short_tid == threadIdx.x);
  unsigned x, y, z, w;
  asm volatile("mov.v4.u32 {%0, %1, %2, %3}, %%ntid;" : "=r"(x), "=r"(y), "=r"(z), "=r"(w));
  note(x == blockDim.x && y == 1 && z == 1 && w == 0);
  unsigned width;
  asm volatile("mov.u32 %0, WARP_SZ;" : "=r"(width));
  note(width == 32);
  const uint64_t before = clock64();
  __nanosleep(2000);
  note(uint64_t(clock64()) > before);
}

/// The timer goes on from one kernel to the next.
__global__ void timer(uint64_t* out) {
  READ64("globaltimer", *out);
}

int main() {
  const dim3 grid(2, 3, 2), block(5, 2, 3);
  const int threads = 30, blocks = 12;
  const Array<unsigned> d_out(threads * blocks * places);
  where<<<grid, block>>>(d_out);
  std::vector<unsigned> out = d_out.read();
  int wrong = 0;
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < threads; ++t) {
      const unsigned expected[places] = {unsigned(t % 5), unsigned(t / 5 % 2), unsigned(t / 10), 5, 2, 3,
                                         unsigned(b % 2), unsigned(b / 2 % 3), unsigned(b / 6),  2, 3, 2};
      for (int k = 0; k < places; ++k) wrong += out[(b * threads + t) * places + k] != expected[k];
    }
  std::printf("places: %d wrong\n", wrong);

  lanes<<<1, 80>>>(d_out);
  out = d_out.read();
  wrong = 0;
  for (int t = 0; t < 80; ++t) {
    const unsigned lane = t % 32;
    unsigned less = 0;
    for (unsigned k = 0; k < lane; ++k) less |= 1u << k;
    const unsigned equal = 1u << lane;
    const unsigned expected[masks] = {lane, equal, less, less | equal, ~(less | equal), ~less};
    for (int k = 0; k < masks; ++k) wrong += out[t * masks + k] != expected[k];
  }
  std::printf("lanes: %d wrong\n", wrong);

  constexpr int facts = 14;
  d_out.set(0xff);
  properties<<<3, 64, 1000>>>(d_out);
  for (unsigned fact : d_out.read(facts)) std::printf("%u", fact);
  std::printf("\n");

  const Array<uint64_t> d_times(3);
  for (int k = 0; k < 3; ++k) timer<<<1, 1>>>(d_times + k);
  const auto times = d_times.read();
  std::printf("the timer never goes back: %d\n", times[0] <= times[1] && times[1] <= times[2]);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
