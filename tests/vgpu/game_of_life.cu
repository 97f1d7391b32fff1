// Conway's Life on a torus, three ways: a thread a cell in global memory, tiles of bytes with halo in shared memory,
// and 32 cells in a word with carry-save additions. A glider and a random soup.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W 64
#define H 40

__global__ void life_simple(const uint8_t* in, uint8_t* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
  if (x >= W || y >= H) return;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) n += in[(y + dy + H) % H * W + (x + dx + W) % W];
  out[y * W + x] = n == 3 || (n == 2 && in[y * W + x]);
}

// 12 x 9 threads, the rim only loads.
__global__ void life_tiled(const uint8_t* in, uint8_t* out) {
  __shared__ uint8_t s[9][12];
  const int x = int(blockIdx.x * 10 + threadIdx.x) - 1, y = int(blockIdx.y * 7 + threadIdx.y) - 1;
  s[threadIdx.y][threadIdx.x] = in[(y + H) % H * W + (x + W) % W];
  __syncthreads();
  if (threadIdx.x == 0 || threadIdx.x == 11 || threadIdx.y == 0 || threadIdx.y == 8 || x >= W || y >= H) return;
  uint8_t* c = &s[threadIdx.y][threadIdx.x];
  const int n = c[-13] + c[-12] + c[-11] + c[-1] + c[1] + c[11] + c[12] + c[13];
  out[y * W + x] = (n | *c) == 3;
}

__device__ void full_add(uint32_t a, uint32_t b, uint32_t c, uint32_t& sum, uint32_t& carry) {
  sum = a ^ b ^ c;
  carry = (a & b) | (c & (a | b));
}
// A word a thread; its row's neighbours come by funnel shifts.
__global__ void life_bits(const uint32_t* in, uint32_t* out) {
  const int words = W / 32, x = threadIdx.x, y = blockIdx.x;
  uint32_t l[3], m[3], r[3], s[3], c[3];
  for (int k = 0; k < 3; k++) {
    const uint32_t* row = in + (y + k - 1 + H) % H * words;
    m[k] = row[x];
    l[k] = __funnelshift_l(row[(x + words - 1) % words], m[k], 1);
    r[k] = __funnelshift_r(m[k], row[(x + 1) % words], 1);
  }
  full_add(l[0], m[0], r[0], s[0], c[0]);
  full_add(l[2], m[2], r[2], s[2], c[2]);
  s[1] = l[1] ^ r[1];
  c[1] = l[1] & r[1];
  uint32_t ones, carry, twos, fours;
  full_add(s[0], s[1], s[2], ones, carry);
  full_add(c[0], c[1], c[2], twos, fours);
  const uint32_t exactly_2_or_3 = (twos ^ carry) & ~fours & ~(twos & carry);
  out[y * words + x] = exactly_2_or_3 & (ones | m[1]);
}

// Cells to bits: a ballot of each warp, bit k the cell k places to the right.
__global__ void pack(const uint8_t* cells, uint32_t* bits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t word = __ballot_sync(0xffffffff, cells[i]);
  if (threadIdx.x % 32 == 0) bits[i / 32] = word;
}
__global__ void unpack(const uint32_t* bits, uint8_t* cells) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cells[i] = bits[i / 32] >> i % 32 & 1;
}

static void step_on_host(uint8_t* cells) {
  static uint8_t next[H][W];
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      int n = 0;
      for (int k = 0; k < 9; k++)
        if (k != 4) n += cells[(y + k / 3 - 1 + H) % H * W + (x + k % 3 - 1 + W) % W];
      next[y][x] = n == 3 || (n == 2 && cells[y * W + x]);
    }
  memcpy(cells, next, sizeof next);
}

int main(void) {
  static uint8_t soup[H * W], glider[H * W], expected[H * W], result[H * W];
  const int steps = 25;
  unsigned seed = 2463534242u;
  for (int i = 0; i < H * W; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    soup[i] = seed % 3 == 0;
  }
  glider[1] = glider[W + 2] = glider[2 * W] = glider[2 * W + 1] = glider[2 * W + 2] = 1;
  uint8_t* d[2];
  uint32_t* bits[2];
  for (int k = 0; k < 2; k++) {
    cudaMalloc((void**)&d[k], H * W);
    cudaMalloc((void**)&bits[k], H * W / 8);
  }
  for (int start = 0; start < 2; start++) {
    const uint8_t* cells = start ? glider : soup;
    int alive = 0;
    memcpy(expected, cells, sizeof expected);
    for (int s = 0; s < steps; s++) step_on_host(expected);
    for (int i = 0; i < H * W; i++) alive += expected[i];
    printf("%s:", start ? "glider" : "soup");
    for (int kind = 0; kind < 3; kind++) {
      cudaMemcpy(d[0], cells, H * W, cudaMemcpyHostToDevice);
      if (kind == 2) pack<<<H * W / 128, 128>>>(d[0], bits[0]);
      for (int s = 0; s < steps; s++) {
        const int a = s % 2, b = 1 - a;
        if (kind == 0) life_simple<<<dim3((W + 4) / 5, (H + 12) / 13), dim3(5, 13)>>>(d[a], d[b]);
        if (kind == 1) life_tiled<<<dim3((W + 9) / 10, (H + 6) / 7), dim3(12, 9)>>>(d[a], d[b]);
        if (kind == 2) life_bits<<<H, W / 32>>>(bits[a], bits[b]);
      }
      if (kind == 2) unpack<<<H * W / 128, 128>>>(bits[1], d[1]);
      cudaMemcpy(result, d[1], H * W, cudaMemcpyDeviceToHost);
      printf(" %s", memcmp(result, expected, H * W) ? "wrong" : "right");
    }
    if (start)
      printf(", %d alive\n", alive);
    else
      printf(", %s\n", alive > 50 ? "still alive" : "dead");
  }
  return cudaDeviceSynchronize();
}
