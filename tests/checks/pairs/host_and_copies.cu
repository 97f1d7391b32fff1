// The host beside copies: pinned, registered and managed memory. The wrong ones come
// before the right ones that differ from them by what the host waits for, or by what it touches.

#include <cstdlib>
#include <string>
#include <vector>

#include "host_and_device.cuh"

// ---- pinned memory and copies ---------------------------------------------------------------------------------------

// wrong: race.host | cudaMemcpyAsync and the host
HOST(copy_to_pinned_at_once) {
  Pinned h;
  OnDevice x;
  InStream s;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);  // here
  sink = h[0];                                              // here
  cudaDeviceSynchronize();
}

// right
HOST(copy_to_pinned_waited_for) {
  Pinned h;
  OnDevice x;
  InStream s;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  sink = h[0];
}

// wrong: race.host | RACE (write-after-read)
HOST(copy_from_pinned_changed) {
  Pinned h;
  OnDevice x;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);  // here
  h[0] = 5;                                              // here
  cudaDeviceSynchronize();
}

// right
HOST(copy_from_pinned_read) {
  Pinned h;
  OnDevice x;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  for (int i = 0; i < n; ++i) sink = h[i];
  cudaDeviceSynchronize();
  h[0] = 5;
}

// wrong: race.host
HOST(copy_to_pinned_event_too_early) {
  Pinned h;
  OnDevice x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaEventSynchronize(done);
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(copy_to_pinned_event_behind) {
  Pinned h;
  OnDevice x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(done, s);
  cudaEventSynchronize(done);
  sink = h[0];
}

// wrong: race.host
HOST(parts_by_streams_wrong_one_read) {
  Pinned h(2 * n);
  OnDevice x, y;
  InStream s, t;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(h + n, y, bytes, cudaMemcpyDeviceToHost, t);
  cudaStreamSynchronize(s);
  sink = h[n];  // here
  cudaDeviceSynchronize();
}

// right
HOST(parts_by_streams) {
  Pinned h(2 * n);
  OnDevice x, y;
  InStream s, t;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(h + n, y, bytes, cudaMemcpyDeviceToHost, t);
  cudaStreamSynchronize(s);
  for (int i = 0; i < n; ++i) sink = h[i];
  cudaStreamSynchronize(t);
  for (int i = 0; i < n; ++i) sink = h[n + i];
}

// wrong: race.host
HOST(buffer_filled_again_too_early) {
  Pinned h;
  OnDevice x;
  InStream s;
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < n; ++i) h[i] = k;                     // here
    cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice, s);  // here
  }
  cudaDeviceSynchronize();
}

// right
HOST(two_buffers_in_turn) {
  Pinned h(2 * n);
  OnDevice x;
  InStream s;
  Event free[2];
  for (int k = 0; k < 6; ++k) {
    int* half = h + (k % 2) * n;
    if (k >= 2) cudaEventSynchronize(free[k % 2]);
    for (int i = 0; i < n; ++i) half[i] = k;
    cudaMemcpyAsync(x, half, bytes, cudaMemcpyHostToDevice, s);
    cudaEventRecord(free[k % 2], s);
  }
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(one_buffer_of_two_pages) {
  Pinned h(2 * page);
  OnDevice x;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  h[page] = 1;
  h[n - 1] = 1;  // here
  cudaDeviceSynchronize();
}

// right
HOST(synchronous_copies_of_pinned) {
  Pinned h;
  OnDevice x;
  cudaMemcpy(x, h, bytes, cudaMemcpyHostToDevice);
  h[0] = 2;
  fill<<<1, n>>>(x, 2);
  cudaMemcpy(h, x, bytes, cudaMemcpyDeviceToHost);
  sink = h[0];
}

// wrong: race.host | cudaMemsetAsync and the host
HOST(managed_set_asynchronously) {
  Managed x;
  cudaMemsetAsync(x, 0, bytes);  // here
  sink = x[0];                   // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_set) {
  Managed x;
  cudaMemset(x, 0, bytes);
  sink = x[0];
}

// wrong: race.host
HOST(managed_copied_asynchronously) {
  Managed x, y;
  cudaMemcpyAsync(y, x, bytes, cudaMemcpyDefault);
  sink = y[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(pageable_copied_asynchronously) {
  static int h[n];
  OnDevice x;
  InStream s;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice, s);
  h[0] = 1;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  sink = h[0];
  cudaDeviceSynchronize();
}

// right
HOST(managed_copied) {
  static int h[n];
  Managed x;
  cudaMemcpy(x, h, bytes, cudaMemcpyHostToDevice);
  sink = x[0];
  x[1] = 2;
  cudaMemcpy(x, h, bytes, cudaMemcpyDefault);
  for (int i = 0; i < n; ++i) x[i] = i;
}

// wrong: race.host
HOST(symbol_copied_to_pinned) {
  Pinned h;
  cudaMemcpyFromSymbolAsync(h, d_table, bytes, 0, cudaMemcpyDeviceToHost, nullptr);
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(symbol_copied_and_waited_for) {
  Pinned h;
  cudaMemcpyFromSymbolAsync(h, d_table, bytes, 0, cudaMemcpyDeviceToHost, nullptr);
  cudaDeviceSynchronize();
  sink = h[0];
}

// wrong: race.host
HOST(rows_copied_to_pinned) {
  Pinned h;
  OnDevice x;
  cudaMemcpy2DAsync(h, 64, x, 64, 32, 16, cudaMemcpyDeviceToHost, nullptr);
  sink = h[16];  // here
  cudaDeviceSynchronize();
}

// right
HOST(between_rows_that_are_copied) {
  Pinned h;
  OnDevice x;
  cudaMemcpy2DAsync(h, 64, x, 64, 32, 16, cudaMemcpyDeviceToHost, nullptr);
  sink = h[12];
  cudaDeviceSynchronize();
  sink = h[16];
}

// wrong: race.host
HOST(registered_read_at_once) {
  int* h = static_cast<int*>(aligned_alloc(4096, 4 * page * sizeof(int)));
  OnDevice x;
  cudaHostRegister(h, 4 * page * sizeof(int), cudaHostRegisterDefault);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  sink = h[0];  // here
  cudaDeviceSynchronize();
  cudaHostUnregister(h), free(h);
}

// right
HOST(registered_waited_for) {
  int* h = static_cast<int*>(aligned_alloc(4096, 4 * page * sizeof(int)));
  OnDevice x;
  cudaHostRegister(h, 4 * page * sizeof(int), cudaHostRegisterDefault);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  h[2 * page] = 1;
  cudaDeviceSynchronize();
  sink = h[0];
  cudaHostUnregister(h);
  sink = h[0];
  free(h);
}

// wrong: race.host
HOST(pinned_by_two_copies) {
  Pinned h;
  OnDevice x, y;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  cudaMemcpyAsync(h, y, bytes, cudaMemcpyDeviceToHost);
  std::string text = std::to_string(h[1]);  // here
  cudaDeviceSynchronize();
}

// right
HOST(pinned_written_to_a_file) {
  Pinned h;
  OnDevice x;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  cudaDeviceSynchronize();
  FILE* file = tmpfile();
  const bool is_whole = fwrite(h, 1, bytes, file) == bytes && fflush(file) == 0;
  rewind(file);
  if (!is_whole || fread(h, 1, bytes, file) != bytes) printf("out: a system call fails\n");
  fclose(file);
}

// ---- copies on the device -------------------------------------------------------------------------------------------

// wrong: race.host | cudaMemcpy between two places of the device may return before it is done
HOST(managed_copied_on_the_device) {
  Managed x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyDeviceToDevice);  // here
  sink = y[0];                                        // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_copied_on_the_device_and_waited_for) {
  Managed x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyDeviceToDevice);
  sink = x[0];
  cudaDeviceSynchronize();
  sink = y[0];
}

// wrong: race.host | RACE (write-after-read)
HOST(managed_source_changed) {
  Managed x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyDefault);  // here
  x[n - 1] = 3;                                // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_source_changed_later) {
  Managed x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyDefault);
  cudaStreamSynchronize(nullptr);
  x[n - 1] = 3;
}

// wrong: race.host
HOST(managed_filled_from_the_device) {
  Managed x;
  OnDevice y;
  cudaMemcpy(x, y, bytes, cudaMemcpyDeviceToDevice);  // here
  x[1] = 2;                                           // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_as_memory_of_the_host) {
  Managed x, z;
  OnDevice y;
  cudaMemcpy(x, y, bytes, cudaMemcpyDeviceToHost);
  x[1] = 2;
  cudaMemcpy(y, x, bytes, cudaMemcpyHostToDevice);
  x[1] = 3;
  cudaMemcpy(z, x, bytes, cudaMemcpyHostToHost);
  z[1] = x[1] = 4;
}

// wrong: race.host
HOST(managed_rows_copied_on_the_device) {
  Managed x, y;
  cudaMemcpy2D(y, 64, x, 64, 32, 16, cudaMemcpyDeviceToDevice);  // here
  sink = y[16];                                                  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_between_rows_copied_on_the_device) {
  Managed x, y;
  cudaMemcpy2D(y, 64, x, 64, 32, 16, cudaMemcpyDeviceToDevice);
  sink = y[12];
  cudaDeviceSynchronize();
  sink = y[16];
  cudaMemset(y, 0, bytes);
  sink = y[16];
}

// ---- registered memory that shares its pages ------------------------------------------------------------------------

// wrong: race.host | registered host memory
HOST(registered_part_of_a_page) {
  int* h = static_cast<int*>(malloc(bytes));
  OnDevice x;
  cudaHostRegister(h, bytes, cudaHostRegisterDefault);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);  // here
  sink = h[0];                                           // here
  cudaDeviceSynchronize();
  cudaHostUnregister(h), free(h);
}

// right
HOST(registered_part_of_a_page_waited_for) {
  int* h = static_cast<int*>(malloc(bytes));
  int* other = static_cast<int*>(malloc(bytes));
  OnDevice x;
  cudaHostRegister(h, bytes, cudaHostRegisterDefault);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  other[0] = 1;
  cudaDeviceSynchronize();
  sink = h[0] + other[0];
  cudaHostUnregister(h), free(h), free(other);
}

// wrong: race.host
HOST(registered_last_page) {
  std::vector<int> h(4 * page + 100, 1);
  OnDevice x;
  cudaHostRegister(h.data(), h.size() * sizeof(int), cudaHostRegisterDefault);
  cudaMemcpyAsync(x, &h[4 * page], 100 * sizeof(int), cudaMemcpyHostToDevice);  // here
  h.back() = 2;                                                                 // here
  cudaDeviceSynchronize();
  cudaHostUnregister(h.data());
}

// right
HOST(registered_last_page_beside_the_first) {
  std::vector<int> h(4 * page + 100, 1);
  OnDevice x;
  cudaHostRegister(h.data(), h.size() * sizeof(int), cudaHostRegisterDefault);
  cudaMemcpyAsync(x, &h[4 * page], 100 * sizeof(int), cudaMemcpyHostToDevice);
  h.front() = 2;
  sink = h.back();
  cudaDeviceSynchronize();
  h.back() = 2;
  cudaHostUnregister(h.data());
}

// wrong: race.host
HOST(registered_first_page_of_a_kernel) {
  int* h = new int[2 * page];
  int* d;
  cudaHostRegister(h, 2 * page * sizeof(int), cudaHostRegisterMapped);
  cudaHostGetDevicePointer(&d, h, 0);
  fill<<<1, n>>>(d, 2);
  sink = h[n];  // of no thread
  sink = h[1];  // here
  cudaDeviceSynchronize();
  cudaHostUnregister(h);
  delete[] h;
}

// right
HOST(registered_first_page_of_a_kernel_waited_for) {
  int* h = new int[2 * page];
  int* d;
  cudaHostRegister(h, 2 * page * sizeof(int), cudaHostRegisterMapped);
  cudaHostGetDevicePointer(&d, h, 0);
  h[1] = 3;
  fill<<<1, n>>>(d, 2);
  for (int i = n; i < 2 * page; ++i) h[i] = i;
  cudaDeviceSynchronize();
  sink = h[1];
  cudaHostUnregister(h);
  delete[] h;
}

// ---- the kind of a copy ---------------------------------------------------------------------------------------------

// advice: copy.kind | write cudaMemcpyDeviceToDevice
HOST(to_device_between_two_of_the_device) {
  OnDevice x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyHostToDevice);  // here
}

// advice: copy.kind
HOST(to_host_between_two_of_the_device) {
  OnDevice x, y;
  for (int k = 0; k < 3; ++k) cudaMemcpy(y + k, x, 4, cudaMemcpyDeviceToHost);  // here
}

// right
HOST(on_device_between_two_of_the_device) {
  OnDevice x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyDeviceToDevice);
  cudaMemcpy(y, x, bytes, cudaMemcpyDefault);
}

// right
HOST(to_device_from_managed) {
  OnDevice x;
  Managed y;
  cudaMemcpy(x, y, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(y, x, bytes, cudaMemcpyDeviceToHost);
}

// wrong: race.host | the host writes it
HOST(written_after_many_accesses_to_its_neighbours) {
  OnDevice x, y;
  Pinned h(600);
  InStream s, t;
  volatile char* const h_bytes = reinterpret_cast<char*>(h.p);
  cudaMemcpyAsync(x, h.p + 300, bytes, cudaMemcpyHostToDevice, s);  // here
  for (int i = 0; i < 1100; ++i) h_bytes[i] = 1;
  cudaMemcpyAsync(y, h, bytes, cudaMemcpyHostToDevice, t);
  h_bytes[1205] = 1;  // here
  cudaDeviceSynchronize();
}

// right
HOST(many_accesses_to_its_neighbours) {
  OnDevice x, y;
  Pinned h(600);
  InStream s, t;
  volatile char* const h_bytes = reinterpret_cast<char*>(h.p);
  cudaMemcpyAsync(x, h.p + 300, bytes, cudaMemcpyHostToDevice, s);
  for (int i = 0; i < 1100; ++i) h_bytes[i] = 1;
  cudaMemcpyAsync(y, h, bytes, cudaMemcpyHostToDevice, t);
  cudaDeviceSynchronize();
  h_bytes[1205] = 1;
}
