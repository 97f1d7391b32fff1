// The host and kernels at the same time: managed and mapped memory. The wrong ones come before the right ones that
// differ from them by what the host waits for, or by what it touches.

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "host_and_device.cuh"

int h_out[4 * page];

// ---- managed memory -------------------------------------------------------------------------------------------------

// wrong: race.host | call cudaDeviceSynchronize() between the two
HOST(managed_read_at_once) {
  Managed x;
  fill<<<1, n>>>(x, 2);  // here
  sink = x[n - 1];       // here
}

// right
HOST(managed_read_after_device) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  sink = x[n - 1];
}

// wrong: race.host | RACE (write-after-write)
HOST(managed_written_at_once) {
  Managed x;
  fill<<<1, n>>>(x, 2);  // here
  x[5] = 3;              // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_written_before) {
  Managed x;
  x[5] = 3;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
}

// wrong: race.host | RACE (write-after-read)
HOST(managed_input_changed) {
  Managed x, y;
  copy_to<<<1, n>>>(y, x);  // here
  x[0] = 9;                 // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_input_read) {
  Managed x, y;
  copy_to<<<1, n>>>(y, x);
  sink = x[0];
  cudaDeviceSynchronize();
}

// wrong: race.host | element 255 of cudaMallocManaged
HOST(managed_element_that_is_written) {
  Managed x(2 * n);
  fill<<<1, n>>>(x, 2);
  sink = x[n];      // of no thread
  sink = x[n - 1];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_other_half) {
  Managed x(2 * n);
  fill<<<1, n>>>(x, 2);
  for (int i = n; i < 2 * n; ++i) x[i] = sink = x[i] + 1;
  cudaDeviceSynchronize();
}

// wrong: race.host | kernel add_to and the host
HOST(managed_counter_at_once) {
  Managed count(1);
  add_to<<<1, n>>>(count);
  sink = count[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_counter_after_event) {
  Managed count(1);
  Event done;
  add_to<<<1, n>>>(count);
  cudaEventRecord(done);
  cudaEventSynchronize(done);
  sink = count[0];
}

// wrong: race.host
HOST(managed_error_asked_only) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  if (cudaGetLastError() != cudaSuccess) return;
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_error_and_wait) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return;
  sink = x[0];
}

// wrong: race.host
HOST(managed_prefetched_to_the_host) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaMemPrefetchAsync(x, bytes, cudaMemLocation{cudaMemLocationTypeHost, 0}, 0, nullptr);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_prefetched_and_waited_for) {
  Managed x;
  cudaMemPrefetchAsync(x, bytes, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr);
  fill<<<1, n>>>(x, 2);
  cudaMemPrefetchAsync(x, bytes, cudaMemLocation{cudaMemLocationTypeHost, 0}, 0, nullptr);
  cudaDeviceSynchronize();
  sink = x[0];
}

// wrong: race.host
HOST(managed_second_launch) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  sink = x[0];
  fill<<<1, n>>>(x, 3);  // here
  sink = x[0];           // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_in_turn) {
  Managed x;
  for (int k = 0; k < 20; ++k) {
    fill<<<1, n>>>(x, k);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; ++i) x[i] += x[(i + 1) % n];
  }
}

// wrong: race.host
HOST(managed_read_by_the_library) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  sink = std::accumulate(x.p, x.p + n, 0);  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_read_by_the_library_later) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  sink = std::accumulate(x.p, x.p + n, 0);
}

// wrong: race.host | call cudaDeviceSynchronize() between the two
HOST(managed_struct_copied) {
  Managed x;
  fill_odd<<<1, n / 2>>>(x);                       // here
  const Two copy = reinterpret_cast<Two*>(+x)[3];  // here
  sink = copy.first;
}

// right
HOST(managed_field_read) {
  Managed x;
  fill_odd<<<1, n / 2>>>(x);
  sink = reinterpret_cast<Two*>(+x)[3].first;
}

// wrong: race.host | call cudaDeviceSynchronize() between the two
HOST(managed_tail_copied) {
  Managed x;
  int copy[16];
  fill<<<1, 1>>>(x + 13, 2);       // here
  std::copy(x + 8, x + 14, copy);  // here
  sink = copy[0];
}

// right
HOST(managed_head_copied) {
  Managed x;
  int copy[16];
  fill<<<1, 1>>>(x + 13, 2);
  std::copy(x + 8, x + 13, copy);
  sink = copy[0];
}

// wrong: race.host | RACE (write-after-write)
HOST(managed_set_by_memset) {
  Managed x;
  fill<<<1, 1>>>(x + 13, 2);  // here
  memset(x + 8, 0, 24);       // here
}

// right
HOST(managed_set_before_it) {
  Managed x;
  fill<<<1, 1>>>(x + 13, 2);
  memset(x + 8, 0, 20);
}

// right
HOST(managed_string_before_it) {
  Managed x;
  memcpy(x, "abcdefg", 8);
  fill<<<1, 1>>>(x + 2, 2);
  sink = static_cast<int>(strlen(reinterpret_cast<char*>(+x)));
}

// wrong: race.host
HOST(managed_copied_by_memcpy) {
  Managed x(4 * page);
  static int copy[4 * page];
  fill<<<1, n>>>(x, 2);
  memcpy(copy, x, sizeof copy);  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_filled_by_memset) {
  Managed x(4 * page), y(4 * page);
  fill<<<1, n>>>(x, 2);
  memset(y, 0, 4 * page * sizeof(int));
  cudaDeviceSynchronize();
  memset(x, 0, 4 * page * sizeof(int));
}

// wrong: race.host
HOST(managed_printed) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  printf("out: %d\n", x[0] > 0);  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_printed_after_copy) {
  Managed x;
  OnDevice y;
  int h;
  fill<<<1, n>>>(x, 2);
  cudaMemcpy(&h, y, sizeof h, cudaMemcpyDeviceToHost);
  sink = x[0];
}

// wrong: race.host
HOST(list_read_at_once) {
  Node* first = nullptr;
  for (int k = 0; k < 3; ++k) {
    Node* node;
    cudaMallocManaged(&node, sizeof *node);
    *node = {k, first};
    first = node;
  }
  walk<<<1, 1>>>(first);
  sink = first->next->next->value;  // here
  cudaDeviceSynchronize();
  for (Node *node = first, *next; node != nullptr; node = next) next = node->next, cudaFree(node);
}

// right
HOST(list_read_later) {
  Node* first = nullptr;
  for (int k = 0; k < 3; ++k) {
    Node* node;
    cudaMallocManaged(&node, sizeof *node);
    *node = {k, first};
    first = node;
  }
  walk<<<1, 1>>>(first);
  cudaDeviceSynchronize();
  for (Node *node = first, *next; node != nullptr; node = next) sink = node->value, next = node->next, cudaFree(node);
}

// wrong: race.host
HOST(view_read_at_once) {
  Managed x;
  fill_view<<<1, n>>>({x, n});
  sink = x[3];  // here
  cudaDeviceSynchronize();
}

// right
HOST(view_of_others) {
  Managed x, y;
  fill_view<<<1, n>>>({x, n});
  for (int i = 0; i < n; ++i) y[i] = i;
  cudaDeviceSynchronize();
  sink = x[3];
}

// wrong: race.host | of __managed__ m_count,
HOST(variable_read_at_once) {
  use_variables<<<1, n>>>();
  sink = m_count;  // here
  cudaDeviceSynchronize();
}

// right
HOST(variable_read_later) {
  m_count = 1;
  use_variables<<<1, n>>>();
  cudaDeviceSynchronize();
  sink = m_count + m_table[9];
}

// wrong: race.host | RACE (write-after-write)
HOST(variable_set_at_once) {
  use_variables<<<1, n>>>();
  m_table[3] = 0;  // here
  cudaDeviceSynchronize();
}

// right
HOST(variable_beside_other_kernel) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  m_table[3] = 0;
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(one_of_two_allocations) {
  int *x, *y;
  cudaMallocManaged(&x, bytes);
  cudaMallocManaged(&y, bytes);  // here
  fill<<<1, n>>>(x, 2);
  fill<<<1, n>>>(y, 2);  // here
  sink = y[0];           // here
  cudaDeviceSynchronize();
  cudaFree(x), cudaFree(y);
}

// right
HOST(both_of_two_allocations) {
  int *x, *y;
  cudaMallocManaged(&x, bytes);
  cudaMallocManaged(&y, bytes);
  fill<<<1, n>>>(x, 2);
  fill<<<1, n>>>(y, 2);
  cudaDeviceSynchronize();
  sink = x[0] + y[0];
  cudaFree(x), cudaFree(y);
}

// wrong: race.host
HOST(managed_by_another_thread) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  std::thread reader([&] {
    sink = x[0];  // here
  });
  reader.join();
  cudaDeviceSynchronize();
}

// right
HOST(managed_by_another_thread_later) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  std::thread reader([&] { sink = x[0]; });
  reader.join();
}

// ---- mapped memory --------------------------------------------------------------------------------------------------

// wrong: race.host | pinned host memory
HOST(mapped_read_at_once) {
  Pinned h(n, cudaHostAllocMapped);
  fill<<<1, n>>>(h.on_device(), 2);
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(mapped_read_later) {
  Pinned h(n, cudaHostAllocMapped);
  fill<<<1, n>>>(h.on_device(), 2);
  cudaDeviceSynchronize();
  sink = h[0];
}

// wrong: race.host
HOST(mapped_read_behind_a_fence_only) {
  Pinned h(n, cudaHostAllocMapped);
  fill_and_fence<<<1, 32>>>(h.on_device());
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(mapped_flag) {
  Pinned h(n, cudaHostAllocMapped);
  volatile int* flag = h.p + 1;
  *flag = 0;
  produce<<<1, 1>>>(h.on_device(), h.on_device() + 1);
  while (*flag == 0) {
  }
  sink = h[0];
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(mapped_input_changed) {
  Pinned h(n, cudaHostAllocMapped);
  OnDevice x;
  copy_to<<<1, n>>>(x, h.on_device());
  h[3] = 4;  // here
  cudaDeviceSynchronize();
}

// right
HOST(mapped_input_read) {
  Pinned h(n, cudaHostAllocMapped);
  OnDevice x;
  copy_to<<<1, n>>>(x, h.on_device());
  sink = h[3];
  cudaDeviceSynchronize();
  h[3] = 4;
}

// right
HOST(mapped_flag_by_atomics) {
  Pinned h(n, cudaHostAllocMapped);
  auto* flag = reinterpret_cast<std::atomic<int>*>(h.p + 1);
  flag->store(0);
  produce_by_atomic<<<1, 1>>>(h.on_device(), h.on_device() + 1);
  while (flag->load() == 0) {
  }
  sink = h[0];
  cudaDeviceSynchronize();
}

// right
HOST(managed_flag_of_the_host) {
  Managed x(2);
  volatile int* flag = x.p + 1;
  x[0] = 1, *flag = 0;
  consume<<<1, 1>>>(x, x + 1);
  x[0] = 41;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *flag = 1;
  cudaDeviceSynchronize();
  sink = x[0];
}

// right
HOST(variable_as_flag) {
  set_flag<<<1, 1>>>();
  while (*static_cast<volatile int*>(&m_flag) == 0) {
  }
  sink = m_data;
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(portable_read_at_once) {
  Pinned h(n, cudaHostAllocPortable | cudaHostAllocWriteCombined);
  fill<<<1, n>>>(h, 2);
  sink = h[n / 2];  // here
  cudaDeviceSynchronize();
}

// right
HOST(allocation_waits) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  OnDevice y;
  int h;
  cudaMemcpy(&h, y, sizeof h, cudaMemcpyDeviceToHost);
  sink = x[0];
}

// ---- lines of functions that the linker may have several of ---------------------------------------------------------

template <class T>
T first_of(const T* x);

struct Array {
  int* p;
  int at(int i) const;
};

// wrong: race.host
HOST(read_in_a_template) {
  Managed x;
  fill<<<1, n>>>(x, 2);  // here
  sink = first_of(x.p);
  cudaDeviceSynchronize();
}

template <class T>
T first_of(const T* x) {
  return x[0];  // here
}

// wrong: race.host
HOST(read_in_an_inline_function) {
  Managed x;
  fill<<<1, n>>>(x, 2);  // here
  sink = Array{x}.at(5);
  cudaDeviceSynchronize();
}

inline int Array::at(int i) const {
  return p[i];  // here
}

// right
HOST(read_in_functions_after_device) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  sink = first_of(x.p) + Array{x}.at(5);
}
