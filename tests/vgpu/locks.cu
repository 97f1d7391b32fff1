// Locks: one a block, one a thread of the same warp, tickets, with __nanosleep, and a flag between two warps.
#include <cstdio>

struct Lock {
  int* mutex;
  Lock() {
    int state = 0;
    cudaMalloc((void**)&mutex, sizeof(int));
    cudaMemcpy(mutex, &state, sizeof(int), cudaMemcpyHostToDevice);
  }
  void destroy() { cudaFree(mutex); }
  __device__ void lock() {
    while (atomicCAS(mutex, 0, 1) != 0)
      ;
    __threadfence();
  }
  __device__ void unlock() {
    __threadfence();
    atomicExch(mutex, 0);
  }
};

__global__ void by_block(Lock lock, int* count) {
  if (threadIdx.x == 0) {
    lock.lock();
    *count = *count + 1;
    lock.unlock();
  }
}

// Every thread of a warp wants the lock: works since Volta, where threads make progress independently.
__global__ void by_thread(int* mutex, volatile int* count) {
  while (atomicCAS(mutex, 0, 1) != 0) {
  }
  __threadfence();
  *count = *count + 1;
  __threadfence();
  atomicExch(mutex, 0);
}

__global__ void by_thread_in_loop(int* mutex, int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(mutex, 0, 1) == 0) {
      __threadfence();  // lock before value: the count is read and written by whoever has the lock
      *count += 1;
      __threadfence();
      atomicExch(mutex, 0);
      done = true;
    }
  }
}

__global__ void with_sleep(unsigned* mutex, volatile int* count) {
  unsigned ns = 8;
  while (atomicCAS(mutex, 0u, 1u) == 1u) {
    __nanosleep(ns);
    if (ns < 256) ns *= 2;
  }
  __threadfence();
  *count += 1;
  __threadfence();
  atomicExch(mutex, 0u);
}

__global__ void by_ticket(unsigned* next, volatile unsigned* serving, int* order, int* length) {
  if (threadIdx.x % 32 == 0) {
    const unsigned mine = atomicAdd(next, 1);
    while (*serving != mine) {
    }
    __threadfence();
    order[(*length)++] = mine;
    __threadfence();
    *serving = mine + 1;
  }
}

__global__ void shared_lock(int* out) {
  __shared__ int mutex, count;
  if (threadIdx.x == 0) mutex = 0, count = 0;
  __syncthreads();
  for (int k = 0; k < 2; ++k) {
    bool waiting = true;
    while (waiting) {
      if (atomicExch(&mutex, 1) == 0) {
        ++*(volatile int*)&count;
        __threadfence_block();
        atomicExch(&mutex, 0);
        waiting = false;
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = count;
}

__global__ void between_warps(int* out) {
  __shared__ volatile int flag, data;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    while (!flag) {
    }
    __threadfence_block();
    *out = data;
  } else if (threadIdx.x == 32) {
    data = 4711;
    __threadfence_block();
    flag = 1;
  }
}

int show(const char* name, int* d) {
  int value = -1;
  cudaMemcpy(&value, d, sizeof value, cudaMemcpyDeviceToHost);
  printf("%s: %d\n", name, value);
  cudaMemset(d, 0, 8 * sizeof(int));
  return value;
}

int main() {
  int* d;
  cudaMalloc(&d, 1000 * sizeof(int));
  cudaMemset(d, 0, 1000 * sizeof(int));
  Lock lock;
  by_block<<<100, 64>>>(lock, d);
  show("by block", d);
  by_thread<<<4, 64>>>(d + 1, d);
  show("by thread", d);
  by_thread_in_loop<<<4, 64>>>(d + 1, d);
  show("by thread, in a loop", d);
  with_sleep<<<2, 96>>>((unsigned*)d + 1, d);
  show("with sleep", d);
  by_ticket<<<10, 128>>>((unsigned*)d + 1, (unsigned*)d + 2, d + 8, d);
  int order[40], wrong = 0;
  cudaMemcpy(order, d + 8, sizeof order, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 40; ++k) wrong += order[k] != k;
  show("by ticket", d);
  printf("out of order: %d\n", wrong);
  shared_lock<<<1, 96>>>(d);
  show("shared", d);
  between_warps<<<1, 64>>>(d);
  show("between warps", d);
  lock.destroy();
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
