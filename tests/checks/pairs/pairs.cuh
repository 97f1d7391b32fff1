// What the pairs of programs have in common: memory, and a table of the cases of a file.
//
// A case is a kernel, or a function of the host, under a comment line that pairs.py reads:
//
//   // wrong: ID [| WORDS]     a mistake: the first finding has that id, and WORDS in its text
//   // advice: ID [| WORDS]    no mistake, but advice
//   // right                   nothing is found
//
// WORDS with ` ... ` are to be found in this order in all that is printed, in which the program's own lines begin with
// `out: `. Lines of it that end in `// here` are places that findings of that id have to name.
#pragma once

#include <cstdio>
#include <cstring>

struct Args {
  int *x, *y, *flag;
  float* f;
  double* d;
  unsigned long long* words;
};

struct Case {
  const char* name;
  void (*run)();
};

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

template <void (*Kernel)(Args), int Blocks, int Threads>
void launch() {
  const Args a = make_args();
  Kernel<<<Blocks, Threads>>>(a);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) printf("out: %s\n", cudaGetErrorString(error));
  free_args(a);
}

/// Of a kernel: that many blocks and threads.
#define KERNEL(NAME, BLOCKS, THREADS) \
  { #NAME, &launch < NAME, BLOCKS, THREADS> }
#define HOST(NAME) \
  { #NAME, &NAME }

template <int Count>
int run_cases(const Case (&cases)[Count], int argc, char** argv) {
  for (int k = 1; k < argc; ++k)
    for (const Case& c : cases)
      if (std::strcmp(c.name, argv[k]) == 0) c.run();
  return 0;
}
