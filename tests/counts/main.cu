// Calls one entry of a solution once: whatever is counted in this program is that call's work.
//     main N, compiled with -DSOLUTION="…/scan.cu" and -DENTRY=inclusive_scan, or -DSPLIT for split
#include SOLUTION

#include <cstdlib>
#include <vector>

int main(int, char** arguments) {
  const int n = std::atoi(arguments[1]);
  std::vector<Element> x(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<Element>(i % 7 - 3);
  Element *d_x, *d_y;
  int* d_kept;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_x, n * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_y, n * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_kept, sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMemcpy(d_x, x.data(), n * sizeof(Element), cudaMemcpyHostToDevice));
#ifdef SPLIT
  split(d_x, d_y, d_kept, n);
#else
  ENTRY(d_x, d_y, n);
#endif
  return SCANLAB_CUDA_CHECK(cudaDeviceSynchronize()) == cudaSuccess ? 0 : 1;
}
