// Calls entries of a submission without a judge: what compute-sanitizer runs (check --sanitize).
//     caller SEED ENTRY N [ENTRY N …]
// Each call has memory of exactly n elements, fresh, with random elements in d_x and nothing in d_y. Exit code 0; 1
// when CUDA reports an error, which is printed; 2 for a wrong command line.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "runner/entries.hpp"

namespace {

/// Small whole numbers of both signs.
Element random_element(std::mt19937& random) {
  const int number = static_cast<int>(random() % 15) - 7;
#ifdef SCANLAB_ELEMENT_AFFINE
  return {static_cast<std::uint32_t>(random() | 1), static_cast<std::uint32_t>(number)};
#else
  return static_cast<Element>(number);
#endif
}

/// The error of the call, or of what it has launched.
cudaError_t call(scanlab::runner::EntryFunction entry, int n, std::mt19937& random) {
  std::vector<Element> x(static_cast<std::size_t>(n));
  for (Element& element : x) element = random_element(random);
  const std::size_t bytes = x.size() * sizeof(Element);
  void *d_x = nullptr, *d_y = nullptr, *d_kept = nullptr;
  cudaMalloc(&d_x, bytes);
  cudaMalloc(&d_y, bytes);
  cudaMalloc(&d_kept, sizeof(int));
  cudaMemcpy(d_x, x.data(), bytes, cudaMemcpyHostToDevice);
  if (const cudaError_t before = cudaGetLastError(); before != cudaSuccess) return before;
  entry(d_x, d_y, d_kept, n);
  const cudaError_t launched = cudaGetLastError(), finished = cudaDeviceSynchronize();
  for (void* memory : {d_x, d_y, d_kept}) cudaFree(memory);
  return launched != cudaSuccess ? launched : finished;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4 || count % 2 != 0) {
    std::fputs("usage: caller SEED ENTRY N [ENTRY N ...]\n", stderr);
    return 2;
  }
  std::mt19937 random(static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10)));
  for (int k = 2; k < count; k += 2) {
    const scanlab::runner::Named* named = scanlab::runner::find_entry(arguments[k]);
    if (named == nullptr) {
      std::fprintf(stderr, "no function %s\n", arguments[k]);
      return 2;
    }
    const int n = std::atoi(arguments[k + 1]);
    if (const cudaError_t error = call(scanlab::runner::function_of(named->entry), n, random); error != cudaSuccess) {
      std::printf("%s of %d elements: %s\n", named->name, n, cudaGetErrorName(error));
      return 1;
    }
  }
  return 0;
}
