// test: apart (prints the mangled name of a kernel)
// Kernels launched by every call that there is, and what is known of a kernel before it runs.
#include <cooperative_groups.h>

#include <cstring>

#include "show.hpp"

struct Box {
  double scale;
  int offset;
  char letters[3];
};

__global__ void store(int* x, Box box, short add) {
  x[threadIdx.x + blockIdx.x * blockDim.x] =
      static_cast<int>(box.scale * threadIdx.x) + box.offset + box.letters[2] + add;
}

__global__ void __launch_bounds__(256, 2) bounded(int* x) {
  __shared__ int buffer[100];
  buffer[threadIdx.x % 100] = 1;
  __syncthreads();
  if (threadIdx.x == 0) *x = buffer[5];
}

__global__ void use_dynamic(int* x, int n) {
  extern __shared__ int buffer[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *x = buffer[n - 1];
}

__global__ void together(int* x) {
  const auto grid = cooperative_groups::this_grid();
  x[grid.thread_rank()] = 1;
  grid.sync();
  if (grid.thread_rank() == 0) {
    int sum = 0;
    for (unsigned i = 0; i < grid.num_threads(); ++i) sum += x[i];
    x[0] = sum;
  }
}

template <class T>
__global__ void generic(T* x, T value) {
  x[threadIdx.x] = value;
}

static const char* yes(bool condition) {
  return condition ? "yes" : "no";
}

static int* data = nullptr;

static void check_written(const char* what, cudaError_t error, int n) {
  show(what, error);
  int wrong = cudaDeviceSynchronize() != cudaSuccess;
  for (int i = 0; i < n; ++i) wrong += data[i] != (i % 32) * 3 / 2 + 7 + 'c' + 5;
  std::printf("  %d wrong\n", wrong);
  std::memset(data, 0, n * sizeof(int));
}

int main() {
  cudaMallocManaged(&data, 4096);
  std::memset(data, 0, 4096);
  Box box{1.5, 7, {'a', 'b', 'c'}};
  short add = 5;
  void* arguments[] = {&data, &box, &add};

  store<<<2, 32>>>(data, box, add);
  check_written("<<<>>>", cudaGetLastError(), 64);
  check_written("cudaLaunchKernel",
                cudaLaunchKernel(reinterpret_cast<const void*>(store), dim3(2), dim3(32), arguments, 0, nullptr), 64);
  check_written("cudaLaunchKernel of a typed kernel", cudaLaunchKernel(store, dim3(2), dim3(32), arguments, 0), 64);

  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(3);
  config.blockDim = dim3(32);
  check_written("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, store, data, box, add), 96);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = 0;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check_written("cudaLaunchKernelExC", cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(store), arguments),
                96);

  void* only_data[] = {&data};
  show("cudaLaunchCooperativeKernel", cudaLaunchCooperativeKernel(together, dim3(2), dim3(64), only_data, 0, nullptr));
  cudaDeviceSynchronize();
  std::printf("  %d threads met\n", data[0]);
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  show("the same by an attribute", cudaLaunchKernelEx(&config, together, data));
  cudaDeviceSynchronize();
  std::printf("  %d threads met\n", data[0]);
  generic<double><<<1, 4>>>(reinterpret_cast<double*>(data), 0.25);
  cudaDeviceSynchronize();
  std::printf("a template: %g\n", reinterpret_cast<double*>(data)[3]);

  // What is known of a kernel.
  cudaFuncAttributes of;
  show("attributes", cudaFuncGetAttributes(&of, bounded));
  std::printf("static shared %d, at most %d threads, registers: %s, constant %s, code of 8.0 or newer: %s\n",
              static_cast<int>(of.sharedSizeBytes), of.maxThreadsPerBlock, yes(of.numRegs > 0 && of.numRegs < 256),
              yes(of.constSizeBytes < 65536), yes(of.ptxVersion >= 80 && of.binaryVersion >= 80));
  bounded<<<1, 512>>>(data);
  std::printf("more threads than its bounds: %s\n", yes(cudaGetLastError() != cudaSuccess));
  bounded<<<1, 256>>>(data);
  show("as many as they allow", cudaDeviceSynchronize());

  // More shared memory than a block has by default.
  const int many = 60 * 1024;
  use_dynamic<<<1, 128, many>>>(data, many / 4);
  show("60 KiB", cudaGetLastError());
  show("allow them", cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, many));
  use_dynamic<<<1, 128, many>>>(data, many / 4);
  show("60 KiB", cudaDeviceSynchronize());
  std::printf("last: %d\n", data[0]);
  cudaFuncGetAttributes(&of, use_dynamic);
  std::printf("it may have %d KiB\n", of.maxDynamicSharedSizeBytes >> 10);
  show("more than there is", cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
  show("a hint", cudaFuncSetAttribute(use_dynamic, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      cudaSharedmemCarveoutMaxShared));
  cudaGetLastError();

  // Occupancy: what fits, and what a program is advised to take.
  int blocks = 0, grid = 0, block = 0;
  show("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 256, 0));
  std::printf("two blocks at least: %s\n", yes(blocks >= 2));
  show("potential", cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded));
  int multiprocessors = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  std::printf("a grid that fills the device: %s, within the bounds: %s, whole warps: %s\n",
              yes(grid >= multiprocessors && grid % multiprocessors == 0), yes(block <= 256 && block > 0),
              yes(block % 32 == 0));
  show("by a function of the block's size",
       cudaOccupancyMaxPotentialBlockSizeVariableSMem(
           &grid, &block, use_dynamic, [](int threads) { return threads * sizeof(double); }, 512));
  std::printf("at most 512: %s\n", yes(block <= 512 && block >= 32));
  std::size_t room = 0;
  show("room for two blocks", cudaOccupancyAvailableDynamicSMemPerBlock(&room, use_dynamic, 2, 128));
  std::printf("16 KiB at least: %s\n", yes(room >= 16384));

  // Names and handles.
  const char* name = nullptr;
  show("name", cudaFuncGetName(&name, reinterpret_cast<const void*>(bounded)));
  std::printf("%s\n", name);
  cudaFunction_t function = nullptr;
  show("function", cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(bounded)));
  std::printf("found: %s\n", yes(function != nullptr));
  static int no_kernel;
  show("no kernel", cudaFuncGetAttributes(&of, reinterpret_cast<const void*>(&no_kernel)));
  show("no kernel", cudaLaunchKernel(reinterpret_cast<const void*>(&no_kernel), dim3(1), dim3(1), nullptr, 0, nullptr));
  show("last error", cudaGetLastError());
  cudaFree(data);
  return 0;
}
