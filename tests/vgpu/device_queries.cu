// What programs ask before they choose a launch: properties and attributes that agree, and the device's place.
#include <climits>
#include <cstring>

#include "show.hpp"

static int disagreements = 0;

static int attribute(cudaDeviceAttr which) {
  int value = -12345;
  if (cudaDeviceGetAttribute(&value, which, 0) != cudaSuccess) std::printf("attribute %d fails\n", which);
  return value;
}

static void agree(const char* name, long long property, cudaDeviceAttr which) {
  if (property == attribute(which)) return;
  std::printf("%s: property %lld, attribute %d\n", name, property, attribute(which));
  ++disagreements;
}

static const char* yes(bool condition) {
  return condition ? "yes" : "no";
}

int main() {
  int count = 0, device = -1;
  show("count", cudaGetDeviceCount(&count));
  show("device", cudaGetDevice(&device));
  std::printf("at least one: %s, the first: %d\n", yes(count >= 1), device);

  cudaDeviceProp p;
  show("properties", cudaGetDeviceProperties(&p, 0));
  agree("maxThreadsPerBlock", p.maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock);
  agree("maxThreadsDim[0]", p.maxThreadsDim[0], cudaDevAttrMaxBlockDimX);
  agree("maxThreadsDim[1]", p.maxThreadsDim[1], cudaDevAttrMaxBlockDimY);
  agree("maxThreadsDim[2]", p.maxThreadsDim[2], cudaDevAttrMaxBlockDimZ);
  agree("maxGridSize[0]", p.maxGridSize[0], cudaDevAttrMaxGridDimX);
  agree("maxGridSize[1]", p.maxGridSize[1], cudaDevAttrMaxGridDimY);
  agree("maxGridSize[2]", p.maxGridSize[2], cudaDevAttrMaxGridDimZ);
  agree("sharedMemPerBlock", static_cast<long long>(p.sharedMemPerBlock), cudaDevAttrMaxSharedMemoryPerBlock);
  agree("sharedMemPerBlockOptin", static_cast<long long>(p.sharedMemPerBlockOptin),
        cudaDevAttrMaxSharedMemoryPerBlockOptin);
  agree("sharedMemPerMultiprocessor", static_cast<long long>(p.sharedMemPerMultiprocessor),
        cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  agree("reservedSharedMemPerBlock", static_cast<long long>(p.reservedSharedMemPerBlock),
        cudaDevAttrReservedSharedMemoryPerBlock);
  agree("totalConstMem", static_cast<long long>(p.totalConstMem), cudaDevAttrTotalConstantMemory);
  agree("warpSize", p.warpSize, cudaDevAttrWarpSize);
  agree("regsPerBlock", p.regsPerBlock, cudaDevAttrMaxRegistersPerBlock);
  agree("regsPerMultiprocessor", p.regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor);
  agree("multiProcessorCount", p.multiProcessorCount, cudaDevAttrMultiProcessorCount);
  agree("maxThreadsPerMultiProcessor", p.maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor);
  agree("maxBlocksPerMultiProcessor", p.maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor);
  agree("major", p.major, cudaDevAttrComputeCapabilityMajor);
  agree("minor", p.minor, cudaDevAttrComputeCapabilityMinor);
  agree("l2CacheSize", p.l2CacheSize, cudaDevAttrL2CacheSize);
  agree("memoryBusWidth", p.memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth);
  agree("concurrentKernels", p.concurrentKernels, cudaDevAttrConcurrentKernels);
  agree("asyncEngineCount", p.asyncEngineCount, cudaDevAttrAsyncEngineCount);
  agree("unifiedAddressing", p.unifiedAddressing, cudaDevAttrUnifiedAddressing);
  agree("managedMemory", p.managedMemory, cudaDevAttrManagedMemory);
  agree("concurrentManagedAccess", p.concurrentManagedAccess, cudaDevAttrConcurrentManagedAccess);
  agree("pageableMemoryAccess", p.pageableMemoryAccess, cudaDevAttrPageableMemoryAccess);
  agree("canMapHostMemory", p.canMapHostMemory, cudaDevAttrCanMapHostMemory);
  agree("canUseHostPointerForRegisteredMem", p.canUseHostPointerForRegisteredMem,
        cudaDevAttrCanUseHostPointerForRegisteredMem);
  agree("hostRegisterSupported", p.hostRegisterSupported, cudaDevAttrHostRegisterSupported);
  agree("cooperativeLaunch", p.cooperativeLaunch, cudaDevAttrCooperativeLaunch);
  agree("memoryPoolsSupported", p.memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported);
  agree("computePreemptionSupported", p.computePreemptionSupported, cudaDevAttrComputePreemptionSupported);
  agree("streamPrioritiesSupported", p.streamPrioritiesSupported, cudaDevAttrStreamPrioritiesSupported);
  agree("integrated", p.integrated, cudaDevAttrIntegrated);
  agree("pciBusID", p.pciBusID, cudaDevAttrPciBusId);
  agree("pciDeviceID", p.pciDeviceID, cudaDevAttrPciDeviceId);
  agree("pciDomainID", p.pciDomainID, cudaDevAttrPciDomainId);
  std::printf("disagreements: %d\n", disagreements);

  // What every device of compute capability 8.0 or 9.0 has.
  std::printf("warps of %d, %d threads a block, %d x %d x %d\n", p.warpSize, p.maxThreadsPerBlock, p.maxThreadsDim[0],
              p.maxThreadsDim[1], p.maxThreadsDim[2]);
  std::printf("grids of %d x %d x %d\n", p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]);
  std::printf("shared: %d KiB, constant: %d KiB, registers: %d\n", static_cast<int>(p.sharedMemPerBlock >> 10),
              static_cast<int>(p.totalConstMem >> 10), p.regsPerBlock);
  std::printf("clock rates known: %s, a name: %s\n",
              yes(attribute(cudaDevAttrClockRate) > 0 && attribute(cudaDevAttrMemoryClockRate) > 0),
              yes(std::strlen(p.name) > 0));

  int failing = 0;
  for (int which = 1; which <= cudaDevAttrMaxBlocksPerMultiprocessor; ++which) {
    if (which >= 102 && which <= 105) continue;  // not of the runtime
    int value = 0;
    if (which == 44 || (which >= 92 && which <= 96)) continue;
    failing += cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(which), 0) != cudaSuccess;
  }
  std::printf("attributes that cannot be asked for: %d\n", failing);

  std::size_t free_bytes = 0, total = 0, less = 0;
  show("memory", cudaMemGetInfo(&free_bytes, &total));
  std::printf("sizes fit: %s\n", yes(free_bytes <= total && total <= p.totalGlobalMem));
  void* block = nullptr;
  cudaMalloc(&block, 64u << 20);
  cudaMemGetInfo(&less, &total);
  std::printf("less after cudaMalloc: %s\n", yes(less + (64u << 20) <= free_bytes));
  cudaFree(block);
  show("too much", cudaMalloc(&block, total + (std::size_t{1} << 40)));
  show("not sticky", cudaGetLastError());
  show("not sticky", cudaGetLastError());

  char id[32] = {}, short_id[8];
  show("bus id", cudaDeviceGetPCIBusId(id, sizeof id, 0));
  show("and back", cudaDeviceGetByPCIBusId(&device, id));
  std::printf("device %d, domain:bus:device.function: %s\n", device,
              yes(std::strlen(id) >= 12 && std::strchr(id, '.') != nullptr));
  show("too short", cudaDeviceGetPCIBusId(short_id, 4, 0));
  int can = -1;
  show("itself as a peer", cudaDeviceCanAccessPeer(&can, 0, 0));
  std::printf("%d\n", can);

  cudaDeviceProp wanted;
  std::memset(&wanted, 0, sizeof wanted);
  wanted.major = 3;
  show("choose", cudaChooseDevice(&device, &wanted));
  show("no such device", cudaSetDevice(count));
  show("no such device", cudaGetDeviceProperties(&p, count));
  show("no such device", cudaDeviceGetAttribute(&can, cudaDevAttrWarpSize, -1));
  show("no place for it", cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
  show("set", cudaSetDevice(0));
  show("last error", cudaGetLastError());
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::printf("runtime is the header's: %s, the driver is as new: %s\n", yes(runtime == CUDART_VERSION),
              yes(driver / 1000 >= runtime / 1000));
  return 0;
}
