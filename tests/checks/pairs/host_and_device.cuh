// What the programs about the host and the device have in common: kernels, memory of each kind, streams and events.
#pragma once

#include "pairs.cuh"

constexpr int n = 256;
constexpr size_t bytes = n * sizeof(int);
constexpr int page = 4096 / sizeof(int);

__managed__ int m_count;
__managed__ int m_table[n];
__managed__ int m_flag, m_data;
__device__ int d_table[n];

__global__ void fill(int* x, int value) {
  x[threadIdx.x] = value;
}

struct Two {
  int first, second;
};

__global__ void fill_odd(int* x) {
  x[2 * threadIdx.x + 1] = 2;
}

__global__ void copy_to(int* y, const int* x) {
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void add_to(int* count) {
  atomicAdd(count, 1);
}

__global__ void use_variables() {
  m_table[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) m_count = 7;
}

__global__ void fill_and_fence(int* x) {
  x[threadIdx.x] = threadIdx.x;
  __threadfence_system();
}

__global__ void produce(int* data, volatile int* flag) {
  *data = 42;
  __threadfence_system();
  *flag = 1;
}

__global__ void set_flag() {
  m_data = 42;
  __threadfence_system();
  *static_cast<volatile int*>(&m_flag) = 1;
}

__global__ void produce_by_atomic(int* data, int* flag) {
  *data = 42;
  __threadfence_system();
  atomicExch_system(flag, 1);
}

__global__ void consume(int* data, volatile int* flag) {
  while (*flag == 0) {
  }
  *data += 1;
}

struct Node {
  int value;
  Node* next;
};

__global__ void walk(Node* first) {
  for (Node* node = first; node != nullptr; node = node->next) node->value += 1;
}

struct View {
  int* data;
  int length;
};

__global__ void fill_view(View view) {
  if (threadIdx.x < view.length) view.data[threadIdx.x] = 1;
}

/// Memory of a kind with n ints (or more), all written by the host; freed at the end of the case.
struct Managed {
  int* p;
  explicit Managed(size_t count = n) {
    cudaMallocManaged(&p, count * sizeof(int));
    for (size_t i = 0; i < count; ++i) p[i] = 1;
  }
  ~Managed() { cudaFree(p); }
  operator int*() const { return p; }
};

struct Pinned {
  int* p;
  explicit Pinned(size_t count = n, unsigned flags = cudaHostAllocDefault) {
    cudaHostAlloc(&p, count * sizeof(int), flags);
    for (size_t i = 0; i < count; ++i) p[i] = 1;
  }
  ~Pinned() { cudaFreeHost(p); }
  operator int*() const { return p; }
  int* on_device() const {
    int* d;
    cudaHostGetDevicePointer(&d, p, 0);
    return d;
  }
};

struct OnDevice {
  int* p;
  OnDevice() { cudaMalloc(&p, bytes), cudaMemset(p, 0, bytes); }
  ~OnDevice() { cudaFree(p); }
  operator int*() const { return p; }
};

struct InStream {
  cudaStream_t s;
  explicit InStream(unsigned flags = cudaStreamDefault) { cudaStreamCreateWithFlags(&s, flags); }
  ~InStream() { cudaStreamDestroy(s); }
  operator cudaStream_t() const { return s; }
};

struct Event {
  cudaEvent_t e;
  Event() { cudaEventCreate(&e); }
  ~Event() { cudaEventDestroy(e); }
  operator cudaEvent_t() const { return e; }
};

__global__ void double_all(int* x, int length) {
  for (int i = threadIdx.x; i < length; i += blockDim.x) x[i] *= 2;
}

__global__ void copy_all(int* y, const int* x, int length) {
  for (int i = threadIdx.x; i < length; i += blockDim.x) y[i] = x[i];
}

__global__ void choose(int* out, const int* flag) {
  *out = *flag == 0 ? 1 : 2;
}

/// Managed memory that nothing has been written to.
struct Unwritten {
  int* p;
  explicit Unwritten(size_t count = n) { cudaMallocManaged(&p, count * sizeof(int)); }
  ~Unwritten() { cudaFree(p); }
  operator int*() const { return p; }
};

inline volatile int sink;
