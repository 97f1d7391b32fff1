// Between kernels and the host: what is never written, or in part; counters that go on; the ends of programs.
#include <cstdlib>

#include "pairs.cuh"

__constant__ int c_table[16];
__device__ int d_taken, d_never;
__device__ unsigned d_wrapping;

struct Padded {
  double value;
  char kind;
};

__global__ void fill(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i;
}

__global__ void fill_bytes(char* x, int step) {
  x[threadIdx.x * step] = 1;
}

__global__ void fill_padded(Padded* x) {
  x[threadIdx.x].value = threadIdx.x;
  x[threadIdx.x].kind = 3;
}

__global__ void copy_padded(Padded* y, const Padded* x) {
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void add_one(int* y, const int* x) {
  y[threadIdx.x] = x[threadIdx.x] + 1;
}

__global__ void keep_even(int* out, int* count, const int* x) {
  if (x[threadIdx.x] % 2 == 0) out[atomicAdd(count, 1)] = x[threadIdx.x];
}

__global__ void append(int* out, int* count) {
  out[atomicAdd(count, 1)] = threadIdx.x;
}

__global__ void append_ticket(int* out) {
  __shared__ int s_ticket;
  if (threadIdx.x == 0) s_ticket = atomicAdd(&d_taken, 1);
  __syncthreads();
  out[s_ticket * blockDim.x + threadIdx.x] = 1;
}

__global__ void append_wrapping(int* out) {
  __shared__ int s_ticket;
  if (threadIdx.x == 0) s_ticket = atomicInc(&d_wrapping, gridDim.x - 1);
  __syncthreads();
  out[s_ticket * blockDim.x + threadIdx.x] = 1;
}

__global__ void store_to_constant(int i) {
  const_cast<int*>(c_table)[i] = i;
}

__global__ void load_from_constant(int* y) {
  y[threadIdx.x] = c_table[threadIdx.x];
}

__global__ void give_up(int* y) {
  if (y[0] == 0) __trap();
}

__global__ void store_all(int* x) {
  x[0] = blockIdx.x + threadIdx.x / 32;
}

__global__ void wait_for_nobody() {
  while (atomicAdd(&d_never, 0) == 0) {
  }
}

__global__ void wait_for_host(volatile int* flag, volatile int* here) {
  *here = 1;
  while (*flag == 0) {
  }
}

__global__ void print_and_fail(int* x, int i) {
  printf("out: from the kernel\n");
  x[i] = 1;
}

template <class T>
T* device(size_t count) {
  T* memory;
  cudaMalloc(&memory, count * sizeof(T));
  return memory;
}

int h[1 << 16];

// ---- never written, and copied to the host --------------------------------------------------------------------------

// wrong: uninitialised.global | nothing of what is copied has ever been written
HOST(output_never_written) {
  int *x = device<int>(256), *y = device<int>(256);
  fill<<<2, 128>>>(x, 256);
  cudaMemcpy(h, y, 1024, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
}

// right
HOST(output_written) {
  int* x = device<int>(256);
  fill<<<2, 128>>>(x, 256);
  cudaMemcpy(h, x, 1024, cudaMemcpyDeviceToHost);
  cudaFree(x);
}

// wrong: uninitialised.global | is it launched, with enough threads
HOST(output_of_a_launch_without_elements) {
  int* x = device<int>(256);
  fill<<<2, 128>>>(x, 0);
  cudaMemcpy(h, x, 1024, cudaMemcpyDeviceToHost);
  cudaFree(x);
}

// right
HOST(output_with_room_for_more) {
  int *x = device<int>(256), *out = device<int>(256), *count = device<int>(1);
  fill<<<2, 128>>>(x, 256);
  cudaMemset(count, 0, 4);
  keep_even<<<1, 256>>>(out, count, x);
  cudaMemcpy(h, out, 1024, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(out), cudaFree(count);
}

// right
HOST(copy_before_any_kernel) {
  int* x = device<int>(256);
  cudaMemcpy(h, x, 1024, cudaMemcpyDeviceToHost);
  cudaMemset(x, 0, 1024);
  fill<<<1, 32>>>(x, 32);
  cudaMemcpy(h, x, 1024, cudaMemcpyDeviceToHost);
  cudaFree(x);
}

// wrong: uninitialised.global | nothing of what is copied
HOST(counter_never_written) {
  int *x = device<int>(256), *count = device<int>(1);
  fill<<<2, 128>>>(x, 256);
  cudaMemcpy(h, count, 4, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(count);
}

// ---- written in part ------------------------------------------------------------------------------------------------

// wrong: uninitialised.global | only some bytes have been written
HOST(ints_written_as_bytes) {
  int *x = device<int>(64), *y = device<int>(64);
  fill_bytes<<<1, 64>>>(reinterpret_cast<char*>(x), 4);
  add_one<<<1, 64>>>(y, x);
  cudaMemcpy(h, y, 256, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
}

// right
HOST(bytes_written_as_bytes) {
  int *x = device<int>(64), *y = device<int>(64);
  fill_bytes<<<1, 256>>>(reinterpret_cast<char*>(x), 1);
  add_one<<<1, 64>>>(y, x);
  cudaMemcpy(h, y, 256, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
}

// wrong: uninitialised.global | only some bytes have been written
HOST(ints_written_as_bytes_and_copied) {
  int* x = device<int>(64);
  fill_bytes<<<1, 64>>>(reinterpret_cast<char*>(x), 4);
  cudaMemcpy(h, x, 256, cudaMemcpyDeviceToHost);
  cudaFree(x);
}

// right
HOST(few_bytes_of_many) {
  char* x = device<char>(256);
  fill_bytes<<<1, 1>>>(x, 1);
  cudaMemcpy(h, x, 256, cudaMemcpyDeviceToHost);
  cudaFree(x);
}

// right
HOST(structs_with_padding) {
  Padded *x = device<Padded>(64), *y = device<Padded>(64);
  fill_padded<<<1, 64>>>(x);
  copy_padded<<<1, 64>>>(y, x);
  cudaMemcpy(h, y, 64 * sizeof(Padded), cudaMemcpyDeviceToHost);
  cudaMemcpy(h, x, 64 * sizeof(Padded), cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
}

// ---- a counter that goes on -----------------------------------------------------------------------------------------

// wrong: bounds.global | set the counter back before each launch
HOST(counter_not_set_back) {
  int *out = device<int>(64), *count = device<int>(1);
  cudaMemset(count, 0, 4);
  for (int k = 0; k < 2; ++k) append<<<1, 64>>>(out, count);
  cudaDeviceSynchronize();
}

// right
HOST(counter_set_back) {
  int *out = device<int>(64), *count = device<int>(1);
  for (int k = 0; k < 2; ++k) {
    cudaMemset(count, 0, 4);
    append<<<1, 64>>>(out, count);
  }
  cudaDeviceSynchronize();
  cudaFree(out), cudaFree(count);
}

// wrong: bounds.global | d_taken
HOST(ticket_not_set_back) {
  int* out = device<int>(256);
  for (int k = 0; k < 2; ++k) append_ticket<<<4, 64>>>(out);
  cudaDeviceSynchronize();
}

// right
HOST(ticket_set_back) {
  int *out = device<int>(256), zero = 0;
  for (int k = 0; k < 2; ++k) {
    cudaMemcpyToSymbol(d_taken, &zero, sizeof zero);
    append_ticket<<<4, 64>>>(out);
  }
  cudaDeviceSynchronize();
  cudaFree(out);
}

// right
HOST(ticket_that_wraps) {
  int* out = device<int>(256);
  for (int k = 0; k < 2; ++k) append_wrapping<<<4, 64>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}

// wrong: bounds.global | guard the access by the number of elements
HOST(array_too_small) {
  int *out = device<int>(32), *count = device<int>(1);
  cudaMemset(count, 0, 4);
  append<<<1, 64>>>(out, count);
  cudaDeviceSynchronize();
}

// ---- constant memory ------------------------------------------------------------------------------------------------

// wrong: trap | device code can only read __constant__ memory
HOST(constant_stored) {
  store_to_constant<<<1, 1>>>(2);
  cudaDeviceSynchronize();
}

// right
HOST(constant_loaded) {
  int* y = device<int>(16);
  cudaMemcpyToSymbol(c_table, h, sizeof c_table);
  load_from_constant<<<1, 16>>>(y);
  cudaDeviceSynchronize();
  cudaFree(y);
}

// wrong: trap | the kernel executed a trap (__trap())
HOST(trap_of_the_program) {
  int* y = device<int>(16);
  cudaMemset(y, 0, 64);
  give_up<<<1, 1>>>(y);
  cudaDeviceSynchronize();
}

// ---- ends -----------------------------------------------------------------------------------------------------------

// wrong: race.global
HOST(race_and_exit_code) {
  int* x = device<int>(16);
  store_all<<<2, 64>>>(x);
  cudaDeviceSynchronize();
  exit(7);
}

// wrong: race.global
HOST(race_and_abort) {
  int* x = device<int>(16);
  store_all<<<2, 64>>>(x);
  cudaDeviceSynchronize();
  abort();
}

// wrong: deadlock.threads | the loop ends only when another thread writes memory
HOST(deadlock_beside_managed_memory) {
  int* m;
  cudaMallocManaged(&m, 64);
  m[0] = 0;
  wait_for_nobody<<<1, 32>>>();
  cudaDeviceSynchronize();
}

// wrong: deadlock.threads | the loop ends only when another thread writes memory
HOST(deadlock_on_managed_memory) {
  int* m;
  cudaMallocManaged(&m, 64);
  m[0] = m[1] = 0;
  wait_for_host<<<1, 32>>>(m, m + 1);
  cudaDeviceSynchronize();
}

// right
HOST(wait_for_the_host) {
  volatile int* m;
  cudaMallocManaged(const_cast<int**>(&m), 64);
  m[0] = m[1] = 0;
  wait_for_host<<<1, 32>>>(m, m + 1);
  while (m[1] == 0) {
  }
  m[0] = 1;
  cudaDeviceSynchronize();
  cudaFree(const_cast<int*>(m));
}

// wrong: bounds.global | out: before ... out: from the kernel ... FAULT ... out: after
HOST(fault_between_outputs) {
  int* x = device<int>(16);
  printf("out: before\n");
  print_and_fail<<<1, 1>>>(x, 16);
  cudaDeviceSynchronize();
  printf("out: after\n");
}
