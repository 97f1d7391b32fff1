// The part of the driver API that libraries reach through cudaGetDriverEntryPoint. Results have the runtime's numbers.
//
// There is one device, and one context, which is always current. Handles are the runtime's: a CUfunction is what
// cudaGetFuncBySymbol gives, a CUstream is a cudaStream_t.
#include <cuda.h>

#include <cstring>
#include <string_view>

#include "cudart/call.hpp"

namespace scanlab::cudart {
namespace {

CUresult result(cudaError_t error) {
  return static_cast<CUresult>(error);
}

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

/// The one context; nothing looks into it.
CUcontext context() {
  static char it;
  return reinterpret_cast<CUcontext>(&it);
}

CUresult initialise(unsigned flags) {
  return flags == 0 ? result(call([](Client&) { return cudaSuccess; })) : CUDA_ERROR_INVALID_VALUE;
}
CUresult driver_version(int* version) {
  return result(cudaDriverGetVersion(version));
}
CUresult error_string(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}
CUresult device_count(int* count) {
  return result(cudaGetDeviceCount(count));
}
CUresult device_get(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult device_attribute(int* value, CUdevice_attribute which, CUdevice device) {
  return result(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(which), device));
}
CUresult device_name(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess) return result(error);
  std::strncpy(name, properties.name, static_cast<std::size_t>(length) - 1);
  name[length - 1] = '\0';
  return CUDA_SUCCESS;
}
CUresult device_memory(std::size_t* bytes, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  std::size_t free_bytes = 0;
  return result(cudaMemGetInfo(&free_bytes, bytes));
}
CUresult context_get(CUcontext* current) {
  if (current == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *current = context();
  return CUDA_SUCCESS;
}
CUresult context_set(CUcontext wanted) {
  return wanted == context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult context_push(CUcontext wanted) {
  return context_set(wanted);
}
CUresult context_pop(CUcontext* popped) {
  return popped == nullptr ? CUDA_SUCCESS : context_get(popped);
}
CUresult context_device(CUdevice* device) {
  return device_get(device, 0);
}
CUresult context_synchronise() {
  return result(cudaDeviceSynchronize());
}
CUresult primary_retain(CUcontext* primary, CUdevice device) {
  return device == 0 ? context_get(primary) : CUDA_ERROR_INVALID_DEVICE;
}
CUresult primary_release(CUdevice device) {
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult allocate_memory(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* made = nullptr;
  const cudaError_t error = cudaMalloc(&made, bytes);
  *address = reinterpret_cast<CUdeviceptr>(made);
  return result(error);
}
CUresult free_memory(CUdeviceptr address) {
  return result(cudaFree(pointer(address)));
}
CUresult copy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return result(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream));
}
CUresult set_async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  return result(cudaMemsetAsync(pointer(to), value, bytes, stream));
}
CUresult stream_synchronise(CUstream stream) {
  return result(cudaStreamSynchronize(stream));
}
CUresult stream_query(CUstream stream) {
  return result(cudaStreamQuery(stream));
}
CUresult stream_wait(CUstream stream, CUevent event, unsigned flags) {
  return result(cudaStreamWaitEvent(stream, event, flags));
}
CUresult event_record(CUevent event, CUstream stream) {
  return result(cudaEventRecord(event, stream));
}
CUresult kernel_function(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments,
                       void** extra) {
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return result(cudaLaunchKernel(reinterpret_cast<const void*>(function), {grid_x, grid_y, grid_z},
                                 {block_x, block_y, block_z}, arguments, shared, stream));
}
CUresult occupancy(int* blocks, CUfunction function, int threads, std::size_t shared) {
  return result(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(function), threads, shared));
}

struct EntryPoint {
  std::string_view name;
  void* function;
};

template <class Result, class... Arguments>
EntryPoint entry(std::string_view name, Result (*function)(Arguments...)) {
  return {name, reinterpret_cast<void*>(function)};
}

void* find_entry_point(std::string_view name) {
  static const EntryPoint known[] = {
      entry("cuInit", initialise),
      entry("cuDriverGetVersion", driver_version),
      entry("cuGetErrorString", error_string),
      entry("cuDeviceGetCount", device_count),
      entry("cuDeviceGet", device_get),
      entry("cuDeviceGetAttribute", device_attribute),
      entry("cuDeviceGetName", device_name),
      entry("cuDeviceTotalMem", device_memory),
      entry("cuDevicePrimaryCtxRetain", primary_retain),
      entry("cuDevicePrimaryCtxRelease", primary_release),
      entry("cuCtxGetCurrent", context_get),
      entry("cuCtxSetCurrent", context_set),
      entry("cuCtxPushCurrent", context_push),
      entry("cuCtxPopCurrent", context_pop),
      entry("cuCtxGetDevice", context_device),
      entry("cuCtxSynchronize", context_synchronise),
      entry("cuMemAlloc", allocate_memory),
      entry("cuMemFree", free_memory),
      entry("cuMemcpyAsync", copy_async),
      entry("cuMemsetD8Async", set_async),
      entry("cuStreamSynchronize", stream_synchronise),
      entry("cuStreamQuery", stream_query),
      entry("cuStreamWaitEvent", stream_wait),
      entry("cuEventRecord", event_record),
      entry("cuKernelGetFunction", kernel_function),
      entry("cuLaunchKernel", launch_kernel),
      entry("cuOccupancyMaxActiveBlocksPerMultiprocessor", occupancy),
  };
  for (const EntryPoint& point : known)
    if (point.name == name) return point.function;
  return nullptr;
}

cudaError_t entry_point(const char* symbol, void** function, cudaDriverEntryPointQueryResult* found) {
  return call([&](Client&) -> cudaError_t {
    if (symbol == nullptr || *symbol == '\0' || function == nullptr) return cudaErrorInvalidValue;
    *function = find_entry_point(symbol);
    if (found != nullptr)
      *found = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return *function != nullptr || found != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
  });
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                              cudaDriverEntryPointQueryResult* found) {
  return entry_point(symbol, function, found);
}

#if CUDART_VERSION >= 12050
cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                       unsigned long long, cudaDriverEntryPointQueryResult* found) {
  return entry_point(symbol, function, found);
}
#endif

}  // extern "C"
