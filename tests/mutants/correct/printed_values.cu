// expect: pass 02_kogge_stone | kernels print a few values, as when somebody looks for a mistake

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_xy[section_size];
  s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    Element sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;
    __syncthreads();
    s_xy[t] = sum;
  }
  if (i < 4)
    printf("%s: y[%d] begins with %08x, %-12s|%+8.3f\n", __func__, i, reinterpret_cast<unsigned&>(s_xy[t]), "bits",
           1.5 * i);
  if (i < n) d_y[i] = s_xy[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  kogge_stone_kernel<kind><<<(n + section_size - 1) / section_size, section_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  std::printf("host: n = %d\n", n);
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
