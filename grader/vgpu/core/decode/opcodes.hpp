// What the engine knows of an opcode before it runs, apart from what it computes: one row per opcode.
#pragma once

#include <cstdint>
#include <string_view>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

class Decoder;

struct Opcode {
  /// Where a lane goes that executes it.
  enum class Next : std::uint8_t { following, target, end };
  /// What happens to lanes for which a predicate says no.
  enum class Predicated : std::uint8_t {
    masked,    ///< they are masked out, alone or with what stands around it
    own_mask,  ///< the same, but never with what stands around it
    branch,    ///< they branch around it, since the others wait, call, or end
  };
  /// Is the first operand written?
  enum class Result : std::uint8_t { first, none, of_reduction };
  enum class Effect : std::uint8_t { none, load, store, atomic, reduction, copy, fence, sleep };

  std::string_view name;
  Next next = Next::following;
  Predicated predicated = Predicated::masked;
  Result result = Result::first;
  Effect effect = Effect::none;
  void (Decoder::*decode)(const ptx::Instruction&) = nullptr;
  Handler run = nullptr;  ///< of opcodes that are one Inst without operands
};

/// The row of an instruction's opcode. Those that only compute share one, and most are in no table but that of
/// their spelling (alu/forms.hpp).
const Opcode& opcode_of(const ptx::Instruction& instruction);

/// True when a predicate on this instruction is carried out as a branch around it.
bool is_branched_around(const ptx::Instruction& instruction);

/// True when the first operand is written: not so for stores, and where it is a number, a target or a time.
bool has_destination(const ptx::Instruction& instruction);

/// True when the instruction says that blocks work together, or when its result depends on what ran before.
bool ties_blocks(const ptx::Instruction& instruction);

/// True when the instruction may give different results in blocks between which nothing else differs: it asks for the
/// block's index, or for where it is resident.
bool distinguishes_blocks(const ptx::Instruction& instruction);

}  // namespace scanlab::vgpu
