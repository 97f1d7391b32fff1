// What separate_compilation.cu and its library show each other.
#pragma once

using Operation = int (*)(int);

extern __device__ int library_calls;
extern __constant__ float library_weights[4];
extern __managed__ int library_managed;
extern __device__ Operation library_table[3];

__device__ int library_square(int x);
__device__ int library_read_shared(int i);
__device__ int negate_here(int x);

void library_mark(int* at);
void library_print();

// Both files instantiate it: one definition is left.
template <class T>
__device__ __noinline__ T clamped(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}
