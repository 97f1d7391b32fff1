// expect: fail inclusive,exclusive host_pointer | the host cannot follow a device pointer

#include "scanlab.cuh"

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  d_y[0] = kind == Kind::inclusive ? d_x[0] : identity();
  for (int i = 1; i < n; ++i) d_y[i] = d_y[i - 1] + d_x[i - shift<kind>];
}
