// Which values of a function are still read: registers at a place of the code, arguments and results of its calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// A set of registers of a function.
class RegisterSet {
 public:
  explicit RegisterSet(std::size_t registers = 0) : words_((registers + 63) / 64, 0) {}
  bool operator[](std::int32_t r) const { return words_[static_cast<std::size_t>(r) / 64] >> (r % 64) & 1; }
  void set(std::int32_t r) { words_[static_cast<std::size_t>(r) / 64] |= std::uint64_t{1} << (r % 64); }
  void reset(std::int32_t r) { words_[static_cast<std::size_t>(r) / 64] &= ~(std::uint64_t{1} << (r % 64)); }
  void unite(const RegisterSet& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
  }
  bool operator==(const RegisterSet&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

class Liveness {
 public:
  Liveness(const ptx::Function& function, const ControlFlow& flow);

  /// Registers whose values are still read when control stands before this instruction. Before the first one: those
  /// that may be read before they are written.
  std::vector<std::int32_t> live_before(std::uint32_t instruction) const;
  /// May what this instruction defines be read?
  bool is_used(std::uint32_t instruction) const;
  const RegisterSet& live_into(std::uint32_t block) const { return live_in_[block]; }

 private:
  RegisterSet live_at(const BasicBlock& block, std::uint32_t instruction) const;

  const ptx::Function& function_;
  const ControlFlow& flow_;
  std::vector<RegisterSet> live_in_;  ///< by block
};

/// Registers that an instruction writes and reads, its guard and addresses included.
void for_each_definition(const ptx::Instruction& instruction, const std::function<void(std::int32_t)>& visit);
void for_each_use(const ptx::Instruction& instruction, const std::function<void(std::int32_t)>& visit);

/// Bytes that a lane's `ld` or `st` moves.
std::uint64_t bytes_moved(const ptx::Instruction& instruction);

/// The .param variables in the function's body of which bytes are read, or passed on, that may not have been written.
std::vector<std::string> slots_read_unwritten(const ptx::Function& function, const ControlFlow& flow);

}  // namespace scanlab::vgpu
