// Where a program does more with its elements than move and add them, and what else its results may depend on.
//
// A scan that only moves and adds elements is right for all of them if it is right for one choice (Chong et al., see
// elements.hpp). What does more, such as a comparison of two elements or a look at one's bits, is outside of that
// theorem, and has to be found. Moving is copying whole words of 32 bits: loads, stores, shuffles, and packing and
// unpacking. Of any other instruction the operands are looked at that may come from memory or another lane; whether
// they are elements is known at run time only, by their values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/liveness.hpp"
#include "vgpu/core/run/observer.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// What stands for elements: the words of scanlab.add, or all floats.
enum class NamedElements : std::uint8_t { words, floats };

/// Is it the + of floats? Directed roundings and what else changes a sum are not.
bool adds_floats(const ptx::Instruction& instruction);

/// A register of 4 or 8 bytes that an instruction uses otherwise than by moving it, and that may hold elements.
struct ElementUse {
  enum class Keeps : std::uint8_t {
    nothing,     ///< the instruction computes with it or compares it
    whole,       ///< it puts bits of it into its result, which may be whole words of elements again
    same_place,  ///< the same, each word in its own place (and, or, xor)
  };
  std::int32_t reg = -1;
  Keeps keeps = Keeps::nothing;
  bool low = true, high = true;  ///< which of its words make a difference; the upper one of 8 bytes only
};

/// By instruction of `function`.
std::vector<std::vector<ElementUse>> element_uses(const ptx::Function& function, NamedElements kind);

/// By instruction of `function`: what it gives though no order of blocks and warps, and no input, decides it. A loop
/// that does nothing but wait for a barrier object is none, nor is a clock that only says how long such a loop sleeps.
std::vector<std::optional<Dependence>> dependences(const ptx::Function& function, const ControlFlow& flow,
                                                   const Liveness& liveness);

}  // namespace scanlab::vgpu
