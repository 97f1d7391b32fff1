// test: vgpu
// Recursion that ends, but too late: a list of 100,000 nodes is summed from its end. 1,000 fit into the stack that the
// program asks for.
#include <cstdio>

struct Node {
  int value;
  Node* next;
};

__device__ __noinline__ int sum(const Node* n) {
  volatile int mine = n->value;  // needs a place on the stack
  return n->next ? sum(n->next) + mine : mine;
}
__global__ void total(const Node* first, int* out) {
  *out = sum(first);
}

__global__ void link(Node* nodes, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) nodes[i] = {1, i + 1 < n ? &nodes[i + 1] : nullptr};
}

int main() {
  const int most = 100000;
  Node* nodes;
  int *out, result;
  cudaMalloc(&nodes, most * sizeof(Node));
  cudaMalloc(&out, sizeof(int));
  cudaDeviceSetLimit(cudaLimitStackSize, 128 << 10);
  for (int n : {1000, most}) {
    link<<<1, 128>>>(nodes, n);
    total<<<1, 1>>>(nodes, out);
    const cudaError_t error = cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
    printf("%d: ", n);
    if (error == cudaSuccess)
      printf("%d\n", result);
    else
      printf("%s\n", cudaGetErrorName(error));
  }
}
