// cuRAND's device functions, which are headers only: sequences that do not depend on how many threads draw them, and
// estimates from them.
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>

constexpr int threads = 256, blocks = 4, draws = 64;

template <class State>
__global__ void start(State* states, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &states[i]);
}

template <class State>
__global__ void estimate(State* states, int* inside, int* outside_range) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  State state = states[i];
  int hits = 0, bad = 0;
  for (int k = 0; k < draws; ++k) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    bad += !(x > 0 && x <= 1 && y > 0 && y <= 1);
    hits += x * x + y * y <= 1;
  }
  states[i] = state;
  atomicAdd(inside, hits);
  atomicAdd(outside_range, bad);
}

// A sequence from its beginning, and one that starts after `skip` of its numbers: the rest is the same.
template <class State>
__global__ void skip_ahead(int* differing) {
  State whole, rest;
  curand_init(42, 7, 0, &whole);
  curand_init(42, 7, 10, &rest);
  for (int k = 0; k < 10; ++k) curand(&whole);
  for (int k = 0; k < 50; ++k)
    if (curand(&whole) != curand(&rest)) atomicAdd(differing, 1);
}

__global__ void moments(double* sums) {
  curandStatePhilox4_32_10_t state;
  curand_init(1, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  double sum = 0, squares = 0;
  for (int k = 0; k < draws; ++k) {
    const float4 four = curand_normal4(&state);
    sum += four.x + four.y + four.z + four.w;
    squares += four.x * four.x + four.y * four.y + four.z * four.z + four.w * four.w;
  }
  atomicAdd(&sums[0], sum);
  atomicAdd(&sums[1], squares);
}

template <class State>
static void run(const char* name) {
  State* states = nullptr;
  int* counts = nullptr;
  cudaMalloc(&states, sizeof(State) * threads * blocks);
  cudaMallocManaged(&counts, 3 * sizeof(int));
  counts[0] = counts[1] = counts[2] = 0;
  start<<<blocks, threads>>>(states, 1234ull);
  estimate<<<blocks, threads>>>(states, &counts[0], &counts[1]);
  skip_ahead<State><<<1, 1>>>(&counts[2]);
  const cudaError_t error = cudaDeviceSynchronize();
  constexpr double total = 1.0 * threads * blocks * draws;
  const double pi = 4 * counts[0] / total;
  // Six standard deviations of the estimate.
  const double margin = 6 * 4 * std::sqrt(0.7854 * (1 - 0.7854) / total);
  std::printf("%s: %s, pi within the margin: %s, outside (0, 1]: %d, differing after a skip: %d\n", name,
              cudaGetErrorName(error), std::fabs(pi - 3.14159265) < margin ? "yes" : "no", counts[1], counts[2]);
  cudaFree(states);
  cudaFree(counts);
}

int main() {
  run<curandStateXORWOW_t>("XORWOW");
  run<curandStatePhilox4_32_10_t>("Philox");
  run<curandStateMRG32k3a_t>("MRG32k3a");

  double* sums = nullptr;
  cudaMallocManaged(&sums, 2 * sizeof(double));
  sums[0] = sums[1] = 0;
  moments<<<blocks, threads>>>(sums);
  const cudaError_t error = cudaDeviceSynchronize();
  constexpr double n = 4.0 * threads * blocks * draws;
  // Mean 0 and variance 1, within six standard deviations of their estimates.
  std::printf("normal: %s, mean: %s, variance: %s\n", cudaGetErrorName(error),
              std::fabs(sums[0] / n) < 6 / std::sqrt(n) ? "yes" : "no",
              std::fabs(sums[1] / n - 1) < 6 * std::sqrt(2 / n) ? "yes" : "no");
  cudaFree(sums);
  return 0;
}
