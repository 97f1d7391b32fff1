// expect: pass 02_kogge_stone | cudaLaunchKernel with a list of arguments; a static member of a class template is
// called

#include <array>

#include "scanlab.cuh"

template <Kind kind>
struct Section {
  const Element* in;
  Element* out;
  int n;

  static __device__ __noinline__ void step(Element* cell, int distance, bool is_active) {
    __syncthreads();
    Element sum = *cell;
    if (is_active) sum = *(cell - distance) + sum;
    __syncthreads();
    *cell = sum;
  }

  __device__ void scan() const {
    __shared__ Element cells[section_size];
    const int t = threadIdx.x, i = blockIdx.x * section_size + t;
    cells[t] = t >= shift<kind> && i < n ? in[i - shift<kind>] : identity();
    for (int distance = 1; distance != section_size; distance <<= 1) step(cells + t, distance, t >= distance);
    if (i < n) out[i] = cells[t];
  }
};

template <class Task>
__global__ void perform(const Task task) {
  task.scan();
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  Section<kind> section{d_x, d_y, n};
  std::array<void*, 1> arguments{&section};
  const void* const kernel = reinterpret_cast<const void*>(&perform<Section<kind>>);
  SCANLAB_CUDA_CHECK(
      cudaLaunchKernel(kernel, dim3((n - 1) / section_size + 1), dim3(section_size), arguments.data(), 0, nullptr));
}
