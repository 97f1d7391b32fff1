// test: vgpu
// test: runs order twice ticket
// Deadlocks of locks: two blocks that take two locks in opposite order, each sure to have its first; one thread that
// takes the same lock twice; a ticket that is never served since a thread left the queue.
#include <cstdio>
#include <cstring>

struct Lock {
  int taken;
  __device__ void lock() {
    while (atomicExch(&taken, 1)) {
    }
    __threadfence();
  }
  __device__ void unlock() {
    __threadfence();
    atomicExch(&taken, 0);
  }
};

__global__ void opposite(Lock* locks, int* have, int* data) {
  if (threadIdx.x) return;
  const int first = blockIdx.x, second = 1 - first;
  locks[first].lock();
  atomicAdd(have, 1);
  while (atomicAdd(have, 0) < 2) {  // so that the bad order always happens
  }
  locks[second].lock();
  *data += 1;
  locks[second].unlock();
  locks[first].unlock();
}

__device__ void inner(Lock* l, int* data) {
  l->lock();
  *data += 1;
  l->unlock();
}
__global__ void twice(Lock* l, int* data) {
  l->lock();
  if (*data == 0) inner(l, data);
  l->unlock();
}

__global__ void tickets(unsigned* next, volatile unsigned* serving, int* data) {
  const unsigned mine = atomicAdd(next, 1);
  while (*serving != mine) {
  }
  if (mine == 5) return;  // forgets to let the next one in
  *data += 1;
  __threadfence();
  *serving = mine + 1;
}

int main(int, char** argv) {
  int* memory;
  cudaMalloc(&memory, 64);
  cudaMemset(memory, 0, 64);
  if (!strcmp(argv[1], "order")) opposite<<<2, 32>>>((Lock*)memory, memory + 2, memory + 3);
  if (!strcmp(argv[1], "twice")) twice<<<1, 1>>>((Lock*)memory, memory + 3);
  if (!strcmp(argv[1], "ticket")) tickets<<<1, 64>>>((unsigned*)memory, (unsigned*)memory + 1, memory + 3);
  printf("%s: %s\n", argv[1], cudaGetErrorName(cudaDeviceSynchronize()));
}
