// What programs compiled with --default-stream per-thread call, as far as it differs from the other calls in more than
// the stream: the rest is made by make_stubs.py.
#include <cuda_runtime_api.h>

namespace {

cudaStream_t own(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}

/// The synchronous copies are those of the stream, and wait for it.
cudaError_t wait_after(cudaError_t error) {
  return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : error;
}

/// cudaMemset returns before it is done, but for memory that the host sees.
cudaError_t wait_after_set(cudaError_t error, const void* to) {
  cudaPointerAttributes memory{};
  if (error != cudaSuccess || cudaPointerGetAttributes(&memory, to) != cudaSuccess) return error;
  return memory.type == cudaMemoryTypeDevice ? error : wait_after(error);
}

}  // namespace

extern "C" {

// What nvcc's code for <<<>>> calls.
cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                              size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, own(stream));
}

cudaError_t CUDARTAPI cudaMemcpy_ptds(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return wait_after(cudaMemcpyAsync(to, from, bytes, kind, cudaStreamPerThread));
}

cudaError_t CUDARTAPI cudaMemcpy2D_ptds(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                        size_t height, cudaMemcpyKind kind) {
  return wait_after(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, cudaStreamPerThread));
}

cudaError_t CUDARTAPI cudaMemcpy3D_ptds(const cudaMemcpy3DParms* box) {
  return wait_after(cudaMemcpy3DAsync(box, cudaStreamPerThread));
}

cudaError_t CUDARTAPI cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, size_t bytes, size_t offset,
                                              cudaMemcpyKind kind) {
  return wait_after(cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, cudaStreamPerThread));
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, size_t bytes, size_t offset,
                                                cudaMemcpyKind kind) {
  return wait_after(cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, cudaStreamPerThread));
}

cudaError_t CUDARTAPI cudaMemset_ptds(void* to, int value, size_t bytes) {
  return wait_after_set(cudaMemsetAsync(to, value, bytes, cudaStreamPerThread), to);
}

cudaError_t CUDARTAPI cudaMemset2D_ptds(void* to, size_t pitch, int value, size_t width, size_t height) {
  return wait_after_set(cudaMemset2DAsync(to, pitch, value, width, height, cudaStreamPerThread), to);
}

cudaError_t CUDARTAPI cudaMemset3D_ptds(cudaPitchedPtr to, int value, cudaExtent extent) {
  return wait_after_set(cudaMemset3DAsync(to, value, extent, cudaStreamPerThread), to.ptr);
}

cudaError_t CUDARTAPI cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function,
                                               void** arguments) {
  if (config == nullptr) return cudaLaunchKernelExC(config, function, arguments);
  cudaLaunchConfig_t with_stream = *config;
  with_stream.stream = own(config->stream);
  return cudaLaunchKernelExC(&with_stream, function, arguments);
}

}  // extern "C"
