// expect: pass 08_warp_shuffle | a thread's four neighbours in one load, no rows; the exclusive scan is made in
// registers

#include "scanlab.cuh"

constexpr unsigned full_mask = ~0u;
constexpr int in_a_row = 4;
constexpr int block_size = section_size / in_a_row;
constexpr int warps = block_size / 32;

struct alignas(in_a_row * sizeof(Element) > 16 ? 16 : in_a_row * sizeof(Element)) Vector {
  Element part[in_a_row];
};

#ifdef SCANLAB_ELEMENT_AFFINE
__device__ Element from_below(Element e, int distance) {
  return {__shfl_up_sync(full_mask, e.a, distance), __shfl_up_sync(full_mask, e.b, distance)};
}
#else
__device__ Element from_below(Element e, int distance) {
  return __shfl_up_sync(full_mask, e, distance);
}
#endif

__device__ Element scan_lanes(Element sum) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const Element earlier = from_below(sum, distance);
    sum = threadIdx.x % 32 < distance ? sum : earlier + sum;
  }
  return sum;
}

struct Message {
  Element prefix;
  int is_there;
};

template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Message* d_messages, int* d_taken, int n) {
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  __shared__ int s_section;
  __shared__ Element s_before, s_sums[warps];
  if (t == 0) s_section = atomicAdd(d_taken, 1);
  __syncthreads();
  const int section = s_section;
  const int i = section * section_size + t * in_a_row;

  Vector x;
  if (i + in_a_row <= n) {
    x = *reinterpret_cast<const Vector*>(d_x + i);
  } else {
    for (int k = 0; k < in_a_row; ++k) x.part[k] = i + k < n ? d_x[i + k] : identity();
  }
  Element sum = x.part[0];
  for (int k = 1; k < in_a_row; ++k) sum = sum + x.part[k];
  const Element through = scan_lanes(sum);
  Element before = from_below(through, 1);
  if (lane == 0) before = identity();
  if (lane == 31) s_sums[warp] = through;
  __syncthreads();

  if (warp == warps - 1) {
    const Element all = scan_lanes(lane < warps ? s_sums[lane] : identity());
    if (lane < warps) s_sums[lane] = all;
    if (lane == warps - 1) {
      Element earlier = identity();
      if (section > 0) {
        Message* const d_last = d_messages + section - 1;
        while (atomicCAS(&d_last->is_there, 2, 2) == 0) continue;
        __threadfence();
        earlier = d_last->prefix;
      }
      d_messages[section].prefix = earlier + all;
      __threadfence();
      atomicAdd(&d_messages[section].is_there, 1);
      s_before = earlier;
    }
  }
  __syncthreads();

  if (warp > 0) before = s_sums[warp - 1] + before;
  Element running = s_before + before;
  for (int k = 0; k < in_a_row; ++k) {
    const Element later = running + x.part[k];
    x.part[k] = kind == Kind::inclusive ? later : running;
    running = later;
  }
  if (i + in_a_row <= n) {
    *reinterpret_cast<Vector*>(d_y + i) = x;
  } else {
    for (int k = 0; k < in_a_row; ++k) {
      if (i + k < n) d_y[i + k] = x.part[k];
    }
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n + section_size - 1) / section_size;
  const std::size_t bytes = sections * sizeof(Message) + sizeof(int);
  Message* d_messages;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_messages, bytes));
  SCANLAB_CUDA_CHECK(cudaMemset(d_messages, 0, bytes));
  int* const d_taken = reinterpret_cast<int*>(d_messages + sections);
  section_kernel<kind><<<sections, block_size>>>(d_x, d_y, d_messages, d_taken, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_messages));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
