// Host memory that kernels use at its own address: pinned in every way, and registered.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "show.hpp"

__global__ void add(int* data, int n, int summand) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] += summand;
}

static int count_wrong(const int* data, int n, int summand) {
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += data[i] != i + summand;
  return wrong;
}

static void fill(int* data, int n) {
  for (int i = 0; i < n; ++i) data[i] = i;
}

int main() {
  constexpr int n = 5000;
  constexpr std::size_t bytes = n * sizeof(int);

  const struct {
    const char* name;
    unsigned flags;
  } kinds[] = {{"default", cudaHostAllocDefault},
               {"portable", cudaHostAllocPortable},
               {"mapped", cudaHostAllocMapped},
               {"write-combined", cudaHostAllocWriteCombined}};
  for (const auto& kind : kinds) {
    int* pinned = nullptr;
    int* on_device = nullptr;
    unsigned flags = 0;
    const cudaError_t allocated = cudaHostAlloc(&pinned, bytes, kind.flags);
    fill(pinned, n);
    cudaHostGetDevicePointer(&on_device, pinned, 0);
    cudaHostGetFlags(&flags, pinned);
    add<<<4, 128>>>(pinned, n, 10);
    add<<<4, 128>>>(on_device, n, 20);
    const cudaError_t ran = cudaDeviceSynchronize();
    std::printf("%s: %s, %s, one address: %s, flags kept: %s, %d wrong\n", kind.name, cudaGetErrorName(allocated),
                cudaGetErrorName(ran), pinned == on_device ? "yes" : "no",
                (flags & kind.flags) == kind.flags ? "yes" : "no", count_wrong(pinned, n, 30));
    show("  freed", cudaFreeHost(pinned));
  }

  // Copies between pinned memory, pageable memory and the device, in the order of a stream.
  int *pinned = nullptr, *result = nullptr, *device = nullptr;
  cudaMallocHost(&pinned, bytes);
  cudaMallocHost(&result, bytes);
  cudaMalloc(&device, bytes);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  fill(pinned, n);
  cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream);
  add<<<4, 128, 0, stream>>>(device, n, 1);
  cudaMemcpyAsync(result, device, bytes, cudaMemcpyDeviceToHost, stream);
  add<<<4, 128, 0, stream>>>(result, n, 1);  // the kernel sees what the copy brought
  cudaMemcpyAsync(device, result, bytes, cudaMemcpyDefault, stream);
  show("stream", cudaStreamSynchronize(stream));
  std::vector<int> pageable(n);
  show("to pageable memory", cudaMemcpy(pageable.data(), device, bytes, cudaMemcpyDeviceToHost));
  std::printf("%d wrong, %d wrong\n", count_wrong(result, n, 2), count_wrong(pageable.data(), n, 2));
  add<<<4, 128>>>(result, n, 5);
  cudaDeviceSynchronize();
  show("pinned to pageable", cudaMemcpy(pageable.data(), result, bytes, cudaMemcpyHostToHost));
  std::printf("%d wrong\n", count_wrong(pageable.data(), n, 7));
  show("set", cudaMemset(result, 0, bytes));
  cudaDeviceSynchronize();
  std::printf("%d %d\n", result[0], result[n - 1]);

  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, result + 3);
  std::printf("pinned: host memory %s, host address %s, device address %s\n",
              attributes.type == cudaMemoryTypeHost ? "yes" : "no", attributes.hostPointer == result + 3 ? "yes" : "no",
              attributes.devicePointer == result + 3 ? "yes" : "no");
  cudaFreeHost(pinned);
  cudaFreeHost(result);

  // Memory of malloc, from the middle of it; its neighbours stay as they are.
  auto* own = static_cast<int*>(std::malloc(bytes + 2000));
  std::memset(own, 1, bytes + 2000);
  int* part = own + 100;
  int* part_on_device = nullptr;
  fill(part, n);
  show("register", cudaHostRegister(part, bytes, cudaHostRegisterMapped));
  show("register twice", cudaHostRegister(part, bytes, cudaHostRegisterMapped));
  cudaGetLastError();
  show("its device pointer", cudaHostGetDevicePointer(&part_on_device, part, 0));
  add<<<4, 128>>>(part_on_device, n, 7);
  show("kernel", cudaDeviceSynchronize());
  std::printf("%d wrong\n", count_wrong(part, n, 7));
  part[5] = 1000;  // the device sees what the host writes
  add<<<1, 1>>>(part_on_device + 5, 1, 1);
  cudaMemcpy(device, part, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(pageable.data(), device, bytes, cudaMemcpyDeviceToHost);
  std::printf("%d, copied %d\n", part[5], pageable[5]);
  show("unregister", cudaHostUnregister(part));
  show("unregister again", cudaHostUnregister(part));
  cudaGetLastError();
  std::printf("after: %d %d, neighbours %x %x\n", part[5], part[n - 1], static_cast<unsigned>(own[99]),
              static_cast<unsigned>(part[n]));
  std::free(own);

  show("free what is not pinned", cudaFreeHost(pageable.data()));
  cudaFree(device);
  cudaStreamDestroy(stream);
  cudaGetLastError();
  show("at the end", cudaDeviceSynchronize());
  return 0;
}
