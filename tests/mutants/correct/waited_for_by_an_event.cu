// expect: pass 03_double_buffer | two streams that do not block, each with half of the sections, joined by events

#include "scanlab.cuh"

struct Both {
  Element a[section_size], b[section_size];
};

template <Kind kind>
__global__ void half(const Element* d_x, Element* d_y, int n, int first_section) {
  __shared__ Both s;
  const int t = threadIdx.x, i = (first_section + blockIdx.x) * section_size + t;
  Element(*from)[section_size] = &s.a, (*to)[section_size] = &s.b;
  (*from)[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    (*to)[t] = t < stride ? (*from)[t] : (*from)[t - stride] + (*from)[t];
    auto* const other = from;
    from = to, to = other;
  }
  if (i < n) d_y[i] = (*from)[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  const int sections = (n + section_size - 1) / section_size, parts[] = {sections / 2, sections - sections / 2};
  cudaEvent_t begin;
  SCANLAB_CUDA_CHECK(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming));
  SCANLAB_CUDA_CHECK(cudaEventRecord(begin));
  for (int part = 0, first = 0; part < 2; first += parts[part++]) {
    if (parts[part] == 0) continue;
    cudaStream_t stream;
    cudaEvent_t end;
    SCANLAB_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    SCANLAB_CUDA_CHECK(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
    SCANLAB_CUDA_CHECK(cudaStreamWaitEvent(stream, begin, 0));
    half<kind><<<parts[part], section_size, 0, stream>>>(d_x, d_y, n, first);
    SCANLAB_CUDA_CHECK(cudaEventRecord(end, stream));
    SCANLAB_CUDA_CHECK(cudaStreamWaitEvent(nullptr, end, 0));
    SCANLAB_CUDA_CHECK(cudaEventDestroy(end));
    SCANLAB_CUDA_CHECK(cudaStreamDestroy(stream));
  }
  SCANLAB_CUDA_CHECK(cudaEventDestroy(begin));
}
