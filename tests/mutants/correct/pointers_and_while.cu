// expect: pass 01_sequential | no template: one kernel, whose first element the host chooses

#include "scanlab.cuh"

__device__ void append(Element& sum, const Element& later) {
  sum = sum + later;
}

// Writes n results: sum, then sum + *from and so on.
__global__ void running_sum(Element* to, const Element* from, int n, bool from_identity) {
  Element sum = from_identity ? identity() : *from++;
  *to++ = sum;
  while (--n > 0) {
    append(sum, *from++);
    *to++ = sum;
  }
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) running_sum<<<dim3(1), dim3(1)>>>(d_y, d_x, n, false);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) running_sum<<<dim3(1), dim3(1)>>>(d_y, d_x, n, true);
}
