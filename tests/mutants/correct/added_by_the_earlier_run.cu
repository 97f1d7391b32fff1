// expect: pass 05_coarsening | 3 of the 8 elements of a run stay in registers, reads are __ldg, names begin with
// capitals

#include "scanlab.cuh"

#define RUN 8
#define BLOCK (section_size / RUN)
#define AT(P) ((P) + ((P) >> 5))

template <Kind K>
__global__ void Coarse(const Element* __restrict__ X, Element* __restrict__ Y, const size_t N) {
  __shared__ Element Cell[AT(section_size)];
  __shared__ Element Sum[BLOCK];
  const size_t First = size_t(blockIdx.x) * section_size;
  const unsigned T = threadIdx.x;
#pragma unroll
  for (unsigned Row = 0; Row < RUN; Row++) {
    const unsigned P = Row * BLOCK + T;
    Cell[AT(P)] = identity();
    if (First + P < N && P >= unsigned(shift<K>)) {
#ifdef SCANLAB_ELEMENT_AFFINE
      Cell[AT(P)] = X[First + P - shift<K>];
#else
      Cell[AT(P)] = __ldg(X + First + P - shift<K>);
#endif
    }
  }
  __syncthreads();
  const unsigned Begin = T * RUN;
  Element A = Cell[AT(Begin)], B = A + Cell[AT(Begin + 1)], C = B + Cell[AT(Begin + 2)], Last = C;
  for (unsigned Q = 3; Q < RUN; Q++) Cell[AT(Begin + Q)] = Last = Last + Cell[AT(Begin + Q)];
  Sum[T] = Last;
  for (unsigned D = 1; D < BLOCK; D += D) {
    __syncthreads();
    const Element Left = T >= D ? Sum[T - D] : identity();
    __syncthreads();
    if (T >= D) Sum[T] = Left + Sum[T];
  }
  __syncthreads();
  if (T != 0) {
    const Element Before = Sum[T - 1];
    A = Before + A, B = Before + B, C = Before + C;
    for (unsigned Q = 3; Q < RUN; Q++) Cell[AT(Begin + Q)] = Before + Cell[AT(Begin + Q)];
  }
  Cell[AT(Begin)] = A, Cell[AT(Begin + 1)] = B, Cell[AT(Begin + 2)] = C;
  __syncthreads();
  for (unsigned P = T; P < section_size; P += BLOCK) {
    if (First + P < N) Y[First + P] = Cell[AT(P)];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  const size_t N = n;
  if (N) Coarse<kind><<<(N + section_size - 1) / section_size, BLOCK>>>(d_x, d_y, N);
}
