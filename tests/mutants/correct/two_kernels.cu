// expect: pass 02_kogge_stone | no template: a kernel a kind, sizes at run time, a temporary that is not always set

#include "scanlab.cuh"

__device__ void kogge_stone_steps(Element* s_xy) {
  for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    Element temp;
    if (threadIdx.x >= stride) {
      temp = s_xy[threadIdx.x - stride] + s_xy[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x >= stride) {
      s_xy[threadIdx.x] = temp;
    }
  }
}

__global__ void inclusive_kernel(const Element* d_x, Element* d_y, unsigned int n) {
  __shared__ Element s_xy[section_size];
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    s_xy[threadIdx.x] = d_x[i];
  } else {
    s_xy[threadIdx.x] = identity();
  }
  kogge_stone_steps(s_xy);
  if (i < n) {
    d_y[i] = s_xy[threadIdx.x];
  }
}

__global__ void exclusive_kernel(const Element* d_x, Element* d_y, unsigned int n) {
  __shared__ Element s_xy[section_size];
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && threadIdx.x != 0) {
    s_xy[threadIdx.x] = d_x[i - 1];
  } else {
    s_xy[threadIdx.x] = identity();
  }
  kogge_stone_steps(s_xy);
  if (i < n) {
    d_y[i] = s_xy[threadIdx.x];
  }
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) inclusive_kernel<<<(n + section_size - 1) / section_size, section_size>>>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) exclusive_kernel<<<(n + section_size - 1) / section_size, section_size>>>(d_x, d_y, n);
}
