// Loops that only wait: they end when a test of a barrier object succeeds, and have no effect but the time they take.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/liveness.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// The waiting loops of one function. All that it is made with has to outlive it.
class Waiting {
 public:
  Waiting(const ptx::Function& function, const ControlFlow& flow, const Liveness& liveness);

  /// Whether the instruction is part of such a loop.
  bool has(std::uint32_t instruction) const { return waits_[instruction]; }
  /// Whether the result of an instruction is used only in such loops, where it decides how long to sleep.
  bool is_only_for_waiting(std::uint32_t instruction) const;

 private:
  using Blocks = std::vector<std::uint32_t>;  ///< ascending
  using Registers = std::vector<bool>;

  void mark_loop_of(std::uint32_t test);
  Blocks body_around(std::uint32_t instruction) const;
  std::uint32_t head_of(const Blocks& body) const;
  void forget_invariants(const Blocks& body, Registers& set) const;
  bool has_effect(const Blocks& body, std::uint32_t test) const;
  Registers set_in(const Blocks& body) const;
  bool is_left_by_test(std::uint32_t block, std::uint32_t test) const;

  const ptx::Function& function_;
  const ControlFlow& flow_;
  const Liveness& liveness_;
  std::vector<bool> waits_;  ///< by instruction
};

}  // namespace scanlab::vgpu
