// Warp scans in inline PTX: the shuffle's own predicate guards the addition, lane masks come from special registers;
// and the older form without shuffles, whose lanes read 16 zeros on their left instead of asking for their number.
#include <cstdio>

template <typename T>
struct Adder;
#define DEFINE_ADDER(T, type, constraint)                              \
  template <>                                                          \
  struct Adder<T> {                                                    \
    static __device__ __forceinline__ T scan(T x) {                    \
      _Pragma("unroll") for (int d = 1; d < 32; d <<= 1) asm volatile( \
          "{\n\t"                                                      \
          ".reg ." type                                                \
          " r;\n\t"                                                    \
          ".reg .pred p;\n\t"                                          \
          "shfl.sync.up.b32 r|p, %0, %1, 0, 0xffffffff;\n\t"           \
          "@p add." type                                               \
          " %0, %0, r;\n\t"                                            \
          "}" : "+" constraint(x) : "r"(d));                           \
      return x;                                                        \
    }                                                                  \
  };
DEFINE_ADDER(int, "s32", "r")
DEFINE_ADDER(unsigned, "u32", "r")
DEFINE_ADDER(float, "f32", "f")

__device__ __forceinline__ unsigned lanemask_lt() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}
__device__ __forceinline__ unsigned laneid() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Segments of 8 lanes: the shuffle's third operand holds the first lane's mask and the clamp.
__device__ int scan_eights(int x) {
  asm volatile(
      "{ .reg .s32 r; .reg .pred p;\n"
      "  shfl.sync.up.b32 r|p, %0, 1, 0x1800, -1;  @p add.s32 %0, %0, r;\n"
      "  shfl.sync.up.b32 r|p, %0, 2, 0x1800, -1;  @p add.s32 %0, %0, r;\n"
      "  shfl.sync.up.b32 r|p, %0, 4, 0x1800, -1;  @p add.s32 %0, %0, r; }"
      : "+r"(x));
  return x;
}

__device__ int scan_with_zeros(int value, volatile int* s) {
  int idx = 2 * threadIdx.x - (threadIdx.x & 31);
  s[idx] = 0;
  idx += 32;
  s[idx] = value;
  __syncwarp();
  for (int d = 1; d < 32; d *= 2) {
    value += s[idx - d];
    __syncwarp();
    s[idx] = value;
    __syncwarp();
  }
  return value;
}

__global__ void kernel(const int* in, int* out) {
  __shared__ int buffer[2 * 96];
  const int i = threadIdx.x, v = in[i];
  out += 6 * i;
  out[0] = Adder<int>::scan(v);
  out[1] = Adder<unsigned>::scan(v * 0x10000001u);
  out[2] = 4 * Adder<float>::scan(v * 0.25f);
  out[3] = __popc(__ballot_sync(~0u, v > 0) & lanemask_lt()) + 100 * laneid();
  out[4] = scan_eights(v);
  out[5] = scan_with_zeros(v, buffer);
}

int main() {
  const int n = 96;
  int h[n], r[6 * n], *in, *out, wrong[6] = {};
  for (int i = 0; i < n; ++i) h[i] = (i * 57) % 41 - 15;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof r);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  kernel<<<1, n>>>(in, out);
  cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost);
  int sum = 0, eight = 0, positive = 0;
  unsigned wrapping = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 32 == 0) sum = positive = wrapping = 0;
    if (i % 8 == 0) eight = 0;
    sum += h[i], eight += h[i], wrapping += h[i] * 0x10000001u;
    const int expected[6] = {sum, int(wrapping), sum, positive + 100 * (i % 32), eight, sum};
    for (int k = 0; k < 6; ++k) wrong[k] += r[6 * i + k] != expected[k];
    positive += h[i] > 0;
  }
  for (int k = 0; k < 6; ++k) printf("%d ", wrong[k]);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
