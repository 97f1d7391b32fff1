// expect: fail inclusive,exclusive race.shared | a lane reads its neighbour's sum without a __syncwarp() after it was
// written

#include <memory>
#include <vector>

#include "scanlab.cuh"

struct CudaDelete {
  void operator()(void* memory) const { SCANLAB_CUDA_CHECK(cudaFree(memory)); }
};

using DeviceElements = std::unique_ptr<Element[], CudaDelete>;

static DeviceElements device_elements(std::size_t count) {
  void* memory = nullptr;
  SCANLAB_CUDA_CHECK(cudaMalloc(&memory, count * sizeof(Element)));
  return DeviceElements(static_cast<Element*>(memory));
}

constexpr unsigned side = 32;
static_assert(side * side == section_size, "a section is a square");

template <Kind kind>
__global__ void scan_squares(const Element* in, Element* out, Element* last, unsigned n) {
  __shared__ Element s[side][side + 1];
  __shared__ Element s_before[side];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned i = blockIdx.x * side * side + y * side + x;
  s[y][x] = i >= shift<kind> && i < n ? in[i - shift<kind>] : identity();
  __syncthreads();
  if (y == 0) {
    Element sum = s[x][0];
    for (unsigned k = 1; k < side; ++k) s[x][k] = sum = sum + s[x][k];
    s_before[x] = sum;
    for (unsigned d = 1; d < side; d *= 2) {
      const Element joined = x >= d ? s_before[x - d] + s_before[x] : s_before[x];
      __syncwarp();
      s_before[x] = joined;
    }
  }
  __syncthreads();
  Element result = s[y][x];
  if (y > 0) result = s_before[y - 1] + result;
  if (i < n) out[i] = result;
  if (last != nullptr && x == side - 1 && y == side - 1) last[blockIdx.x] = result;
}

__global__ void add_squares(Element* out, const Element* last, unsigned n) {
  const unsigned i = (blockIdx.x + 1) * side * side + threadIdx.y * side + threadIdx.x;
  if (i < n) out[i] = last[blockIdx.x] + out[i];
}

class Plan {
 public:
  explicit Plan(unsigned n) {
    for (size_.push_back(n); size_.back() > section_size; size_.push_back((size_.back() - 1) / section_size + 1)) {
    }
    for (std::size_t level = 1; level < size_.size(); ++level) memory_.push_back(device_elements(size_[level]));
  }

  template <Kind kind>
  void run(const Element* in, Element* out) const {
    up<kind>(in, out, 0);
    for (std::size_t level = 1; level < size_.size(); ++level) up<Kind::inclusive>(of(level), of(level), level);
    for (std::size_t level = size_.size() - 1; level-- > 0;) {
      add_squares<<<(size_[level] - 1) / section_size, block>>>(level == 0 ? out : of(level), of(level + 1),
                                                                size_[level]);
    }
    SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  }

 private:
  static constexpr dim3 block{side, side};

  template <Kind kind>
  void up(const Element* in, Element* out, std::size_t level) const {
    const bool is_top = level + 1 == size_.size();
    scan_squares<kind>
        <<<(size_[level] - 1) / section_size + 1, block>>>(in, out, is_top ? nullptr : of(level + 1), size_[level]);
  }
  Element* of(std::size_t level) const { return memory_[level - 1].get(); }

  std::vector<unsigned> size_;
  std::vector<DeviceElements> memory_;
};

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) Plan(n).run<Kind::inclusive>(d_x, d_y);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) Plan(n).run<Kind::exclusive>(d_x, d_y);
}
