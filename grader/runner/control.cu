// The kit's own program, compiled and run as a submission is: where this one does not compile, or ends before it
// answers, the machine is at fault and no submission. It takes a compiler as much time and memory as any lab does.

#include <cuda/atomic>

#include "scanlab.cuh"

__global__ void control_kernel(const Element* d_x, Element* d_y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d_y[i] = identity() + d_x[i];
}

// Never launched: what <cuda/atomic> has is compiled for the device only where it is used.
__global__ void counting_kernel(unsigned* d_count) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(*d_count);
  count.fetch_add(1, cuda::memory_order_acq_rel);
}

// The judge calls it as it calls a submission's, and does not ask whether the results are a scan.
void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) control_kernel<<<(n + 255) / 256, 256>>>(d_x, d_y, n);
}
