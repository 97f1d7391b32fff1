// expect: pass 06_hierarchical | the recursion over levels is a std::function; memory in a vector of unique pointers

#include <functional>
#include <memory>
#include <vector>

#include "scanlab.cuh"

struct Free {
  void operator()(Element* memory) const { cudaFree(memory); }
};

template <int offset>
__global__ void level(const Element* in, Element* out, Element* totals, int n) {
  __shared__ Element s[section_size];
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  Element mine[8], sum;
  for (int p = t; p < section_size; p += 128) {
    s[p] = first + p >= offset && first + p < n ? in[first + p - offset] : identity();
  }
  __syncthreads();
  for (int k = 0; k < 8; ++k) mine[k] = k == 0 ? s[8 * t] : mine[k - 1] + s[8 * t + k];
  __syncthreads();
  sum = mine[7];
  s[t] = sum;
  for (int d = 1; d < 128; d *= 2) {
    __syncthreads();
    if (t >= d) sum = s[t - d] + sum;
    __syncthreads();
    s[t] = sum;
  }
  __syncthreads();
  if (t == 127 && totals) totals[blockIdx.x] = sum;
  const bool is_first = t == 0;
  const Element before = is_first ? identity() : s[t - 1];
  __syncthreads();
  for (int k = 0; k < 8; ++k) s[8 * t + k] = is_first ? mine[k] : before + mine[k];
  __syncthreads();
  for (int p = t; p < section_size; p += 128) {
    if (first + p < n) out[first + p] = s[p];
  }
}

__global__ void spread(Element* out, const Element* totals, int n) {
  const Element before = totals[blockIdx.x];
  for (int p = threadIdx.x; p < section_size; p += blockDim.x) {
    const int i = (blockIdx.x + 1) * section_size + p;
    if (i < n) out[i] = before + out[i];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  std::vector<std::unique_ptr<Element, Free>> memory;
  std::function<void(const Element*, Element*, int, bool)> scan = [&](const Element* in, Element* out, int count,
                                                                      bool is_top) {
    const int sections = (count + section_size - 1) / section_size;
    Element* totals = nullptr;
    if (sections > 1) {
      SCANLAB_CUDA_CHECK(cudaMalloc(&totals, sections * sizeof(Element)));
      memory.emplace_back(totals);
    }
    if (is_top && kind == Kind::exclusive) {
      level<1><<<sections, 128>>>(in, out, totals, count);
    } else {
      level<0><<<sections, 128>>>(in, out, totals, count);
    }
    if (sections == 1) return;
    scan(totals, totals, sections, false);
    spread<<<sections - 1, 256>>>(out, totals, count);
  };
  if (n > 0) scan(d_x, d_y, n, true);
}
