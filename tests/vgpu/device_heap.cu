// Memory from device code: malloc, free, new, delete; a block that shares one array, a tree that threads grow and
// another kernel walks, arrays of pointers, constructors, exhaustion that returns a null pointer, and reuse.
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

__global__ void mallocTest() {
  size_t size = 123;
  char* ptr = (char*)malloc(size);
  memset(ptr, threadIdx.x, size);
  int sum = 0;
  for (int k = 0; k < size; ++k) sum += ptr[k];
  if (threadIdx.x == 4) printf("thread %d: %d\n", threadIdx.x, sum);
  free(ptr);
  free(nullptr);
}

__global__ void one_array_a_block(int* out) {
  __shared__ int* data;
  if (threadIdx.x == 0) data = static_cast<int*>(malloc(blockDim.x * 4 * sizeof(int)));
  __syncthreads();
  if (data == nullptr) return;
  int* mine = data;
  for (int i = 0; i < 4; ++i) mine[i * blockDim.x + threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int k = 0; k < 4 * blockDim.x; ++k) sum += data[k];
    out[blockIdx.x] = sum;
    free(data);
  }
}

struct Tree {
  int key;
  Tree *left = nullptr, *right = nullptr;
  __device__ explicit Tree(int k) : key(k) {}
  __device__ ~Tree() {
    delete left;
    delete right;
  }
};
__device__ Tree* root;

// Insertion without locks: a leaf is hung in by compare-and-swap.
__global__ void grow(int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Tree* leaf = new Tree((i * 37 + 11) % n);
  __threadfence();
  Tree** place = &root;
  while (true) {
    auto before = (Tree*)atomicCAS((unsigned long long*)place, 0ull, (unsigned long long)leaf);
    if (before == nullptr) break;
    place = leaf->key < before->key ? &before->left : &before->right;
  }
}
__global__ void flatten(int* out, int* count) {
  Tree* stack[300];
  int depth = 0;
  for (Tree* t = root; t || depth;) {
    if (t) {
      stack[depth++] = t;
      t = t->left;
      continue;
    }
    t = stack[--depth];
    out[(*count)++] = t->key;
    t = t->right;
  }
  delete root;
  root = nullptr;
}

__device__ int alive;
struct Counted {
  int value;
  __device__ Counted() : value(atomicAdd(&alive, 1)) {}
  __device__ ~Counted() { atomicSub(&alive, 1); }
};
__global__ void arrays(int* out) {
  Counted* several = new Counted[7];
  out[0] = alive;
  out[1] = several[6].value;
  delete[] several;
  out[2] = alive;
  int** jagged = new int*[5];
  for (int r = 0; r < 5; ++r) {
    jagged[r] = new int[r + 1]();
    jagged[r][r] = r;
  }
  out[3] = 0;
  for (int r = 0; r < 5; ++r) {
    out[3] = out[3] * 10 + jagged[r][r];
    delete[] jagged[r];
  }
  delete[] jagged;
}

// More than the heap holds in all: some get nothing, and that is no error. Then all is given back.
__global__ void exhaust(char** blocks, int* refused) {
  char* p = (char*)malloc(1 << 20);
  blocks[threadIdx.x] = p;
  if (p)
    p[0] = p[(1 << 20) - 1] = threadIdx.x;
  else
    atomicAdd(refused, 1);
}
__global__ void give_back(char** blocks, int* damaged) {
  char* p = blocks[threadIdx.x];
  if (p && (p[0] != threadIdx.x || p[(1 << 20) - 1] != threadIdx.x)) atomicAdd(damaged, 1);
  free(p);
}

int main() {
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20);
  cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10);  // the destructors of trees are recursive
  size_t heap = 0;
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  printf("heap %s\n", heap >= 16 << 20 ? "as large as asked" : "too small");
  mallocTest<<<1, 5>>>();
  cudaDeviceSynchronize();

  const Array<int> d(512, 0);
  one_array_a_block<<<3, 33>>>(d);
  auto h = d.read();
  printf("blocks: %d %d %d\n", h[0], h[1], h[2]);

  const int n = 300;
  d.set(0);
  grow<<<5, 64>>>(n);
  flatten<<<1, 1>>>(d + 1, d);
  h = d.read();
  int wrong = 0;
  for (int k = 0; k < n; ++k) wrong += h[1 + k] != k;
  printf("tree: %d nodes, %d out of order\n", h[0], wrong);

  arrays<<<1, 1>>>(d);
  h = d.read();
  printf("arrays: %d %d %d %d\n", h[0], h[1], h[2], h[3]);

  const Array<char*> blocks(64);
  for (int round = 0; round < 2; ++round) {
    d.set(0);
    exhaust<<<1, 64>>>(blocks, d);
    give_back<<<1, 64>>>(blocks, d + 1);
    h = d.read();
    printf("exhausted: %s, %d damaged\n", h[0] >= 40 && h[0] < 64 ? "some refused" : "not as expected", h[1]);
  }
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
