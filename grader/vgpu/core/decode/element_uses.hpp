// Where a program computes with its elements otherwise than by their `+`, or compares them.
//
// A scan that only moves and adds elements is right for all of them if it is right for one choice (Chong et al., see
// elements.hpp). What does more, such as a comparison of two elements or a look at one's bits, is outside of that
// theorem, and has to be found. Moving is copying whole words: loads, stores, shuffles, and packing and unpacking of 32
// and 64 bits. Of any other instruction the operands are looked at that may come from memory or another lane; whether
// they are elements is known at run time only, by their values.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// What stands for elements: the words of scanlab.add, or all floats.
enum class NamedElements : std::uint8_t { words, floats };

/// Is it the + of floats? Directed roundings and what else changes a sum are not.
bool adds_floats(const ptx::Instruction& instruction);

/// By instruction of `function`: the registers, of 4 or 8 bytes, that it computes with or compares and that may hold an
/// element's name or half of one.
std::vector<std::vector<std::int32_t>> element_uses(const ptx::Function& function, NamedElements kind);

}  // namespace scanlab::vgpu
