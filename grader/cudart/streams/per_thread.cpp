// What programs compiled with --default-stream per-thread call: the null stream is the thread's own default stream.
// Names that are not here (make_stubs.py finds them) do not look at the stream's order.
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

cudaError_t CUDARTAPI cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                            size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, own(stream));
}

cudaError_t CUDARTAPI cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                                       size_t shared, cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, own(stream));
}

cudaError_t CUDARTAPI cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                           cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, own(stream));
}

cudaError_t CUDARTAPI cudaMemcpy2DAsync_ptsz(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                             size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, own(stream));
}

cudaError_t CUDARTAPI cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* box, cudaStream_t stream) {
  return cudaMemcpy3DAsync(box, own(stream));
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, size_t bytes, size_t offset,
                                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, own(stream));
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, size_t bytes, size_t offset,
                                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, own(stream));
}

cudaError_t CUDARTAPI cudaMemsetAsync_ptsz(void* to, int value, size_t bytes, cudaStream_t stream) {
  return cudaMemsetAsync(to, value, bytes, own(stream));
}

cudaError_t CUDARTAPI cudaMemset2DAsync_ptsz(void* to, size_t pitch, int value, size_t width, size_t height,
                                             cudaStream_t stream) {
  return cudaMemset2DAsync(to, pitch, value, width, height, own(stream));
}

cudaError_t CUDARTAPI cudaMemset3DAsync_ptsz(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return cudaMemset3DAsync(to, value, extent, own(stream));
}

cudaError_t CUDARTAPI cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(pointer, bytes, own(stream));
}

cudaError_t CUDARTAPI cudaMallocFromPoolAsync_ptsz(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                   cudaStream_t stream) {
  return cudaMallocFromPoolAsync(pointer, bytes, pool, own(stream));
}

cudaError_t CUDARTAPI cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
  return cudaFreeAsync(pointer, own(stream));
}

cudaError_t CUDARTAPI cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecord(event, own(stream));
}

cudaError_t CUDARTAPI cudaGraphLaunch_ptsz(cudaGraphExec_t executable, cudaStream_t stream) {
  return cudaGraphLaunch(executable, own(stream));
}

cudaError_t CUDARTAPI cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return cudaStreamSynchronize(own(stream));
}

cudaError_t CUDARTAPI cudaStreamQuery_ptsz(cudaStream_t stream) {
  return cudaStreamQuery(own(stream));
}

cudaError_t CUDARTAPI cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return cudaStreamWaitEvent(own(stream), event, flags);
}

cudaError_t CUDARTAPI cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return cudaLaunchHostFunc(own(stream), function, data);
}

cudaError_t CUDARTAPI cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                                 unsigned flags) {
  return cudaStreamAddCallback(own(stream), callback, data, flags);
}

cudaError_t CUDARTAPI cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned* flags) {
  return cudaStreamGetFlags(own(stream), flags);
}

cudaError_t CUDARTAPI cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return cudaStreamGetPriority(own(stream), priority);
}

cudaError_t CUDARTAPI cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return cudaStreamGetId(own(stream), id);
}

cudaError_t CUDARTAPI cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return cudaStreamBeginCapture(own(stream), mode);
}

cudaError_t CUDARTAPI cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
  return cudaStreamEndCapture(own(stream), graph);
}

cudaError_t CUDARTAPI cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamIsCapturing(own(stream), status);
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
