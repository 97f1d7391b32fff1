// Arrays of the device for programs whose subject is what kernels do, and not how memory is had: each is made, filled
// and read in one line.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <vector>

/// Elements in global memory. Kernels take it as a pointer; one that is made in a launch is freed after it, since
/// cudaFree waits for what runs.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) { cudaMalloc(&d_, count * sizeof(T)); }
  /// Every byte is `byte`.
  Array(std::size_t count, int byte) : Array(count) { set(byte); }
  Array(const std::vector<T>& values) : Array(values.size()) { write(values.data(), values.size()); }
  template <std::size_t count>
  Array(const T (&values)[count]) : Array(count) {
    write(values, count);
  }
  Array(const Array&) = delete;
  ~Array() { cudaFree(d_); }

  T* get() const { return d_; }
  operator T*() const { return d_; }

  void set(int byte) const { cudaMemset(d_, byte, count_ * sizeof(T)); }
  void write(const T* values, std::size_t count) const {
    cudaMemcpy(d_, values, count * sizeof(T), cudaMemcpyHostToDevice);
  }
  std::vector<T> read(std::size_t count) const {
    std::vector<T> values(count);
    cudaMemcpy(values.data(), d_, count * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
  }
  std::vector<T> read() const { return read(count_); }

 private:
  T* d_ = nullptr;
  std::size_t count_;
};

/// How many elements of `got` are not what `expected` has at their place.
template <class Got, class Expected>
int count_wrong(const Got& got, const Expected& expected) {
  int wrong = 0;
  for (std::size_t i = 0; i < std::size(got); ++i) wrong += got[i] != expected[i];
  return wrong;
}

/// Prints how many of the first elements of `got` are wrong, and whether CUDA has found an error.
template <class T>
void compare(const char* what, const Array<T>& got, const std::vector<T>& expected) {
  const int wrong = count_wrong(got.read(expected.size()), expected);
  std::printf("%s: %d wrong of %zu, %s\n", what, wrong, expected.size(), cudaGetErrorName(cudaGetLastError()));
}
