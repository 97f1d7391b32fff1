// expect: pass 09_atomic_block_sums | offsets in a class that owns them; a section in two halves, one after the other;
// no shuffles

#include "scanlab.cuh"

class Offsets {
 public:
  explicit Offsets(int count) : count_(count) {
    if (count_ > 1) SCANLAB_CUDA_CHECK(cudaMalloc(&at_, bytes()));
    if (count_ > 1) SCANLAB_CUDA_CHECK(cudaMemsetAsync(at_, 0, bytes()));
  }
  ~Offsets() {
    if (at_ != nullptr) SCANLAB_CUDA_CHECK(cudaFree(at_));
  }
  Offsets(Offsets&&) = delete;

  struct View {
    Element* at;
    __device__ void add_behind(int section, int count, const Element& total) const {
      for (int k = section + 1 + int(threadIdx.x); k < count; k += blockDim.x) atomicAdd(at + k, total);
    }
    __device__ Element operator[](int section) const { return at[section]; }
  };
  View view() const { return {at_}; }

 private:
  std::size_t bytes() const { return count_ * sizeof(Element); }
  int count_;
  Element* at_ = nullptr;
};

template <Kind kind>
__global__ void first_pass(const Element* d_x, Element* d_y, Offsets::View offsets, int n) {
  __shared__ Element s[2][512];
  const int t = threadIdx.x, base = blockIdx.x * section_size;
  const auto load = [=](int p) {
    return base + p >= shift<kind> && base + p < n ? d_x[base + p - shift<kind>] : identity();
  };
  // Two halves of the section, one after the other; the second starts with what the first sums up to.
  Element carried = identity(), half[2];
  for (int h = 0; h < 2; ++h) {
    int from = 0;
    s[0][t] = load(512 * h + t);
    for (int d = 1; d < 512; d *= 2) {
      __syncthreads();
      s[1 - from][t] = t >= d ? s[from][t - d] + s[from][t] : s[from][t];
      from = 1 - from;
    }
    __syncthreads();
    half[h] = h == 0 ? s[from][t] : carried + s[from][t];
    carried = h == 0 ? s[from][511] : carried + s[from][511];
    __syncthreads();
  }
  offsets.add_behind(blockIdx.x, gridDim.x, carried);
  if (base + t < n) d_y[base + t] = half[0];
  if (base + 512 + t < n) d_y[base + 512 + t] = half[1];
}

__global__ void second_pass(Element* d_y, Offsets::View offsets, int n) {
  const int section = gridDim.x - blockIdx.x;
  for (int i = section * section_size + threadIdx.x; i < min(n, (section + 1) * section_size); i += blockDim.x) {
    d_y[i] = offsets[section] + d_y[i];
  }
}

template <Kind kind>
static void launch_scan(const Element* d_x, Element* d_y, int n) {
  const int sections = (n + section_size - 1) / section_size;
  if (sections == 0) return;
  const Offsets offsets(sections);
  first_pass<kind><<<sections, 512>>>(d_x, d_y, offsets.view(), n);
  if (sections > 1) second_pass<<<sections - 1, 1024>>>(d_y, offsets.view(), n);
}
