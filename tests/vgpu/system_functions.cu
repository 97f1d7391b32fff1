// What device code asks of the system: malloc and free, new and delete, alloca, memcpy and memset of any size, assert,
// virtual functions, sleeping, prefetches, profiler events.
#include <alloca.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int l) : length(l) {}
  __device__ int area() const override { return 3 * length; }
};

/// Each thread has its own list on the heap.
__global__ void heap(int* out) {
  struct Node {
    int value;
    Node* next;
  };
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  Node* head = nullptr;
  for (int k = 0; k < t % 5 + 1; ++k) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    assert(node != nullptr);
    *node = {t * k, head};
    head = node;
  }
  int sum = 0;
  while (head) {
    Node* next = head->next;
    sum += head->value;
    free(head);
    head = next;
  }
  Shape* shape = t % 2 ? static_cast<Shape*>(new Square(t)) : new Strip(t);
  sum += shape->area();
  delete shape;
  int* row = new int[t + 1];
  for (int k = 0; k <= t; ++k) row[k] = k;
  sum += row[t / 2];
  delete[] row;
  free(nullptr);
  out[t] = sum;
}

__device__ __noinline__ int sum_of_reversed(const int* values, int n) {
  int* turned = static_cast<int*>(alloca(n * sizeof(int)));
  for (int k = 0; k < n; ++k) turned[k] = values[n - 1 - k];
  int sum = 0;
  for (int k = 0; k < n; ++k) sum = sum * 3 + turned[k];
  return sum;
}

/// Arrays on the stack whose length is known only now, a different one in each thread.
__global__ void stack(int* out) {
  const int t = threadIdx.x, n = t % 9 + 1;
  int* squares = static_cast<int*>(alloca(n * sizeof(int)));
  for (int k = 0; k < n; ++k) squares[k] = k * k + t;
  double* more = static_cast<double*>(alloca(sizeof(double) * (t + 1)));
  more[t] = 0.5 * t;
  out[t] = sum_of_reversed(squares, n) + int(2 * more[t]) + squares[n - 1];
}

struct Big {
  int values[37];
};

/// Bytes of any number from any place.
__global__ void bytes(const unsigned char* in, unsigned char* out, const Big* from, Big* to) {
  const int t = threadIdx.x;
  unsigned char* mine = out + 64 * t;
  memset(mine, 0xc0 + t, 64);
  memcpy(mine + t % 7, in + t, t % 50);
  unsigned char local[24];
  memset(local, t, sizeof local);
  memcpy(local + 3, in + 2 * t, 13);
  memcpy(mine + 40, local, sizeof local);
  to[t] = from[t];
  to[t].values[t] = -1;
}

__global__ void hints(const int* in, int* out) {
  const int t = threadIdx.x;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + t));
  asm volatile("prefetchu.L1 [%0];" ::"l"(in + t));
  asm volatile(
      "{.reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0; ld.global.L2::cache_hint.u32 %0, [%1], p;}"
      : "=r"(out[t])
      : "l"(in + t));
  __nanosleep(50 + t);
  __prof_trigger(1);
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(out));
}

int main() {
  const Array<int> d_out(128);
  heap<<<2, 48>>>(d_out);
  std::vector<int> out = d_out.read(96);
  int wrong = 0;
  for (int t = 0; t < 96; ++t) {
    int sum = 0;
    for (int k = 0; k < t % 5 + 1; ++k) sum += t * k;
    sum += (t % 2 ? t * t : 3 * t) + t / 2;
    wrong += out[t] != sum;
  }
  std::printf("heap: %d wrong\n", wrong);

  stack<<<1, 64>>>(d_out);
  out = d_out.read(64);
  wrong = 0;
  for (int t = 0; t < 64; ++t) {
    const int n = t % 9 + 1;
    int sum = 0;
    for (int k = n - 1; k >= 0; --k) sum = sum * 3 + k * k + t;
    wrong += out[t] != sum + t + (n - 1) * (n - 1) + t;
  }
  std::printf("stack: %d wrong\n", wrong);

  constexpr int threads = 36;
  std::vector<unsigned char> in(256);
  for (int k = 0; k < 256; ++k) in[k] = k * 7;
  std::vector<Big> big(threads);
  for (int t = 0; t < threads; ++t)
    for (int k = 0; k < 37; ++k) big[t].values[k] = 100 * t + k;
  const Array<unsigned char> d_bytes(64 * threads);
  const Array<Big> d_copies(threads);
  bytes<<<1, threads>>>(Array(in), d_bytes, Array(big), d_copies);
  const auto got = d_bytes.read();
  const auto copies = d_copies.read();
  wrong = 0;
  for (int t = 0; t < threads; ++t) {
    unsigned char expected[64], local[24];
    std::memset(expected, 0xc0 + t, 64);
    std::memcpy(expected + t % 7, &in[t], t % 50);
    std::memset(local, t, sizeof local);
    std::memcpy(local + 3, &in[2 * t], 13);
    std::memcpy(expected + 40, local, sizeof local);
    wrong += std::memcmp(expected, &got[64 * t], 64) != 0;
    big[t].values[t] = -1;
    wrong += std::memcmp(&big[t], &copies[t], sizeof(Big)) != 0;
  }
  std::printf("bytes: %d wrong\n", wrong);

  std::vector<int> ints(128);
  for (int k = 0; k < 128; ++k) ints[k] = k * k;
  hints<<<1, 128>>>(Array(ints), d_out);
  std::printf("hints: %d\n", d_out.read() == ints);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
