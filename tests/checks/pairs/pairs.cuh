// What the pairs of programs have in common: memory, the cases of a file, and main(), which runs those that it is
// given.
//
// A case is a KERNEL, or a function of the HOST, under a comment line that pairs.py reads:
//
//   // wrong: ID [| WORDS]     a mistake: the first finding has that id, and WORDS in its text
//   // advice: ID [| WORDS]    no mistake, but advice
//   // right                   nothing is found
//
// WORDS with ` ... ` are to be found in this order in all that is printed, in which the program's own lines begin with
// `out: `. Lines of it that end in `// here` are places that findings of that id have to name.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

struct Args {
  int *x, *y, *flag;
  float* f;
  double* d;
  unsigned long long* words;
};

using Case = std::pair<std::string, void (*)()>;

/// In the order in which they stand in the file.
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

constexpr int length = 1024;

/// Memory of `length` elements each, all zeros.
inline Args make_args() {
  Args a;
  const auto make = [](auto*& to) {
    cudaMalloc(&to, length * sizeof *to);
    cudaMemset(to, 0, length * sizeof *to);
  };
  make(a.x);
  make(a.y);
  make(a.flag);
  make(a.f);
  make(a.d);
  make(a.words);
  return a;
}

inline void free_args(const Args& a) {
  for (void* memory : {static_cast<void*>(a.x), static_cast<void*>(a.y), static_cast<void*>(a.flag),
                       static_cast<void*>(a.f), static_cast<void*>(a.d), static_cast<void*>(a.words)})
    cudaFree(memory);
}

inline void print_error() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) printf("out: %s\n", cudaGetErrorString(error));
}

template <void (*Kernel)(Args), int Blocks, int Threads>
void launch() {
  const Args a = make_args();
  Kernel<<<Blocks, Threads>>>(a);
  print_error();
  free_args(a);
}

/// A kernel that waits for the whole grid.
template <void (*Kernel)(Args), int Blocks, int Threads>
void launch_together() {
  Args a = make_args();
  void* arguments[] = {&a};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Kernel), Blocks, Threads, arguments, 0, nullptr);
  print_error();
  free_args(a);
}

#define CASE(NAME, RUN) const bool NAME##_is_a_case = (cases().emplace_back(#NAME, RUN), true);
/// A kernel, whose Args are `a`, started by `LAUNCH` with that many blocks and threads.
#define KERNEL_BY(NAME, LAUNCH, BLOCKS, THREADS) \
  __global__ void NAME(Args);                    \
  CASE(NAME, (&LAUNCH<NAME, BLOCKS, THREADS>))   \
  __global__ void NAME([[maybe_unused]] Args a)
#define KERNEL(NAME, BLOCKS, THREADS) KERNEL_BY(NAME, launch, BLOCKS, THREADS)
#define HOST(NAME)  \
  void NAME();      \
  CASE(NAME, &NAME) \
  void NAME()

/// Runs the cases that the arguments name, or all.
int main(int argc, char** argv) {
  for (int k = 1; k < argc; ++k)
    for (const auto& [name, run] : cases())
      if (name == argv[k]) run();
  if (argc > 1) return 0;
  for (const auto& [name, run] : cases()) run();
  printf("out: %zu cases\n", cases().size());
}
