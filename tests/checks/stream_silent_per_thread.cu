// What is done when a call of the per-thread default stream returns, other streams may use: --check has nothing to say.
// test: vgpu-run --check
// test: nvcc --default-stream per-thread
#include <cstdio>

constexpr int n = 1024, block = 256, grid = n / block;

__global__ void add_one(int* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main() {
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);

  // cudaMemset waits where the host sees the memory.
  int *managed = nullptr, *pinned = nullptr, *device = nullptr;
  cudaMallocManaged(&managed, n * sizeof(int));
  cudaMallocHost(&pinned, n * sizeof(int));
  cudaMalloc(&device, n * sizeof(int));
  cudaMemset(managed, 0, n * sizeof(int));
  add_one<<<grid, block, 0, other>>>(managed);
  cudaMemset(pinned, 0, n * sizeof(int));
  add_one<<<grid, block, 0, other>>>(pinned);

  // The thread's own default stream is waited for.
  cudaMemset(device, 0, n * sizeof(int));
  cudaStreamSynchronize(0);
  add_one<<<grid, block, 0, other>>>(device);

  cudaDeviceSynchronize();
  int last = 0;
  cudaMemcpy(&last, device + n - 1, sizeof last, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", managed[n - 1], pinned[n - 1], last);
}
