// What `vgpu-bench` measures: the kernels of kernels.cu with their sizes, their inputs and what they must give.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::bench {

/// A buffer's contents, or a float's or an unsigned's bits: every kernel here works on words of 32 bits.
using Words = std::vector<std::uint32_t>;

/// One kernel at one size. Its parameters are the inputs' addresses, the output's address, and `size`.
struct Case {
  std::string kernel;  ///< in kernels.cu
  vgpu::Dim3 grid, block;
  std::vector<Words> inputs;
  Words expected;  ///< computed here on the host
  std::uint32_t size = 0;
  std::string name = {};  ///< that of its recipe

  std::uint64_t threads() const { return grid.count() * block.count(); }
};

/// The largest number of elements: sums of that many inputs are still exact in a float.
inline constexpr std::uint32_t largest_n = 1u << 24;

/// A case that can be made for n elements.
struct Recipe {
  const char* name;   ///< "kogge_stone_1024"
  const char* title;  ///< for people
  std::function<Case(std::uint32_t n)> make;
};

/// All cases, in the order in which they are shown.
const std::vector<Recipe>& recipes();

}  // namespace scanlab::bench
