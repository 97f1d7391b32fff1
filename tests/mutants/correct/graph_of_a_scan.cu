// expect: pass 02_kogge_stone | a captured graph: a copy on the device, a set, the kernel in place

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_xy[section_size];
  s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    Element sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;
    __syncthreads();
    s_xy[t] = sum;
  }
  if (i < n) d_y[i] = s_xy[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n + section_size - 1) / section_size;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  SCANLAB_CUDA_CHECK(cudaStreamCreate(&stream));
  SCANLAB_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(d_y, 0, n * sizeof(Element), stream));
  SCANLAB_CUDA_CHECK(cudaMemcpyAsync(d_y, d_x, n * sizeof(Element), cudaMemcpyDeviceToDevice, stream));
  kogge_stone_kernel<kind><<<sections, section_size, 0, stream>>>(d_y, d_y, n);
  SCANLAB_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  SCANLAB_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  SCANLAB_CUDA_CHECK(cudaGraphLaunch(executable, stream));
  SCANLAB_CUDA_CHECK(cudaStreamSynchronize(stream));
  SCANLAB_CUDA_CHECK(cudaGraphExecDestroy(executable));
  SCANLAB_CUDA_CHECK(cudaGraphDestroy(graph));
  SCANLAB_CUDA_CHECK(cudaStreamDestroy(stream));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
