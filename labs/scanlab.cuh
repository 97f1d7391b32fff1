// What every lab includes: the element that is scanned, the functions that a lab asks for, and an error check.
//
// Write `earlier + later` and `identity()`, and never ask what an Element is: the grader compiles your file twice, once
// for each of the two elements below. Host programs without nvcc may include this file too.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

// ---- The element ----------------------------------------------------------------------------------------------
//
// A scan works for every `+` that is associative: (x + y) + z == x + (y + z). Only then may a parallel scan choose
// which neighbours to combine first. Neither element has a constructor, so a shared array of them is allowed:
// `__shared__ Element s_xy[section_size];`. Such an array starts with no particular values, not with zeros.

#ifdef SCANLAB_ELEMENT_AFFINE

// The map x -> a * x + b over 32-bit integers (modulo 2^32, hence exact). `earlier + later` is the map that applies
// `earlier` first: later(earlier(x)) = l.a * (e.a * x + e.b) + l.b. That is associative, but not commutative: "double,
// then add one" is not "add one, then double". So this element notices swapped operands, which floats do not.
struct alignas(8) Element {
  std::uint32_t a, b;
};

// The element that changes nothing, x -> 1 * x + 0: identity() + x and x + identity() are x.
__host__ __device__ constexpr Element identity() {
  return {1, 0};
}

#include <affine_sum.cuh>  // the maps' `+`, and which of them a compaction keeps

#else

// Commutative, but only nearly associative: a float sum is rounded, so scans that group their additions differently may
// differ in the last bits. The grader allows for exactly that much.
using Element = float;

// The element that changes nothing: identity() + x and x + identity() are x.
__host__ __device__ constexpr Element identity() {
  return 0.0f;
}

// Whether compaction keeps an element (see below): the positive ones.
__host__ __device__ constexpr bool keep(Element element) {
  return element > 0.0f;
}

#endif

// ---- The scans ------------------------------------------------------------------------------------------------

// Many labs scan sections: elements 0 to 1023, 1024 to 2047 and so on, each section on its own, by one block of this
// many threads. When n is no multiple of it, the last section is partial.
constexpr int section_size = 1024;

// The two scans of x0, x1, x2 …; an exclusive scan is an inclusive one of the input moved one place to the right.
//     inclusive: x0, x0 + x1, x0 + x1 + x2 …              y[i] includes x[i]
//     exclusive: identity(), x0, x0 + x1 …                y[i] ends just before x[i]
enum class Kind { inclusive, exclusive };

// How many places to the right a scan of this kind moves its input: y[i] ends with x[i - shift<kind>].
template <Kind kind>
constexpr int shift = kind == Kind::exclusive ? 1 : 0;

// What a lab defines and the grader calls, on the host. d_x and d_y point to n elements each in the device's memory and
// never overlap; n may be 0; d_x must not change. Launch on the default stream and return: the grader synchronises.
// These names with any other parameters would be other functions, which are never called: the grader then says that the
// entry is missing.
void inclusive_scan(const Element* d_x, Element* d_y, int n);
void exclusive_scan(const Element* d_x, Element* d_y, int n);

// ---- Compaction and split (lab 10) ----------------------------------------------------------------------------

// Compaction keeps the elements for which keep(element) is true, in their order, at the beginning of d_y, and sets
// *d_kept, in the device's memory, to their number. What stands in d_y behind them does not matter. A split puts the
// others there, in their order too. keep(identity()) is false: identities may fill up a last, partial section.
//     x: 3 -1 4 0 -5 9        compact: 3 4 9        split: 3 4 9 -1 0 -5        *d_kept: 3
// As above, d_x must not change, n may be 0 (*d_kept then becomes 0), and the grader synchronises.
void compact(const Element* d_x, Element* d_y, int* d_kept, int n);
void split(const Element* d_x, Element* d_y, int* d_kept, int n);

// ---- Errors ---------------------------------------------------------------------------------------------------

// CUDA reports an error by a return value that is easily ignored, and `kernel<<<…>>>(…)` returns nothing at all. So
// wrap every call, and ask after every launch:
//
//     SCANLAB_CUDA_CHECK(cudaMalloc(&d_y, bytes));
//     kernel<<<blocks, threads>>>(d_x, d_y, n);
//     SCANLAB_CUDA_CHECK(cudaPeekAtLastError());   // refused? (too many threads a block, a grid of no blocks …)
//     SCANLAB_CUDA_CHECK(cudaDeviceSynchronize()); // and what went wrong while it ran; not needed in the entries
//
// A failure is printed on stderr with its file and line, then the program goes on; the check's value is the error.
// cudaPeekAtLastError leaves the error in place, for the grader to see as well; cudaGetLastError would clear it.
#define SCANLAB_CUDA_CHECK(call) ::scanlab::check_cuda((call), #call, __FILE__, __LINE__)

namespace scanlab {

inline cudaError_t check_cuda(cudaError_t error, const char* call, const char* file, int line) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(error), cudaGetErrorName(error));
  }
  return error;
}

}  // namespace scanlab
