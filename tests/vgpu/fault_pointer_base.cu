// test: vgpu
// test: runs right before scatter below variable member function either
// test: unwritten scatter either
// An address that lies far from its array: the array is the one whose pointer the address was made from, whatever lies
// near, or in that window. Beside it accesses of the same kinds that are right.
#include <cstdio>
#include <cstring>

__device__ int table[4];

__global__ void before(const int* sums, int* y) {  // sums[-1] in block 0: an unsigned index that goes below 0
  y[blockIdx.x] = sums[blockIdx.x - 1];
}
__global__ void before_guarded(const int* sums, int* y) {
  y[blockIdx.x] = blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0;
}
__global__ void below(const int* sums, int* y, int back) {
  y[threadIdx.x] = sums[static_cast<int>(threadIdx.x) - back];
}
__global__ void scatter(int* y, const int* places) {
  y[places[threadIdx.x]] = 1;
}
__global__ void of_variable(int* y) {
  y[blockIdx.x] = table[blockIdx.x - 1];
}
struct Two {
  int *first, *second;
};
__global__ void of_member(Two two, int back) {
  two.second[static_cast<int>(threadIdx.x) - back] = 1;
}
__device__ __noinline__ int look(const int* x, unsigned k) {
  return x[k];
}
__global__ void in_function(const int* sums, int* y) {
  *y = look(sums, blockIdx.x - 1);
}
__global__ void of_either(int* x, int* y, const int* places, int is_shared) {
  __shared__ int s[32];
  int* const to = is_shared ? s : x;
  to[places[threadIdx.x]] = 1;
  *y = s[threadIdx.x];
}

int main(int, char** argv) {
  const char* kind = argv[1];
  int *other, *sums, *y, *places;
  cudaMalloc(&other, 1024);
  cudaMalloc(&sums, 64);
  cudaMalloc(&y, 1024);
  cudaMalloc(&places, 1024);
  cudaMemset(other, 0, 1024);
  cudaMemset(sums, 0, 64);
  if (!strcmp(kind, "right")) {
    before_guarded<<<4, 1>>>(sums, y);
    below<<<1, 4>>>(sums + 4, y, 4);
    of_member<<<1, 4>>>(Two{other, sums + 2}, 2);
  }
  if (!strcmp(kind, "before")) before<<<4, 1>>>(sums, y);
  if (!strcmp(kind, "scatter")) scatter<<<1, 32>>>(other, places);
  if (!strcmp(kind, "below")) below<<<1, 32>>>(sums, y, 100);
  if (!strcmp(kind, "variable")) of_variable<<<4, 1>>>(y);
  if (!strcmp(kind, "member")) of_member<<<1, 4>>>(Two{other, sums}, 300000);
  if (!strcmp(kind, "function")) in_function<<<1, 1>>>(sums, y);
  if (!strcmp(kind, "either")) of_either<<<1, 32>>>(other, y, places, 1);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
