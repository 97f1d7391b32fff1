// The kernels that `grader/scanlab bench vgpu` measures. Each is written as courses write it, and is no faster on the
// virtual GPU than such code is: a change of a kernel makes old figures worthless.

// In place, two barriers a step: a block scans a section of blockDim.x elements.
extern "C" __global__ void kogge_stone(const float* d_x, float* d_y, int n) {
  __shared__ float s_xy[1024];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s_xy[threadIdx.x] = i < n ? d_x[i] : 0.0f;
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    float sum = 0.0f;
    if (threadIdx.x >= stride) sum = s_xy[threadIdx.x] + s_xy[threadIdx.x - stride];
    __syncthreads();
    if (threadIdx.x >= stride) s_xy[threadIdx.x] = sum;
  }
  if (i < n) d_y[i] = s_xy[threadIdx.x];
}

// Two elements a thread: a block scans a section of 2 * blockDim.x elements, with strided accesses to shared memory.
extern "C" __global__ void brent_kung(const float* d_x, float* d_y, unsigned n) {
  __shared__ float s_xy[2048];
  const unsigned section = 2 * blockDim.x;
  const unsigned i = blockIdx.x * section + threadIdx.x;
  s_xy[threadIdx.x] = i < n ? d_x[i] : 0.0f;
  s_xy[threadIdx.x + blockDim.x] = i + blockDim.x < n ? d_x[i + blockDim.x] : 0.0f;
  for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
    __syncthreads();
    const unsigned index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index < section) s_xy[index] += s_xy[index - stride];
  }
  for (unsigned stride = section / 4; stride > 0; stride /= 2) {
    __syncthreads();
    const unsigned index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index + stride < section) s_xy[index + stride] += s_xy[index];
  }
  __syncthreads();
  if (i < n) d_y[i] = s_xy[threadIdx.x];
  if (i + blockDim.x < n) d_y[i + blockDim.x] = s_xy[threadIdx.x + blockDim.x];
}

extern "C" __global__ void vector_add(const float* d_x, const float* d_z, float* d_y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d_y[i] = d_x[i] + d_z[i];
}

// Each warp scans its own 32 elements: no shared memory.
extern "C" __global__ void warp_shuffle_scan(const float* d_x, float* d_y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  float sum = i < n ? d_x[i] : 0.0f;
  for (unsigned delta = 1; delta < 32; delta *= 2) {
    const float left = __shfl_up_sync(0xffffffff, sum, delta);
    if (lane >= delta) sum += left;
  }
  if (i < n) d_y[i] = sum;
}

// The lanes of a warp differ in the number of steps, in the branch of each step and in the length of inner loops, so
// that about 12.6 of 32 lanes are active at an instruction.
extern "C" __global__ void divergent(const unsigned* d_x, unsigned* d_y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned value = d_x[i];
  unsigned sum = 0;
  for (unsigned step = 3 + value % 3; step > 0; --step) {
    if (value & 1) {
      for (unsigned count = 1 + (value >> 1) % 2; count > 0; --count) sum = sum * 3 + (value >> count);
      value = value * 5 + 1;
    } else if (value & 2) {
      unsigned a = 1 + (value >> 2) % 3, b = 1 + (value >> 6) % 3;
      while (a != b) {
        if (a > b) {
          a -= b;
        } else {
          b -= a;
        }
      }
      sum += a;
    } else {
      sum ^= value;
    }
    value = value * 1664525u + 1013904223u;
    value ^= value >> 16;
  }
  d_y[i] = sum;
}

// A tree over shared memory whose active threads stay side by side; d_y[b] is the sum of block b's elements.
extern "C" __global__ void reduction(const float* d_x, float* d_y, int n) {
  __shared__ float s_sum[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s_sum[threadIdx.x] = i < n ? d_x[i] : 0.0f;
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) s_sum[threadIdx.x] += s_sum[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) d_y[blockIdx.x] = s_sum[0];
}

// C = A B for square matrices whose side is a multiple of 16.
extern "C" __global__ void matrix_product(const float* d_a, const float* d_b, float* d_c, int side) {
  __shared__ float s_a[16][16], s_b[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int tile = 0; tile < side; tile += 16) {
    s_a[threadIdx.y][threadIdx.x] = d_a[row * side + tile + threadIdx.x];
    s_b[threadIdx.y][threadIdx.x] = d_b[(tile + threadIdx.y) * side + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += s_a[threadIdx.y][k] * s_b[k][threadIdx.x];
    __syncthreads();
  }
  d_c[row * side + column] = sum;
}

// The two below do the same to shared memory at different strides: in each step a thread's value becomes the sum of its
// own and of its three neighbours'. Behind the last thread's place lies whatever an earlier step left there.
extern "C" __global__ void shared_contiguous(const unsigned* d_x, unsigned* d_y, int rounds) {
  __shared__ unsigned s_value[256 + 3];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 3) s_value[256 + threadIdx.x] = 0;
  unsigned value = d_x[i];
  for (int round = 0; round < 5 * rounds; ++round) {
    s_value[threadIdx.x] = value;
    __syncthreads();
    const unsigned* s_own = s_value + threadIdx.x;
    value = s_own[0] + s_own[1] + s_own[2] + s_own[3];
    __syncthreads();
  }
  d_y[i] = value;
}

extern "C" __global__ void shared_strided(const unsigned* d_x, unsigned* d_y, int rounds) {
  __shared__ unsigned s_value[(256 + 3) * 32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 15) s_value[(256 + threadIdx.x % 3) * (2 << threadIdx.x / 3)] = 0;
  unsigned value = d_x[i];
  for (int round = 0; round < rounds; ++round) {
    for (unsigned stride = 2; stride <= 32; stride *= 2) {
      s_value[threadIdx.x * stride] = value;
      __syncthreads();
      const unsigned* s_own = s_value + threadIdx.x * stride;
      value = s_own[0] + s_own[stride] + s_own[2 * stride] + s_own[3 * stride];
      __syncthreads();
    }
  }
  d_y[i] = value;
}
