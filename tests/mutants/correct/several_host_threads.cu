// expect: pass 06_hierarchical | a host thread of its own makes all launches, and reports a failure as an exception

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "scanlab.cuh"

static void demand(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

class Memory {
 public:
  explicit Memory(std::size_t count) { demand(cudaMalloc(reinterpret_cast<void**>(&at_), count * sizeof(Element))); }
  ~Memory() { cudaFree(at_); }
  Memory(const Memory&) = delete;
  operator Element*() const { return at_; }

 private:
  Element* at_ = nullptr;
};

template <Kind kind>
static __global__ void scan_section(const Element* in, Element* out, Element* sums, int n) {
  __shared__ Element s[section_size];
  const int t = threadIdx.x, base = blockIdx.x * section_size;
  for (int p = t; p < section_size; p += blockDim.x) {
    s[p] = base + p >= shift<kind> && base + p < n ? in[base + p - shift<kind>] : identity();
  }
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
  for (int p = t; p < section_size; p += blockDim.x) {
    if (base + p < n) out[base + p] = s[p];
  }
  if (t == 0 && sums != nullptr) sums[blockIdx.x] = s[section_size - 1];
}

static __global__ void add_before(Element* out, const Element* sums, int n) {
  const int i = (blockIdx.x + 1) * section_size + threadIdx.x;
  if (i < n) out[i] = sums[blockIdx.x] + out[i];
}

template <Kind kind>
static void scan(const Element* in, Element* out, int n) {
  const int sections = n / section_size + (n % section_size > 0);
  if (sections <= 1) {
    scan_section<kind><<<1, 512>>>(in, out, nullptr, n);
    return demand(cudaPeekAtLastError());
  }
  const Memory sums(sections), before(sections);
  scan_section<kind><<<sections, 512>>>(in, out, sums, n);
  demand(cudaPeekAtLastError());
  scan<Kind::inclusive>(sums, before, sections);
  add_before<<<sections - 1, section_size>>>(out, before, n);
  demand(cudaPeekAtLastError());
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      scan<kind>(d_x, d_y, n);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  worker.join();
  if (failure) std::rethrow_exception(failure);
}
