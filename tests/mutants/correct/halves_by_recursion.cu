// expect: pass 01_sequential | one device thread, which scans the left half, then the right one, by recursion

#include "scanlab.cuh"

// Scans x[0] to x[count - 1] into y, after `sum`; returns the sum of all of it.
__device__ __noinline__ Element scan_range(const Element* x, Element* y, unsigned count, Element sum) {
  if (count == 1) return *y = sum + *x;
  const unsigned left = count / 2;
  const Element middle = scan_range(x, y, left, sum);
  return scan_range(x + left, y + left, count - left, middle);
}

__global__ void inclusive(const Element* x, Element* y, unsigned n) {
  const Element first = x[0];
  y[0] = first;
  if (n > 1) scan_range(x + 1, y + 1, n - 1, first);
}

__global__ void exclusive(const Element* x, Element* y, unsigned n) {
  y[0] = identity();
  if (n == 1) return;
  const Element first = x[0];
  y[1] = first;
  if (n > 2) (void)scan_range(x + 1, y + 2, n - 2, first);
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) inclusive<<<1, 1>>>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) exclusive<<<1, 1>>>(d_x, d_y, n);
}
