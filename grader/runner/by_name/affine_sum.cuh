// The `+` of affine maps on the virtual GPU, in the place of labs/affine_sum.cuh, which has the same declarations.
//
// There an element is a map, or the name of one: 64 bits without a meaning that cannot be guessed. `+` composes maps,
// and gives the sum of names a name of its own, which is remembered: so the grader knows of each result which elements
// it is the sum of, in which order, and which thread has added them at which line. A program cannot see which of the
// two headers it includes: no macro, no constant and no sum of plain maps differs.
#pragma once

__host__ __device__ inline Element operator+(Element earlier, Element later) {
#ifdef __CUDA_ARCH__
  Element sum;
  asm("scanlab.add {%0, %1}, {%2, %3}, {%4, %5};"
      : "=r"(sum.a), "=r"(sum.b)
      : "r"(earlier.a), "r"(earlier.b), "r"(later.a), "r"(later.b));
  return sum;
#else
  return {earlier.a * later.a, later.a * earlier.b + later.b};
#endif
}

__host__ __device__ inline bool keep(Element element) {
#ifdef __CUDA_ARCH__
  unsigned is_kept;
  asm("scanlab.keep %0, {%1, %2};" : "=r"(is_kept) : "r"(element.a), "r"(element.b));
  return is_kept != 0;
#else
  return element.b % 2 != 0;
#endif
}
