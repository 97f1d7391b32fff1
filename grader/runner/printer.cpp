// The main of a lab's file that has none (`grader/scanlab run LAB`): calls one entry, and prints what goes in and out.
//     printer ENTRY N
// x is 0, 1, 2 …; for compaction and split every other element is negative, and so not kept. d_y is not set before the
// call, so that checks see what is never written, and `?` is printed for it. Exit code 0; 1 when CUDA reports an error;
// 2 for a wrong command line.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runner/entries.hpp"

namespace {

using scanlab::runner::EntryFunction;

constexpr std::size_t most_printed = 32;
/// What the virtual GPU's memory is full of before its first use; a real one's has anything.
constexpr unsigned char unwritten_byte = 0xFE;

/// Whether CUDA has done what it was asked for; what it has not is reported.
bool is_done(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "%s: %s (%s)\n", what, cudaGetErrorString(error), cudaGetErrorName(error));
  }
  return error == cudaSuccess;
}

template <class T>
bool is_unwritten(const T& value) {
  unsigned char pattern[sizeof value];
  std::memset(pattern, unwritten_byte, sizeof pattern);
  return std::memcmp(&value, pattern, sizeof value) == 0;
}

std::string text_of(Element element) {
  if (is_unwritten(element)) return "?";
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(element));
  return text;
}

/// Prints rows below each other, each value in its column.
void print(const std::vector<Element>& x, const std::vector<Element>& y) {
  std::string rows[] = {"x", "y"};
  for (std::size_t i = 0; i < std::min(std::max(x.size(), y.size()), most_printed); ++i) {
    const std::string texts[] = {i < x.size() ? text_of(x[i]) : "", i < y.size() ? text_of(y[i]) : ""};
    const std::size_t width = std::max(texts[0].size(), texts[1].size()) + 1;
    for (int k = 0; k < 2; ++k) rows[k] += std::string(width - texts[k].size(), ' ') + texts[k];
  }
  for (int k = 0; k < 2; ++k) {
    rows[k].erase(rows[k].find_last_not_of(' ') + 1);
    std::printf("%s%s\n", rows[k].c_str(), (k == 0 ? x : y).size() > most_printed ? " …" : "");
  }
}

bool call(EntryFunction entry, const char* name, int n) {
  std::vector<Element> x(static_cast<std::size_t>(n)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<Element>(entry.partition != nullptr && i % 2 != 0 ? -static_cast<float>(i) : i);
  }
  const std::size_t bytes = x.size() * sizeof(Element);
  void *d_x = nullptr, *d_y = nullptr, *d_kept = nullptr;
  if (!is_done(cudaMalloc(&d_x, bytes), "memory for x")) return false;
  if (!is_done(cudaMalloc(&d_y, bytes), "memory for y")) return false;
  if (!is_done(cudaMalloc(&d_kept, sizeof(int)), "memory for d_kept")) return false;
  if (!is_done(cudaMemcpy(d_x, x.data(), bytes, cudaMemcpyHostToDevice), "the copy of x")) return false;

  entry(d_x, d_y, d_kept, n);
  const cudaError_t launched = cudaGetLastError(), finished = cudaDeviceSynchronize();
  if (!is_done(launched != cudaSuccess ? launched : finished, name)) return false;

  int kept = n;
  if (entry.partition != nullptr) {
    if (!is_done(cudaMemcpy(&kept, d_kept, sizeof kept, cudaMemcpyDeviceToHost), "the copy of d_kept")) return false;
    std::printf("kept: %s of %d\n", is_unwritten(kept) ? "?" : std::to_string(kept).c_str(), n);
  }
  // Behind what is kept, a compaction leaves whatever it likes.
  if (entry.partition == &compact) y.resize(static_cast<std::size_t>(std::clamp(kept, 0, n)));
  if (!is_done(cudaMemcpy(y.data(), d_y, y.size() * sizeof(Element), cudaMemcpyDeviceToHost), "the copy of y")) {
    return false;
  }
  print(x, y);
  if (std::any_of(y.begin(), y.end(), is_unwritten<Element>)) std::puts("?: never written");
  bool are_freed = true;
  for (void* memory : {d_x, d_y, d_kept}) are_freed = is_done(cudaFree(memory), "cudaFree") && are_freed;
  return are_freed;
}

}  // namespace

int main(int count, char** arguments) {
  const int n = count == 3 ? std::atoi(arguments[2]) : -1;
  const scanlab::runner::Named* named = n >= 0 ? scanlab::runner::find_entry(arguments[1]) : nullptr;
  if (named == nullptr) {
    std::fputs("usage: printer ENTRY N, an entry that the file defines\n", stderr);
    return 2;
  }
  return call(scanlab::runner::function_of(named->entry), named->name, n) ? 0 : 1;
}
