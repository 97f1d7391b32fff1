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

const void* kernel(CUfunction function) {
  return reinterpret_cast<const void*>(function);
}

/// The one context; nothing looks into it.
CUcontext context() {
  static char it;
  return reinterpret_cast<CUcontext>(&it);
}

CUresult get_context(CUcontext* current) {
  return result(give(current, context()));
}
CUresult set_context(CUcontext wanted) {
  return wanted == context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult get_device(CUdevice* device, int ordinal) {
  if (const cudaError_t error = give(device, 0); error != cudaSuccess) return result(error);
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult get_name(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess) return result(error);
  std::strncpy(name, properties.name, static_cast<std::size_t>(length) - 1);
  name[length - 1] = '\0';
  return CUDA_SUCCESS;
}
CUresult get_memory(std::size_t* bytes, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  std::size_t free_bytes = 0;
  return result(cudaMemGetInfo(&free_bytes, bytes));
}
CUresult allocate_memory(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* made = nullptr;
  const cudaError_t error = cudaMalloc(&made, bytes);
  *address = reinterpret_cast<CUdeviceptr>(made);
  return result(error);
}
CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments, void** extra) {
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return result(cudaLaunchKernel(kernel(function), {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, arguments,
                                 shared, stream));
}

struct EntryPoint {
  std::string_view name;
  void* function;
};

template <class Result, class... Parameters>
EntryPoint entry(std::string_view name, Result (*function)(Parameters...)) {
  return {name, reinterpret_cast<void*>(function)};
}

/// A call of the runtime with the same parameters.
template <auto function>
struct Runtime;
template <class... Parameters, cudaError_t (*function)(Parameters...)>
struct Runtime<function> {
  static CUresult call(Parameters... parameters) { return result(function(parameters...)); }
};

void* find_entry_point(std::string_view name) {
  static const EntryPoint known[] = {
      entry(
          "cuInit", +[](unsigned flags) { return flags == 0 ? result(call()) : CUDA_ERROR_INVALID_VALUE; }),
      entry("cuDriverGetVersion", Runtime<cudaDriverGetVersion>::call),
      entry(
          "cuGetErrorString",
          +[](CUresult error, const char** text) {
            *text = cudaGetErrorString(static_cast<cudaError_t>(error));
            return CUDA_SUCCESS;
          }),
      entry("cuDeviceGetCount", Runtime<cudaGetDeviceCount>::call),
      entry("cuDeviceGet", get_device),
      entry("cuDeviceGetAttribute", Runtime<cudaDeviceGetAttribute>::call),  // its attributes have the same numbers
      entry("cuDeviceGetName", get_name),
      entry("cuDeviceTotalMem", get_memory),
      entry(
          "cuDevicePrimaryCtxRetain",
          +[](CUcontext* primary, CUdevice device) {
            return device == 0 ? get_context(primary) : CUDA_ERROR_INVALID_DEVICE;
          }),
      entry(
          "cuDevicePrimaryCtxRelease",
          +[](CUdevice device) { return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }),
      entry("cuCtxGetCurrent", get_context),
      entry("cuCtxSetCurrent", set_context),
      entry("cuCtxPushCurrent", set_context),
      entry(
          "cuCtxPopCurrent", +[](CUcontext* popped) { return popped == nullptr ? CUDA_SUCCESS : get_context(popped); }),
      entry(
          "cuCtxGetDevice", +[](CUdevice* device) { return get_device(device, 0); }),
      entry("cuCtxSynchronize", Runtime<cudaDeviceSynchronize>::call),
      entry("cuMemAlloc", allocate_memory),
      entry(
          "cuMemFree", +[](CUdeviceptr address) { return result(cudaFree(pointer(address))); }),
      entry(
          "cuMemcpyAsync",
          +[](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
            return result(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream));
          }),
      entry(
          "cuMemsetD8Async",
          +[](CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
            return result(cudaMemsetAsync(pointer(to), value, bytes, stream));
          }),
      entry("cuStreamSynchronize", Runtime<cudaStreamSynchronize>::call),
      entry("cuStreamQuery", Runtime<cudaStreamQuery>::call),
      entry("cuStreamWaitEvent", Runtime<cudaStreamWaitEvent>::call),
      entry("cuEventRecord", Runtime<cudaEventRecord>::call),
      entry(
          "cuKernelGetFunction",
          +[](CUfunction* function, CUkernel kernel) {
            return result(give(function, reinterpret_cast<CUfunction>(kernel)));
          }),
      entry("cuLaunchKernel", launch),
      entry(
          "cuOccupancyMaxActiveBlocksPerMultiprocessor",
          +[](int* blocks, CUfunction function, int threads, std::size_t shared) {
            return result(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel(function), threads, shared));
          }),
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
