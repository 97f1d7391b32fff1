// expect: pass 04_brent_kung | a class template with its shared storage, as libraries have it; blocks take several
// sections and use the storage again

#include <algorithm>

#include "scanlab.cuh"

namespace block {

template <typename T, int Items>
class TreeScan {
 public:
  struct Storage {
    T places[Items];
    __device__ T& operator[](int place) { return places[place]; }
  };

  __device__ explicit TreeScan(Storage& storage) : storage_(storage), rank_(threadIdx.x) {}

  template <typename Load>
  __device__ TreeScan& fill(Load load) {
    storage_[rank_] = load(rank_);
    storage_[rank_ + Items / 2] = load(rank_ + Items / 2);
    return *this;
  }

  template <typename Plus>
  __device__ TreeScan& scan(Plus plus) {
#pragma unroll
    for (int stride = 1; stride < Items; stride *= 2) {
      __syncthreads();
      const int right = last_of_pair(stride);
      if (right < Items) storage_[right] = plus(storage_[right - stride], storage_[right]);
    }
#pragma unroll
    for (int stride = Items / 4; stride >= 1; stride /= 2) {
      __syncthreads();
      const int left = last_of_pair(stride);
      if (left + stride < Items) storage_[left + stride] = plus(storage_[left], storage_[left + stride]);
    }
    __syncthreads();
    return *this;
  }

  template <typename Store>
  __device__ void for_each(Store store) {
    store(rank_, storage_[rank_]);
    store(rank_ + Items / 2, storage_[rank_ + Items / 2]);
  }

 private:
  __device__ int last_of_pair(int stride) const {
    return (rank_ + 1) * 2 * stride - 1;
  }

  Storage& storage_;
  int rank_;
};

}  // namespace block

template <Kind kind>
__global__ void __launch_bounds__(section_size / 2, 2) tree_kernel(const Element* d_x, Element* d_y, int n) {
  using Scan = block::TreeScan<Element, section_size>;
  __shared__ typename Scan::Storage s_storage;
  for (int first = blockIdx.x * section_size; first < n; first += gridDim.x * section_size) {
    Scan(s_storage)
        .fill([=](int p) { return p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity(); })
        .scan([](Element earlier, Element later) { return earlier + later; })
        .for_each([=](int p, Element sum) {
          if (first + p < n) d_y[first + p] = sum;
        });
    // No barrier: in the next round a thread first fills the two places that only it has read last.
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  const int sections = (n + section_size - 1) / section_size;
  if (sections == 0) return;
  tree_kernel<kind><<<std::min(sections, 3), section_size / 2>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
