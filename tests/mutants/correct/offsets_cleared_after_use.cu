// expect: pass 09_atomic_block_sums | the offsets are a __device__ array, zero at first; the second kernel sets them to
// zero again when its block has read them

#include "scanlab.cuh"

#define SECTIONS_MAX (1 << 21)
#define THREADS_X 32
#define THREADS_Y 8

__device__ float offsets[SECTIONS_MAX];  // zero between two calls

// Each warp (a row of the block) scans 128 elements of shared memory that are its own.
__global__ void scan_kernel(const float* in, float* out, int n, int shift) {
  __shared__ volatile float data[THREADS_Y][128 + 4];
  __shared__ float totals[THREADS_Y];
  const int x = threadIdx.x, y = threadIdx.y;
  const int base = blockIdx.x * section_size + y * 128;

  for (int p = x; p < 128; p += THREADS_X) {
    const int i = base + p;
    data[y][p + p / 32] = i < n && i >= shift ? in[i - shift] : 0.0f;
  }
  __syncwarp();
  float acc[4], sum = 0;
  for (int k = 0; k < 4; ++k) {
    const int p = 4 * x + k;
    acc[k] = sum += data[y][p + p / 32];
  }
  __syncwarp();
  // The first 32 words become the sums of the lanes.
  data[y][x] = sum;
  __syncwarp();
  for (int d = 1; d < 32; d *= 2) {
    const float left = x >= d ? data[y][x - d] : 0.0f;
    __syncwarp();
    if (x >= d) data[y][x] = left + data[y][x];
    __syncwarp();
  }
  const float before_lane = x > 0 ? data[y][x - 1] : 0.0f;
  if (x == 31) totals[y] = data[y][31];
  __syncthreads();
  float before = 0, total = 0;
  for (int w = 0; w < THREADS_Y; ++w) {
    if (w < y) before += totals[w];
    total += totals[w];
  }
  for (int k = 0; k < 4; ++k) {
    const int p = 4 * x + k;
    data[y][p + p / 32] = before + (before_lane + acc[k]);
  }
  __syncwarp();
  for (int p = x; p < 128; p += THREADS_X) {
    if (base + p < n) out[base + p] = data[y][p + p / 32];
  }
  const int rank = y * THREADS_X + x;
  for (int s = blockIdx.x + 1 + rank; s < gridDim.x; s += THREADS_X * THREADS_Y) atomicAdd(offsets + s, total);
}

__global__ void offset_kernel(float* out, int n) {
  const float offset = offsets[blockIdx.x];
  __syncthreads();  // all threads have read it
  if (threadIdx.x == 0) offsets[blockIdx.x] = 0.0f;
  if (blockIdx.x == 0) return;  // the whole block
  for (int p = threadIdx.x; p < section_size; p += blockDim.x) {
    const int i = blockIdx.x * section_size + p;
    if (i < n) out[i] += offset;
  }
}

static void run(const float* in, float* out, int n, int shift) {
  const int blocks = (n + section_size - 1) / section_size;
  if (blocks == 0) return;
  scan_kernel<<<blocks, dim3(THREADS_X, THREADS_Y)>>>(in, out, n, shift);
  offset_kernel<<<blocks, 256>>>(out, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  run(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  run(d_x, d_y, n, 1);
}
