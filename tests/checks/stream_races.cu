// Different streams use the same memory, and nothing orders them: --check names one mistake a run. The output is right.
// test: vgpu-run --check
// test: runs no_event non_blocking early_record early_copy other_set early_free early_use
// test: runs per_thread odd_part half shared_counter pinned pageable symbol
// test: exit 4
// test: vgpu
#include <cstdio>
#include <string_view>

constexpr int n = 1024, block = 256;
constexpr size_t bytes = n * sizeof(int);

__global__ void fill(int* d_to, int value) {
  d_to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(int* d_to, const int* d_from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  d_to[i] += d_from[i];
}

__global__ void fill_every(int* d_to, int step, int value) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * step;
  if (i < n) d_to[i] = value;
}

__global__ void count(int* d_count) {
  atomicAdd(d_count, 1);
}

__global__ void count_plainly(int* d_count) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *d_count += 1;
}

__device__ int d_factor;

__global__ void scale(int* d_x) {
  d_x[threadIdx.x] *= d_factor;
}

int main(int, char** argv) {
  const std::string_view wanted = argv[1];
  int *d_x, *d_y, *h_pinned;
  static int h_x[n];
  cudaMalloc(&d_x, bytes);
  cudaMalloc(&d_y, bytes);
  cudaMallocHost(&h_pinned, bytes);
  cudaMemset(d_x, 0, bytes);
  cudaMemset(d_y, 0, bytes);
  cudaStream_t one, two, free_one;
  cudaStreamCreate(&one);
  cudaStreamCreate(&two);
  cudaStreamCreateWithFlags(&free_one, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaDeviceSynchronize();

  if (wanted == "no_event") {
    // The event is recorded, and nothing waits for it.
    fill<<<n / block, block, 0, one>>>(d_x, 1);
    cudaEventRecord(done, one);
    add<<<n / block, block, 0, two>>>(d_y, d_x);
  } else if (wanted == "non_blocking") {
    // The default stream waits for blocking streams only.
    fill<<<n / block, block>>>(d_x, 1);
    add<<<n / block, block, 0, free_one>>>(d_y, d_x);
  } else if (wanted == "early_record") {
    fill<<<n / block, block, 0, one>>>(d_y, 1);
    cudaEventRecord(done, one);
    fill<<<n / block, block, 0, one>>>(d_x, 1);
    cudaStreamWaitEvent(two, done, 0);
    add<<<n / block, block, 0, two>>>(d_y, d_x);
  } else if (wanted == "early_copy") {
    // The copy overtakes the kernel that makes the result.
    fill<<<n / block, block, 0, one>>>(d_x, 1);
    cudaMemcpyAsync(h_pinned, d_x, bytes, cudaMemcpyDeviceToHost, two);
  } else if (wanted == "other_set") {
    cudaMemsetAsync(d_x, 0, bytes, two);
    fill<<<n / block, block, 0, one>>>(d_x, 1);
  } else if (wanted == "early_free") {
    int* d_scratch;
    cudaMallocAsync(&d_scratch, bytes, one);
    fill<<<n / block, block, 0, one>>>(d_scratch, 1);
    cudaFreeAsync(d_scratch, two);
  } else if (wanted == "early_use") {
    int* d_scratch;
    cudaMallocAsync(&d_scratch, bytes, one);
    fill<<<n / block, block, 0, two>>>(d_scratch, 1);
  } else if (wanted == "per_thread") {
    fill<<<n / block, block, 0, cudaStreamPerThread>>>(d_x, 1);
    add<<<n / block, block, 0, one>>>(d_y, d_x);
  } else if (wanted == "odd_part") {
    // Every second element by one stream, every third by the other: they meet at element 6.
    fill_every<<<n / block, block, 0, one>>>(d_x + 2, 4, 1);
    fill_every<<<n / block, block, 0, two>>>(d_x, 3, 2);
  } else if (wanted == "half") {
    // The second half begins one element too early.
    fill<<<n / block / 2, block, 0, one>>>(d_x, 1);
    fill<<<n / block / 2, block, 0, two>>>(d_x + n / 2 - 1, 2);
  } else if (wanted == "shared_counter") {
    count<<<n / block, block, 0, one>>>(d_x);
    count_plainly<<<n / block, block, 0, two>>>(d_x);
  } else if (wanted == "pinned") {
    // The same place of the host, for two copies at once.
    cudaMemcpyAsync(h_pinned, d_x, bytes, cudaMemcpyDeviceToHost, one);
    cudaMemcpyAsync(d_y, h_pinned, bytes, cudaMemcpyHostToDevice, two);
  } else if (wanted == "pageable") {
    // Advice only; with a real mistake after it, as every run is to end with one.
    cudaMemcpy(d_x, h_x, bytes, cudaMemcpyHostToDevice);
    add<<<n / block, block, 0, free_one>>>(d_y, d_x);
    fill<<<n / block, block, 0, one>>>(d_y, 1);
  } else if (wanted == "symbol") {
    const int factor = 3;
    cudaMemcpyToSymbolAsync(d_factor, &factor, sizeof factor, 0, cudaMemcpyHostToDevice, one);
    scale<<<1, block, 0, two>>>(d_x);
  }
  std::printf("%s: %s\n", argv[1], cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(d_x);
  cudaFree(d_y);
  cudaFreeHost(h_pinned);
}
