// expect: fail inclusive host.scan | right, but the device does nothing
// expect on gpu: pass 01_sequential | a core of the processor is faster than one thread of a GPU

#include <vector>

#include "scanlab.cuh"

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  std::vector<Element> h_x(n), h_y(n);
  SCANLAB_CUDA_CHECK(cudaMemcpy(h_x.data(), d_x, n * sizeof(Element), cudaMemcpyDeviceToHost));
  h_y[0] = kind == Kind::inclusive ? h_x[0] : identity();
  for (int i = 1; i < n; ++i) h_y[i] = h_y[i - 1] + h_x[i - shift<kind>];
  SCANLAB_CUDA_CHECK(cudaMemcpy(d_y, h_y.data(), n * sizeof(Element), cudaMemcpyHostToDevice));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
