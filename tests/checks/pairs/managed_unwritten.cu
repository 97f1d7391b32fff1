// Managed memory that nobody has written: it holds zeros at first, and a kernel reads it. The wrong ones come before
// the right ones that write it.
#include "host_and_device.cuh"

int h_out[4 * page];

// wrong: uninitialised.global | on a GPU such memory holds zeros at first
HOST(flag_never_written) {
  Unwritten flag(1);
  OnDevice out;
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// right
HOST(flag_written_as_zero) {
  Unwritten flag(1);
  OnDevice out;
  *flag = 0;
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// wrong: uninitialised.global
HOST(flag_never_written_beside_another) {
  Unwritten flag(1);
  Managed other;
  OnDevice out;
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// right
HOST(flag_set_by_the_device) {
  Unwritten flag(1);
  OnDevice out;
  cudaMemset(flag, 0, sizeof(int));
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// wrong: uninitialised.global
HOST(managed_counter_never_written) {
  Unwritten count(1);
  add_to<<<1, 4>>>(count);
  cudaDeviceSynchronize();
  sink = *count;
}

// right
HOST(managed_counter_written_as_zero) {
  Unwritten count(1);
  *count = 0;
  add_to<<<1, 4>>>(count);
  cudaDeviceSynchronize();
  sink = *count;
}

// wrong: uninitialised.global
HOST(managed_input_never_written) {
  Unwritten x, y;
  copy_to<<<1, n>>>(y, x);
  cudaDeviceSynchronize();
  sink = y[0];
}

// right
HOST(managed_input_read_from_a_file) {
  Unwritten x, y;
  FILE* file = fopen("/dev/zero", "rb");
  if (fread(x, 1, bytes, file) != bytes) printf("out: a system call fails\n");
  fclose(file);
  copy_to<<<1, n>>>(y, x);
  cudaDeviceSynchronize();
  sink = y[0];
}

// right
HOST(room_for_more_than_there_is) {
  Unwritten x(4 * page), y(4 * page);
  for (int i = 0; i < n; ++i) x[i] = i;
  double_all<<<1, n>>>(x, 4 * page);
  copy_all<<<1, n>>>(y, x, 4 * page);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) sink = y[i];
}

// right
HOST(managed_output_of_a_kernel) {
  Unwritten x, y;
  fill<<<1, n>>>(x, 2);
  copy_to<<<1, n>>>(y, x);
  cudaDeviceSynchronize();
  sink = y[0];
}
