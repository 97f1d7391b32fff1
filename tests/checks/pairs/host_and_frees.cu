// Memory of the host that is given back while work uses it. The wrong ones come before the right ones that wait first.
#include <sys/mman.h>

#include <vector>

#include "host_and_device.cuh"

// wrong: race.host | it may be given back while it is still in use
HOST(pinned_freed_behind_a_copy) {
  OnDevice x;
  InStream s;
  int* h;
  cudaMallocHost(&h, bytes);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);  // here
  cudaFreeHost(h);                                          // here
}

// right
HOST(pinned_freed_behind_a_wait) {
  OnDevice x;
  InStream s;
  int* h;
  cudaMallocHost(&h, bytes);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  cudaFreeHost(h);
}

// wrong: race.host | it may be given back while it is still in use
HOST(mapped_freed_behind_a_kernel) {
  int *h, *d;
  cudaHostAlloc(&h, bytes, cudaHostAllocMapped);
  cudaHostGetDevicePointer(&d, h, 0);
  fill<<<1, n>>>(d, 2);  // here: the kernel's line
  cudaFreeHost(h);       // here
}

// right
HOST(mapped_freed_behind_an_event) {
  int *h, *d;
  Event done;
  cudaHostAlloc(&h, bytes, cudaHostAllocMapped);
  cudaHostGetDevicePointer(&d, h, 0);
  fill<<<1, n>>>(d, 2);
  cudaEventRecord(done);
  cudaEventSynchronize(done);
  cudaFreeHost(h);
}

// wrong: race.host | the host unregisters it
HOST(unregistered_behind_a_copy) {
  std::vector<int> h(n);
  OnDevice x;
  cudaHostRegister(h.data(), bytes, cudaHostRegisterDefault);
  cudaMemcpyAsync(h.data(), x, bytes, cudaMemcpyDeviceToHost);  // here
  cudaHostUnregister(h.data());                                 // here
}

// right
HOST(unregistered_behind_a_wait) {
  std::vector<int> h(n);
  OnDevice x;
  cudaHostRegister(h.data(), bytes, cudaHostRegisterDefault);
  cudaMemcpyAsync(h.data(), x, bytes, cudaMemcpyDeviceToHost);
  cudaFree(x.p);  // waits for all work
  x.p = nullptr;
  cudaHostUnregister(h.data());
}

// right
HOST(other_memory_freed_behind_a_copy) {
  OnDevice x;
  Pinned h;
  {
    Pinned other;
    cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  }
  cudaDeviceSynchronize();
}

// ---- memory of the host's own, which stays registered ---------------------------------------------------------------

// wrong: race.host | it may be given back while it is still in use
HOST(registered_freed_behind_a_kernel) {
  int *h = static_cast<int*>(malloc(bytes)), *d;
  cudaHostRegister(h, bytes, cudaHostRegisterMapped);
  cudaHostGetDevicePointer(&d, h, 0);
  fill<<<1, n>>>(d, 2);  // here: the kernel's line
  free(h);               // here
  cudaDeviceSynchronize();
}

// right
HOST(registered_freed_behind_a_wait) {
  int *h = static_cast<int*>(malloc(bytes)), *d;
  cudaHostRegister(h, bytes, cudaHostRegisterMapped);
  cudaHostGetDevicePointer(&d, h, 0);
  fill<<<1, n>>>(d, 2);
  cudaDeviceSynchronize();
  cudaHostUnregister(h);
  free(h);
}

// wrong: race.host | the host gives it back
HOST(registered_vector_ends_behind_a_copy) {
  OnDevice x;
  {
    std::vector<int> h(n);
    cudaHostRegister(h.data(), bytes, cudaHostRegisterDefault);
    cudaMemcpyAsync(h.data(), x, bytes, cudaMemcpyDeviceToHost);  // here
  }
  cudaDeviceSynchronize();
}

// right
HOST(other_vector_ends_behind_a_copy) {
  OnDevice x;
  std::vector<int> h(n);
  cudaHostRegister(h.data(), bytes, cudaHostRegisterDefault);
  cudaMemcpyAsync(h.data(), x, bytes, cudaMemcpyDeviceToHost);
  {
    std::vector<int> other(n, 1);
    sink = other[0];
  }
  cudaDeviceSynchronize();
  cudaHostUnregister(h.data());
}

// wrong: race.host | the host gives it back
HOST(registered_grows_behind_a_copy) {
  OnDevice x;
  int* h = static_cast<int*>(malloc(bytes));
  cudaHostRegister(h, bytes, cudaHostRegisterDefault);
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);  // here
  h = static_cast<int*>(realloc(h, 4 * bytes));          // here
  cudaDeviceSynchronize();
  sink = h[0];
}

// wrong: race.host | the host gives it back
HOST(registered_unmapped_behind_a_copy) {
  OnDevice x;
  void* h = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cudaHostRegister(h, 65536, cudaHostRegisterDefault);
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);  // here
  munmap(h, 65536);                                      // here
  cudaDeviceSynchronize();
}

// right
HOST(registered_unmapped_behind_a_wait) {
  OnDevice x;
  void* h = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cudaHostRegister(h, 65536, cudaHostRegisterDefault);
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  cudaHostUnregister(h);
  munmap(h, 65536);
}

// ---- host functions -------------------------------------------------------------------------------------------------

void CUDART_CB look_at_first(void* p) {
  sink = static_cast<int*>(p)[0];  // the host function's line
}

// wrong: race.host | it may be given back while it is still in use
HOST(pinned_freed_behind_a_host_function) {
  InStream s;
  int* h;
  cudaMallocHost(&h, bytes);
  h[0] = 1;
  cudaLaunchHostFunc(s, look_at_first, h);  // here
  cudaFreeHost(h);                          // here
}

// right
HOST(pinned_freed_behind_a_host_function_and_a_wait) {
  InStream s;
  int* h;
  cudaMallocHost(&h, bytes);
  h[0] = 1;
  cudaLaunchHostFunc(s, look_at_first, h);
  cudaStreamSynchronize(s);
  cudaFreeHost(h);
}

// wrong: race.host | it may be given back while it is still in use
HOST(unregistered_behind_a_host_function) {
  std::vector<int> h(n);
  InStream s;
  cudaHostRegister(h.data(), bytes, cudaHostRegisterDefault);
  cudaLaunchHostFunc(s, look_at_first, h.data());  // here
  cudaHostUnregister(h.data());                    // here
  cudaStreamSynchronize(s);
}

// right
HOST(other_pinned_freed_behind_a_host_function) {
  InStream s;
  int *h, *other;
  cudaMallocHost(&h, bytes);
  cudaMallocHost(&other, bytes);
  h[0] = 1;
  cudaLaunchHostFunc(s, look_at_first, h);
  cudaFreeHost(other);
  cudaStreamSynchronize(s);
  cudaFreeHost(h);
}
