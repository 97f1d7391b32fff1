// expect: pass 06_hierarchical | three kernels that share a device function; each level is a function of its own type

#include "scanlab.cuh"

constexpr int threads = section_size / 2;

__device__ void scan_in_place(Element (&s)[section_size], int t) {
  for (int d = 1; d < section_size; d *= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * d - 1;
    if (p < section_size) s[p] = s[p - d] + s[p];
  }
  for (int d = section_size / 4; d > 0; d /= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * d - 1;
    if (p + d < section_size) s[p + d] = s[p] + s[p + d];
  }
  __syncthreads();
}

template <class Load, class Store>
__device__ void scan_with(Load load, Store store) {
  __shared__ Element s[section_size];
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  s[t] = load(first + t);
  s[t + threads] = load(first + t + threads);
  scan_in_place(s, t);
  store(first + t, s[t]);
  store(first + t + threads, s[t + threads]);
}

template <int level, Kind kind>
__global__ void scan_level(const Element* in, Element* out, Element* sums, int n) {
  scan_with([=](int i) { return i >= shift<kind> && i < n ? in[i - shift<kind>] : identity(); },
            [=](int i, const Element& element) {
              if (i < n) out[i] = element;
              if (sums != nullptr && i % section_size == section_size - 1) sums[i / section_size] = element;
            });
}

template <int level>
__global__ void add_level(Element* out, const Element* sums, int n) {
  const int i = section_size + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sums[i / section_size - 1] + out[i];
}

template <int level, Kind kind>
void scan(const Element* in, Element* out, int n) {
  const int sections = (n + section_size - 1) / section_size;
  Element* sums = nullptr;
  if (sections > 1) SCANLAB_CUDA_CHECK(cudaMallocAsync(&sums, sections * sizeof(Element), 0));
  scan_level<level, kind><<<sections, threads>>>(in, out, sums, n);
  if constexpr (level < 3) {
    if (sections > 1) {
      scan<level + 1, Kind::inclusive>(sums, sums, sections);
      add_level<level><<<(n - section_size + threads - 1) / threads, threads>>>(out, sums, n);
      SCANLAB_CUDA_CHECK(cudaFreeAsync(sums, 0));
    }
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n != 0) scan<0, kind>(d_x, d_y, n);
}
