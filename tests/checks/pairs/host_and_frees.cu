// Memory of the host that is given back while work uses it. The wrong ones come before the right ones that wait first.
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
