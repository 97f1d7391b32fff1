// Where a program does more with its elements than move and add them.
//
// A scan that only moves and adds elements is right for all of them if it is right for one choice (Chong et al., see
// elements.hpp). A program that does more, such as compare two elements or look at the bits of one, is outside of that
// theorem, so these instructions have to be found. Moving is copying whole words of 32 bits: loads, stores, shuffles,
// packing and unpacking. Any other instruction uses an element if one of its operands may come from memory or another
// lane. Whether that operand is an element is known at run time only, by its value.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Which values are names of elements: the words of scanlab.add, or all floats.
enum class NamedElements : std::uint8_t { words, floats };

/// Whether it is the + of floats, without a directed rounding or anything else that changes the sum.
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
  bool is_result = false;        ///< what the instruction has put there is looked at, not what was there before
};

/// The uses by each instruction of `function`.
std::vector<std::vector<ElementUse>> element_uses(const ptx::Function& function, NamedElements kind);

}  // namespace scanlab::vgpu
