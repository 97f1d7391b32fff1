// What one instruction of the host does with memory.
#pragma once

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::cudart {

struct Instruction {
  bool is_atomic = false;  ///< it reads and writes in one step
  unsigned bytes = 1;      ///< of its operand in memory, for each step where it is repeated; 1 where that is unknown
};

/// Decodes what stands at `at`: encodings of x86-64 that compilers use for operands in memory (Intel 64 and IA-32
/// Architectures Software Developer's Manual, volume 2, appendix A). Elsewhere nothing is known of it.
Instruction instruction_at(vgpu::Address at);

}  // namespace scanlab::cudart
