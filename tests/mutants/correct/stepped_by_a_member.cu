// expect: pass 07_domino | the chain is one array of structs with alignment; the flag is taken back by the one thread
// that waits

#include "scanlab.cuh"

class alignas(16) Node {
 public:
  __device__ Element take() {
    while (atomicExch(&state_, 0) == 0) {  // one reader, which takes it
    }
    __threadfence();
    return value_;
  }
  __device__ void give(const Element& value) {
    value_ = value;
    __threadfence();
    atomicExch(&state_, 1);
  }

 private:
  Element value_;
  int state_;
};

template <Kind kind>
__global__ void chained(const Element* d_x, Element* d_y, Node* d_nodes, int* d_next, int n) {
  __shared__ Element s[section_size + section_size / 32], s_sums[128], s_left;
  __shared__ int s_section;
  const int t = threadIdx.x;
  if (t == 96) s_section = atomicAdd(d_next, 1);
  const auto cell = [&](int p) -> Element& { return s[p + p / 32]; };
  __syncthreads();
  const int first = section_size * s_section;
  for (int p = t; p < section_size; p += 128) {
    const int i = first + p;
    cell(p) = i < n && i - shift<kind> >= 0 ? d_x[i - shift<kind>] : identity();
  }
  __syncthreads();
  Element total = cell(8 * t);
  for (int p = 8 * t + 1; p < 8 * t + 8; ++p) cell(p) = total = total + cell(p);
  s_sums[t] = total;
  for (int d = 1; d < 128; d *= 2) {
    __syncthreads();
    if (t >= d) total = s_sums[t - d] + total;
    __syncthreads();
    s_sums[t] = total;
  }
  __syncthreads();
  if (t == 96) {
    if (s_section == 0) {
      s_left = identity();
    } else {
      s_left = d_nodes[s_section - 1].take();
    }
    d_nodes[s_section].give(s_left + s_sums[127]);
  }
  __syncthreads();
  const Element left = t > 0 ? s_left + s_sums[t - 1] : s_left;
  for (int p = 8 * t; p < 8 * t + 8; ++p) cell(p) = left + cell(p);
  __syncthreads();
  for (int p = t; p < section_size && first + p < n; p += 128) d_y[first + p] = cell(p);
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n <= 0) return;
  const unsigned sections = (n - 1u) / section_size + 1u;
  unsigned char* memory;
  SCANLAB_CUDA_CHECK(cudaMalloc(&memory, (sections + 1) * sizeof(Node)));
  SCANLAB_CUDA_CHECK(cudaMemset(memory, 0, (sections + 1) * sizeof(Node)));
  auto* const nodes = reinterpret_cast<Node*>(memory);
  chained<kind><<<sections, 128>>>(d_x, d_y, nodes, reinterpret_cast<int*>(nodes + sections), n);
  SCANLAB_CUDA_CHECK(cudaFree(memory));
}
