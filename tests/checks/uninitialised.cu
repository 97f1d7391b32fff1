// Values that were never written, and that matter: each kernel has one such mistake, which --check names.
// test: vgpu-run --check
// test: runs shared global stale carried
// test: exit 4
// test: vgpu
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int block = 128;

// --- shared memory ---------------------------------------------------------------------------------------------------

__global__ void never_loaded(float* d_y) {
  __shared__ float s_never[block];
  float sum = 0;
  for (int k = 0; k <= static_cast<int>(threadIdx.x); ++k) sum += s_never[k];
  d_y[threadIdx.x] = sum;
}

__global__ void tail_without_identity(const float* d_x, float* d_y, int n) {
  __shared__ float s_tail[block];
  const int t = threadIdx.x;
  if (t < n) s_tail[t] = d_x[t];
  for (int stride = block / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (t < stride) s_tail[t] += s_tail[t + stride];
  }
  if (t == 0) d_y[0] = s_tail[0];
}

__global__ void half_of_the_tile(const float* d_x, float* d_y) {
  __shared__ float s_half[2 * block];
  s_half[threadIdx.x] = d_x[threadIdx.x];
  __syncthreads();
  d_y[threadIdx.x] = s_half[2 * threadIdx.x];
}

__global__ void accumulator(const int* d_x, int* d_y) {
  __shared__ int s_total;
  atomicAdd(&s_total, d_x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) d_y[blockIdx.x] = s_total;
}

__global__ void flag_of_a_block(int* d_y) {
  __shared__ int s_found;
  if (d_y[threadIdx.x] == 7) s_found = threadIdx.x;
  __syncthreads();
  if (s_found) {
    d_y[threadIdx.x] = 0;
    __threadfence();
    d_y[block + threadIdx.x] = 1;
  }
}

__global__ void largest(const int* d_x, int* d_y) {
  __shared__ int s_largest[block];
  const int t = threadIdx.x;
  if (t % 2 == 0) s_largest[t] = d_x[t];
  __syncthreads();
  for (int stride = block / 2; stride > 0; stride /= 2) {
    if (t < stride) s_largest[t] = max(s_largest[t], s_largest[t + stride]);
    __syncthreads();
  }
  if (t == 0) d_y[0] = s_largest[0];
}

__global__ void last_block_only(const float* d_x, float* d_y, int n) {
  __shared__ float s_last[block];
  const int i = blockIdx.x * block + threadIdx.x;
  if (i < n) s_last[threadIdx.x] = d_x[i];
  __syncthreads();
  if (threadIdx.x == 0) d_y[blockIdx.x] = s_last[block - 1];
}

// --- global memory ---------------------------------------------------------------------------------------------------

__global__ void counts(const int* d_x, int* d_bins) {
  atomicAdd(&d_bins[d_x[threadIdx.x] & 15], 1);
}

__global__ void flags(const int* d_flag, int* d_y) {
  if (d_flag[blockIdx.x] != 0) {
    for (int k = 0; k < 4; ++k) d_y[4 * blockIdx.x + k] = k;
    __threadfence();
  }
}

__global__ void table(const unsigned* d_where, int* d_y) {
  d_y[d_where[threadIdx.x] % block] = 1;
}

// --- carried on ------------------------------------------------------------------------------------------------------

__global__ void first_kernel(float* d_sums) {
  __shared__ float s_source[block];
  if (threadIdx.x != 5) s_source[threadIdx.x] = 1;
  __syncthreads();
  d_sums[threadIdx.x] = 2 * s_source[threadIdx.x];
}

__global__ void second_kernel(const float* d_sums, float* d_y) {
  d_y[threadIdx.x] = d_sums[threadIdx.x] + 1;
}

__global__ void add(const float* d_x, float* d_y) {
  d_y[threadIdx.x] += d_x[threadIdx.x];
}

// Numbers that are there by no accident: an earlier call may have left them, as this one does.
template <int mark>
__global__ void first_visit(int* d_marks, int* d_y) {
  if (d_marks[threadIdx.x] != mark) {
    d_y[threadIdx.x] = 1;
    d_marks[threadIdx.x] = mark;
  }
}

// Ones that the host has put there before, perhaps: nothing in this kernel does.
__global__ void only_ones(const int* d_ready, int* d_y) {
  if (d_ready[threadIdx.x] == 1) d_y[threadIdx.x] = 1;
}

__global__ void one_in_shared_memory(int* d_y) {
  __shared__ int s_is_last;
  if (threadIdx.x > block) s_is_last = d_y[threadIdx.x];  // no thread is so far back
  __syncthreads();
  if (s_is_last == 1) d_y[threadIdx.x] = 1;
}

template <class T>
T* array_of(int n, int value) {
  T* d = nullptr;
  cudaMalloc(&d, n * sizeof(T));
  const std::vector<T> h(n, static_cast<T>(value));
  cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

void look(const void* d, int bytes) {
  std::vector<char> h(bytes);
  cudaMemcpy(h.data(), d, bytes, cudaMemcpyDeviceToHost);
}

int main(int, char** arguments) {
  const char* const what = arguments[1];
  float* const d_x = array_of<float>(4 * block, 1);
  int* const d_i = array_of<int>(4 * block, 1);
  if (!std::strcmp(what, "shared")) {
    // Each has an output of its own: what is undefined in it says which kernel has put it there.
    float* d_y[4];
    for (float*& d : d_y) d = array_of<float>(4 * block, 0);
    never_loaded<<<1, block>>>(d_y[0]);
    tail_without_identity<<<1, block>>>(d_x, d_y[1], 100);
    half_of_the_tile<<<1, block>>>(d_x, d_y[2]);
    last_block_only<<<4, block>>>(d_x, d_y[3], 3 * block + 5);
    for (float* d : d_y) look(d, 4 * block * sizeof(float));
    int* d_z[3];
    for (int*& d : d_z) d = array_of<int>(2 * block, 0);
    accumulator<<<2, block>>>(d_i, d_z[0]);
    flag_of_a_block<<<1, block>>>(d_z[1]);
    largest<<<1, block>>>(d_i, d_z[2]);
    for (int* d : d_z) look(d, 2 * block * sizeof(int));
  } else if (!std::strcmp(what, "global")) {
    int *d_bins, *d_flag, *d_y;
    unsigned* d_where;
    cudaMalloc(&d_bins, 16 * sizeof(int));
    cudaMalloc(&d_flag, 4 * sizeof(int));
    cudaMalloc(&d_where, block * sizeof(unsigned));
    cudaMalloc(&d_y, block * sizeof(int));
    counts<<<1, block>>>(d_i, d_bins);
    look(d_bins, 16 * sizeof(int));
    flags<<<4, 1>>>(d_flag, d_y);
    table<<<1, block>>>(d_where, d_y);
    int* d_marks[3];
    for (int*& d : d_marks) cudaMalloc(&d, block * sizeof(int));
    first_visit<1><<<1, block>>>(d_marks[0], d_y);
    first_visit<0x5ca7><<<1, block>>>(d_marks[1], d_y);
    only_ones<<<1, block>>>(d_marks[2], d_y);
    one_in_shared_memory<<<1, block>>>(d_y);
  } else if (!std::strcmp(what, "stale")) {
    // What was there before the memory was freed belongs to nothing any more.
    for (int call = 0; call < 2; ++call) {
      float* d_scratch;
      cudaMalloc(&d_scratch, block * sizeof(float));
      if (call == 0) cudaMemset(d_scratch, 0, block * sizeof(float));
      add<<<1, block>>>(d_x, d_scratch);
      look(d_scratch, block * sizeof(float));
      cudaFree(d_scratch);
    }
  } else {
    float *d_sums, *d_copy, *d_y;
    cudaMalloc(&d_sums, block * sizeof(float));
    cudaMalloc(&d_copy, block * sizeof(float));
    cudaMalloc(&d_y, block * sizeof(float));
    first_kernel<<<1, block>>>(d_sums);
    cudaMemcpy(d_copy, d_sums, block * sizeof(float), cudaMemcpyDeviceToDevice);
    second_kernel<<<1, block>>>(d_copy, d_y);
    look(d_y, 5 * sizeof(float));  // defined
    std::printf("the first five are looked at\n");
    std::fflush(stdout);
    look(d_y, block * sizeof(float));
  }
  std::printf("%s: %s\n", what, cudaGetErrorName(cudaDeviceSynchronize()));
}
