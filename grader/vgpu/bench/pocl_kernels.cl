// Kernels of kernels.cu in OpenCL C, as `pocl-bench` runs them on the processor: same names, parameters and steps.

kernel void kogge_stone(global const float* d_x, global float* d_y, int n) {
  local float s_xy[1024];
  const uint t = get_local_id(0);
  const int i = get_global_id(0);
  s_xy[t] = i < n ? d_x[i] : 0.0f;
  for (uint stride = 1; stride < get_local_size(0); stride *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    if (t >= stride) sum = s_xy[t] + s_xy[t - stride];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t >= stride) s_xy[t] = sum;
  }
  if (i < n) d_y[i] = s_xy[t];
}

kernel void brent_kung(global const float* d_x, global float* d_y, uint n) {
  local float s_xy[2048];
  const uint t = get_local_id(0), threads = get_local_size(0);
  const uint section = 2 * threads;
  const uint i = get_group_id(0) * section + t;
  s_xy[t] = i < n ? d_x[i] : 0.0f;
  s_xy[t + threads] = i + threads < n ? d_x[i + threads] : 0.0f;
  for (uint stride = 1; stride <= threads; stride *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint index = (t + 1) * 2 * stride - 1;
    if (index < section) s_xy[index] += s_xy[index - stride];
  }
  for (uint stride = section / 4; stride > 0; stride /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint index = (t + 1) * 2 * stride - 1;
    if (index + stride < section) s_xy[index + stride] += s_xy[index];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) d_y[i] = s_xy[t];
  if (i + threads < n) d_y[i + threads] = s_xy[t + threads];
}

kernel void vector_add(global const float* d_x, global const float* d_z, global float* d_y, int n) {
  const int i = get_global_id(0);
  if (i < n) d_y[i] = d_x[i] + d_z[i];
}

kernel void reduction(global const float* d_x, global float* d_y, int n) {
  local float s_sum[256];
  const uint t = get_local_id(0);
  const int i = get_global_id(0);
  s_sum[t] = i < n ? d_x[i] : 0.0f;
  for (uint stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < stride) s_sum[t] += s_sum[t + stride];
  }
  if (t == 0) d_y[get_group_id(0)] = s_sum[0];
}

kernel void matrix_product(global const float* d_a, global const float* d_b, global float* d_c, int side) {
  local float s_a[16][16], s_b[16][16];
  const uint x = get_local_id(0), y = get_local_id(1);
  const int row = get_global_id(1), column = get_global_id(0);
  float sum = 0.0f;
  for (int tile = 0; tile < side; tile += 16) {
    s_a[y][x] = d_a[row * side + tile + x];
    s_b[y][x] = d_b[(tile + y) * side + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) sum += s_a[y][k] * s_b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  d_c[row * side + column] = sum;
}
