// expect: pass 01_sequential | a switch that jumps into the middle of an unrolled loop, and a goto

#include "scanlab.cuh"

#define NEXT                \
  sum = sum + d_x[i - off]; \
  d_y[i++] = sum;

extern "C" __global__ void duff(const Element* d_x, Element* d_y, int n, int off) {
  Element sum = off ? identity() : d_x[0];
  d_y[0] = sum;
  int i = 1;
  if (off) goto second;
again:
  if (i >= n) return;
  switch ((n - i) % 4) {
    case 0:
      NEXT;
      [[fallthrough]];
    case 3:
      NEXT;
      [[fallthrough]];
    case 2:
      NEXT;
      [[fallthrough]];
    case 1:
      NEXT;
  }
  goto again;
second:
  if (n > 1) d_y[i++] = sum = d_x[0];
  goto again;
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n) duff<<<1, 1>>>(d_x, d_y, n, kind == Kind::exclusive ? 1 : 0);
}
