// expect: pass 06_hierarchical | all kernels are captured from a stream into a graph, which is launched once

#include <vector>

#include "scanlab.cuh"

constexpr int threads = 128;

template <Kind kind>
__global__ void sections_of(const Element* in, Element* out, Element* sums, int n) {
  __shared__ Element s[section_size + section_size / 8], s_sums[threads];
  const int t = threadIdx.x, base = blockIdx.x * section_size;
  for (int p = t; p < section_size; p += threads) {
    const int i = base + p;
    s[p + p / 8] = i >= shift<kind> && i < n ? in[i - shift<kind>] : identity();
  }
  __syncthreads();
  Element* run = s + 9 * t;
  for (int k = 1; k < 8; ++k) run[k] = run[k - 1] + run[k];
  Element sum = run[7];
  s_sums[t] = sum;
  __syncthreads();
  for (int d = 1; d < threads; d *= 2) {
    if (t >= d) sum = s_sums[t - d] + sum;
    __syncthreads();
    s_sums[t] = sum;
    __syncthreads();
  }
  if (t > 0) {
    for (int k = 0; k < 8; ++k) run[k] = s_sums[t - 1] + run[k];
  }
  if (sums != nullptr && t == 0) sums[blockIdx.x] = s_sums[threads - 1];
  __syncthreads();
  for (int p = t; p < section_size; p += threads) {
    if (base + p < n) out[base + p] = s[p + p / 8];
  }
}

__global__ void add(Element* out, const Element* sums, int n) {
  const int i = section_size + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sums[i / section_size - 1] + out[i];
}

template <Kind kind>
void enqueue(const Element* in, Element* out, Element* scratch, int n, cudaStream_t stream) {
  const int sections = (n - 1) / section_size + 1;
  sections_of<kind><<<sections, threads, 0, stream>>>(in, out, sections > 1 ? scratch : nullptr, n);
  if (sections == 1) return;
  enqueue<Kind::inclusive>(scratch, scratch, scratch + sections, sections, stream);
  add<<<(n - section_size + 255) / 256, 256, 0, stream>>>(out, scratch, n);
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  Element* scratch;
  SCANLAB_CUDA_CHECK(cudaMalloc(&scratch, (n / 1000 + 2) * sizeof(Element)));
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  SCANLAB_CUDA_CHECK(cudaStreamCreate(&stream));
  SCANLAB_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  enqueue<kind>(d_x, d_y, scratch, n, stream);
  SCANLAB_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  SCANLAB_CUDA_CHECK(cudaGraphInstantiateWithFlags(&ready, graph, 0));
  SCANLAB_CUDA_CHECK(cudaGraphLaunch(ready, stream));
  SCANLAB_CUDA_CHECK(cudaStreamSynchronize(stream));
  SCANLAB_CUDA_CHECK(cudaGraphExecDestroy(ready));
  SCANLAB_CUDA_CHECK(cudaGraphDestroy(graph));
  SCANLAB_CUDA_CHECK(cudaStreamDestroy(stream));
  SCANLAB_CUDA_CHECK(cudaFree(scratch));
}
